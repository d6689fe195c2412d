"""The tables of a cluster: made and brought up to date by their owner, used by the nodes.

Two roles: one owns the tables (``salt-run cluster.join owner_dsn=…`` acts as it), the other may
only change rows, and is what nodes are. Who starts on tables of another version than its own does
not start. Source: docs/cluster.md#tables.
"""

from __future__ import annotations

from typing import Final

from saltlite.cluster.engine import ClusterEngine, Transaction, fetch
from saltlite.errors import ConfigError

VERSION: Final = 4

INSTALL_LOCK: Final = 0x5A17_0001
"""Advisory: two who install at once make the tables once."""

_FIRST: Final = """
CREATE TABLE cluster (
    single      boolean PRIMARY KEY DEFAULT true CHECK (single),
    id          text NOT NULL,
    fingerprint text NOT NULL  -- of cluster.pub
);
CREATE TABLE nodes (
    node    text PRIMARY KEY,
    number  smallint NOT NULL UNIQUE,
    address text NOT NULL,
    version text NOT NULL,
    beat    timestamptz NOT NULL,
    keeps_house boolean NOT NULL DEFAULT false,
    repeated    boolean NOT NULL DEFAULT false  -- what it had published was, after its death
);
CREATE TABLE keys (
    id      text COLLATE "C" PRIMARY KEY,
    state   text NOT NULL,
    pem     text NOT NULL,
    version bigint NOT NULL,
    changed timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX keys_by_version ON keys (version);
CREATE TABLE denied_keys (
    id          text COLLATE "C",
    fingerprint text,
    pem         text NOT NULL,
    version     bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, fingerprint)
);
CREATE TABLE counters (name text PRIMARY KEY, value bigint NOT NULL);
INSERT INTO counters VALUES ('keys', 0), ('banks', 0), ('epoch', 0);
CREATE TABLE publication_keys (
    generation integer PRIMARY KEY,
    sealed     bytea NOT NULL,
    made       timestamptz NOT NULL DEFAULT now(),
    serial     bigint NOT NULL DEFAULT 0
);
CREATE TABLE jobs (
    jid      text COLLATE "C" PRIMARY KEY,
    node     smallint NOT NULL,
    fun      text COLLATE "C" NOT NULL,
    tgt      text COLLATE "C" NOT NULL,
    tgt_type text NOT NULL,
    "user"   text COLLATE "C" NOT NULL,
    load     bytea NOT NULL,
    asked    bytea NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_by_fun ON jobs (fun, jid);
CREATE INDEX jobs_by_user ON jobs ("user", jid);
CREATE INDEX jobs_by_node ON jobs (node, jid);
CREATE INDEX jobs_by_asked ON jobs (asked);
CREATE TABLE target_sets (digest bytea PRIMARY KEY, members bytea NOT NULL);
CREATE TABLE metadata (
    name  text COLLATE "C",
    value text COLLATE "C",
    jid   text COLLATE "C",
    PRIMARY KEY (name, value, jid)
);
CREATE INDEX metadata_by_jid ON metadata (jid);
CREATE TABLE unasked (
    id         text COLLATE "C",
    jid        text COLLATE "C",
    size_bytes bigint NOT NULL,
    PRIMARY KEY (id, jid)
);
CREATE INDEX unasked_by_jid ON unasked (jid);
CREATE TABLE returns (
    jid    text COLLATE "C",
    id     text COLLATE "C",
    node   smallint NOT NULL,
    seq    bigint NOT NULL,
    digest bigint NOT NULL,
    ret    bytea NOT NULL,
    PRIMARY KEY (jid, id)
);
CREATE UNIQUE INDEX returns_by_place ON returns (node, seq);
CREATE SEQUENCE return_places;
CREATE TABLE publications (
    generation integer,
    serial     bigint,
    jid        text NOT NULL,
    node       smallint NOT NULL,
    frame      bytea NOT NULL,
    topics     bytea[] NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (generation, serial)
);
CREATE INDEX publications_by_serial ON publications (serial);
CREATE UNLOGGED TABLE events (
    node  smallint,
    seq   bigint,
    frame bytea NOT NULL,
    at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (node, seq)
);
CREATE SEQUENCE event_places;
CREATE TABLE banks (
    bank    text COLLATE "C",
    id      text COLLATE "C",
    version bigint NOT NULL,
    asked   bigint NOT NULL DEFAULT 0,
    data    bytea NOT NULL,
    PRIMARY KEY (bank, id)
);
CREATE INDEX banks_by_version ON banks (version);
CREATE TABLE nonces (digest bytea PRIMARY KEY, until timestamptz NOT NULL);
CREATE TABLE runs (
    jid   text COLLATE "C" PRIMARY KEY,
    node  smallint NOT NULL,
    note  bytea NOT NULL,
    told  bytea,
    at    timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE presence (
    id      text COLLATE "C" PRIMARY KEY,
    node    smallint NOT NULL,
    address text NOT NULL,
    seen    timestamptz NOT NULL DEFAULT now()
);
"""

_SECOND: Final = """
CREATE INDEX nonces_by_until ON nonces (until);
ALTER TABLE banks ADD COLUMN changed timestamptz NOT NULL DEFAULT now();
CREATE INDEX keys_gone ON keys (changed) WHERE state = 'gone';
CREATE INDEX denied_keys_gone ON denied_keys (at) WHERE pem = '';
CREATE INDEX banks_gone ON banks (changed) WHERE data = '';
INSERT INTO counters VALUES ('keys swept', 0), ('banks swept', 0)
"""
"""Rows of what went are swept after a while; the counters say up to which version."""

_STATE_REPORTS: Final = """
CREATE TABLE state_runs (
    run         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_s        float8 NOT NULL,
    jid         text COLLATE "C" NOT NULL,
    minion      text COLLATE "C" NOT NULL,
    place       integer NOT NULL,
    "user"      text COLLATE "C" NOT NULL,
    fun         text NOT NULL,
    saltenv     text NOT NULL,
    test        boolean NOT NULL,
    total       integer NOT NULL,
    changed     integer NOT NULL,
    failed      integer NOT NULL,
    duration_ms float8 NOT NULL,
    left_out    integer NOT NULL,
    sls         text NOT NULL,
    size        integer NOT NULL,  -- bytes, with its states
    UNIQUE (jid, minion, place)
);
CREATE INDEX state_runs_by_time ON state_runs (at_s);
CREATE INDEX state_runs_by_minion ON state_runs (minion, at_s);
CREATE TABLE state_rows (
    run         bigint,
    number      integer,
    sls         text COLLATE "C" NOT NULL,
    ident       text COLLATE "C" NOT NULL,
    function    text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    result      boolean,  -- NULL: would be changed
    duration_ms float8 NOT NULL,
    comment     text NOT NULL,
    changes     text NOT NULL,
    PRIMARY KEY (run, number)
);
CREATE INDEX state_rows_by_name ON state_rows (name, run);
"""

_SYNDICS: Final = """
CREATE TABLE syndics (node text PRIMARY KEY);
CREATE TABLE forward (
    seq   bigint PRIMARY KEY,
    jid   text COLLATE "C" NOT NULL,
    id    text COLLATE "C" NOT NULL,
    taker text,
    until timestamptz
);
CREATE INDEX forward_by_jid ON forward (jid);
CREATE INDEX forward_free ON forward (seq) WHERE taker IS NULL;
CREATE INDEX forward_by_taker ON forward (taker, until)
"""
"""Returns that have yet to go up to the master above, while there are syndics."""

MIGRATIONS: Final = (_FIRST, _SECOND, _STATE_REPORTS, _SYNDICS)
"""What makes version n of version n - 1, in order."""


def install(engine: ClusterEngine, *, role: str = "") -> int:
    """Make the tables, or bring them up to date, as their owner; the version they had (0: none).

    ``role`` is who may then read and change rows.

    Raises:
        ConfigError: they are of a newer version than ours.
        StoreError: the server refuses.
    """
    return engine.transact(lambda transaction: _bring_up(transaction, role))


def _bring_up(transaction: Transaction, role: str) -> int:
    fetch(transaction, "SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
    fetch(transaction, "CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)")
    rows = fetch(transaction, "SELECT version FROM schema_version")
    found = int(rows[0][0]) if rows else 0
    _refuse_newer(found)
    for number in range(found, VERSION):
        for statement in filter(None, map(str.strip, MIGRATIONS[number].split(";\n"))):
            fetch(transaction, statement)
    fetch(transaction, "DELETE FROM schema_version")
    fetch(transaction, "INSERT INTO schema_version VALUES (%s)", [VERSION])
    if role:
        _grant_rows(transaction, role)
    return found


def _grant_rows(transaction: Transaction, role: str) -> None:
    # A name cannot be a parameter; the server quotes it.
    quoted = fetch(transaction, "SELECT quote_ident(%s)", [role])[0][0]
    rights = "SELECT, INSERT, UPDATE, DELETE"
    for statement in (
        f"GRANT {rights} ON ALL TABLES IN SCHEMA public TO {quoted}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {quoted}",
    ):
        fetch(transaction, statement)


def check(engine: ClusterEngine) -> None:
    """See that the tables are there, and are ours.

    Raises:
        ConfigError: they are not; one line that says what to do.
        StoreError: the server cannot be asked.
    """
    rows = engine.execute("SELECT to_regclass('schema_version') IS NOT NULL")
    if not rows[0][0]:
        raise ConfigError(
            "the database has no tables: salt-run cluster.join owner_dsn=... makes them",
            option="cluster_dsn",
        )
    found = int(engine.execute("SELECT coalesce(max(version), 0) FROM schema_version")[0][0])
    _refuse_newer(found)
    if found < VERSION:
        raise ConfigError(
            f"the database's tables are of version {found}, these need {VERSION}: "
            "salt-run cluster.join owner_dsn=... brings them up to date",
            option="cluster_dsn",
        )


def _refuse_newer(found: int) -> None:
    if found > VERSION:
        raise ConfigError(
            f"the database's tables are of version {found}, and this saltlite knows {VERSION}: "
            "update saltlite here first",
            option="cluster_dsn",
        )
