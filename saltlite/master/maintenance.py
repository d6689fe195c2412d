"""Maintenance: what has to be done now and then, and not by whoever answers requests.

The publication key is changed when it is old or somebody asks for it; old jobs, sessions without a
key and stale markers go; who is connected is announced. Each task is small, may be stopped
anywhere, and goes on where it was. Source: docs/wire.md#keys-that-change, #events;
docs/reliability.md#processes-die.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

import zmq

from saltlite import disk
from saltlite.core import tags
from saltlite.core.dataclasses import dataclass
from saltlite.core.plain import Plain
from saltlite.crypto.cipher import new_key_string
from saltlite.errors import StoreError
from saltlite.master.autosign import AutoSign
from saltlite.master.child import Life
from saltlite.master.context import Shared
from saltlite.master.embedded import SESSIONS_DIR
from saltlite.master.jobcache import jid_before
from saltlite.master.keystore import FOLDERS, KeyState
from saltlite.master.logintokens import LoginTokens
from saltlite.master.minioncache import BANKS
from saltlite.transport.bus import EVENTS_LINGER_MS, EventPusher

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
"""How often requests for another publication key, and keys that went, are looked for."""

CLOCK_STEP_S: Final = 60.0
"""The wall clock set back by more ends all sessions: old requests would look fresh again."""

REPORTS_S: Final = 600.0
LEFTOVER_AGE_S: Final = 3600.0
TOKENS_S: Final = 60.0
"""How often tokens that have expired are removed; none of them is good meanwhile."""

JOBS_SIZE_S: Final = 60.0
"""How often it is looked at: a busy hour may bring gigabytes."""


@dataclass(slots=True)
class Task:
    """Something to be done every ``every_s`` seconds.

    What is ``once`` is done by one of the masters that share the stores, the rest by each.
    """

    name: str
    every_s: float
    do: Callable[[], None]
    once: bool = False
    next_s: float = 0.0


class Maintenance:
    """The process that keeps house."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._stores = shared.stores()
        self._keys = self._stores.keys
        self._sessions = self._stores.sessions
        self._present: set[str] = set()
        self._accepted: frozenset[str] = frozenset()
        self._generation = shared.publication.current().generation
        # Changes only when somebody sets the wall clock.
        self._wall_minus_steady_s = time.time() - time.monotonic()

    def run(self, life: Life) -> None:
        """Do each task when it is due, until told to stop."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        config = self._shared.config
        self._events = EventPusher(self._shared.sockets.event_pull, context=context)
        self._publisher = self._stores.open_publisher(context)
        self._jobs = self._stores.open_jobs(flush=self._shared.flush)
        loop_s = max(config.process.loop_interval, 1.0)
        tasks = [
            Task("publication key", LOOK_S, self._look_after_key),
            Task("clock", LOOK_S, self._watch_clock),
            Task("presence", loop_s, self._announce_presence),
            Task("sessions", LOOK_S, self._drop_orphans),
            Task(
                "jobs",
                min(config.process.maintenance_interval, 3600.0),
                self._clean_jobs,
                once=True,
            ),
            Task("size of the job cache", JOBS_SIZE_S, self._shrink_job_cache, once=True),
            Task("reports", REPORTS_S, self._clean_reports, once=True),
            Task("leftovers", LEFTOVER_AGE_S, self._sweep_leftovers),
            Task("tokens", TOKENS_S, self._sweep_tokens),
        ]
        poller = zmq.Poller()
        life.register(poller)
        life.ready()
        try:
            while not life.stopping:
                self._do_due(tasks)
                due_s = min(task.next_s for task in tasks) - time.monotonic()
                life.poll(poller, max(0.01, due_s))
        finally:
            self._jobs.close()
            self._stores.reports.close()
            context.destroy(linger=EVENTS_LINGER_MS)

    def _do_due(self, tasks: list[Task]) -> None:
        for task in tasks:
            if task.next_s > time.monotonic():
                continue
            try:
                if not task.once or self._stores.chores.are_ours():
                    task.do()
            # A full disk or a damaged file: the chore is tried again when it is due next.
            except (StoreError, OSError) as error:
                log.error("Maintenance of %s: %s", task.name, error)
            # From its end, so that one that takes long leaves time for the others.
            task.next_s = time.monotonic() + task.every_s

    # --- the publication key -------------------------------------------------------------

    def _look_after_key(self) -> None:
        keys = self._shared.config.keys
        # The Publisher does so before each job; while there are none, nobody else would.
        self._shared.renew_publication_key()
        # Whoever changed it: announced from here alone, and so once.
        if self._shared.publication.current().generation != self._generation:
            self._tell_of_rotation("asked for")
        elif self._shared.publication.age_s(time.monotonic()) > keys.publish_session:
            self._rotate_key("old")

    def _rotate_key(self, why: str) -> None:
        """Change the key; where a cluster's engine is away, as soon as it is back."""
        if self._shared.publication.rotate_if(lambda: True, new_key_string, time.monotonic()):
            self._tell_of_rotation(why)

    def _tell_of_rotation(self, why: str) -> None:
        """Say that there is another key; the Publisher itself changes it when it is asked to."""
        self._generation = self._shared.publication.current().generation
        log.info("The publication key was changed (%s); it is number %d", why, self._generation)
        self._events.fire(tags.KEY_ROTATED, {"rotate_aes_key": True})
        if self._shared.config.keys.ping_on_rotate:
            self._ping_all()

    def _ping_all(self) -> None:
        """A job for all, so that they notice the new key now."""
        jid = self._shared.jids.next(datetime.now(timezone.utc))
        job: dict[str, Plain] = {
            "fun": "test.ping",
            "arg": [],
            "tgt": "*",
            "jid": jid,
            "ret": "",
            "tgt_type": "glob",
            "user": self._shared.user,
        }
        lifetime_s = self._shared.config.jobs.job_not_after
        if lifetime_s:
            job["not_after"] = int(time.time()) + lifetime_s
        # On record first: a return to a job that is not there is refused.
        self._jobs.new_job(jid, {"cmd": "publish", **job}, self._keys.list(KeyState.ACCEPTED))
        self._publisher.publish(job, [b"broadcast"])

    # --- the rest ------------------------------------------------------------------------

    def _watch_clock(self) -> None:
        offset_s = time.time() - time.monotonic()
        if offset_s < self._wall_minus_steady_s - CLOCK_STEP_S:
            log.warning(
                "The clock was set back by %.0f s; all minions authenticate again",
                self._wall_minus_steady_s - offset_s,
            )
            self._sessions.clear()
        self._wall_minus_steady_s = offset_s

    def _announce_presence(self) -> None:
        if not self._shared.config.events.presence_events:
            return
        now = set(self._stores.presence.find_connected(self._keys.ids(KeyState.ACCEPTED)))
        self._events.fire(tags.PRESENT, {"present": sorted(now)})
        if now != self._present:
            new, lost = sorted(now - self._present), sorted(self._present - now)
            self._events.fire(tags.PRESENCE_CHANGE, {"new": new, "lost": lost})
            self._present = now

    def _drop_orphans(self) -> None:
        """End the sessions of ids that are not accepted any more, whoever moved their keys.

        ``salt-key`` has seen to all this itself; here are the files that went by other hands.
        """
        if self._keys.ids(KeyState.ACCEPTED) is self._accepted:
            return  # the directory has not changed since the last look
        # Sessions first: one that is made after this has a key that is accepted by then.
        with_session = self._sessions.ids()
        accepted = self._keys.ids(KeyState.ACCEPTED)
        ended = [one for one in with_session if one not in accepted and self._end_orphan(one)]
        self._accepted = accepted
        if ended and self._shared.config.keys.rotate_aes_key:
            self._rotate_key("a key went")

    def _end_orphan(self, minion_id: str) -> bool:
        """End the session of an id without an accepted key, unless somebody else has done so."""
        # A sign-in may be about to file this id's key and make its session.
        with self._keys.hold(minion_id):
            if self._keys.has(minion_id, KeyState.ACCEPTED):
                return False
            if not self._sessions.delete(minion_id):
                return False
        log.info("The session of minion %s ends: its key is not accepted", minion_id)
        return True

    def _clean_jobs(self) -> None:
        jobs = self._shared.config.jobs
        gone = 0
        if jobs.keep_jobs_seconds:
            gone = self._jobs.clean(jid_before(datetime.now(timezone.utc), jobs.keep_jobs_seconds))
        if jobs.job_cache_max:
            gone += self._jobs.clean_to(jobs.job_cache_max)
        if gone:
            log.info("Forgot %d old jobs", gone)
            self._jobs.checkpoint()

    def _shrink_job_cache(self) -> None:
        most = self._shared.config.jobs.job_cache_max_bytes
        gone = self._jobs.clean_to_bytes(most) if most else 0
        if gone:
            log.warning("Forgot the %d oldest jobs: job_cache_max_bytes is %d", gone, most)
            self._jobs.checkpoint()

    def _clean_reports(self) -> None:
        """Forget old reports, also where none are kept any more."""
        options, reports = self._shared.config.jobs, self._stores.reports
        gone = 0
        if options.state_reports_keep:
            gone = reports.clean(time.time() - options.state_reports_keep * 3600)
        if options.state_reports_max_bytes:
            gone += reports.clean_to_bytes(options.state_reports_max_bytes)
        if gone:
            log.info("Forgot the reports of %d old runs of states", gone)
            reports.checkpoint()

    def _sweep_tokens(self) -> None:
        LoginTokens(Path(self._shared.config.paths.token_dir)).sweep(time.time())

    def _sweep_leftovers(self) -> None:
        """Markers that are too old, and what a killed process left half written."""
        AutoSign(self._shared.config.keys, self._shared.pki_dir).sweep(time.time())
        for name in ("", SESSIONS_DIR, *BANKS):
            remove_leftovers(self._shared.cachedir / name)
        for name in FOLDERS.values():
            remove_leftovers(self._shared.pki_dir / name)


def remove_leftovers(directory: Path) -> None:
    """Temporary files of ``disk.write_file`` that are older than an hour."""
    for entry, status in disk.entries_of(directory):
        if not (entry.name.startswith(".") and entry.name.endswith(".tmp")):
            continue
        if time.time() - status.st_mtime > LEFTOVER_AGE_S:
            disk.remove(Path(entry.path))
