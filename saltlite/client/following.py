"""Listen to a job that was published before: what is on record first, then what still comes."""

from __future__ import annotations

from typing import Protocol

from saltlite.client.collect import JobRun, ReturnStore
from saltlite.client.jobs import JobClient
from saltlite.core.messages import PublishReply
from saltlite.runner_context import PublishedJob


class JobRecords(ReturnStore, Protocol):
    """What is needed of the job store."""

    def job(self, jid: str) -> PublishedJob | None:
        """One job, ``None`` if it is not known."""


def follow_job(
    client: JobClient, store: JobRecords, jid: str, timeout_s: float | None = None
) -> JobRun | None:
    """The job from its beginning; ``None`` if it is not on record.

    Raises:
        MasterAbsent: no master runs here.
        StoreError: the record cannot be read.
    """
    # Before the record is read: a return that comes in between is in one of the two.
    events = client.listen()
    try:
        job = store.job(jid)
        if job is None:
            events.close()
            return None
        run = client.follow(events, PublishReply(jid, list(job.minions)), timeout_s)
        run.recall(store)
        return run
    except BaseException:
        events.close()
        raise
