"""Which minions are syndics: masters below this one, which speak for minions of their own.

Only with ``order_masters``, and only ids that the administrator has named in ``syndics``, or that
Salt has marked by a file in ``cachedir/syndics`` before this master took its place. A minion does
not become one by saying so: with real Salt it does. Source: docs/syndic.md;
docs/security.md#impersonation.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.config.master import SyndicOptions
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.errors import StoreError, TargetError

OF_SYNDIC: Final = "syndic"
"""In the kept load of a job: the syndic that told of it; it was not published here."""

_BY_ID: Final = ("glob", "list")

MARKERS: Final = "syndics"
"""In ``cachedir``: an empty file for each id. Source: Salt 3006 ``master.py``."""


def is_syndic(options: SyndicOptions, cachedir: Path, minion_id: str) -> bool:
    """Whether a minion may speak for others."""
    if not options.order_masters:
        return False
    if any(fnmatchcase(minion_id, pattern) for pattern in options.syndics):
        return True
    try:
        return disk.child(cachedir / MARKERS, minion_id).is_file()
    except (OSError, StoreError, ValueError):
        return False


def without_syndics(options: SyndicOptions, cachedir: Path, minions: list[str]) -> list[str]:
    """The minions that are no syndics; these are not waited for, since they run nothing."""
    if not options.order_masters:
        return minions
    try:
        marked = frozenset(one.name for one in (cachedir / MARKERS).iterdir())
    except OSError:
        marked = frozenset()
    patterns = options.syndics
    return [
        one
        for one in minions
        if one not in marked and not any(fnmatchcase(one, pattern) for pattern in patterns)
    ]


def is_meant(load: Mapping[str, Any], minion_id: str) -> bool:
    """Whether a job on record may mean a minion below: no, if ids tell that it does not."""
    tgt, tgt_type = load.get("tgt"), load.get("tgt_type", "glob")
    if OF_SYNDIC in load or tgt_type not in _BY_ID or not isinstance(tgt, (str, list)):
        return True
    try:
        return matches(Target(tgt, tgt_type), MinionFacts(minion_id, {}, {}))
    except TargetError:
        return False


def forget_marker(cachedir: Path, minion_id: str) -> None:
    """A key that goes takes the marker with it: who gets the id next is no syndic by that."""
    path = disk.child(cachedir / MARKERS, minion_id)
    if path.is_file():
        disk.remove(path)
