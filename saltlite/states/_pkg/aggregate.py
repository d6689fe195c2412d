"""Several states of packages as one: the one that comes first names what all of them want.

Pure. Unlike Salt's, it keeps what the first one wants itself, and takes over only what is to be
installed in the same way and hangs on no condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.highstate.requisites import OWN

FUNCTIONS = frozenset({"installed", "latest", "removed", "purged"})
CONDITIONS = frozenset({"onlyif", "unless", "creates", "check_cmd"})
PACKAGES, FILES = "pkgs", "sources"
_WHAT = frozenset({"name", "version", "refresh", PACKAGES, FILES})


def aggregate(low: Mapping[str, object], chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The chunk ``low`` with the packages of others, which get ``__agg__``."""
    kind, wanted = _packages_of(low)
    joined = dict(low)
    if low["fun"] not in FUNCTIONS:
        return joined
    for chunk in chunks:
        if _is_same(chunk, low) or chunk.get("__agg__") or not _fits_chunk(chunk, low):
            continue
        other_kind, others = _packages_of(chunk)
        if other_kind != kind or any(
            wanted.get(name, wish) != wish for name, wish in others.items()
        ):
            continue
        wanted |= others
        chunk["__agg__"] = True
        joined[kind] = [name if wish is None else {name: wish} for name, wish in wanted.items()]
        if chunk.get("refresh"):
            joined["refresh"] = True
    if kind in joined:
        joined.pop("version", None)
    return joined


def _is_same(chunk: Mapping[str, object], low: Mapping[str, object]) -> bool:
    return all(chunk.get(key) == low.get(key) for key in ("__id__", "name", "state", "fun"))


def _fits_chunk(chunk: Mapping[str, object], low: Mapping[str, object]) -> bool:
    """Whether the same command can do both."""
    if chunk.get("aggregate") is False or CONDITIONS.intersection(chunk):
        return False
    if (chunk["state"], chunk["fun"]) != (low["state"], low["fun"]):
        return False
    return _options_of(chunk) == _options_of(low)


def _options_of(chunk: Mapping[str, object]) -> dict[str, Any]:
    return {
        key: value
        for key, value in chunk.items()
        if key not in OWN and key not in _WHAT and key != "name_order"
    }


def _packages_of(chunk: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """``pkgs`` or ``sources``, and what is wanted of it: a version or a file for each name."""
    kind = FILES if chunk.get(FILES) else PACKAGES
    listed = chunk.get(kind)
    if not listed:
        version = chunk.get("version")
        return kind, {str(chunk["name"]): None if version in (None, "") else str(version)}
    found: dict[str, Any] = {}
    for each in listed if isinstance(listed, list) else [listed]:
        found |= each if isinstance(each, Mapping) else {str(each): None}
    return kind, found
