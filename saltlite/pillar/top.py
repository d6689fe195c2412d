"""Top files: which SLS of which environment are for this minion. Pure, but for the rendering.

``{environment: {target: [{match: kind}, {ignore_missing: true}, sls, ...]}}``. Of several top
files, a later one's list for a target takes the place of an earlier one's. Source: observed on
Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.targets import Target
from saltlite.errors import TargetError

DEFAULT_MATCH = "compound"


@dataclass(slots=True)
class TopPillars:
    """What is for a minion: environment → SLS names, each once, in order."""

    sls: dict[str, list[str]] = field(default_factory=dict)
    may_be_missing: set[tuple[str, str]] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)


def merge_tops(tops: Iterable[Mapping[str, object]]) -> dict[str, dict[str, list[Any]]]:
    """Several top files as one.

    Raises:
        ValueError: one is not formed as a top file.
    """
    joined: dict[str, dict[str, list[Any]]] = {}
    for top in tops:
        for saltenv, targets in top.items():
            if saltenv == "include":
                continue
            if not isinstance(targets, Mapping):
                raise ValueError(f"environment {saltenv} is no map of targets")
            for target, entries in targets.items():
                joined.setdefault(str(saltenv), {})[str(target)] = _as_list(entries)
    return joined


def show_top(top: Mapping[str, Mapping[str, Sequence[object]]]) -> dict[str, dict[str, list[Any]]]:
    """A top file as ``pillar.show_top`` tells it: of each target its kind, then its SLS, once."""
    return {
        saltenv: {target: _plain_entries(entries) for target, entries in targets.items()}
        for saltenv, targets in top.items()
    }


def _plain_entries(entries: Sequence[object]) -> list[Any]:
    kinds = [entry for entry in entries if isinstance(entry, Mapping) and "match" in entry]
    return [*kinds, *dict.fromkeys(entry for entry in entries if isinstance(entry, str))]


def _as_list(entries: object) -> list[Any]:
    if isinstance(entries, str):
        return [entries]
    if isinstance(entries, Sequence):
        return list(entries)
    raise ValueError(f"{entries!r} is no list of SLS names")


def find_wanted(
    top: Mapping[str, Mapping[str, Sequence[object]]],
    fits: Callable[[Target], bool],
    only: str | None = None,
) -> TopPillars:
    """The SLS of those targets that mean the minion; of one environment with ``only``.

    ``fits`` says so of one, and raises TargetError.
    """
    found = TopPillars()
    for saltenv, targets in top.items():
        if only is not None and saltenv != only:
            continue
        for target, entries in targets.items():
            try:
                meant = fits(Target(target, _kind_of(entries)))
            except TargetError as error:
                found.errors.append(f"top file, environment {saltenv}: {error}")
                continue
            if meant:
                _take_entries(found, saltenv, entries)
    return found


def _kind_of(entries: Sequence[object]) -> str:
    for entry in entries:
        if isinstance(entry, Mapping) and "match" in entry:
            return str(entry["match"])
    return DEFAULT_MATCH


def _take_entries(found: TopPillars, saltenv: str, entries: Sequence[object]) -> None:
    names = found.sls.setdefault(saltenv, [])
    lenient = any(isinstance(entry, Mapping) and entry.get("ignore_missing") for entry in entries)
    for entry in entries:
        if isinstance(entry, str) and entry not in names:
            names.append(entry)
        if isinstance(entry, str) and lenient:
            found.may_be_missing.add((saltenv, entry))
