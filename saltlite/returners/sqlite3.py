"""``sqlite3``: keeps jobs and returns in an SQLite file with Salt's tables.

Options ``sqlite3.database`` and ``sqlite3.timeout`` (seconds). Tables that are not there are made.
Source: docs/returners.md; what is in the columns was observed on Salt 3006.30.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.core.jsontext import pack_json
from saltlite.jobs.entries import job_entry
from saltlite.jobs.returner_context import ReturnerContext, options
from saltlite.jobs.stored import ReturnerJob

DEFAULTS: Final = {"database": "/var/lib/salt/salt.db", "timeout": 5.0}

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS jids (jid TEXT PRIMARY KEY, load TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS salt_returns (
    fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT,
    date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL
);
"""
_COUNT_TABLES: Final = (
    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('jids', 'salt_returns')"
)


def returner(ctx: ReturnerContext, ret: Mapping[str, object]) -> None:
    """Keep one return."""
    row = (
        str(ret["fun"]),
        str(ret["jid"]),
        str(ret["id"]),
        str(ret["fun_args"]) if ret.get("fun_args") else None,
        str(datetime.now()),  # noqa: DTZ005 - the column holds local time, as Salt's does
        _as_json(ret.get("return")),
        str(int(bool(ret.get("success", True)))),
    )
    with _open_database(ctx, ret) as db:
        db.execute("INSERT INTO salt_returns VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def save_load(
    ctx: ReturnerContext, jid: str, load: Mapping[str, object], minions: Sequence[str] | None = None
) -> None:
    """Keep a job; the first of a jid stays."""
    del minions
    with _open_database(ctx, load) as db:
        db.execute("INSERT OR IGNORE INTO jids VALUES (?, ?)", (jid, _as_json(dict(load))))


def save_minions(
    ctx: ReturnerContext, jid: str, minions: Sequence[str], syndic_id: str | None = None
) -> None:
    """Do nothing: the tables have no place for it."""
    del ctx, jid, minions, syndic_id


def get_load(ctx: ReturnerContext, jid: str) -> dict[str, Any] | None:
    """The job that was kept, ``None`` for none."""
    with _open_database(ctx) as db:
        row = db.execute("SELECT load FROM jids WHERE jid = ?", (jid,)).fetchone()
    return None if row is None else json.loads(row[0])


def get_jid(ctx: ReturnerContext, jid: str) -> dict[str, Any]:
    """Minion id → ``{"return", "success", "retcode"}`` of one job."""
    with _open_database(ctx) as db:
        rows = db.execute(
            "SELECT id, full_ret, success FROM salt_returns WHERE jid = ?", (jid,)
        ).fetchall()
    return {
        minion: {
            "return": json.loads(value),
            "success": success in ("1", "True"),
            "retcode": 0 if success in ("1", "True") else 1,
        }
        for minion, value, success in rows
    }


def get_fun(ctx: ReturnerContext, fun: str) -> dict[str, Any]:
    """Minion id → what it returned last when it ran a function."""
    with _open_database(ctx) as db:
        rows = db.execute(
            "SELECT id, full_ret FROM salt_returns WHERE fun = ? ORDER BY jid", (fun,)
        ).fetchall()
    return {minion: json.loads(value) for minion, value in rows}


def get_jids(ctx: ReturnerContext) -> dict[str, Any]:
    """Jid → what ``jobs.list_jobs`` shows of a job."""
    with _open_database(ctx) as db:
        rows = db.execute("SELECT jid, load FROM jids ORDER BY jid").fetchall()
    return {jid: job_entry(ReturnerJob(jid, json.loads(load))) for jid, load in rows}


def get_minions(ctx: ReturnerContext) -> list[str]:
    """The minions that returned something."""
    with _open_database(ctx) as db:
        return [row[0] for row in db.execute("SELECT DISTINCT id FROM salt_returns ORDER BY id")]


def prep_jid(
    ctx: ReturnerContext, nocache: bool = False, passed_jid: str | None = None
) -> str | None:
    """The jid that was passed; ``None`` leaves it to the master."""
    del ctx, nocache
    return passed_jid


@contextmanager
def _open_database(
    ctx: ReturnerContext, ret: Mapping[str, object] | None = None
) -> Iterator[sqlite3.Connection]:
    """The file, with its tables, for one transaction."""
    wanted = options(ctx, "sqlite3", ret, DEFAULTS)
    path = Path(wanted["database"])
    disk.make_dir(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, disk.PRIVATE_FILE))
    with closing(sqlite3.connect(path, timeout=float(wanted["timeout"]))) as db:
        if db.execute(_COUNT_TABLES).fetchone()[0] < 2:
            db.executescript(_SCHEMA)
        with db:
            yield db


def _as_json(value: object) -> str:
    return pack_json(value)
