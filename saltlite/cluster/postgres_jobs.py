"""The job cache in PostgreSQL: jobs, whom they ask, what came back, one for all nodes.

What is written is committed when a call returns: on the server's disk, and on its standby's where
one is synchronous. Returns are numbered by the node that they came to, in the order of its
commits, so that a reader who keeps one place for each node misses none (``returns.seq``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.cluster.engine import ClusterEngine, Row, Transaction, clean_text, fetch
from saltlite.core.dataclasses import dataclass
from saltlite.core.job_query import ALL_JOBS, JobQuery
from saltlite.core.plain import Plain
from saltlite.master.jobcache import (
    AFTER_ALL,
    CLEAN_CHUNK,
    LAST_JIDS,
    OWN_LIST_BYTES,
    RETURNED_CHUNK,
    JobRecord,
    KeptLists,
    Return,
    ReturnRow,
    Stored,
    join_names,
    list_beyond,
    list_metadata,
    make_return_row,
    pack_return,
    pack_value,
    take_fitting,
    unpack_list,
    unpack_map,
)
from saltlite.transport.codec import pack_bin

PLACES_LOCK: Final = 0x5A17_0002
"""Advisory, with a node's number: its returns get their places in the order of their commits."""

SETS_LOCK: Final = 0x5A17_0003
"""Advisory: shared by who refers to a set of minions, alone for who forgets those of no job."""

_OWN: Final = b"="
_SET: Final = b"#"
"""Before what a job has for its minions: the list itself, or the digest of one in target_sets."""

_NODE: Final = "(SELECT number FROM nodes WHERE node = %s)"

_NEW_JOB: Final = f"""
WITH job AS (
    INSERT INTO jobs (jid, node, fun, tgt, tgt_type, "user", load, asked)
    VALUES (%s, {_NODE}, %s, %s, %s, %s, %b, %b) ON CONFLICT (jid) DO NOTHING RETURNING jid
), pairs AS (
    INSERT INTO metadata SELECT pair.name, pair.value, job.jid
    FROM job, unnest(%b::text[], %b::text[]) AS pair (name, value) ON CONFLICT DO NOTHING
)
SELECT jid FROM job
"""  # noqa: S608 - made of literals

_ADD_RETURNS: Final = """
WITH gate AS MATERIALIZED (
    SELECT number, pg_advisory_xact_lock(%s, number::integer) FROM nodes WHERE node = %s
), added AS (
    INSERT INTO returns (jid, id, node, seq, digest, ret)
    SELECT one.jid, one.id, gate.number, nextval('return_places'), one.digest, one.ret
    FROM gate,
        unnest(%b::text[], %b::text[], %b::bigint[], %b::bytea[]) AS one (jid, id, digest, ret)
    WHERE EXISTS (SELECT 1 FROM jobs WHERE jobs.jid = one.jid)
    ON CONFLICT (jid, id) DO NOTHING
    RETURNING jid, id, seq
), noted AS (
    INSERT INTO forward (seq, jid, id)
    SELECT seq, jid, id FROM added WHERE EXISTS (SELECT 1 FROM syndics)
)
SELECT jid, id FROM added
"""
"""The lock is taken before the first place is, and held until the rows can be seen.

Where there are syndics each new return is noted for them (``cluster.forwarded``).
"""

_FIND_DIGESTS: Final = """
SELECT returns.jid, returns.id, returns.digest
FROM returns JOIN unnest(%b::text[], %b::text[]) AS one (jid, id) USING (jid, id)
"""

_SMALL_TABLES: Final = ("metadata", "unasked", "forward", "jobs")
_TABLES: Final = ("returns", *_SMALL_TABLES)

RETURNS_SWEPT: Final = 10_000
"""In one statement, which is to be over well within ``cluster_timeout``."""

_SWEEP_RETURNS: Final = """
WITH gone AS (
    DELETE FROM returns WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM returns WHERE jid < %s ORDER BY jid, id LIMIT %s
    )) RETURNING true
)
SELECT count(*) FROM gone
"""
"""The primary key is read in its order, and rows are found where they lie: nobody changes them."""

_SIZE: Final = """
SELECT coalesce((SELECT sum(octet_length(ret) + 150) FROM returns), 0)
     + coalesce((SELECT sum(octet_length(load) + octet_length(asked) + 250) FROM jobs), 0)
     + coalesce((SELECT sum(octet_length(members) + 100) FROM target_sets), 0)
"""
"""By the rows: what is forgotten leaves a table's files as large as they were."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it is stored: ``ids`` is the packed list of the minions."""

    jid: str
    columns: tuple[str, str, str, str, bytes]
    ids: bytes
    pairs: Sequence[tuple[str, str]]


def make_job_row(jid: str, load: Mapping[str, Plain], minions: Sequence[str]) -> JobRow:
    """A job as it is stored; raises StoreError if it cannot be."""
    # key is the proof of a local user; it is on no record.
    kept = {name: value for name, value in load.items() if name != "key"}
    texts = (
        join_names(kept.get("fun")),
        join_names(kept.get("tgt")),
        str(kept.get("tgt_type", "glob")),
        str(kept.get("user", "")),
    )
    fun, tgt, tgt_type, user = map(clean_text, texts)
    pairs = [(clean_text(name), clean_text(value)) for name, value in list_metadata(kept)]
    columns = (fun, tgt, tgt_type, user, pack_value(kept))
    return JobRow(jid, columns, pack_bin(list(minions)), pairs)


class PostgresJobStore:
    """The job cache, for one thread. ``node`` is the name under which this node is registered."""

    def __init__(self, engine: ClusterEngine, node: str) -> None:
        self._engine = engine
        self._node = node
        self._lists = KeptLists()

    # --- writing -------------------------------------------------------------------------

    def new_job(self, jid: str, load: Mapping[str, Plain], minions: Sequence[str]) -> bool:
        """Record a job; ``False`` if the jid is there already."""
        row = make_job_row(jid, load, minions)
        if len(row.ids) <= OWN_LIST_BYTES:
            values = self._job_values(row, _OWN + row.ids)
            return bool(self._engine.execute(_NEW_JOB, values))

        def write(transaction: Transaction) -> bool:
            values = self._job_values(row, _keep_set(transaction, row.ids))
            return bool(fetch(transaction, _NEW_JOB, values))

        return self._engine.transact(write)

    def _job_values(self, row: JobRow, asked: bytes) -> list[object]:
        names, values = [one[0] for one in row.pairs], [one[1] for one in row.pairs]
        jid, node = clean_text(row.jid), self._node
        return [jid, node, *row.columns, asked, names, values]

    def add_minions(self, jid: str, minions: Sequence[str]) -> None:
        """Expect more minions of a job: syndics name theirs later. Nothing for an unknown job."""

        def write(transaction: Transaction) -> None:
            statement = "SELECT asked FROM jobs WHERE jid = %s FOR UPDATE"
            rows = fetch(transaction, statement, [clean_text(jid)])
            if not rows:
                return
            before = self._read_list(rows[0][0], lambda *query: fetch(transaction, *query))
            more = sorted(set(minions).difference(before))
            if not more:
                return
            ids = pack_bin([*before, *more])
            asked = _OWN + ids if len(ids) <= OWN_LIST_BYTES else _keep_set(transaction, ids)
            fetch(transaction, "UPDATE jobs SET asked = %b WHERE jid = %s", [asked, jid])

        self._engine.transact(write)

    def make_room(self, jid: str, minion_id: str, ret: Mapping[str, Plain], most_bytes: int) -> int:
        """Count a return that nobody asked for, and forget the minion's oldest ones beyond bounds.

        How many were forgotten.
        """
        size_bytes = len(pack_return(ret))

        def write(transaction: Transaction) -> int:
            fetch(
                transaction,
                "INSERT INTO unasked VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                [minion_id, jid, size_bytes],
            )
            kept = fetch(
                transaction,
                "SELECT jid, size_bytes FROM unasked WHERE id = %s ORDER BY jid DESC",
                [minion_id],
            )
            extra = list_beyond([(one[0], one[1]) for one in kept], most_bytes)
            _delete_jobs(transaction, [one[0] for one in extra])
            return len(extra)

        return self._engine.transact(write)

    def add_return(self, jid: str, minion_id: str, ret: Mapping[str, Plain]) -> Stored:
        """Record one return; see :meth:`add_returns`."""
        return self.add_returns([(jid, minion_id, ret)])[0]

    def add_returns(self, returns: Sequence[Return]) -> list[Stored]:
        """Record returns, all or none; the first of each minion wins."""
        return self.add_rows([make_return_row(*one) for one in returns])

    def add_rows(self, rows: Sequence[ReturnRow]) -> list[Stored]:
        """As :meth:`add_returns`, of returns as they are stored."""
        rows = [(clean_text(row[0]), clean_text(row[1]), row[2], row[3]) for row in rows]
        firsts: dict[tuple[str, str], ReturnRow] = {}
        for row in rows:
            firsts.setdefault((row[0], row[1]), row)
        # In one order everywhere: nodes that write the same rows at once wait, and do not block.
        jids, ids, digests, rets = zip(*(firsts[key] for key in sorted(firsts)), strict=True)
        values = [PLACES_LOCK, self._node, list(jids), list(ids), list(digests), list(rets)]
        new = {(jid, minion_id) for jid, minion_id in self._engine.execute(_ADD_RETURNS, values)}
        kept = self._find_digests([key for key in firsts if key not in new])
        # A return may come twice in one batch: the second is held to the first.
        kept |= {key: firsts[key][2] for key in new}
        return [
            Stored.NEW
            if (key := (row[0], row[1])) in new and firsts[key] is row
            else _compare_digests(kept.get(key), row[2])
            for row in rows
        ]

    def _find_digests(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        if not keys:
            return {}
        values = [[key[0] for key in keys], [key[1] for key in keys]]
        rows = self._engine.execute(_FIND_DIGESTS, values)
        return {(jid, minion_id): digest for jid, minion_id, digest in rows}

    # --- forgetting ----------------------------------------------------------------------

    def clean(self, before_jid: str) -> int:
        """Forget jobs with smaller jids, in small transactions; how many."""

        def write(transaction: Transaction) -> int:
            rows = fetch(
                transaction,
                "SELECT jid FROM jobs WHERE jid < %s ORDER BY jid LIMIT %s",
                [before_jid, CLEAN_CHUNK],
            )
            # Without their returns, which may be millions: those go behind, by their place.
            _delete_jobs(transaction, [row[0] for row in rows], _SMALL_TABLES)
            return len(rows)

        total = 0
        while gone := self._engine.transact(write):
            total += gone
        # Each time: the last cleaner may have died, or a return come while its job was forgotten.
        while self._engine.execute(_SWEEP_RETURNS, [before_jid, RETURNS_SWEPT])[0][0]:
            pass
        if total:
            self._sweep_sets()
        return total

    def _sweep_sets(self) -> None:
        """Lists of minions that no job asks."""

        def drop(transaction: Transaction) -> None:
            fetch(transaction, "SELECT pg_advisory_xact_lock(%s)", [SETS_LOCK])
            fetch(
                transaction,
                "DELETE FROM target_sets WHERE NOT EXISTS "
                "(SELECT 1 FROM jobs WHERE asked = %b::bytea || digest)",
                [_SET],
            )

        self._engine.transact(drop)

    def clean_to(self, most: int) -> int:
        """Forget the oldest jobs until ``most`` are left; how many went."""
        extra = self.count() - most
        if extra <= 0:
            return 0
        statement = "SELECT jid FROM jobs ORDER BY jid LIMIT 1 OFFSET %s"
        rows = self._engine.execute(statement, [extra])
        return self.clean(rows[0][0]) if rows else 0

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget the oldest jobs until what is kept takes ``most_bytes``; how many went."""
        total = 0
        while True:
            used, count = self.count_bytes(), self.count()
            if used <= most_bytes or count <= 1:
                return total
            share = count * (used - most_bytes) // used  # as if all were of one size
            # Half of it, and then measured anew: sizes differ, and what is deleted is gone.
            gone = self.clean_to(count - max(1, min(share // 2, CLEAN_CHUNK)))
            if not gone:
                return total
            total += gone

    def count_bytes(self) -> int:
        """What jobs and returns take, about."""
        return int(self._engine.execute(_SIZE)[0][0])

    def checkpoint(self) -> None:
        """Nothing: the server sees to its own files."""

    # --- reading -------------------------------------------------------------------------

    def job(self, jid: str) -> JobRecord | None:
        """The job, or ``None``."""
        statement = "SELECT jid, load, asked FROM jobs WHERE jid = %s"
        rows = self._engine.execute(statement, [clean_text(jid)])
        return self._read_record(rows[0]) if rows else None

    def minions(self, jid: str) -> list[str] | None:
        """Who is expected to return; ``None`` for an unknown jid."""
        statement = "SELECT asked FROM jobs WHERE jid = %s"
        rows = self._engine.execute(statement, [clean_text(jid)])
        return self._read_list(rows[0][0], self._engine.execute) if rows else None

    def returns(self, jid: str) -> dict[str, dict[str, Any]]:
        """Minion id → what it returned (``return``, ``retcode``, ``success``, ``out``…)."""
        statement = "SELECT id, ret FROM returns WHERE jid = %s ORDER BY id"
        rows = self._engine.execute(statement, [clean_text(jid)])
        return {minion_id: unpack_map(ret) for minion_id, ret in rows}

    def count_returns(self, jid: str) -> int:
        """How many minions have returned."""
        statement = "SELECT count(*) FROM returns WHERE jid = %s"
        return int(self._engine.execute(statement, [clean_text(jid)])[0][0])

    def returned_ids(self, jid: str) -> frozenset[str]:
        """Who has returned."""
        statement = "SELECT id FROM returns WHERE jid = %s"
        return frozenset(row[0] for row in self._engine.execute(statement, [clean_text(jid)]))

    def returns_except(
        self, jid: str, had: Collection[str], most_bytes: int
    ) -> tuple[dict[str, dict[str, Any]], int]:
        """As :meth:`returns`, but of other minions than ``had``, and the bytes of them.

        At most ``most_bytes``; the first comes however large it is.
        """
        # The sizes first: all of the returns may be gigabytes.
        sizes = self._engine.execute(
            "SELECT id, octet_length(ret) FROM returns WHERE jid = %s ORDER BY id",
            [clean_text(jid)],
        )
        others = ((str(one), int(size)) for one, size in sizes if one not in had)
        wanted = list(take_fitting(others, most_bytes))
        rows = self._engine.execute(
            "SELECT id, ret FROM returns WHERE jid = %s AND id = ANY(%b) ORDER BY id",
            [clean_text(jid), wanted],
        )
        # The cleaner may have come since.
        found = {minion_id: unpack_map(ret) for minion_id, ret in rows}
        return found, sum(len(row[1]) for row in rows)

    def list_returned(
        self, minion_id: str, *, since: str = ""
    ) -> Iterator[tuple[JobRecord, dict[str, Any]]]:
        """The jobs that a minion returned, newest first, each with what it returned.

        ``since`` is a jid or the beginning of one. Read in chunks.
        """
        statement = (
            "SELECT jobs.jid, load, asked, ret FROM returns JOIN jobs ON jobs.jid = returns.jid "
            "WHERE returns.jid >= %s AND returns.jid < %s AND returns.id = %s "
            "ORDER BY returns.jid DESC LIMIT %s"
        )
        before = AFTER_ALL
        while True:
            values = [clean_text(since), before, clean_text(minion_id), RETURNED_CHUNK]
            rows = self._engine.execute(statement, values)
            for row in rows:
                yield self._read_record(row[:3]), unpack_map(row[3])
            if len(rows) < RETURNED_CHUNK:
                return
            # By the jid, not by an offset: what comes and goes meanwhile shifts nothing.
            before = rows[-1][0]

    def jobs(self, query: JobQuery = ALL_JOBS) -> Iterator[JobRecord]:
        """The jobs that fit, oldest first unless asked otherwise."""
        where, values = _make_conditions(query)
        order = "DESC" if query.newest_first else "ASC"
        beyond = "<" if query.newest_first else ">"
        left = query.limit or None
        last: str | None = None
        while left is None or left > 0:
            chunk = CLEAN_CHUNK if left is None else min(left, CLEAN_CHUNK)
            here = where if last is None else [*where, f"jobs.jid {beyond} %s"]
            bound = values if last is None else [*values, last]
            statement = (
                "SELECT jid, load, asked FROM jobs"  # noqa: S608 - only literals of ours
                + (" WHERE " + " AND ".join(here) if here else "")
                + f" ORDER BY jid {order} LIMIT {chunk}"
            )
            rows = self._engine.execute(statement, bound)
            yield from map(self._read_record, rows)
            if len(rows) < chunk:
                return
            last = rows[-1][0]
            left = None if left is None else left - len(rows)

    def count(self) -> int:
        """How many jobs are kept."""
        return int(self._engine.execute("SELECT count(*) FROM jobs")[0][0])

    def last_jids(self, before: str = AFTER_ALL) -> list[str]:
        """The highest jids on record below ``before``, the highest first."""
        statement = "SELECT jid FROM jobs WHERE jid < %s ORDER BY jid DESC LIMIT %s"
        return [row[0] for row in self._engine.execute(statement, [clean_text(before), LAST_JIDS])]

    def close(self) -> None:
        """End the connection; the next use opens another."""
        self._engine.close()

    def _read_record(self, row: Row) -> JobRecord:
        return JobRecord(row[0], unpack_map(row[1]), self._read_list(row[2], self._engine.execute))

    def _read_list(self, asked: bytes, ask: Callable[[str, list[object]], list[Row]]) -> list[str]:
        """The ids; of a list that is shared, one object for all who ask."""
        if asked[:1] == _OWN:
            return unpack_list(asked[1:])
        known = self._lists.get(asked)
        if known is None:
            rows = ask("SELECT members FROM target_sets WHERE digest = %b", [asked[1:]])
            known = unpack_list(rows[0][0]) if rows else []
            self._lists.keep(asked, known)
        return known


def _compare_digests(kept: int | None, digest: int) -> Stored:
    """What becomes of a return that was not put on record, beside the one that is."""
    if kept is None:
        return Stored.FORGOTTEN
    return Stored.REPEAT if kept == digest else Stored.CONFLICT


def _keep_set(transaction: Transaction, ids: bytes) -> bytes:
    """What a job has for these minions, whose list is stored once for all jobs."""
    digest = hashlib.sha256(ids).digest()
    # Until the job is there too, nobody takes the list for one of no job.
    fetch(transaction, "SELECT pg_advisory_xact_lock_shared(%s)", [SETS_LOCK])
    if not fetch(transaction, "SELECT 1 FROM target_sets WHERE digest = %b", [digest]):
        statement = "INSERT INTO target_sets VALUES (%b, %b) ON CONFLICT DO NOTHING"
        fetch(transaction, statement, [digest, ids])
    return _SET + digest


def _delete_jobs(
    transaction: Transaction, jids: list[str], tables: Sequence[str] = _TABLES
) -> None:
    """Delete jobs with all that belongs to them."""
    for table in tables if jids else ():
        fetch(transaction, f"DELETE FROM {table} WHERE jid = ANY(%b)", [jids])  # noqa: S608 - ours


def _make_conditions(query: JobQuery) -> tuple[list[str], list[str]]:
    where: list[str] = []
    values: list[str] = []
    for column, wanted in (("fun", query.fun), ("tgt", query.tgt), ('"user"', query.user)):
        if wanted:
            is_glob = any(one in wanted for one in "*?[")
            where.append(f"jobs.{column} {'~' if is_glob else '='} %s")
            values.append(clean_text(translate_glob(wanted) if is_glob else wanted))
    if query.since:
        where.append("jobs.jid >= %s")
        values.append(clean_text(query.since))
    if query.until:
        where.append("jobs.jid <= %s")
        # The beginning of a jid stands for all that begin so.
        values.append(clean_text(query.until) + AFTER_ALL)
    for name, value in query.metadata.items():
        where.append("jobs.jid IN (SELECT jid FROM metadata WHERE name = %s AND value = %s)")
        values += [clean_text(name), clean_text(value)]
    return where, values


def translate_glob(glob: str) -> str:
    """SQLite's ``GLOB`` as a regular expression of PostgreSQL."""
    parts: list[str] = []
    at = 0
    while at < len(glob):
        letter = glob[at]
        at += 1
        if letter == "*":
            parts.append(".*")
        elif letter == "?":
            parts.append(".")
        elif letter == "[" and (end := glob.find("]", at + 1)) > 0:
            inside = glob[at:end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{inside}]")
            at = end + 1
        else:
            parts.append(letter if letter.isalnum() else f"\\{letter}")
    return f"^{''.join(parts)}$"
