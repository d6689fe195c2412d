"""From top files, SLS files and outer sources to the pillar of one minion.

What goes wrong does not end the compilation; it is told in ``_errors``, and a minion applies no
state while there are any. Source: observed on Salt 3006.30; tests/cases/data/pillar has its
answers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from saltlite.context import MinionContext
from saltlite.core.data import is_recursive, merge_by, merge_onto
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.targets import MinionFacts
from saltlite.errors import RenderError, SaltliteError
from saltlite.loader.matchers import fits
from saltlite.pillar import top as tops
from saltlite.pillar.tree import PillarTree, SlsFile
from saltlite.templates.names import file_names
from saltlite.templates.pipe import TemplateSource, render

log = logging.getLogger(__name__)

ERRORS = "_errors"


class CompilerOptions(Protocol):
    """The options of pillar, the master's or the minion's."""

    @property
    def ext_pillar(self) -> Sequence[Any]:
        """Drivers and their arguments."""

    @property
    def ext_pillar_first(self) -> bool:
        """Ask them before the files."""

    @property
    def pillar_source_merging_strategy(self) -> str:
        """How sources join."""

    @property
    def pillar_merge_lists(self) -> bool:
        """Append lists when sources join."""

    @property
    def pillar_includes_override_sls(self) -> bool:
        """Included files win."""

    @property
    def pillar_safe_render_error(self) -> bool:
        """Keep details of errors from minions."""


@dataclass(frozen=True, slots=True)
class SlsLocation:
    """Where an SLS name stands: its environment, and the file (a directory's own, or not)."""

    sls: str
    saltenv: str
    is_init: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a pillar from being whole, as the master's administrator should see it.

    ``text`` is one line, with path and line where they are known. ``excerpt`` has the lines around
    the place, with what is secret in them.
    """

    text: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Layer:
    """What one file or source gave. ``path`` and ``text`` are a file's; ``below`` is where it went.

    ``name`` is the SLS, ``ext_pillar NAME`` or ``top.sls``.
    """

    name: str
    data: Mapping[str, Any]
    path: str = ""
    text: str = ""
    below: str = ""


@dataclass(slots=True)
class Mistakes:
    """What is wrong with the pillar of a minion, each mistake once, also if it is compiled twice.

    ``is_logged`` is whether the log has them too.
    """

    minion_id: str
    is_logged: bool = True
    problems: list[Problem] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)

    def note(self, error: str, problem: str = "", excerpt: str = "", said: str = "") -> None:
        """Note one: as the minion is told of it, as it is for the administrator, for the log."""
        text = problem or error
        if text in self._known:
            return
        self._known.update((text, error))  # who compiles within another hands on the error alone
        self.problems.append(Problem(text, excerpt))
        if self.is_logged:
            # only first lines: behind them are lines of the files, with what is secret in them
            log.critical("Pillar of %s: %s", self.minion_id, (said or text).partition("\n")[0])


@dataclass(slots=True)
class Compiler:
    """Compiles the pillar of the minion that ``ctx`` stands for.

    ``ctx.pillar`` is what templates see as ``pillar``; with ``ext_pillar_first`` it is given what
    the outer sources said. ``external`` asks one of them. What is wrong is noted in ``mistakes``.
    """

    ctx: MinionContext
    options: CompilerOptions
    tree: PillarTree
    nodegroups: Mapping[str, Any]
    external: Callable[[str, Any, Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any] | None]
    mistakes: Mistakes
    top_name: str = "top.sls"
    pillarenv: str | None = None
    on_demand: Sequence[Mapping[str, Any]] = ()
    extra_minion_data: Mapping[str, Any] = field(default_factory=dict)
    on_rendered: Callable[[str, float], None] | None = None
    """Is told the path of each file that was rendered, and how many seconds that took."""
    layers: list[Layer] | None = None
    """What each file and source gave, in the order in which they joined; kept only if a list."""
    _below: str = ""
    _errors: list[str] = field(default_factory=list)
    _tops_read: list[SlsFile] = field(default_factory=list)

    def top(self) -> tuple[dict[str, dict[str, list[Any]]], list[str]]:
        """The top files as one, of all targets, and what is wrong with them."""
        return tops.show_top(self._merge_tops()), self._errors

    def sources(self) -> dict[str, dict[str, str]]:
        """Environment → SLS that is for this minion → the line of a top file that says so.

        Under ``ext_pillar`` the outer sources, each with its place among them.
        """
        found = self._find_sls()
        told: dict[str, dict[str, str]] = {}
        for saltenv, names in found.sls.items():
            for sls in self._expand_names(names, saltenv, found):
                file, line = _locate_name(sls, self._tops_read)
                told.setdefault(saltenv, {})[sls] = f"{file.path}:{line}" if file else ""
        outer = self.options.ext_pillar
        named = [str(next(iter(each))) for each in outer if _names_one(each)]
        if named:
            when = "before the files" if self.options.ext_pillar_first else "after the files"
            told["ext_pillar"] = {name: f"{n}. {when}" for n, name in enumerate(named, 1)}
        return told

    def compile(self, override: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The pillar; ``_errors`` is there if there were any.

        ``override`` lies below it and on top, so that lists that are joined begin with it.
        """
        pillar: dict[str, Any] = {}
        if self.options.ext_pillar_first:
            pillar = self._with_external(dict(override or {}))
            self.ctx.pillar = pillar
            pillar = self._merge_data(pillar, self._of_files())
        else:
            files = self._of_files()
            pillar = self._with_external(self._merge_data(override, files) if override else files)
        if override:
            pillar = self._merge_data(pillar, override)
        if self.ctx.config.extra.get("decrypt_pillar"):
            from saltlite.pillar.decrypt import decrypt

            for error in decrypt(self.ctx, pillar):
                self._add_error(error)
        if self._errors:
            pillar[ERRORS] = list(dict.fromkeys(self._errors))
        return pillar

    def _add_error(self, error: str, problem: str = "", excerpt: str = "", said: str = "") -> None:
        self._errors.append(error)
        self.mistakes.note(error, problem, excerpt, said)

    def _merge_data(
        self, under: Mapping[str, object], over: Mapping[str, object]
    ) -> dict[str, Any]:
        joined: dict[str, Any] = merge_by(
            self.options.pillar_source_merging_strategy,
            under,
            over,
            renderer=self.ctx.config.files.renderer,
            merge_lists=self.options.pillar_merge_lists,
        )
        return joined

    def _merge_into(self, own: dict[str, Any], over: Mapping[str, object]) -> dict[str, Any]:
        """:meth:`_merge_data` into ``own`` itself where that can be: many files cost less then."""
        renderer = self.ctx.config.files.renderer
        if not is_recursive(self.options.pillar_source_merging_strategy, renderer):
            return self._merge_data(own, over)
        merge_onto(own, over, merge_lists=self.options.pillar_merge_lists)
        return own

    # --- files -------------------------------------------------------------------------------

    def _of_files(self) -> dict[str, Any]:
        pillar: dict[str, Any] = {}
        found = self._find_sls()
        for saltenv, names in found.sls.items():
            if not self.tree.has(saltenv):
                if saltenv == "base":  # Salt does not miss it
                    continue
                text = f"No matching pillar environment for environment '{saltenv}' found"
                self._report_name(saltenv, self._tops_read, text)
                continue
            seen: dict[str, dict[str, Any]] = {}
            for sls in self._expand_names(names, saltenv, found):
                found_here = self._render_sls(SlsLocation(sls, saltenv), {}, seen, self._tops_read)
                pillar = self._merge_into(pillar, found_here or {})
        return pillar

    def _merge_tops(self) -> dict[str, dict[str, list[Any]]]:
        try:
            return tops.merge_tops(self._read_tops())
        except ValueError as error:
            text = "Error encountered while rendering pillar top file."
            self._add_error(text, str(error), said=f"the top file: {error}")
            return {}

    def _find_sls(self) -> tops.TopPillars:
        top = self._merge_tops()
        identity = self.ctx.config.identity
        facts = MinionFacts(identity.id, self.ctx.grains, self.ctx.pillar)
        found = tops.find_wanted(
            top, lambda target: fits(self.ctx, target, facts, self.nodegroups), self._single_env()
        )
        for text in found.errors:
            self._add_error(text)
        return found

    def _single_env(self) -> str | None:
        """The one environment to look at; ``None`` for all."""
        if self.pillarenv or self.options.pillar_source_merging_strategy != "none":
            return self.pillarenv
        return "base"

    def _read_tops(self) -> list[Mapping[str, Any]]:
        only = self._single_env()
        found: list[Mapping[str, Any]] = []
        for saltenv in [only] if only else self.tree.envs:
            self._read_top(self.top_name, saltenv, found, set())
        return found

    def _read_top(
        self, name: str, saltenv: str, found: list[Mapping[str, Any]], seen: set[str]
    ) -> None:
        """A top file, then those that it includes."""
        file = self.tree.read_file(name, saltenv) if name not in seen else None
        seen.add(name)
        if file is None:
            return
        self._tops_read.append(file)
        source = TemplateSource(
            text=file.text,
            path=file.path,
            name=file.name,
            saltenv=saltenv,
            variables=file_names("top", file.path, file.name),
        )
        try:
            rendered = render(source, self.ctx)
        except RenderError as error:
            self._add_error(
                f"Rendering Primary Top file failed, render error:\n{error.salt_text}",
                str(error),
                error.excerpt,
                f"the top file: {error}",
            )
            return
        if not isinstance(rendered, Mapping):
            raise ValueError(f"{file.path} does not render to a dictionary")
        found.append(rendered)
        for sls in rendered.get("include") or ():
            self._read_top(f"{str(sls).replace('.', '/')}.sls", saltenv, found, seen)

    def _expand_names(
        self, names: Sequence[str], saltenv: str, found: tops.TopPillars
    ) -> list[str]:
        """The SLS that names and globs stand for; those that must be there even if they are not."""
        existing: list[str] = []
        for name in names:
            lenient = (saltenv, name) in found.may_be_missing
            existing += (
                sls
                for sls in self.tree.matching(name.replace("/", "."), saltenv)
                if not lenient or self.tree.read(sls, saltenv) is not None
            )
        return list(dict.fromkeys(existing))

    def _render_sls(
        self,
        place: SlsLocation,
        variables: Mapping[str, object],
        seen: dict[str, dict[str, Any]],
        named_in: Sequence[SlsFile],
    ) -> dict[str, Any] | None:
        """An SLS with all that it includes; ``None`` if it could not be had.

        ``named_in`` are the files that may have asked for it. ``seen`` has each SLS as it was the
        last time, without what it includes: so it is included again.
        """
        file = self._read_sls(place, named_in)
        if file is None:
            return None
        state = self._render_data(place, file, variables)
        if state is None:
            return None
        include = state.get("include", [])
        seen[place.sls] = {key: state[key] for key in state if key != "include"}
        if not isinstance(include, list):
            text = f"Include Declaration in SLS '{place.sls}' is not formed as a list"
            self._report_name("include", [file], text)
            return state
        state.pop("include", None)
        if self.layers is not None and self.options.pillar_includes_override_sls:
            self._note_layer(place, file, state)
        if not include and self.options.pillar_source_merging_strategy != "list":
            included: dict[str, Any] | None = None
        else:
            here = SlsLocation(place.sls, place.saltenv, file.name.endswith("/init.sls"))
            included = self._join_included(include, here, seen, file)
        if self.layers is not None and not self.options.pillar_includes_override_sls:
            self._note_layer(place, file, state)
        if included is None:
            return state  # as joined with nothing
        if self.options.pillar_includes_override_sls:
            return self._merge_data(state, included)
        return self._merge_data(included, state)

    def _note_layer(self, place: SlsLocation, file: SlsFile, data: Mapping[str, Any]) -> None:
        """Note what a file gave, after what it wins over."""
        if self.layers is not None:
            own = Layer(place.sls, dict(data), file.path, file.text, self._below)
            self.layers.append(own)

    def _read_sls(self, place: SlsLocation, named_in: Sequence[SlsFile]) -> SlsFile | None:
        try:
            file = self.tree.read(place.sls, place.saltenv)
        except UnicodeDecodeError as error:
            self._report_failure(place, RenderError(f"not UTF-8: {error.reason}", path=place.sls))
            return None
        if file is None:
            text = (
                f"Specified SLS '{place.sls}' in environment '{place.saltenv}' is not available "
                "on the salt master"
            )
            self._report_name(place.sls, named_in, text)
        return file

    def _render_data(
        self, place: SlsLocation, file: SlsFile, variables: Mapping[str, object]
    ) -> dict[str, Any] | None:
        source = TemplateSource(
            text=file.text,
            path=file.path,
            name=file.name,
            saltenv=place.saltenv,
            sls=place.sls,
            variables={**file_names(place.sls, file.path, file.name), **variables},
        )
        began_s = time.monotonic()
        try:
            data = render(source, self.ctx)
        except SaltliteError as error:
            self._report_failure(place, error, file.name)
            return None
        finally:
            if self.on_rendered is not None:
                self.on_rendered(file.path, time.monotonic() - began_s)
        if not isinstance(data, Mapping):
            text = f"SLS '{place.sls}' does not render to a dictionary"
            self._add_error(f"{text} ({file.name})", f"{file.path}: {text}")
            return None
        return dict(data)

    def _report_name(self, name: str, files: Sequence[SlsFile], text: str) -> None:
        """Note what is wrong with a name, and which line of these files says it."""
        file, line = _locate_name(name, files)
        if file is None:
            self._add_error(text)
            return
        behind = f":{line}" if line else ""
        self._add_error(f"{text} ({file.name}{behind})", f"{file.path}{behind}: {text}")

    def _report_failure(self, place: SlsLocation, error: SaltliteError, name: str = "") -> None:
        """Note that a file does not render; ``name`` is its path below the root.

        The minion, and with it who applies states there, is told the place and nothing that could
        be in the file: not even what the parser says of it, which may quote a secret.
        """
        said = f"Rendering SLS '{place.sls}' failed, render error: {error}"
        text, excerpt = str(error), ""
        if isinstance(error, RenderError):
            text, excerpt = error.salt_text, error.excerpt
        told = f"Rendering SLS '{place.sls}' failed, render error:\n{text}"
        if self.options.pillar_safe_render_error:
            told = f"Rendering SLS '{place.sls}' failed. Please see master log for details."
            if name:
                told = f"{told} ({name}{_line_of(error)})"
        self._add_error(told, str(error), excerpt, said)

    def _join_included(
        self,
        include: Sequence[object],
        here: SlsLocation,
        seen: dict[str, dict[str, Any]],
        file: SlsFile,
    ) -> dict[str, Any]:
        """All that is included, joined.

        Those that one entry names lie over what they themselves include, whatever the option
        ``pillar_includes_override_sls`` says. Source: compared with Salt 3006.30.
        """
        joined: dict[str, Any] = {}
        for entry in include:
            name, defaults, key = _split_entry(entry)
            named = self.tree.matching(absolute(name, here), here.saltenv)
            for sls in named:
                found = seen.get(sls)
                if found is None:
                    outside = self._below
                    self._below = ":".join(part for part in (outside, key) if part)
                    found = self._render_sls(SlsLocation(sls, here.saltenv), defaults, seen, [file])
                    self._below = outside
                if found is not None:
                    joined = self._merge_data(joined, _nest_below(key, found))
            if len(named) > 1 or self.options.pillar_includes_override_sls:
                for sls in named:
                    joined = self._merge_data(joined, _nest_below(key, seen.get(sls, {})))
        return joined

    # --- outer sources -----------------------------------------------------------------------

    def _with_external(self, pillar: dict[str, Any]) -> dict[str, Any]:
        sources = self.options.ext_pillar
        if not isinstance(sources, list) or not all(_names_one(each) for each in sources):
            self._add_error('The "ext_pillar" option is malformed')
            return pillar
        for source in [*sources, *self.on_demand]:
            (name, argument) = next(iter(source.items()))
            try:
                found = self.external(str(name), argument, pillar, self.extra_minion_data)
            except SaltliteError as error:
                self._add_error(f"Failed to load ext_pillar {name}: {error}")
                continue
            if found:
                told = found.get(ERRORS)
                for text in told if isinstance(told, list) else ():
                    self._add_error(str(text))
                if self.layers is not None:
                    self.layers.append(Layer(f"ext_pillar {name}", found))
                pillar = self._merge_data(pillar, found)
        return pillar


def _locate_name(name: str, files: Sequence[SlsFile]) -> tuple[SlsFile | None, int]:
    """The first line that has the name, or the end of it; line 0 where there is none."""
    parts = name.split(".")
    for wanted in (name, name.replace(".", "/"), parts[-1]):
        for file in files:
            for number, line in enumerate(file.text.splitlines(), 1):
                if wanted in line.partition(" #")[0]:
                    return file, number
    return files[0] if files else None, 0


def _line_of(error: SaltliteError) -> str:
    """``:7``; nothing where the line is unknown, or one of another file that was imported."""
    if not isinstance(error, RenderError) or error.imported or not error.line:
        return ""
    return f":{error.line}"


def _names_one(source: object) -> bool:
    return isinstance(source, Mapping) and len(source) == 1


def _split_entry(entry: object) -> tuple[str, Mapping[str, Any], str]:
    """``b`` or ``{b: {defaults: {...}, key: a:b}}``: name, variables, and where it goes."""
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return str(entry), {}, ""
    name, more = next(iter(entry.items()))
    if not isinstance(more, Mapping):
        return str(name), {}, ""
    defaults = more.get("defaults")
    return str(name), defaults if isinstance(defaults, Mapping) else {}, str(more.get("key") or "")


def absolute(name: str, here: SlsLocation) -> str:
    """An SLS name as seen from ``here``: each leading dot but the first goes up one directory."""
    plain = name.lstrip(".")
    levels = len(name) - len(plain)
    if levels == 0:
        return name.replace("/", ".")
    parts = here.sls.split(".")
    if not here.is_init:
        parts = parts[:-1]
    kept = parts[: len(parts) - (levels - 1)] if levels > 1 else parts
    return ".".join([*kept, plain])


def _nest_below(key: str, data: dict[str, Any]) -> dict[str, Any]:
    for part in reversed(key.split(":")) if key else ():
        data = {part: data}
    return data
