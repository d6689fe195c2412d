"""From SLS files to high data: finding them, rendering, includes, and the short forms written out.

High data is Salt's: ``{id: {module: [{argument: value}, function, {"order": n}], "__sls__",
"__env__"}}``, with ``__extend__`` and ``__exclude__`` as lists of what the files said. What is
wrong does not end the reading; it is told in Salt's words. Source: observed on Salt 3006.30;
tests/cases/data/highstate has its answers.
"""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import RenderError, SaltliteError
from saltlite.fileserver.client import FileClient, file_client
from saltlite.templates.names import file_names
from saltlite.templates.pipe import TemplateSource, render

if TYPE_CHECKING:
    from saltlite.core.exported import Collected

log = logging.getLogger(__name__)

High = dict[Any, Any]
FIRST_ORDER = 10000
EXTEND, EXCLUDE = "__extend__", "__exclude__"
SUFFIX, INIT = ".sls", "/init.sls"


@dataclass(frozen=True, slots=True)
class SlsRef:
    """An SLS by its name, in an environment."""

    sls: str
    saltenv: str

    def __str__(self) -> str:
        return f"{self.saltenv}:{self.sls}"


class StateTree:
    """The SLS files of each environment; what there is is asked for once."""

    def __init__(self, client: FileClient) -> None:
        self._client = client
        self._envs: set[str] | None = None
        self._files: dict[str, dict[str, str]] = {}

    def has_env(self, saltenv: str) -> bool:
        """Whether there is such an environment."""
        if self._envs is None:
            self._envs = set(self._client.envs())
        # A root of this name serves every environment.
        return saltenv in self._envs or "__env__" in self._envs

    def matching(self, pattern: str, saltenv: str) -> list[str]:
        """The SLS names that a glob fits, sorted."""
        known = self._index_files(saltenv)
        if not any(mark in pattern for mark in "*?["):
            return [pattern] if pattern in known else []
        return sorted(fnmatch.filter(known, pattern))

    def file(self, place: SlsRef) -> str | None:
        """The path of an SLS below its root: ``a.b`` is ``a/b.sls`` or ``a/b/init.sls``.

        Empty parts do not count: ``a.``, which ``include: [.]`` stands for in ``a.b``, is ``a``.
        """
        parts = place.sls.replace("/", ".").split(".")
        return self._index_files(place.saltenv).get(".".join(part for part in parts if part))

    def has_file(self, path: str, saltenv: str) -> bool:
        """Whether there is a file of that path."""
        return path in self._index_files(saltenv).values()

    def read(self, path: str, saltenv: str) -> tuple[str, str] | None:
        """Where a file is on this machine, and its text; ``None`` if it is gone meanwhile.

        Raises:
            RenderError: it is no text.
        """
        cached = self._client.cache_file(f"salt://{path}", saltenv)
        if not cached:
            return None
        try:
            return cached, Path(cached).read_bytes().decode()
        except UnicodeDecodeError as error:
            raise RenderError(f"not UTF-8: {error.reason}", path=path) from error

    def _index_files(self, saltenv: str) -> dict[str, str]:
        """SLS name → path. ``a.sls`` comes before ``a/init.sls``."""
        found = self._files.get(saltenv)
        if found is None:
            paths = self._client.list_files(saltenv) if self.has_env(saltenv) else []
            found = {}
            for path in paths:
                if path.endswith(SUFFIX):
                    name = path.removesuffix(INIT).removesuffix(SUFFIX).replace("/", ".")
                    if name not in found or not path.endswith(INIT):
                        found[name] = path
            self._files[saltenv] = found
        return found


@dataclass(slots=True)
class Reader:
    """Reads SLS files, each once, and gathers their mistakes in ``errors``."""

    ctx: MinionContext
    tree: StateTree
    auto_order: bool = True
    errors: list[str] = field(default_factory=list)
    failed: dict[str, tuple[SlsRef, SaltliteError]] = field(default_factory=dict)
    """Those of the errors that are files that do not render: which, and why."""
    included: set[SlsRef] = field(default_factory=set)
    """The SLS that others include."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What the renderers of one file keep for those of the next."""
    _seen: set[SlsRef] = field(default_factory=set)
    _paths: set[tuple[str, str]] = field(default_factory=set)
    """Environment and path of what was read, which may have two names: ``a`` and ``a.``."""
    _order: int = FIRST_ORDER

    def read(self, wanted: Mapping[str, Sequence[str]]) -> High:
        """The high data of environment → SLS names or globs."""
        high: High = {}
        for saltenv, names in wanted.items():
            if not self.tree.has_env(saltenv):
                self.errors.append(
                    f"No matching salt environment for environment '{saltenv}' found"
                )
            for name in names:
                self._read_named(str(name), saltenv, high)
        return high

    def _read_named(self, name: str, saltenv: str, high: High) -> None:
        for sls in self.tree.matching(name, saltenv) or [name]:
            place = SlsRef(sls, saltenv)
            if self._is_read(place):
                continue
            if self.tree.file(place) is None:
                self.errors.append(f"No matching sls found for '{sls}' in env '{saltenv}'")
                continue
            self._join_ids(high, self._read_state(place))

    def _is_read(self, place: SlsRef) -> bool:
        """Whether an SLS has been read, be it by another name."""
        return place in self._seen or (place.saltenv, self.tree.file(place)) in self._paths

    @property
    def names(self) -> frozenset[str]:
        """The SLS names that were read, also those without a state."""
        return frozenset(place.sls for place in self._seen)

    @property
    def places(self) -> list[SlsRef]:
        """The SLS that were read, by environment and name."""
        return sorted(self._seen, key=str)

    def _read_state(self, place: SlsRef) -> High:
        """An SLS, and what it includes after its own."""
        # Before it is read: files may include one another in a circle.
        self._seen.add(place)
        path = self.tree.file(place) or ""
        self._paths.add((place.saltenv, path))
        state = self._render_once(place, path)
        if not isinstance(state, Mapping):
            if state is not None:
                self.errors.append(f"SLS {place.sls} does not render to a dictionary")
                self.errors.append(f"Error when rendering state with contents: {state}")
            return {}
        own = dict(state)
        # Read first, so that the states of what is included have the lower numbers and run first.
        included = self._read_includes(own, place, path.endswith(INIT))
        own = self._read_declarations(own, place)
        for each in included:
            self._join_ids(own, each)
        return own

    def _render_once(self, place: SlsRef, path: str) -> Any:
        """What the file stands for; ``None`` if it does not render."""
        try:
            found = self.tree.read(path, place.saltenv)
            if found is None:
                raise RenderError("the file is gone", path=path)
            source = TemplateSource(
                text=found[1],
                path=found[0],
                name=path,
                saltenv=place.saltenv,
                sls=place.sls,
                variables=file_names(place.sls, found[0], path),
                shared=self.shared,
            )
            return render(source, self.ctx)
        except SaltliteError as error:
            text = error.salt_text if isinstance(error, RenderError) else str(error)
            message = f"Rendering SLS '{place}' failed: {text}"
            log.critical("%s", message)
            self.errors.append(message)
            # For ``state.check``, which wants the line and not only the sentence.
            self.failed[message] = place, error
            return None

    # --- includes ----------------------------------------------------------------------------

    def _read_includes(self, state: High, place: SlsRef, is_init: bool) -> list[High]:
        if "include" not in state:
            return []
        include = state["include"]
        if not isinstance(include, list):
            self.errors.append(f"Include Declaration in SLS {place.sls} is not formed as a list")
            return []
        del state["include"]
        named = (
            wanted for entry in include for wanted in self._resolve_include(entry, place, is_init)
        )
        found = []
        for wanted in named:
            if wanted != place:
                self.included.add(wanted)
            # An SLS that two others include counts once, at the first.
            if not self._is_read(wanted):
                found.append(self._read_state(wanted))
        return found

    def _resolve_include(self, entry: Any, place: SlsRef, is_init: bool) -> list[SlsRef]:
        """The files that an entry of ``include`` stands for."""
        explicit = isinstance(entry, Mapping) and len(entry) == 1
        saltenv, name = next(iter(entry.items())) if explicit else (place.saltenv, entry)
        saltenv, name = str(saltenv), str(name)
        if name.startswith("."):
            absolute = absolute_name(name, place.sls, is_init=is_init)
            if absolute is None:
                self.errors.append(
                    f"Attempted relative include of '{name}' within SLS '{place}' "
                    "goes beyond top level package "
                )
                return []
            name = absolute
        if not self.tree.has_env(saltenv):
            self.errors.append(
                f"Nonexistent saltenv '{saltenv}' found in include of '{name}' within SLS '{place}'"
            )
            return []
        found = [SlsRef(sls, saltenv) for sls in self.tree.matching(name, saltenv)]
        # ``a.`` and the like fit no name as globs, and are files still.
        if not found and self.tree.file(SlsRef(name, saltenv)) is not None:
            found = [SlsRef(name, saltenv)]
        if not found:
            self.errors.append(_report_unknown(name, saltenv, elsewhere=saltenv != "base"))
        return found

    # --- declarations ------------------------------------------------------------------------

    def _read_declarations(self, state: High, place: SlsRef) -> High:
        """The declarations of one file, written out; ``extend`` and ``exclude`` put aside."""
        # These two words are no ids, and must be gone when ids are read.
        extend = self._read_extend(state.pop("extend"), place) if "extend" in state else None
        exclude = self._read_exclude(state.pop("exclude"), place) if "exclude" in state else None
        if isinstance(state.get("collect"), list):  # a map is a declaration of that ID
            self._collect_states(state, state.pop("collect"), place)
        for ident, body in state.items():
            written = self._expand_body(ident, body, place)
            if written is not None:
                # A value is replaced and no key added, which the iteration bears.
                state[ident] = written
        self.number(state)
        if extend is not None:
            state[EXTEND] = extend
        if exclude is not None:
            state[EXCLUDE] = exclude
        return state

    def _read_extend(self, extend: object, place: SlsRef) -> list[High] | None:
        if not isinstance(extend, Mapping):
            self.errors.append(f"Extension value in SLS '{place.sls}' is not a dictionary")
            return None
        found = []
        for ident, body in extend.items():
            if not isinstance(body, Mapping):
                self.errors.append(
                    f"Extension name '{ident}' in SLS '{place.sls}' is not a dictionary"
                )
                continue
            written = self._expand_dotted(ident, body, place)
            found.append({ident: {**written, "__sls__": place.sls, "__env__": place.saltenv}})
        return found

    def _read_exclude(self, exclude: object, place: SlsRef) -> list[Any] | None:
        if isinstance(exclude, list):
            return list(exclude)
        self.errors.append(f"Exclude Declaration in SLS {place.sls} is not formed as a list")
        return None

    def _expand_body(self, ident: object, body: object, place: SlsRef) -> High | None:
        """A declaration with its short forms written out; ``None`` for what is none."""
        if isinstance(body, str) and "." in body:
            body = _expand_short(body)
        if not isinstance(body, (dict, Mapping)):
            self.errors.append(f"ID {ident} in SLS {place.sls} is not a dictionary")
            return None
        written = self._expand_dotted(ident, body, place)
        written.setdefault("__sls__", place.sls)
        written.setdefault("__env__", place.saltenv)
        return written

    def _expand_dotted(self, ident: object, body: Mapping[Any, Any], place: SlsRef) -> High:
        written, errors = _without_dots(ident, body, f"SLS '{place.sls}'")
        self.errors += errors
        return written

    def _collect_states(self, state: High, entries: list[Any], place: SlsRef) -> None:
        """Add what others exported, under IDs that nobody else may have."""
        for number, entry in enumerate(entries, 1):
            for one in self._collect_entry(entry, place, number):
                # With the place: another collect may take the same, and make something else of it.
                ident = f"{one.ident}@{place.sls}" + (f"#{number}" if number > 1 else "")
                module, _, function = one.function.partition(".")
                arguments = [{key: value} for key, value in one.arguments.items()]
                state[ident] = {module: [*arguments, function]}

    def _collect_entry(self, entry: object, place: SlsRef, number: int) -> list[Collected]:
        from saltlite.core.exported import BadCollect
        from saltlite.highstate.exporting import collect
        from saltlite.highstate.requisites import OWN

        try:
            return collect(self.ctx, entry, OWN)
        except (BadCollect, SaltliteError) as error:
            self.errors.append(f"Collect in SLS '{place}', entry {number}: {error}")
            return []

    def number(self, state: High) -> None:
        """Give each state without an ``order`` the next number."""
        if not self.auto_order:
            return
        for body in state.values():
            for _module, run in runs(body):
                if isinstance(run, list) and not _has_order(run):
                    # Numbers go on over all files of a run.
                    run.append({"order": self._order})
                    self._order += 1

    def _join_ids(self, high: High, state: High) -> None:
        """Add the IDs of ``state``, which must be new."""
        for key in (EXTEND, EXCLUDE):
            if key in state:
                high.setdefault(key, []).extend(state.pop(key))
        for ident, body in state.items():
            if ident in high:
                self.errors.append(
                    "Detected conflicting IDs, SLS IDs need to be globally unique.\n    "
                    f"The conflicting ID is '{ident}' and is found in "
                    f"SLS '{origin_of(high[ident])}' and SLS '{origin_of(body)}'"
                )
            # Which of two stays does not matter: with errors nothing is run.
            high[ident] = body


def reader(ctx: MinionContext, *, auto_order: bool | None = None) -> Reader:
    """A reader of the files that this context sees."""
    if auto_order is None:
        auto_order = ctx.config.files.state_auto_order
    return Reader(ctx, StateTree(file_client(ctx)), auto_order)


def runs(body: object) -> Sequence[tuple[str, Any]]:
    """The modules of a declaration and what is said to each; nothing for what is no declaration."""
    if isinstance(body, (dict, Mapping)):  # dict first: it is a tenth of the time to look
        return [pair for pair in body.items() if str(pair[0])[:2] != "__"]
    return []


def _has_order(run: Sequence[object]) -> bool:
    for argument in run:  # noqa: SIM110 - a generator for each of thousands of states costs more
        if isinstance(argument, (dict, Mapping)) and "order" in argument:
            return True
    return False


def origin_of(body: object) -> SlsRef:
    """The SLS that a declaration is of; its parts are ``None`` where nobody has said it."""
    known: Any = body if isinstance(body, (dict, Mapping)) else {}
    return SlsRef(known.get("__sls__"), known.get("__env__"))


def absolute_name(name: str, sls: str, *, is_init: bool) -> str | None:
    """A name with leading dots, as seen from ``sls``; ``None`` if it leaves the tree.

    One dot is the directory of the file, each further one a directory up.
    """
    plain = name.lstrip(".")
    parts = sls.split(".")
    # ``a/init.sls`` stands in ``a`` itself, so its first dot is that directory.
    up = len(name) - len(plain) - (1 if is_init else 0)
    if up > len(parts):
        return None
    kept = parts[: len(parts) - up]
    return ".".join([*kept, plain])


def _report_unknown(name: str, saltenv: str, *, elsewhere: bool) -> str:
    if elsewhere:
        return (
            f"Unknown include: Specified SLS {saltenv}: {name} is not available on the salt master "
            f"in saltenv(s): {saltenv} "
        )
    return (
        f"Specified SLS {name} in saltenv {saltenv} is not available on the salt master or through "
        "a configured fileserver"
    )


def expand_high(data: Mapping[Any, Any], where: str) -> tuple[High, list[str]]:
    """High data of a text that is no SLS file, without its short forms; and mistakes in it."""
    high, errors = {}, []
    for ident, body in data.items():
        full = _expand_short(body) if isinstance(body, str) and "." in body else body
        if isinstance(full, (dict, Mapping)):
            full, found = _without_dots(ident, full, where)
            errors += found
            errors += [colon(ident, where, key) for key, run in full.items() if run is None]
        high[ident] = full
    return high, errors


def _without_dots(ident: object, body: Mapping[Any, Any], where: str) -> tuple[High, list[str]]:
    """``{"pkg.installed": [...]}`` as ``{"pkg": [..., "installed"]}``; and mistakes in it."""
    written = {
        key: value for key, value in body.items() if value is None or not _is_dotted(key)
    }  # ``test.nop:`` stays as it is: the check of high data tells it
    taken: set[str] = set()
    errors = []
    for key, value in body.items():
        if not _is_dotted(key):
            taken.add(key)
            continue
        module, _, function = key.partition(".")
        if value is None:
            continue
        if module in taken:
            errors.append(
                f"ID '{ident}' in {where} contains multiple state declarations of the same type"
            )
        else:
            taken.add(module)
            written[module] = [*value, function] if isinstance(value, list) else value
    return written, errors


def colon(ident: object, where: str, key: object) -> str:
    """Salt's sentence about a module or function that nothing is said to."""
    return (
        f"ID '{ident}' in {where} contains a short declaration ({key}) with a trailing "
        "colon. When not passing any arguments to a state, the colon must be omitted."
    )


def _is_dotted(key: object) -> bool:
    return isinstance(key, str) and "." in key and not key.startswith("_")


def _expand_short(text: str) -> High:
    module, _, function = text.partition(".")
    return {module: [function]}
