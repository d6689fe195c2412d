"""Jobs that come after their time (the master's ``job_not_after``): not run, and told of.

A master that was away, or a clock that is off, brings many of them at once: one line tells of all
that came within ten seconds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from saltlite.core.messages import Job
from saltlite.core.rare_lines import RareLine

log = logging.getLogger(__name__)


class LateJobs:
    """What is late, and how many were not told of yet."""

    def __init__(
        self,
        wall_s: Callable[[], float] = time.time,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall_s = wall_s
        self._steady_s = steady_s
        self._line = RareLine()

    def refuse(self, job: Job) -> bool:
        """Whether the job has waited for us too long: who asked does not expect it any more."""
        late_s = 0.0 if job.not_after is None else self._wall_s() - job.not_after
        if late_s <= 0:
            return False
        more = self._line.count(self._steady_s())
        if more is not None:
            log.warning(
                "job %s (%s) is not run: it came %.0f s after its time (the master's "
                "job_not_after). If it was published just now, the clocks of master and minion "
                "differ%s",
                job.jid,
                ",".join(job.functions),
                late_s,
                more,
            )
        return True
