"""What is known of minions, and runners' banks, in a cluster: the table ``banks``.

Each node has a copy in files, those of a single master: targeting, pillar and the mine read them,
also while the engine is away. A change is made in the table first, under a lock that holds for all
nodes, then here; the bridge brings what others have changed. What is forgotten leaves a row without
data, for nodes that were away. Source: docs/cluster.md#facts.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.cluster.engine import ClusterEngine, Transaction, fetch, lock_name
from saltlite.cluster.gone import find_place
from saltlite.cluster.keys import BUSY_S
from saltlite.core.datalimits import MINE_LIMIT, MINE_NAMES_LIMIT
from saltlite.core.ids import valid_minion_id
from saltlite.core.plain import Plain
from saltlite.core.targets import MinionFacts
from saltlite.errors import ServerAway, StoreError, WireError
from saltlite.master.datacache import DataCache
from saltlite.master.minioncache import BANKS, COMPILED, MINE, MinionCache
from saltlite.transport.codec import pack_bin, unpack_bin

log = logging.getLogger(__name__)

MINION_LOCKS: Final = 0x5A17_0012
"""Advisory locks, one for each minion, by its checksum."""

ROWS_AT_ONCE: Final = 200
"""Each may be of some hundred kilobytes."""

PLACE: Final = ".cluster_banks"
"""In ``cachedir``: how far the copy is."""


class ClusterFacts:
    """Facts of all nodes, for one process; fulfils ``master.stores.FactStore``."""

    def __init__(
        self, engine: ClusterEngine, copy: MinionCache, *, shares_pillar: bool = True
    ) -> None:
        """``shares_pillar``: compiled pillar and minions' pillar are shared too."""
        self._engine = engine
        self._copy = copy
        self._own = frozenset[str]() if shares_pillar else frozenset({"pillar", COMPILED})
        self._held: Transaction | None = None

    # --- looks: the copy -------------------------------------------------------------------------

    def read(self, bank: str, minion_id: str) -> dict[str, Any] | None:
        """What is kept; ``None`` for nothing."""
        return self._copy.read(bank, minion_id)

    def facts(
        self, minion_ids: Iterable[str], *, grains: bool = True, pillar: bool = True
    ) -> Iterator[MinionFacts]:
        """What targeting may know of these minions."""
        return self._copy.facts(minion_ids, grains=grains, pillar=pillar)

    def ids(self, bank: str) -> list[str]:
        """The minions of which this bank knows something."""
        return self._copy.ids(bank)

    # --- changes ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def hold_lock(self, minion_id: str) -> Iterator[None]:
        """Nobody on any node changes anything of this minion meanwhile; what is done is one step.

        While the engine is away it is only this node that knows of the changes: a minion tells the
        same again.
        """
        with self._copy.hold_lock(minion_id), contextlib.ExitStack() as stack:
            try:
                transaction = stack.enter_context(self._engine.begin())
                lock_name(transaction, MINION_LOCKS, minion_id)
            except ServerAway as error:
                log.debug("Facts of minion %s are kept on this node alone: %s", minion_id, error)
                stack.close()
                transaction = None
            self._held = transaction
            try:
                yield
            finally:
                self._held = None

    def update(
        self,
        bank: str,
        minion_id: str,
        change: Callable[[dict[str, Any]], Mapping[str, Plain] | None],
    ) -> bool:
        """Replace what is kept by what ``change`` makes of it; ``None`` leaves it.

        Raises:
            StoreError: the engine is away, or does not take it.
        """
        if bank in self._own:
            return self._copy.update(bank, minion_id, change)
        _check_place(bank, minion_id)
        with self._copy.hold_lock(minion_id):
            value, is_changed = self._engine.transact(
                lambda one: _update_row(one, bank, minion_id, change)
            )
            if value is not None:
                self._copy.write(bank, minion_id, value)
        return is_changed

    def write_newest(
        self, bank: str, minion_id: str, value: Mapping[str, Plain], asked_ns: int, now_ns: int
    ) -> bool:
        """Replace what is kept unless it answers a later question; in :meth:`hold_lock`."""
        transaction = self._held
        if bank not in self._own and transaction is not None:
            data = _pack_value(bank, minion_id, value)
            rows = fetch(
                transaction,
                "SELECT asked, data FROM banks WHERE bank = %s AND id = %s",
                [bank, minion_id],
            )
            if rows and (asked_ns < rows[0][0] <= now_ns or bytes(rows[0][1]) == data):
                return False
            _write_row(transaction, bank, minion_id, data, asked_ns)
        return self._copy.write_newest(bank, minion_id, value, asked_ns, now_ns) or (
            bank not in self._own and transaction is not None
        )

    def delete(self, minion_id: str, bank: str) -> None:
        """Forget one bank of a minion."""
        _check_place(bank, minion_id)
        if bank not in self._own:
            with self._copy.hold_lock(minion_id):
                self._engine.transact(lambda one: _forget_row(one, bank, minion_id))
        self._copy.delete(minion_id, bank)

    def forget(self, minion_id: str) -> None:
        """Forget a minion; its pushed files are those of this node."""
        for bank in BANKS:
            self.delete(minion_id, bank)
        self._copy.forget(minion_id)


class ClusterBanks:
    """Banks of all nodes, for runners; fulfils ``runner_context.Cache``."""

    def __init__(self, engine: ClusterEngine, copy: DataCache) -> None:
        self._engine = engine
        self._copy = copy

    def fetch(self, bank: str, key: str) -> Any:
        """What is kept, ``None`` for nothing; ValueError for a name that may not be."""
        return self._copy.fetch(bank, key)

    def store(self, bank: str, key: str, data: object) -> None:
        """Replace what is kept."""
        self._copy.mtime_s(bank, key)  # the names may be
        packed = _pack_value(bank, key, data)

        def write(transaction: Transaction) -> None:
            lock_name(transaction, MINION_LOCKS, key)
            _write_row(transaction, bank, key, packed, 0)

        self._engine.transact(write)
        self._copy.store(bank, key, data)

    def drop(self, bank: str, key: str, name: str) -> None:
        """Take one entry out of a map, in one step."""
        self._copy.mtime_s(bank, key)

        def without(kept: dict[str, Any]) -> dict[str, Any] | None:
            return kept if kept.pop(name, _NOTHING) is not _NOTHING else None

        self._engine.transact(lambda one: _update_row(one, bank, key, without))
        self._copy.drop(bank, key, name)

    def flush(self, bank: str, key: str | None = None) -> bool:
        """Forget one key of a bank, or all of them; whether there was anything."""
        found = False
        for one in self._copy.list(bank) if key is None else [key]:
            self._copy.mtime_s(bank, one)
            found |= self._engine.transact(partial(_forget_row, bank=bank, minion_id=one))
            found |= self._copy.flush(bank, one)
        return found

    def list(self, bank: str) -> list[str]:
        """The keys of a bank, sorted."""
        return self._copy.list(bank)

    def mtime_s(self, bank: str, key: str) -> float | None:
        """When it was stored, in seconds since the epoch; ``None`` for nothing."""
        return self._copy.mtime_s(bank, key)


_NOTHING: Final = object()


# --- the table -------------------------------------------------------------------------------


def _update_row(
    transaction: Transaction,
    bank: str,
    minion_id: str,
    change: Callable[[dict[str, Any]], Mapping[str, Plain] | None],
) -> tuple[Mapping[str, Plain] | None, bool]:
    """What is kept now (``None`` where it was left), and whether it is something else."""
    lock_name(transaction, MINION_LOCKS, minion_id)
    rows = fetch(
        transaction, "SELECT data FROM banks WHERE bank = %s AND id = %s", [bank, minion_id]
    )
    before = bytes(rows[0][0]) if rows else b""
    value = change(_unpack_map(bank, minion_id, before))
    if value is None:
        return None, False
    data = _pack_value(bank, minion_id, value)
    if data == before:
        return value, False
    _write_row(transaction, bank, minion_id, data, 0)
    return value, True


def _write_row(
    transaction: Transaction, bank: str, minion_id: str, data: bytes, asked_ns: int
) -> None:
    """Write a row as the last of the feed: the counter is locked until the transaction ends."""
    fetch(
        transaction,
        "WITH next AS (UPDATE counters SET value = value + 1 WHERE name = 'banks' RETURNING value) "
        "INSERT INTO banks (bank, id, version, asked, data) "
        "SELECT %s, %s, next.value, %s, %s FROM next ON CONFLICT (bank, id) DO UPDATE "
        "SET version = excluded.version, asked = excluded.asked, data = excluded.data, "
        "changed = now()",
        [bank, minion_id, asked_ns, data],
    )


def _forget_row(transaction: Transaction, bank: str, minion_id: str) -> bool:
    lock_name(transaction, MINION_LOCKS, minion_id)
    rows = fetch(
        transaction,
        "SELECT 1 FROM banks WHERE bank = %s AND id = %s AND data <> ''",
        [bank, minion_id],
    )
    if rows:
        _write_row(transaction, bank, minion_id, b"", 0)
    return bool(rows)


def _pack_value(bank: str, minion_id: str, value: object) -> bytes:
    try:
        data = pack_bin(value)
    except WireError as error:
        raise StoreError(f"{bank} of {minion_id}: {error}") from error
    names = len(value) if isinstance(value, Mapping) else 0
    if bank == MINE and (len(data) > MINE_LIMIT.bytes or names > MINE_NAMES_LIMIT):
        raise StoreError(
            f"mine of {minion_id}: at most {MINE_LIMIT.bytes} bytes, {MINE_NAMES_LIMIT} names"
        )
    return data


def _unpack_map(bank: str, minion_id: str, data: bytes) -> dict[str, Any]:
    if not data:
        return {}
    try:
        value = unpack_bin(data)
    except WireError as error:
        log.warning("%s of minion %s in the cluster is not used: %s", bank, minion_id, error)
        return {}
    return value if isinstance(value, dict) else {}


def _check_place(bank: str, minion_id: str) -> None:
    if bank not in BANKS or not valid_minion_id(minion_id):
        raise ValueError(f"no such bank or id: {bank!r}, {minion_id!r}")


# --- a node's copy -----------------------------------------------------------------------------


class FactsFeed:
    """Brings what other nodes have changed into this node's copy. For the bridge alone."""

    def __init__(
        self, engine: ClusterEngine, cachedir: Path, *, shares_pillar: bool = True
    ) -> None:
        """``shares_pillar``: as for :class:`ClusterFacts`."""
        self._engine = engine
        self._copy = DataCache(cachedir)
        self._shared = [one for one in BANKS if shares_pillar or one not in ("pillar", COMPILED)]
        self._path = cachedir / PLACE
        self._place = self._read_place()

    def catch_up(self) -> int:
        """Take up what changed since the last call; how many rows.

        A row may be older than what this node has just written itself; its own comes behind.

        Raises:
            StoreError: the engine is away, or the disk; the next call goes on.
        """
        swept = self._drop_missed()
        total, until_s = 0, time.monotonic() + BUSY_S
        while True:
            rows = self._engine.execute(
                "SELECT bank, id, data, version FROM banks WHERE version > %s "
                "ORDER BY version LIMIT %s",
                [self._place, ROWS_AT_ONCE],
            )
            for bank, minion_id, data, version in rows:
                self._apply_row(str(bank), str(minion_id), bytes(data))
                self._place = int(version)
            total += len(rows)
            is_last = len(rows) < ROWS_AT_ONCE
            if is_last:
                self._place = max(self._place, swept)
            if rows or (is_last and swept):
                disk.make_dir(self._path.parent)
                disk.write_file(self._path, str(self._place).encode(), flush=False)
            if is_last or time.monotonic() > until_s:
                return total

    def _drop_missed(self) -> int:
        """Forget what went so long ago that no row tells of it any more; up to which version."""
        self._place, swept = find_place(self._engine, "banks", self._place)
        if swept:
            rows = self._engine.execute("SELECT bank, id FROM banks WHERE data <> ''")
            known = {(str(bank), str(minion_id)) for bank, minion_id in rows}
            for bank in self._shared:
                for minion_id in self._copy.list(bank):
                    if (bank, minion_id) not in known:
                        self._copy.flush(bank, minion_id)
        return swept

    def _apply_row(self, bank: str, minion_id: str, data: bytes) -> None:
        try:
            if data:
                self._copy.store_packed(bank, minion_id, data)
            else:
                self._copy.flush(bank, minion_id)
        except ValueError as error:
            log.error("A row of the cluster is passed over: %s", error)

    def _read_place(self) -> int:
        try:
            return int((disk.read_regular(self._path) or b"0").decode())
        except (StoreError, ValueError):
            return 0
