"""``check.*``: what a change to the master's files would do, before it reaches a host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.core.data import DELIMITER
from saltlite.errors import SaltliteError
from saltlite.runner_context import RunnerContext

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.pillar.compiler import Layer

ERRORS: Final = "_errors"

LARGEST_BYTES: Final = 1024 * 1024

UNQUOTED: Final = (
    "a grain becomes part of YAML as it is, so a minion can add keys to its pillar with it; "
    "put | yaml_encode or | json behind it"
)

_NOTHING: Final = object()


def pillar(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    pillarenv: str | None = None,
    show_values: bool = False,
) -> dict[str, Any]:
    """Compile the pillar of all minions with accepted keys, from the grains that are cached.

    Return every error once, with file and line and the minions that it concerns; and, of those
    without errors, which keys differ from the pillar they were given last. Values are shown only
    with ``show_values``, and so are the lines around an error. Warnings name the lines where a
    grain becomes part of YAML unquoted, and keys that no file below ``file_roots`` reads, or only
    under a name that is one letter apart; or the first file that may read any key, so that none is
    called unused. The exit code is 1 if there are errors. Nothing is sent to any minion.

    tgt
        Only these minions.

    CLI Example:

        salt-run check.pillar
        salt-run check.pillar 'os:Debian' tgt_type=grain show_values=True
    """
    from saltlite.pillar.context import check_for_minion
    from saltlite.pillar.unread import Findings

    minions = ctx.cached(tgt, tgt_type)
    if not minions:
        raise SaltliteError(f"check.pillar: no minion with an accepted key fits {tgt!r}")
    report = _Report(show_values=show_values)
    report.warnings = list(_find_unquoted_grains(ctx.config))
    unread = Findings(ctx.config)
    for minion in sorted(minions):
        grains = ctx.cache.fetch("grains", minion)
        if not isinstance(grains, Mapping):
            report.without_grains.append(minion)
            continue
        known = {**grains, "id": minion}
        layers: list[Layer] = []
        compiled, problems = check_for_minion(
            ctx.config, minion, known, pillarenv=pillarenv, layers=layers
        )
        report.checked.append(minion)
        for problem in problems:
            report.add_error(problem.text, problem.excerpt, minion)
        if not problems:
            report.compare(ctx.cache.fetch("pillar", minion), compiled, minion)
            unread.add(compiled, layers)
    report.warnings.extend(unread.lines())
    report.unknown = unread.unknown
    return report.as_map()


def reactor(ctx: RunnerContext) -> dict[str, Any]:
    """Look at the entries of ``reactor`` and at their files, without an event.

    Return the number of entries and what is wrong, with file and line: entries of another form, and
    files that are not there. Warnings name the lines where what an event says becomes part of YAML
    unquoted. The exit code is 1 if there are errors.

    CLI Example:

        salt-run check.reactor
    """
    if ctx.reactor is None:
        raise SaltliteError("check.reactor: there is no master's configuration here")
    return ctx.reactor().check()


def _find_unquoted_grains(config: MasterConfig) -> Iterator[str]:
    """A line for each place of the pillar's files where a minion's word becomes YAML."""
    from saltlite.templates.pipe import pipe
    from saltlite.templates.unquoted import find_unquoted

    for path in _pillar_files(config):
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeError):  # told as an error, where it is rendered
            continue
        stages = {stage.name for stage in pipe(text, config.files.renderer)}
        if not {"jinja", "yaml"} <= stages:
            continue
        for line in find_unquoted(text):
            yield f"{path}:{line}: {UNQUOTED}"


def _pillar_files(config: MasterConfig) -> Iterator[Path]:
    seen: set[Path] = set()
    for roots in config.pillar.pillar_roots.values():
        for root in roots:
            for path in sorted(Path(root).rglob("*.sls")):
                if path not in seen and path.is_file() and path.stat().st_size <= LARGEST_BYTES:
                    seen.add(path)
                    yield path


class _Report:
    """What was found, grouped: equal things of many minions are one."""

    def __init__(self, *, show_values: bool) -> None:
        self._show_values = show_values
        self.checked: list[str] = []
        self.without_grains: list[str] = []
        self.warnings: list[str] = []
        self.unknown = ""
        self._without_pillar: list[str] = []
        self._errors: dict[str, dict[str, Any]] = {}
        self._changes: list[dict[str, Any]] = []

    def add_error(self, text: str, excerpt: str, minion: str) -> None:
        """Note an error of a minion's pillar."""
        entry = self._errors.setdefault(text, {"error": text, "minions": []})
        if excerpt and self._show_values:
            entry["lines"] = excerpt
        if minion not in entry["minions"]:
            entry["minions"].append(minion)

    def compare(self, before: object, after: Mapping[str, object], minion: str) -> None:
        """Note what differs between the pillar that a minion has and the one it would get."""
        if not isinstance(before, Mapping):
            self._without_pillar.append(minion)
            return
        changes = self._group_differences(before, after)
        if not changes:
            return
        for known in self._changes:
            if {key: known[key] for key in known if key != "minions"} == changes:
                known["minions"].append(minion)
                return
        self._changes.append({"minions": [minion], **changes})

    def _group_differences(
        self, before: Mapping[str, object], after: Mapping[str, object]
    ) -> dict[str, Any]:
        kinds: dict[str, dict[str, Any]] = {"added": {}, "changed": {}, "removed": {}}
        old_map = {key: value for key, value in before.items() if key != ERRORS}
        for key, old, new in _compare_pillars(old_map, after):
            if old is _NOTHING:
                kinds["added"][key] = new
            elif new is _NOTHING:
                kinds["removed"][key] = old
            else:
                kinds["changed"][key] = {"old": old, "new": new}
        return {
            kind: found if self._show_values else sorted(found)
            for kind, found in kinds.items()
            if found
        }

    def as_map(self) -> dict[str, Any]:
        """The whole, as it is returned."""
        found: dict[str, Any] = {
            "checked": len(self.checked),
            "errors": list(self._errors.values()),
            "changes": self._changes,
        }
        if self.warnings:
            found["warnings"] = self.warnings
        if self.unknown:
            found["unused keys cannot be told"] = self.unknown
        if self.without_grains:
            found["without cached grains, not checked"] = self.without_grains
        if self._without_pillar:
            found["without cached pillar, not compared"] = self._without_pillar
        return {**found, "retcode": 1 if self._errors else 0}


def _compare_pillars(
    before: Mapping[Any, Any], after: Mapping[Any, Any], way: Sequence[str] = ()
) -> Iterator[tuple[str, Any, Any]]:
    """``a:b``, the old and the new value, for each that differs; lists count as one value."""
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, _NOTHING), after.get(key, _NOTHING)
        here = [*way, str(key)]
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _compare_pillars(old, new, here)
        elif not _is_same(old, new):
            yield DELIMITER.join(here), old, new


def _is_same(old: object, new: object) -> bool:
    """Whether both are the same on the wire: a tuple is a list there, ``1`` is not ``True``."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(_is_same(old[key], new[key]) for key in old)
    if isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        return len(old) == len(new) and all(map(_is_same, old, new))
    return isinstance(old, bool) is isinstance(new, bool) and bool(old == new)
