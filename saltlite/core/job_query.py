"""What to look for among the jobs on record, in whatever store they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from saltlite.core.dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JobQuery:
    """Which jobs; an empty field does not restrict.

    ``fun`` and ``tgt`` are exact names, or globs if they hold ``*``, ``?`` or ``[``. ``since`` and
    ``until`` are jids or their beginnings (``20260102``), both inclusive. ``metadata`` pairs must
    all be there.
    """

    fun: str = ""
    tgt: str = ""
    user: str = ""
    since: str = ""
    until: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    limit: int = 0
    newest_first: bool = False


ALL_JOBS: Final = JobQuery()
