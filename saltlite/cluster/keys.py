"""Minions' keys of a cluster: the table ``keys`` is the truth, each node has a copy of it in files.

A row is one state, by construction. Who decides about a key holds its id in a transaction, so the
look, the decision and the change are one step for all nodes; requests are checked against the
node's copy, the key directory of a single master, which also serves while the engine is away.
Whoever writes the copy reads the table while it keeps everybody else on this node from doing so:
what was read last is also the newest. Rows of keys that went stay, without a key, since a node
that was away has to hear of them. Source: docs/cluster.md#keys.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from saltlite import disk
from saltlite.cluster.engine import ClusterEngine, Row, Transaction, fetch, lock_name
from saltlite.cluster.gone import find_place
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_minion_id
from saltlite.errors import ServerAway, StoreError
from saltlite.master.keystore import DENIED_LIMIT, KEY_LIMIT_BYTES, AcceptedKey, KeyState, KeyStore

log = logging.getLogger(__name__)

GONE: Final = "gone"
"""The state of a row whose key was deleted."""

CHANNEL: Final = "saltlite_keys"
"""What bridges listen to."""

ID_LOCKS: Final = 0x5A17_0010
COUNT_LOCK: Final = 0x5A17_0011
"""Advisory locks: one for each id, by its checksum, and one for their number."""

ROWS_AT_ONCE: Final = 500

NAMED_MOST: Final = 5
"""Minions that are named in a line of the log."""

BUSY_S: Final = 0.5
"""Thousands of keys take many seconds, in which a bridge has to show that it lives."""

SAY_EVERY_S: Final = 10.0
"""Between two lines of what was settled."""

PLACE: Final = ".cluster_keys"
"""In ``pki_dir``: how far the copy is."""

Texts: TypeAlias = dict[str, str]
"""State → digest of the key there."""

_EXCLUSIVE: Final = (KeyState.ACCEPTED, KeyState.REJECTED, KeyState.UNACCEPTED)

_KNOWN: Final = frozenset(state.value for state in _EXCLUSIVE)


@dataclass(frozen=True, slots=True)
class Filed:
    """What the table has of an id: its state and key there, and a key that was denied."""

    state: KeyState | None
    pem: str
    denied: str | None
    version: int = 0
    """Of the last change, also of one that has left nothing."""

    def text_in(self, state: KeyState) -> str | None:
        """The key in a state, ``None`` for none."""
        if state is KeyState.DENIED:
            return self.denied
        return self.pem if state is self.state else None


class ClusterKeys:
    """The keys of all nodes, for one process; fulfils ``master.stores.Keys``.

    What holds no id is answered from the copy, which is as old as the last word of the bridge.
    """

    def __init__(self, engine: ClusterEngine, copy: KeyStore) -> None:
        self._engine = engine
        self._copy = copy
        self._held: Transaction | None = None

    def prepare(self) -> None:
        """Make the directories of the copy."""
        self._copy.prepare()

    @contextlib.contextmanager
    def hold(self, minion_id: str) -> Iterator[None]:
        """Keep all processes of all nodes from deciding about an id; what is done here is one step.

        Raises:
            StoreError: somebody holds it for too long, or the engine is away: nothing was done.
        """
        # First this node's own lock: the copy is written before anybody here reads the table anew.
        with self._copy.hold(minion_id):
            with self._engine.begin() as transaction:
                lock_name(transaction, ID_LOCKS, minion_id)
                before = read_filed(transaction, minion_id)
                self._held = transaction
                try:
                    yield
                finally:
                    self._held = None
                after = read_filed(transaction, minion_id)
            if after != before:
                apply_to_copy(self._copy, minion_id, after)

    @contextlib.contextmanager
    def hold_count(self) -> Iterator[None]:
        """Keep all others from adding to a state, until the id is let go."""
        fetch(self._transaction(), "SELECT pg_advisory_xact_lock(%s)", [COUNT_LOCK])
        yield

    def _transaction(self) -> Transaction:
        if self._held is None:
            raise RuntimeError("no id is held")  # a mistake of the caller's
        return self._held

    # --- looks -----------------------------------------------------------------------------------

    def ids(self, state: KeyState) -> frozenset[str]:
        """The ids in a state; while an id is held, as all nodes have them."""
        if self._held is None:
            return self._copy.ids(state)
        if state is KeyState.DENIED:
            rows = fetch(self._held, "SELECT id FROM denied_keys WHERE pem <> ''")
        else:
            rows = fetch(self._held, "SELECT id FROM keys WHERE state = %s", [state.value])
        return frozenset(str(row[0]) for row in rows)

    def list(self, state: KeyState) -> list[str]:
        """The ids in a state, sorted."""
        return sorted(self.ids(state))

    def has(self, minion_id: str, state: KeyState) -> bool:
        """Whether there is a key of this id in this state."""
        if self._held is None:
            return self._copy.has(minion_id, state)
        return self._read_held(minion_id).text_in(state) is not None

    def key(self, minion_id: str, state: KeyState) -> str | None:
        """The PEM text, ``None`` if there is none."""
        if self._held is None:
            return self._copy.key(minion_id, state)
        return self._read_held(minion_id).text_in(state)

    def look_up(self, minion_id: str) -> tuple[KeyState | None, str | None]:
        """The state of an id and its key there.

        An accepted key of the copy counts. Otherwise the table is asked: a key that was accepted
        elsewhere a moment ago counts here at once. While the engine is away the copy is all there
        is.
        """
        if self._held is not None:
            filed = self._read_held(minion_id)
            return (filed.state, filed.pem) if filed.state is not None else (None, None)
        accepted = self._copy.load_accepted(minion_id)
        if accepted is not None:
            return KeyState.ACCEPTED, accepted.pem
        with contextlib.suppress(ServerAway):
            self._refresh(minion_id)
        return self._copy.look_up(minion_id)

    def _refresh(self, minion_id: str) -> None:
        """Bring the copy of one id up to date, if it has yet to hear of the last change.

        If it has, the files were changed by hand, which the bridge will tell the table.
        """
        with self._copy.hold(minion_id):
            filed = self._engine.transact(lambda one: read_filed(one, minion_id))
            if filed.version > _load_place(self._copy.pki_dir / PLACE):
                apply_to_copy(self._copy, minion_id, filed)

    def load_accepted(self, minion_id: str) -> AcceptedKey | None:
        """The accepted key, from the copy; that of the table while an id is held."""
        if self._held is None:
            return self._copy.load_accepted(minion_id)
        from saltlite.crypto.keys import check_form
        from saltlite.errors import CryptoError

        filed = self._read_held(minion_id)
        if filed.state is not KeyState.ACCEPTED:
            return None
        try:
            check_form(filed.pem)
        except CryptoError as error:
            self._copy.say_unusable(minion_id, str(error))
            return None
        return AcceptedKey(filed.pem, (0, 0, 0), self._copy.path(minion_id, KeyState.ACCEPTED))

    def _read_held(self, minion_id: str) -> Filed:
        return read_filed(self._transaction(), _check_id(minion_id))

    # --- changes, by who holds the id ----------------------------------------------------------

    def put(self, minion_id: str, state: KeyState, pem: str) -> None:
        """File a key under a state; in the three exclusive states it leaves the others."""
        put_key(self._transaction(), _check_id(minion_id), state, pem)

    def move(self, minion_id: str, source: KeyState, target: KeyState) -> bool:
        """Change the state of an id; ``False`` if it was not in ``source``."""
        return move_key(self._transaction(), _check_id(minion_id), source, target)

    def delete(self, minion_id: str, state: KeyState) -> bool:
        """Forget the key of an id in one state; ``False`` if there was none."""
        return delete_key(self._transaction(), _check_id(minion_id), state)


# --- the table -------------------------------------------------------------------------------


def read_filed(transaction: Transaction, minion_id: str) -> Filed:
    """What the table has of an id."""
    rows = fetch(transaction, "SELECT state, pem, version FROM keys WHERE id = %s", [minion_id])
    denied = fetch(transaction, "SELECT pem, version FROM denied_keys WHERE id = %s", [minion_id])
    state, pem, version = rows[0] if rows else (GONE, "", 0)
    denied_pem, denied_version = denied[0] if denied else ("", 0)
    known = state in _KNOWN and _is_short(pem)
    if not known and state != GONE:
        log.error("The key of minion %s in the cluster is not used: no key of ours", minion_id)
    return Filed(
        KeyState(state) if known else None,
        pem if known else "",
        denied_pem if denied_pem and _is_short(denied_pem) else None,
        max(version, denied_version),
    )


def _is_short(pem: str) -> bool:
    """Whether a key may be in a file; who writes rows may write anything."""
    return len(pem.encode()) <= KEY_LIMIT_BYTES


def put_key(transaction: Transaction, minion_id: str, state: KeyState, pem: str) -> None:
    """File a key; the caller holds the id."""
    if state is KeyState.DENIED:
        _put_denied(transaction, minion_id, pem)
        _drop_oldest_denied(transaction)
    else:
        _write_row(transaction, minion_id, state.value, pem)


def move_key(transaction: Transaction, minion_id: str, source: KeyState, target: KeyState) -> bool:
    """Change the state of an id; ``False`` if it was not in ``source``. The caller holds the id."""
    if KeyState.DENIED not in (source, target):
        rows = fetch(
            transaction,
            "UPDATE keys SET state = %s, changed = now() WHERE id = %s AND state = %s RETURNING id",
            [target.value, minion_id, source.value],
        )
        if rows:
            _number_row(transaction, "keys", minion_id)
        return bool(rows)
    pem = read_filed(transaction, minion_id).text_in(source)
    if pem is None:
        return False
    delete_key(transaction, minion_id, source)
    put_key(transaction, minion_id, target, pem)
    return True


def delete_key(transaction: Transaction, minion_id: str, state: KeyState) -> bool:
    """Forget a key; ``False`` if there was none. The caller holds the id."""
    if state is KeyState.DENIED:
        if read_filed(transaction, minion_id).denied is None:
            return False
        _put_denied(transaction, minion_id, "")
        return True
    rows = fetch(
        transaction,
        "UPDATE keys SET state = %s, pem = '', changed = now() WHERE id = %s AND state = %s "
        "RETURNING id",
        [GONE, minion_id, state.value],
    )
    if rows:
        _number_row(transaction, "keys", minion_id)
    return bool(rows)


def _write_row(transaction: Transaction, minion_id: str, state: str, pem: str) -> None:
    fetch(
        transaction,
        "INSERT INTO keys (id, state, pem, version) VALUES (%s, %s, %s, 0) ON CONFLICT (id) "
        "DO UPDATE SET state = excluded.state, pem = excluded.pem, changed = now()",
        [minion_id, state, pem],
    )
    _number_row(transaction, "keys", minion_id)


def _put_denied(transaction: Transaction, minion_id: str, pem: str) -> None:
    """The one denied key of an id; empty text for none."""
    fetch(transaction, "DELETE FROM denied_keys WHERE id = %s", [minion_id])
    fetch(
        transaction,
        "INSERT INTO denied_keys (id, fingerprint, pem, version) VALUES (%s, %s, %s, 0)",
        [minion_id, _digest_of(pem), pem],
    )
    _number_row(transaction, "denied_keys", minion_id)


def _drop_oldest_denied(transaction: Transaction) -> None:
    beyond = fetch(
        transaction,
        "SELECT id FROM denied_keys WHERE pem <> '' ORDER BY version DESC OFFSET %s",
        [DENIED_LIMIT],
    )
    for (minion_id,) in beyond:
        _put_denied(transaction, minion_id, "")


_NEXT: Final = "UPDATE counters SET value = value + 1 WHERE name = 'keys' RETURNING value"

_SET_VERSION: Final = {
    "keys": "UPDATE keys SET version = %s WHERE id = %s",
    "denied_keys": "UPDATE denied_keys SET version = %s WHERE id = %s",
}


def _number_row(transaction: Transaction, table: str, minion_id: str) -> None:
    """Put a changed row at the end of the feed, and wake the bridges.

    The counter's row is locked until the end of the transaction, so that numbers grow in the order
    in which changes can be seen: a reader of all above n misses none.
    """
    version = fetch(transaction, _NEXT)[0][0]
    fetch(transaction, _SET_VERSION[table], [version, minion_id])
    fetch(transaction, "SELECT pg_notify(%s, '')", [CHANNEL])


def _check_id(minion_id: str) -> str:
    if not valid_minion_id(minion_id):
        raise ValueError(f"not a minion id: {minion_id!r}")
    return minion_id


def _digest_of(pem: str) -> str:
    return hashlib.sha256(pem.encode()).hexdigest()[:32] if pem else ""


# --- a node's copy -----------------------------------------------------------------------------


def apply_to_copy(copy: KeyStore, minion_id: str, filed: Filed) -> None:
    """Make the files of an id what the table has; the caller holds the id on this node."""
    state = filed.state
    if state is not None and copy.key(minion_id, state) != filed.pem:
        found = next((one for one in _EXCLUSIVE if copy.key(minion_id, one) == filed.pem), None)
        if found is None:
            copy.put(minion_id, state, filed.pem)
        else:
            # A rename keeps the file's time.
            copy.move(minion_id, found, state)
    for other in _EXCLUSIVE:
        if other is not state:
            copy.delete(minion_id, other)
    if filed.denied is None:
        copy.delete(minion_id, KeyState.DENIED)
    elif copy.key(minion_id, KeyState.DENIED) != filed.denied:
        copy.put(minion_id, KeyState.DENIED, filed.denied)


class KeyFeed:
    """Keeps a node's copy up to date, and takes files that somebody moved for orders.

    For the bridge alone. The copy has been brought up to the ``place`` in the feed. Files that are
    not as in a row from before that place were changed by hand, and the table follows; of a row
    from behind it the copy may be another state that was, and the table counts.
    """

    def __init__(
        self,
        engine: ClusterEngine,
        pki_dir: Path,
        *,
        rotate: Callable[[], object] = lambda: None,
    ) -> None:
        """``rotate`` asks for another publication key: who knew it is accepted no more."""
        self._engine = engine
        self._rotate = rotate
        self._copy = KeyStore(pki_dir)
        self._path = pki_dir / PLACE
        self._place = _load_place(self._path)
        self._agreed: dict[str, Texts] | None = None
        """The keys of each id when files and table were last the same; digests of them."""
        self._seen: dict[KeyState, int] = {}
        self._lost_accepted = False
        self._ordered: list[str] = []
        self._overruled: list[str] = []
        self._say_again_s = 0.0
        self._is_current = False

    def catch_up(self) -> int:
        """Take up what changed in the table since the last call; how many ids.

        What takes longer than ``BUSY_S`` goes on with the next call: the bridge has other duties.

        Raises:
            StoreError: the engine is away, or the disk; the next call goes on.
        """
        self._is_current = False
        swept = self._drop_missed()
        total, until_s = 0, time.monotonic() + BUSY_S
        while True:
            rows = self._engine.execute(
                "SELECT id, version FROM keys WHERE version > %s UNION ALL "
                "SELECT id, version FROM denied_keys WHERE version > %s ORDER BY 2 LIMIT %s",
                [self._place, self._place, ROWS_AT_ONCE],
            )
            done = self._take_rows(rows, until_s)
            total += done
            is_last = done == len(rows) < ROWS_AT_ONCE
            if is_last:
                self._place = max(self._place, swept)
                self._is_current = True
            if rows or (is_last and swept):
                disk.write_file(self._path, str(self._place).encode(), flush=False)
            if is_last or done < len(rows):
                return total

    def _take_rows(self, rows: Sequence[Row], until_s: float) -> int:
        """Bring ids up to date, one after the other, as long as there is time; how many."""
        try:
            for number, (minion_id, version) in enumerate(rows, 1):
                if valid_minion_id(minion_id):
                    self._settle_id(minion_id)
                else:
                    log.error("A row of the cluster's keys is passed over: %.80r", minion_id)
                self._place = version
                if time.monotonic() > until_s:
                    return number
            return len(rows)
        finally:
            self._say_settled()

    def _drop_missed(self) -> int:
        """Forget what went so long ago that no row tells of it any more; up to which version."""
        self._place, swept = find_place(self._engine, "keys", self._place)
        if swept:
            missed = sorted(self._read_files().keys() - self._read_table().keys())
            for minion_id in missed:
                with self._copy.hold(minion_id):
                    apply_to_copy(self._copy, minion_id, Filed(None, "", None))
            log.warning("This node was away for long: %d keys went meanwhile", len(missed))
        return swept

    def send_orders(self) -> int:
        """Tell the table of files that were put, moved or removed by hand; how many ids.

        One look at each directory if nothing has changed.
        """
        seen = {state: _changed_ns(self._copy.folder(state)) for state in KeyState}
        if seen == self._seen:
            self._say_settled()
            return 0
        if not self._is_current:
            # Files of what went long ago are no orders.
            self._drop_missed()
        until_s = time.monotonic() + BUSY_S
        files = self._read_files()
        if self._agreed is None:
            self._agreed = self._read_table()
        agreed = self._agreed
        differ = [one for one in files.keys() | agreed.keys() if files.get(one) != agreed.get(one)]
        orders, is_done = 0, True
        try:
            for one in sorted(differ):
                orders += self._settle_id(one)
                if time.monotonic() > until_s:
                    is_done = False
                    break
        finally:
            self._say_settled()
        if self._lost_accepted:
            self._rotate()
            self._lost_accepted = False
        # Not before: what failed is looked at again. What came meanwhile is newer than this stamp.
        if is_done:
            self._seen = seen
        return orders

    def _settle_id(self, minion_id: str) -> bool:
        """Make files and table of an id agree; whether the table was changed for it."""
        with self._copy.hold(minion_id):
            filed, is_ordered = self._engine.transact(lambda one: self._decide_on(one, minion_id))
            apply_to_copy(self._copy, minion_id, filed)
            self._note_agreed(minion_id, _digest_keys(filed))
        if is_ordered:
            self._ordered.append(minion_id)
        return is_ordered

    def _say_settled(self) -> None:
        """One line for all: a node that was killed may find thousands of its files behind.

        Those are settled in many passes; what the passes soon after a line settle is said together.
        """
        now_s = time.monotonic()
        if now_s < self._say_again_s or not (self._ordered or self._overruled):
            return
        self._say_again_s = now_s + SAY_EVERY_S
        if self._ordered:
            log.info(
                "Keys that were changed in the files of this node: %s", _join_names(self._ordered)
            )
        if self._overruled:
            log.warning(
                "Key files that are not what was agreed, of minions whose keys have changed in the "
                "cluster, which counts: %s",
                _join_names(self._overruled),
            )
        self._ordered, self._overruled = [], []

    def _decide_on(self, transaction: Transaction, minion_id: str) -> tuple[Filed, bool]:
        """What the table has of an id in the end, and whether the files have changed it."""
        lock_name(transaction, ID_LOCKS, minion_id)
        filed = read_filed(transaction, minion_id)
        files = self._files_of(minion_id)
        if files == _digest_keys(filed):
            return filed, False
        if filed.version > self._place:
            if self._agreed is not None and files != self._agreed.get(minion_id, {}):
                self._overruled.append(minion_id)
            return filed, False
        self._order_change(transaction, minion_id, filed)
        after = read_filed(transaction, minion_id)
        accepted = KeyState.ACCEPTED
        self._lost_accepted |= filed.text_in(accepted) not in (None, after.text_in(accepted))
        return after, True

    def _order_change(self, transaction: Transaction, minion_id: str, filed: Filed) -> None:
        """Make the table what the files are."""
        texts = {state: self._copy.key(minion_id, state) for state in KeyState}
        # Of an id in several folders that counts which counts for a single master.
        state = next((one for one in _EXCLUSIVE if texts[one] is not None), None)
        if state is not None:
            put_key(transaction, minion_id, state, texts[state] or "")
        elif filed.state is not None:
            delete_key(transaction, minion_id, filed.state)
        denied = texts[KeyState.DENIED]
        if denied is None:
            delete_key(transaction, minion_id, KeyState.DENIED)
        elif denied != filed.denied:
            put_key(transaction, minion_id, KeyState.DENIED, denied)

    def _files_of(self, minion_id: str) -> Texts:
        texts = {state: self._copy.key(minion_id, state) for state in KeyState}
        return {state.value: _digest_of(text) for state, text in texts.items() if text is not None}

    def _read_files(self) -> dict[str, Texts]:
        found: dict[str, Texts] = {}
        for state in KeyState:
            for minion_id in self._copy.ids(state):
                text = self._copy.key(minion_id, state)
                if text is not None:
                    found.setdefault(minion_id, {})[state.value] = _digest_of(text)
        return found

    def _read_table(self) -> dict[str, Texts]:
        """All of it at once: after a start each id would be asked for otherwise."""
        rows = self._engine.execute(
            "SELECT id, state, pem FROM keys WHERE state <> %s UNION ALL "
            "SELECT id, %s, pem FROM denied_keys WHERE pem <> ''",
            [GONE, KeyState.DENIED.value],
        )
        found: dict[str, Texts] = {}
        for minion_id, state, pem in rows:
            if valid_minion_id(minion_id):
                found.setdefault(minion_id, {})[state] = _digest_of(pem)
        return found

    def _note_agreed(self, minion_id: str, digests: Texts) -> None:
        if self._agreed is None:
            return
        if digests:
            self._agreed[minion_id] = digests
        else:
            self._agreed.pop(minion_id, None)


def _digest_keys(filed: Filed) -> Texts:
    texts = {state: filed.text_in(state) for state in KeyState}
    return {state.value: _digest_of(text) for state, text in texts.items() if text is not None}


def _changed_ns(folder: Path) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except FileNotFoundError:
        return 0


def _load_place(path: Path) -> int:
    """How far the copy is; at the beginning if that is not known."""
    try:
        return int((disk.read_regular(path) or b"0").decode())
    except (StoreError, ValueError) as error:
        log.warning("%s is not used: %s", path, error)
        return 0


def _join_names(names: Sequence[str]) -> str:
    """Some of the names, and how many more there are."""
    known = list(dict.fromkeys(names))  # a transaction that is tried again asks twice
    more = len(known) - NAMED_MOST
    return ", ".join(known[:NAMED_MOST]) + (f" and {more} more" if more > 0 else "")
