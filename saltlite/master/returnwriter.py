"""ReturnWriter: gives a database server what workers and EventReturn have put on disk for it.

One process for each returner of that kind that the configuration names. A thread does the writing,
so that a server that is slow, or a table that somebody has locked, stops no heartbeat.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Final

import zmq

from saltlite.config.master import MasterConfig
from saltlite.databases.drain import Pauses, drain
from saltlite.databases.returner import ServerReturner
from saltlite.databases.spool import Spool
from saltlite.errors import FunctionUnavailable, RecordRefused, ServerAway, StoreError
from saltlite.loader.returners import resolve
from saltlite.master.child import Life
from saltlite.master.job_mirror import Given

log = logging.getLogger(__name__)

LOOK_S: Final = 0.05
"""How often it is looked for something to write: the most that a record waits."""

CLEAN_S: Final = 3600.0
BROKEN_PAUSE_S: Final = 60.0
END_S: Final = 2.0
"""How long a write that has begun may take once the master stops; the rest waits on disk."""


def server_returners(config: MasterConfig, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that keep their records on a server."""
    return [name for name in dict.fromkeys(names) if _is_server(name, config)]


def _is_server(name: str, config: MasterConfig) -> bool:
    try:
        return resolve(name, Given(config)).server is not None
    except FunctionUnavailable as error:
        log.error("The returner %s: %s", name, error)
        return False


class ReturnWriter:
    """The process of one returner. ``run`` is its whole life."""

    def __init__(self, config: MasterConfig, name: str) -> None:
        self._config = config
        self._name = name
        self._stopping = threading.Event()
        self._cleans = config.jobs.master_job_cache == name
        self._next_clean_s = 0.0
        self._is_away = False

    def run(self, life: Life) -> None:
        """Write until told to stop."""
        poller = zmq.Poller()
        life.register(poller)
        # A daemon, or a server that hangs would keep the process from its end.
        thread = threading.Thread(target=self._write_always, daemon=True)
        thread.start()
        life.ready()
        while not life.stopping:
            life.poll(poller, 1.0)
        self._stopping.set()
        thread.join(END_S)

    def _write_always(self) -> None:
        returner: ServerReturner = resolve(self._name, Given(self._config)).server
        spools = returner.spools()  # kept open: the last who closes one has to flush it
        pauses = Pauses(random.random)
        while not self._stopping.is_set():
            self._stopping.wait(self._attempt(returner, spools, pauses))

    def _attempt(self, returner: ServerReturner, spools: Sequence[Spool], pauses: Pauses) -> float:
        """Write what waits; return how long to wait then."""
        try:
            self._write(returner, spools)
        except ServerAway as error:
            if not self._is_away:
                log.error("The server of the returner %s is away: %s", self._name, error)
            self._is_away = True
            return pauses.next_s()
        except StoreError as error:
            log.error("The returner %s: %s", self._name, error)
            return BROKEN_PAUSE_S
        except Exception:  # a thread that ends would leave a process that does nothing
            log.exception("The returner %s failed with what waits for its server", self._name)
            return BROKEN_PAUSE_S
        if self._is_away:
            log.info("The server of the returner %s is back", self._name)
        self._is_away = False
        pauses.reset()
        return LOOK_S

    def _write(self, returner: ServerReturner, spools: Sequence[Spool]) -> None:
        for spool in spools:
            if spool.count():
                drain(spool, returner.store(), goes_on=lambda: not self._stopping.is_set())
        if self._cleans and time.monotonic() >= self._next_clean_s:
            self._clean(returner)

    def _clean(self, returner: ServerReturner) -> None:
        # Also after a failure: the next try is in an hour.
        self._next_clean_s = time.monotonic() + CLEAN_S
        try:
            returner.clean_old_jobs()
        except RecordRefused as error:
            log.error("The returner %s cannot forget old jobs: %s", self._name, error)
