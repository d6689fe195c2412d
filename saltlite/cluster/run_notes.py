"""Runs of states on a master, and what is said to them, on all nodes: the table ``runs``.

On each node a run is a file in ``cachedir/proc``, and what is said to it one in
``cachedir/state_pause`` (``highstate/control.py``). The bridge makes the same files on the other
nodes, so that a run is seen, paused and ended from any of them. A change is on its way for about a
second. Source: docs/cluster.md#facts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from saltlite import disk
from saltlite.cluster.engine import ClusterEngine, Transaction, fetch
from saltlite.core.ids import valid_jid
from saltlite.errors import StoreError

log = logging.getLogger(__name__)

RUNS: Final = "proc"
TOLD: Final = "state_pause"

NODE: Final = "node"
"""In the file of a run: the number of the node on which it runs, if that is another one."""

NOTE_LIMIT_BYTES: Final = 64 * 1024
"""A note, and what is said to a run."""

ROWS_MOST: Final = 2000

Said: TypeAlias = dict[str, Any]
"""State id, or ``__all__`` → what is said about it."""

Row: TypeAlias = tuple[int, Said, Said]
"""The node, the note, and what is said."""


class RunNotesFeed:
    """Keeps the files of this node and the table the same. For the bridge alone."""

    def __init__(
        self,
        engine: ClusterEngine,
        cachedir: Path,
        number: int,
        *,
        lease_s: float,
        may_judge: Callable[[], bool] = lambda: True,
    ) -> None:
        """``may_judge``: whether a node that is silent for ``lease_s`` has died."""
        self._engine = engine
        self._runs = cachedir / RUNS
        self._said = cachedir / TOLD
        self._number = number
        self._lease_s = lease_s
        self._may_judge = may_judge
        self._agreed: dict[str, Said] = {}
        """What was said to runs when the table and the files were the same last."""

    def exchange(self) -> int:
        """Tell what changed here, and take up what changed elsewhere; how many runs did.

        Raises:
            StoreError: the engine is away, or the disk; the next call goes on.
        """
        own = self._read_own_runs()
        said = _read_maps(self._said)
        rows = self._engine.transact(lambda one: self._merge_rows(one, own, said))
        return self._write_files(rows, said)

    def _read_own_runs(self) -> dict[str, Said]:
        return {jid: note for jid, note in _read_maps(self._runs).items() if NODE not in note}

    def _merge_rows(
        self, transaction: Transaction, own: Mapping[str, Said], said: Mapping[str, Said]
    ) -> dict[str, Row]:
        """Bring the table up to date; by jid the node, the note and what is said."""
        kept = self._lock_rows(transaction)
        found: dict[str, Row] = {}
        for jid in sorted(kept.keys() | own.keys() | said.keys()):
            node, note, told = kept.get(jid, (self._number, {}, {}))
            is_ours = node == self._number
            if jid in own:
                node, note = self._number, own[jid]
            elif jid in kept and is_ours and note:
                # It ran here, and is over; what is said to it goes with it.
                fetch(transaction, "DELETE FROM runs WHERE jid = %s", [jid])
                continue
            elif jid not in kept and jid in self._agreed:
                continue  # it ran elsewhere, and is over
            told = _merge_said(told, self._agreed.get(jid, {}), said.get(jid, {}))
            if not note and not told:
                fetch(transaction, "DELETE FROM runs WHERE jid = %s", [jid])
                continue
            if kept.get(jid) != (node, note, told):
                _write_row(transaction, jid, node, note, told)
            found[jid] = (node, note, told)
        return found

    def _lock_rows(self, transaction: Transaction) -> dict[str, Row]:
        """All rows, those of dead nodes deleted; in one order, so that two bridges do not cross."""
        if self._may_judge():
            fetch(
                transaction,
                "DELETE FROM runs WHERE node <> %s AND node NOT IN "
                "(SELECT number FROM nodes WHERE beat > now() - make_interval(secs => %s))",
                [self._number, self._lease_s],
            )
        rows = fetch(
            transaction,
            "SELECT jid, node, note, told FROM runs ORDER BY jid LIMIT %s FOR UPDATE",
            [ROWS_MOST],
        )
        return {
            jid: (node, _load_map(note), _load_map(told or b""))
            for jid, node, note, told in rows
            if valid_jid(jid)
        }

    def _write_files(self, rows: Mapping[str, Row], before: Mapping[str, Said]) -> int:
        changed = 0
        for jid, (node, note, told) in rows.items():
            if node != self._number and note:
                changed += self._write_map(self._runs / jid, {**note, NODE: node})
            if told != before.get(jid, {}):
                changed += self._write_map(self._said / jid, told)
        for jid, note in _read_maps(self._runs).items():
            if NODE in note and jid not in rows:
                changed += disk.remove(self._runs / jid)
        for jid in before.keys() - rows.keys():
            changed += disk.remove(self._said / jid)
        self._agreed = {jid: told for jid, (_node, _note, told) in rows.items()}
        return changed

    def _write_map(self, path: Path, value: Said) -> bool:
        if not value:
            return disk.remove(path)
        if _read_map(path) == value:
            return False
        disk.make_dir(path.parent)
        data = json.dumps(value).encode()
        if len(data) > NOTE_LIMIT_BYTES:
            log.error("What is said to a run is too long to be kept here: %s", path.name)
            return False
        disk.write_file(path, data, flush=False)
        return True


def _merge_said(there: Said, agreed: Said, here: Said) -> Said:
    """What is said there, with what has changed here since both were the same."""
    added = {name: what for name, what in here.items() if agreed.get(name) != what}
    taken_back = agreed.keys() - here.keys()
    return {**{name: what for name, what in there.items() if name not in taken_back}, **added}


def _write_row(transaction: Transaction, jid: str, node: int, note: Said, told: Said) -> None:
    fetch(
        transaction,
        "INSERT INTO runs (jid, node, note, told) VALUES (%s, %s, %s, %s) ON CONFLICT (jid) "
        "DO UPDATE SET node = excluded.node, note = excluded.note, told = excluded.told",
        [jid, node, json.dumps(note).encode(), json.dumps(told).encode()],
    )


def _read_maps(folder: Path) -> dict[str, Said]:
    """By jid, of each file whose name is one."""
    names = sorted(entry.name for entry, _status in disk.entries_of(folder))
    maps = {name: _read_map(folder / name) for name in names if valid_jid(name)}
    return {name: found for name, found in maps.items() if found}


def _read_map(path: Path) -> Said:
    try:
        return _load_map(disk.read_regular(path, limit_bytes=NOTE_LIMIT_BYTES) or b"")
    except StoreError as error:
        log.warning("%s is not used: %s", path, error)
        return {}


def _load_map(data: bytes) -> Said:
    try:
        found = json.loads(data) if data else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
