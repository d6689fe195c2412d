"""What was published of a job, for those who show or search jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.runner_context import PublishedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLoad:
    """The part of a load that is shown. ``None`` is what it does not say."""

    fun: Any = None
    arg: Any = ()
    tgt: Any = "unknown-target"
    tgt_type: str = "list"
    user: Any = "root"
    kwargs: Any = None
    metadata: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReturn:
    """What is on record of a minion's return."""

    value: Any = None
    retcode: Any = 0
    success: Any = True
    out: Any = None

    @property
    def is_good(self) -> bool:
        """Whether all of its functions succeeded."""
        codes = self.retcode.values() if isinstance(self.retcode, Mapping) else [self.retcode]
        said = self.success.values() if isinstance(self.success, Mapping) else [self.success]
        return not any(codes) and all(said)


def read_return(ret: Mapping[str, Any]) -> StoredReturn:
    """A return that is on record."""
    return read_fields(StoredReturn, {**ret, "value": ret.get("return")})


def read_load(job: PublishedJob) -> JobLoad:
    """The load of a job that is on record."""
    return load_of(job.load)


def load_of(load: Mapping[str, Any]) -> JobLoad:
    """A load as a value."""
    return read_fields(JobLoad, load)
