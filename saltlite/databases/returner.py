"""A returner whose records a server keeps: the interface of returners over a spool and a store.

A returner of this kind is a file with ``make_server(ctx)`` and, where its server has tables, their
``SCHEMA``. Writing goes to the spool; then whoever may wait for a server gives it what is there.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.jid import new_jid
from saltlite.databases.drain import Store, drain
from saltlite.databases.records import EventRecord, LoadRecord, Record, ReturnRecord
from saltlite.databases.spool import EVENTS_LIMIT, Spool
from saltlite.errors import ServerAway
from saltlite.jobs.entries import job_entry
from saltlite.jobs.returner_context import ReturnerContext, options
from saltlite.jobs.stored import ReturnerJob

log = logging.getLogger(__name__)

MINIONS_KEEP_S = 86400.0
"""How long Redis keeps what a minion sends: the default of ``keep_jobs_seconds``."""

TOLD = ("ret_config", "ret_kwargs")
"""What a job may say of the destination of its returns."""

OWN_WRITES_S = 1.0
"""A reader waits so long for what is on its way to the server."""

LOOK_S = 0.01

EVENTS = "-events"
"""Events wait in a file of their own, so that a flood of them drops no return."""


class ReadableStore(Store, Protocol):
    """A store that can be read as well."""

    def load(self, jid: str) -> dict[str, Any] | None:
        """A job."""

    def returns(self, jid: str) -> dict[str, Any]:
        """Minion id → return of one job."""

    def last_of(self, fun: str) -> dict[str, Any]:
        """Minion id → newest return of a function."""

    def loads(self) -> dict[str, dict[str, Any]]:
        """Jid → job."""

    def minions(self) -> list[str]:
        """Ids that returned something."""


@dataclass(slots=True)
class ServerReturner:
    """One returner for one process.

    ``read_options`` takes a return's ``ret_config`` and ``ret_kwargs``. ``writes_later``: somebody
    else takes out of the spool, as on a master, where no request waits for a server.

    ``on_kept`` is called when records are on disk, before the server is tried.
    """

    name: str
    open_store: Callable[[Mapping[str, Any], float], ReadableStore]
    read_options: Callable[[Mapping[str, Any] | None], dict[str, Any]]
    cachedir: Path
    read_master_id: Callable[[], str]
    keep_s: float
    archive: bool
    writes_later: bool
    on_kept: Callable[[], None] = lambda: None
    _store: ReadableStore | None = field(default=None, init=False)
    _open_spools: list[Spool] | None = field(default=None, init=False)

    # --- what a returner does ------------------------------------------------------------

    def returner(self, ret: Mapping[str, object]) -> None:
        """Keep one return; a minion's own, of no job, becomes a job."""
        told = {name: ret[name] for name in TOLD if ret.get(name)}
        plain = {name: value for name, value in ret.items() if name not in told}
        records: list[Record] = []
        if plain.get("jid") == "req":
            # The jid is made here: what is written twice must have the same.
            jid = new_jid(datetime.now(timezone.utc), None)
            records.append(LoadRecord(jid, dict(plain)))
            plain["jid"] = jid
        # On a master a return says nothing of where it goes: a minion has written it.
        self._keep([*records, ReturnRecord(plain)], {} if self.writes_later else told)

    def save_load(
        self, jid: str, load: Mapping[str, object], minions: Sequence[str] | None = None
    ) -> None:
        """Keep a job."""
        del minions
        self._keep([LoadRecord(jid, dict(load))], {})

    def save_minions(self, jid: str, minions: Sequence[str], syndic_id: str | None = None) -> None:
        """Do nothing: the tables have no place for it."""

    def event_return(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Keep events."""
        master_id = self.read_master_id()  # only a master has events to keep
        self._keep([EventRecord(one["tag"], one["data"], master_id) for one in events], {})

    def get_load(self, jid: str) -> dict[str, Any] | None:
        """A job, ``None`` for one that is not known."""
        return self._readable().load(jid)

    def get_jid(self, jid: str) -> dict[str, Any]:
        """Minion id → its whole return."""
        return self._readable().returns(jid)

    def get_fun(self, fun: str) -> dict[str, Any]:
        """Minion id → its newest return of a function."""
        return self._readable().last_of(fun)

    def get_jids(self) -> dict[str, dict[str, Any]]:
        """Jid → what ``jobs.list_jobs`` shows of a job."""
        return {jid: job_entry(ReturnerJob(jid, load)) for jid, load in self.get_loads().items()}

    def get_loads(self) -> dict[str, dict[str, Any]]:
        """Jid → what was published, with the minions who were asked."""
        return self._readable().loads()

    def get_minions(self) -> list[str]:
        """The ids that returned something."""
        return self._readable().minions()

    def clean_old_jobs(self) -> None:
        """Forget what is older than ``keep_jobs_seconds``; 0 keeps everything."""
        if self.keep_s > 0:
            self.store().clean(time.time() - self.keep_s, archive=self.archive)

    def prep_jid(self, nocache: bool = False, passed_jid: str | None = None) -> str | None:
        """The jid that was passed; ``None`` leaves it to the master."""
        del nocache
        return passed_jid

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of the interface by name."""
        found = (
            self.returner, self.save_load, self.save_minions, self.event_return, self.get_load,
            self.get_jid, self.get_fun, self.get_jids, self.get_minions, self.clean_old_jobs,
            self.prep_jid,
        )  # fmt: skip
        return {one.__name__: one for one in found}

    # --- spool and store -----------------------------------------------------------------

    def spools(self) -> list[Spool]:
        """Return the spools of the destination that the configuration names."""
        events = Spool(self.cachedir, f"{self.name}{EVENTS}", limit=EVENTS_LIMIT)
        return [Spool(self.cachedir, self.name), events]

    def _readable(self) -> ReadableStore:
        """The connection, once what was given to the spool a moment ago has arrived."""
        spool, _events = self.spools()
        end_s = time.monotonic() + OWN_WRITES_S
        try:
            while spool.count() and time.monotonic() < end_s:
                time.sleep(LOOK_S)
        finally:
            spool.close()
        return self.store()

    def store(self) -> ReadableStore:
        """Return the connection of this process."""
        if self._store is None:
            self._store = self.open_store(self.read_options(None), self.keep_s)
        return self._store

    def drain_again(self, spool_name: str) -> None:
        """Try once more to give the server what waits in a spool of this returner."""
        spool = Spool(self.cachedir, spool_name)
        target = spool.target()
        try:
            self._drain(spool, self.store() if target is None else self._open_target(target))
        finally:
            spool.close()

    def _open_target(self, options: Mapping[str, object]) -> ReadableStore:
        return self.open_store(options, self.keep_s)

    def _keep(self, records: Sequence[Record], told: Mapping[str, object]) -> None:
        if not records:
            return
        if self.writes_later:
            self._spool_for(records).put(records)
            return
        options = self.read_options(told or None)
        elsewhere = bool(told) and options != self.read_options(None)
        spool = self._spool_for(records)
        if elsewhere:
            spool = Spool(self.cachedir, f"{self.name}-{_digest(options)}")
        try:
            if elsewhere:
                spool.remember_target(options)
            spool.put(records)
            spool.mark(waits=True)  # for whoever comes after, if this process is killed now
            self.on_kept()
            self._drain(spool, self._open_target(options) if elsewhere else self.store())
        finally:
            spool.close()

    def _spool_for(self, records: Sequence[Record]) -> Spool:
        """Events wait apart. Whoever puts many in, as a worker does, has the file open."""
        if self._open_spools is None:
            self._open_spools = self.spools()
        returns, events = self._open_spools
        return events if isinstance(records[0], EventRecord) else returns

    def _drain(self, spool: Spool, store: ReadableStore) -> None:
        try:
            drain(spool, store)
            spool.mark(waits=spool.count() > 0)  # somebody else may be at it, and fail
        except ServerAway as error:
            spool.mark(waits=True)
            log.warning(
                "The server of the returner %s is away; %d records wait for it: %s",
                self.name, spool.count(), error,
            )  # fmt: skip
        finally:
            store.close()


def make_returner(
    ctx: ReturnerContext,
    name: str,
    open_store: Callable[[Mapping[str, Any], float], ReadableStore],
    defaults: Mapping[str, object],
    *,
    prefix: str = "",
) -> ServerReturner:
    """Return the returner ``name`` for a minion, a runner or a master.

    ``defaults`` are its options, which the configuration has after ``prefix`` and the name.
    """
    config = ctx.config
    jobs = getattr(config, "jobs", None)  # a minion's configuration has none
    return ServerReturner(
        name=name,
        open_store=open_store,
        read_options=lambda ret: options(ctx, f"{prefix}{name}", ret, defaults),
        cachedir=Path(config.paths.cachedir),
        read_master_id=lambda: str(config.process.id),
        keep_s=float(jobs.keep_jobs_seconds) if jobs is not None else MINIONS_KEEP_S,
        archive=bool(config.extra.get("archive_jobs", False)),
        writes_later=bool(getattr(ctx, "writes_later", False)),
    )


def _digest(options: Mapping[str, object]) -> str:
    """A name for a destination that tells nothing of it."""
    text = json.dumps(options, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
