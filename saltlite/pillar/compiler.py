"""From top files, SLS files and outer sources to the pillar of one minion.

What goes wrong does not end the compilation; it is told in ``_errors``, and a minion applies no
state while there are any. Source: observed on Salt 3006.30; tests/cases/pillar has its answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from saltlite.context import MinionContext
from saltlite.core.data import copied, merge_by
from saltlite.core.targets import MinionFacts
from saltlite.errors import RenderError, SaltliteError
from saltlite.pillar import top as tops
from saltlite.pillar.tree import PillarTree, SlsFile
from saltlite.renderers.engine import Source, render
from saltlite.renderers.names import file_names

log = logging.getLogger(__name__)

ERRORS = "_errors"


class Options(Protocol):
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
class Place:
    """Where an SLS name stands: its environment, and the file (a directory's own, or not)."""

    sls: str
    saltenv: str
    is_init: bool = False


@dataclass(slots=True)
class Compiler:
    """Compiles the pillar of the minion that ``ctx`` stands for.

    ``ctx.pillar`` is what templates see as ``pillar``; with ``ext_pillar_first`` it is given what
    the outer sources said. ``external`` asks one of them.
    """

    ctx: MinionContext
    options: Options
    tree: PillarTree
    nodegroups: Mapping[str, Any]
    external: Callable[[str, Any, Mapping[str, Any]], Mapping[str, Any] | None]
    top_name: str = "top.sls"
    pillarenv: str | None = None
    on_demand: Sequence[Mapping[str, Any]] = ()
    _errors: list[str] = field(default_factory=list)

    def top(self) -> dict[str, list[str]]:
        """What the top files have for the minion: environment → SLS names; then ``_errors``."""
        found = dict(self._wanted().sls)
        return {**found, "_errors": self._errors} if self._errors else found

    def compile(self, override: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The pillar; ``override`` lies on top of it. ``_errors`` is there if there were any."""
        pillar: dict[str, Any] = {}
        if self.options.ext_pillar_first:
            pillar = self._with_external(dict(override or {}))
            self.ctx.pillar = pillar
            pillar = self._join(pillar, self._of_files())
        else:
            pillar = self._with_external(self._of_files())
        if override:
            pillar = self._join(pillar, override)
        if self.ctx.config.extra.get("decrypt_pillar"):
            from saltlite.pillar.decrypt import decrypt

            self._errors += decrypt(self.ctx, pillar)
        if self._errors:
            pillar[ERRORS] = list(dict.fromkeys(self._errors))
            # only first lines: behind them are lines of the files, with what is secret in them
            first = [error.partition("\n")[0] for error in pillar[ERRORS]]
            log.critical(
                "Pillar of %s has errors: %s", self.ctx.config.identity.id, "; ".join(first)
            )
        return pillar

    def _join(self, under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
        joined: dict[str, Any] = merge_by(
            self.options.pillar_source_merging_strategy,
            under,
            over,
            renderer=self.ctx.config.files.renderer,
            merge_lists=self.options.pillar_merge_lists,
        )
        return joined

    # --- files -------------------------------------------------------------------------------

    def _of_files(self) -> dict[str, Any]:
        pillar: dict[str, Any] = {}
        found = self._wanted()
        for saltenv, names in found.sls.items():
            if not self.tree.has(saltenv):
                self._errors.append(
                    f"No matching pillar environment for environment '{saltenv}' found"
                )
                continue
            seen: dict[str, dict[str, Any]] = {}
            for sls in self._existing(names, saltenv, found):
                pillar = self._join(pillar, self._rendered(Place(sls, saltenv), {}, seen) or {})
        return pillar

    def _wanted(self) -> tops.Wanted:
        try:
            top = tops.merged(self._tops())
        except ValueError as error:
            self._errors.append("Error encountered while rendering pillar top file.")
            log.error("the pillar's top file: %s", error)
            return tops.Wanted()
        identity = self.ctx.config.identity
        facts = MinionFacts(identity.id, self.ctx.grains, self.ctx.pillar)
        found = tops.wanted(top, facts, self.nodegroups, self._only())
        self._errors += found.errors
        return found

    def _only(self) -> str | None:
        """The one environment to look at; ``None`` for all."""
        if self.pillarenv or self.options.pillar_source_merging_strategy != "none":
            return self.pillarenv
        return "base"

    def _tops(self) -> list[Mapping[str, Any]]:
        only = self._only()
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
        source = Source(
            text=file.text,
            path=file.path,
            name=file.name,
            saltenv=saltenv,
            variables=file_names("top", file.path, file.name),
        )
        try:
            rendered = render(source, self.ctx)
        except RenderError as error:
            self._errors.append(
                f"Rendering Primary Top file failed, render error:\n{error.salt_text}"
            )
            return
        if not isinstance(rendered, Mapping):
            raise ValueError(f"{file.path} does not render to a dictionary")
        found.append(rendered)
        for sls in rendered.get("include") or ():
            self._read_top(f"{str(sls).replace('.', '/')}.sls", saltenv, found, seen)

    def _existing(self, names: Sequence[str], saltenv: str, found: tops.Wanted) -> list[str]:
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

    def _rendered(
        self, place: Place, variables: Mapping[str, Any], seen: dict[str, dict[str, Any]]
    ) -> dict[str, Any] | None:
        """An SLS with all that it includes; ``None`` if it could not be had.

        ``seen`` has each SLS as it was the last time, without what it includes: so it is included
        again.
        """
        file = self._read(place)
        if file is None:
            return None
        state = self._data(place, file, variables)
        if state is None:
            return None
        include = state.get("include", [])
        seen[place.sls] = copied({key: state[key] for key in state if key != "include"})
        if not isinstance(include, list):
            self._errors.append(f"Include Declaration in SLS '{place.sls}' is not formed as a list")
            return state
        state.pop("include", None)
        here = Place(place.sls, place.saltenv, file.name.endswith("/init.sls"))
        included = self._included(include, here, seen)
        if self.options.pillar_includes_override_sls:
            return self._join(state, included)
        return self._join(included, state)

    def _read(self, place: Place) -> SlsFile | None:
        try:
            file = self.tree.read(place.sls, place.saltenv)
        except UnicodeDecodeError as error:
            self._failed(place, RenderError(f"not UTF-8: {error.reason}", path=place.sls))
            return None
        if file is None:
            self._errors.append(
                f"Specified SLS '{place.sls}' in environment '{place.saltenv}' is not available "
                "on the salt master"
            )
        return file

    def _data(
        self, place: Place, file: SlsFile, variables: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        source = Source(
            text=file.text,
            path=file.path,
            name=file.name,
            saltenv=place.saltenv,
            sls=place.sls,
            variables={**file_names(place.sls, file.path, file.name), **variables},
        )
        try:
            data = render(source, self.ctx)
        except SaltliteError as error:
            self._failed(place, error)
            return None
        if not isinstance(data, Mapping):
            self._errors.append(f"SLS '{place.sls}' does not render to a dictionary")
            return None
        return dict(data)

    def _failed(self, place: Place, error: SaltliteError) -> None:
        log.critical("Rendering SLS '%s' failed, render error: %s", place.sls, error)
        text = error.salt_text if isinstance(error, RenderError) else str(error)
        if self.options.pillar_safe_render_error:
            self._errors.append(
                f"Rendering SLS '{place.sls}' failed. Please see master log for details."
            )
        else:
            self._errors.append(f"Rendering SLS '{place.sls}' failed, render error:\n{text}")

    def _included(
        self, include: Sequence[Any], here: Place, seen: dict[str, dict[str, Any]]
    ) -> dict[str, Any]:
        joined: dict[str, Any] = {}
        for entry in include:
            name, defaults, key = _parts(entry)
            for sls in self.tree.matching(absolute(name, here), here.saltenv):
                found = seen.get(sls)
                if found is None:
                    found = self._rendered(Place(sls, here.saltenv), defaults, seen)
                if found is not None:
                    joined = self._join(joined, _below(key, found))
        return joined

    # --- outer sources -----------------------------------------------------------------------

    def _with_external(self, pillar: dict[str, Any]) -> dict[str, Any]:
        sources = self.options.ext_pillar
        if not isinstance(sources, list) or not all(_names_one(each) for each in sources):
            self._errors.append('The "ext_pillar" option is malformed')
            return pillar
        for source in [*sources, *self.on_demand]:
            (name, argument) = next(iter(source.items()))
            try:
                found = self.external(str(name), argument, pillar)
            except SaltliteError as error:
                self._errors.append(f"Failed to load ext_pillar {name}: {error}")
                continue
            if found:
                told = found.get(ERRORS)
                self._errors += map(str, told if isinstance(told, list) else ())
                pillar = self._join(pillar, found)
        return pillar


def _names_one(source: Any) -> bool:
    return isinstance(source, Mapping) and len(source) == 1


def _parts(entry: Any) -> tuple[str, Mapping[str, Any], str]:
    """``b`` or ``{b: {defaults: {...}, key: a:b}}``: name, variables, and where it goes."""
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return str(entry), {}, ""
    name, more = next(iter(entry.items()))
    if not isinstance(more, Mapping):
        return str(name), {}, ""
    defaults = more.get("defaults")
    return str(name), defaults if isinstance(defaults, Mapping) else {}, str(more.get("key") or "")


def absolute(name: str, here: Place) -> str:
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


def _below(key: str, data: dict[str, Any]) -> dict[str, Any]:
    for part in reversed(key.split(":")) if key else ():
        data = {part: data}
    return data
