"""The reports of runs of states in PostgreSQL: one set of them for all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from saltlite.cluster.engine import ClusterEngine, Transaction, fetch
from saltlite.cluster.postgres_jobs import translate_glob
from saltlite.core.state_reports import ReportQuery, StateRow, StateRun
from saltlite.jobs.report_file import (
    CLEAN_CHUNK,
    FULLEST,
    READ_CHUNK,
    ROW_COLUMNS,
    RUN_COLUMNS,
    Dialect,
    forget,
    greedy_of,
    make_conditions,
    make_run_conditions,
    of_minion,
    row_of,
    row_values,
    run_of,
    run_values,
)

POSTGRES: Final = Dialect(
    mark="%s",
    glob=lambda column, wanted: (f"{column} ~ %s", translate_glob(wanted)),
    is_one_of="{} = ANY(%b::text[])",
    contains="strpos({}, %s) > 0",
    bind_list=list,
    truth=("false", "true"),
)

_RUN_COLUMNS: Final = RUN_COLUMNS.replace("state_runs.user", 'state_runs."user"')

_ADD_RUN: Final = """
INSERT INTO state_runs (
    at_s, jid, minion, place, "user", fun, saltenv, test, total, changed, failed, duration_ms,
    left_out, sls, size
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (jid, minion, place) DO NOTHING RETURNING run
"""
_ADD_ROWS: Final = """
INSERT INTO state_rows
SELECT %s, * FROM unnest(
    %b::bigint[], %b::text[], %b::text[], %b::text[], %b::text[], %b::boolean[], %b::float8[],
    %b::text[], %b::text[]
)
"""


class PostgresReports:
    """The reports, for one thread. Raises StoreError as every store does."""

    def __init__(self, engine: ClusterEngine) -> None:
        self._engine = engine

    def add_runs(self, runs: Sequence[StateRun]) -> None:
        """Keep runs; one that is there already is left as it is."""
        if not runs:
            return
        # In one order everywhere: nodes that write the same ones at once wait, and do not block.
        ordered = sorted(runs, key=lambda run: (run.jid, run.minion, run.place))

        def write(transaction: Transaction) -> None:
            for run in ordered:
                rows = [row_values(row) for row in run.rows]
                found = fetch(transaction, _ADD_RUN, run_values(run, rows))
                if found and rows:
                    columns = [list(one) for one in zip(*rows, strict=True)]
                    fetch(transaction, _ADD_ROWS, [found[0][0], *columns])

        self._engine.transact(write)

    def clean(self, before_s: float) -> int:
        """Forget runs from before a moment (seconds since the epoch); how many."""
        statement = "SELECT run FROM state_runs WHERE at_s < %s LIMIT %s"
        total = 0
        while gone := self._delete_found(statement, [before_s, CLEAN_CHUNK]):
            total += gone
        return total

    def clean_to_bytes(self, most_bytes: int) -> int:
        """Forget runs until what is kept takes ``most_bytes``, see ``forget``; how many."""
        return forget(self, most_bytes)

    def count_bytes(self) -> int:
        """What is kept takes; not the files of the tables, which what is forgotten leaves large."""
        return int(self._engine.execute("SELECT coalesce(sum(size), 0) FROM state_runs")[0][0])

    def find_greedy(self) -> str:
        """See ``Forgetful``."""
        return greedy_of(self._engine.execute(FULLEST))

    def count_runs(self, minion: str) -> int:
        """See ``Forgetful``."""
        where, values = of_minion(minion, POSTGRES)
        return int(self._engine.execute(f"SELECT count(*) FROM state_runs {where}", values)[0][0])  # noqa: S608 - ours

    def forget_oldest(self, minion: str, count: int) -> int:
        """See ``Forgetful``."""
        where, values = of_minion(minion, POSTGRES)
        statement = f"SELECT run FROM state_runs {where} ORDER BY at_s, run LIMIT %s"  # noqa: S608 - ours
        return self._delete_found(statement, [*values, count])

    def _delete_found(self, statement: str, values: Sequence[Any]) -> int:
        def write(transaction: Transaction) -> int:
            runs = [row[0] for row in fetch(transaction, statement, values)]
            for table in ("state_rows", "state_runs") if runs else ():
                fetch(transaction, f"DELETE FROM {table} WHERE run = ANY(%b)", [runs])  # noqa: S608 - ours
            return len(runs)

        return self._engine.transact(write)

    def list_rows(self, query: ReportQuery) -> list[tuple[StateRun, StateRow]]:
        """The notable states that fit, each with its run (whose ``rows`` are not read)."""
        where, values = make_conditions(query, POSTGRES)
        order = (
            "state_rows.duration_ms DESC"
            if query.slowest
            else "state_runs.at_s DESC, state_runs.run DESC, state_rows.number"
        )
        rows = self._engine.execute(
            f"SELECT {_RUN_COLUMNS}, {ROW_COLUMNS} FROM state_rows "  # noqa: S608 - literals of ours
            f"JOIN state_runs ON state_runs.run = state_rows.run {_quote_user(where)} "
            f"ORDER BY {order} LIMIT %s",
            [*values, query.limit],
        )
        return [(run_of(row[:14]), row_of(row[14:])) for row in rows]

    def read_runs(self, query: ReportQuery) -> Iterator[StateRun]:
        """Whole runs, of each minion the oldest first; only times and minions restrict them."""
        where, values = make_run_conditions(query, POSTGRES)
        rows = self._engine.execute(
            f"SELECT run FROM state_runs {_quote_user(where)} ORDER BY minion, at_s, run",  # noqa: S608
            values,
        )
        numbers = [row[0] for row in rows]
        for start in range(0, len(numbers), READ_CHUNK):
            yield from self._read_whole(numbers[start : start + READ_CHUNK])

    def _read_whole(self, numbers: Sequence[int]) -> Iterator[StateRun]:
        wanted = [list(numbers)]
        runs = self._engine.execute(
            f"SELECT run, {_RUN_COLUMNS} FROM state_runs WHERE run = ANY(%b)",  # noqa: S608 - ours
            wanted,
        )
        rows: dict[int, list[StateRow]] = {}
        for row in self._engine.execute(
            f"SELECT run, {ROW_COLUMNS} FROM state_rows WHERE run = ANY(%b) "  # noqa: S608 - ours
            "ORDER BY run, number",
            wanted,
        ):
            rows.setdefault(row[0], []).append(row_of(row[1:]))
        found = {row[0]: run_of(row[1:], rows.get(row[0], ())) for row in runs}
        # The cleaner may have come since.
        yield from (found[number] for number in numbers if number in found)

    def checkpoint(self) -> None:
        """Nothing: the server sees to its own files."""

    def close(self) -> None:
        """Nothing: the connection is that of the other stores."""


def _quote_user(where: str) -> str:
    """``user`` is a word of PostgreSQL's own."""
    return where.replace("state_runs.user", 'state_runs."user"')
