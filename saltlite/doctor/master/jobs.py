"""The job store: how many jobs, how old, how large, how fast they come."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.jid import jid_time
from saltlite.doctor.finding import Finding, error, note, warning
from saltlite.doctor.master.facts import MasterFacts

NAME: Final = "jobs"
ABOUT: Final = "jobs on record against `keep_jobs_seconds` and `job_cache_max`, and their rate"
LIMIT_S: Final = 30.0

FILE_NAME: Final = "jobs.sqlite"
FAST_PER_MINUTE: Final = 120
OVERDUE_S: Final = 6 * 3600.0
"""So much older than it may get a job is before it is said: cleaning is not done every second."""

TABLE_MARK: Final = "no such table"


@dataclass(frozen=True, slots=True)
class JobNumbers:
    """What is on record. Jids are ``""`` where nothing is; ``lately`` are jobs by function."""

    count: int
    oldest: str
    lately: Sequence[tuple[str, int]]


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at the file; a cluster's jobs are in PostgreSQL, and not looked at."""
    cachedir = facts.config.paths.cachedir
    for name in facts.machine.list_files(cachedir):
        if name.startswith(f"{FILE_NAME}.corrupt-") and not name.endswith(("-wal", "-shm")):
            path = os.path.join(cachedir, name)
            what = "a job store was damaged, and put aside; a new one was begun"
            yield note(what, path, f"rm {path}*")
    if facts.config.cluster.cluster_id:
        return
    path = os.path.join(cachedir, FILE_NAME)
    now = datetime.fromtimestamp(facts.machine.now_s(), timezone.utc)
    try:
        numbers = read_numbers(path, _jid_of(now - timedelta(minutes=10)))
    except sqlite3.Error as wrong:
        yield error(
            f"the job store cannot be read: {wrong}",
            path,
            "restart the master, which puts a damaged one aside and begins another",
        )
        return
    if numbers is not None:
        yield from judge_numbers(facts, path, numbers, now)


def judge_numbers(
    facts: MasterFacts, path: str, numbers: JobNumbers, now: datetime
) -> Iterator[Finding]:
    """Hold what is on record against what the configuration allows."""
    jobs = facts.config.jobs
    if jobs.job_cache_max and numbers.count >= jobs.job_cache_max * 0.95:
        yield note(
            f"{numbers.count} jobs are on record, job_cache_max is {jobs.job_cache_max}: the "
            "oldest go before keep_jobs_seconds is over",
            path,
            "a larger job_cache_max, or fewer jobs",
        )
    age_s = _age_s(numbers.oldest, now)
    if age_s is not None and jobs.keep_jobs_seconds and age_s > jobs.keep_jobs_seconds + OVERDUE_S:
        yield warning(
            f"the oldest job is {age_s / 3600:.0f} h old, keep_jobs_seconds is "
            f"{jobs.keep_jobs_seconds / 3600:.0f} h: nobody cleans",
            path,
            "a master that runs cleans within the hour; tail its log for errors of Maintenance",
        )
    lately = sum(count for _fun, count in numbers.lately)
    if lately > FAST_PER_MINUTE * 10:
        top = ", ".join(f"{fun} {count}" for fun, count in numbers.lately[:3])
        yield warning(
            f"{lately} jobs in the last ten minutes: {top}",
            path,
            "salt-run jobs.list_jobs names who publishes them; a schedule is cheaper than a loop",
        )


def read_numbers(path: str, since: str) -> JobNumbers | None:
    """Read the file without writing one beside it; ``None`` where there is none.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    if not os.path.exists(path):
        return None
    # With a master beside it its own index of the log is there. Without one SQLite would make it,
    # unless it may take for granted that nobody writes.
    alone = not os.path.exists(f"{path}-shm")
    uri = f"{Path(path).absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    with closing(sqlite3.connect(uri, uri=True, timeout=5)) as db:
        try:
            count, oldest = db.execute("SELECT count(*), min(jid) FROM jobs").fetchone()
            lately = db.execute(
                "SELECT fun, count(*) FROM jobs WHERE jid >= ? GROUP BY fun ORDER BY 2 DESC",
                (since,),
            ).fetchall()
        except sqlite3.OperationalError as wrong:
            if TABLE_MARK in str(wrong):  # one that was made and never used
                return None
            raise
    return JobNumbers(count, oldest or "", [(str(fun), number) for fun, number in lately])


def _jid_of(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S%f")


def _age_s(jid: str, now: datetime) -> float | None:
    try:
        return (now - jid_time(jid).replace(tzinfo=timezone.utc)).total_seconds()
    except ValueError:
        return None
