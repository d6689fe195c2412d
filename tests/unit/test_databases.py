"""Returners on real servers, each in a directory of its own: what they write, read and forget.

The expected columns are those that Salt 3006.30 was seen to write. Source: docs/returners.md.
"""

import json
import shutil
import time
from contextlib import closing
from types import SimpleNamespace

import databases
import pytest
import returner_calls

from saltlite.databases.records import EventRecord, LoadRecord, ReturnRecord, unpack_record
from saltlite.errors import ServerAway
from saltlite.jobs.waiting import waiting_spools
from saltlite.loader.returners import resolve

JID = "20260102030405000006"
OTHER = "20260102030405000007"
LOAD = {
    "jid": JID, "fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "user": "root",
    "ret": "", "Minions": ["m1", "m2"],
}  # fmt: skip


def ret(minion, value=True, jid=JID, **more):
    return {"id": minion, "jid": jid, "fun": "test.ping", "fun_args": [], "return": value,
            "retcode": 0, "success": True, **more}  # fmt: skip


def context(tmp_path, **extra):
    return returner_calls.context(tmp_path, extra)


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("psycopg")
    if databases.postgres_programs() is None:
        pytest.skip("there is no PostgreSQL server")
    with databases.postgres() as place:
        yield place


@pytest.fixture(scope="module")
def mariadb():
    pytest.importorskip("pymysql")
    if shutil.which("mariadbd") is None:
        pytest.skip("there is no MariaDB server")
    with databases.mariadb() as socket:
        yield socket


@pytest.fixture(scope="module")
def redis():
    pytest.importorskip("redis")
    if shutil.which("redis-server") is None:
        pytest.skip("there is no Redis server")
    with databases.redis() as socket:
        yield socket


def options_of(name, request):
    """The options of a fresh database."""
    number = next(_numbers)
    if name == "redis":
        return {"redis.unix_socket_path": request.getfixturevalue("redis"), "redis.db": str(number)}
    if name == "mysql":
        import pymysql

        socket = request.getfixturevalue("mariadb")
        with closing(pymysql.connect(unix_socket=socket, user="root")) as db:
            db.cursor().execute(f"CREATE DATABASE d{number}")
        return {"mysql.host": socket, "mysql.user": "root", "mysql.db": f"d{number}",
                "mysql.create_tables": True}  # fmt: skip
    import psycopg

    place = request.getfixturevalue("postgres")
    with psycopg.connect(host=place, user="postgres", autocommit=True) as db:
        db.execute(f"CREATE DATABASE d{number}")
    return {f"returner.{name}": {"host": place, "user": "postgres", "db": f"d{number}",
                                 "create_tables": True}}  # fmt: skip


_numbers = iter(range(1, 1000))
ALL = ("pgjsonb", "postgres", "mysql", "redis")
SQL = ALL[:3]


@pytest.fixture(params=ALL)
def name(request):
    return request.param


@pytest.fixture
def ctx(name, request, tmp_path):
    return context(tmp_path, **options_of(name, request))


@pytest.fixture
def returner(name, ctx):
    one = resolve(name, ctx)
    yield one
    if one.server._store is not None:
        one.server._store.close()


def test_what_was_kept_is_read_again(returner):
    returner.call("save_load", JID, LOAD)
    returner.call("returner", ret("m1"))
    returner.call("returner", ret("m2", {"ä": [1, None, "x'; DROP TABLE jids; --"]}, success=False))
    assert returner.call("get_load", JID) == LOAD
    found = returner.call("get_jid", JID)
    assert found == {"m1": ret("m1"), "m2": {**found["m2"], "success": False}}
    assert found["m2"]["return"] == {"ä": [1, None, "x'; DROP TABLE jids; --"]}
    assert returner.call("get_minions") == ["m1", "m2"]
    jobs = returner.call("get_jids")
    assert jobs[JID]["Function"] == "test.ping"
    assert jobs[JID]["StartTime"] == "2026, Jan 02 03:04:05.000006"


def test_nothing_is_known_of_what_was_not_kept(returner):
    assert returner.call("get_load", JID) is None
    assert returner.call("get_jid", JID) == {}
    assert returner.call("get_jids") == {}
    assert returner.call("get_fun", "test.ping") == {}
    assert returner.call("get_minions") == []


def test_the_newest_of_a_function_is_found(returner):
    for jid, value in ((JID, 1), (OTHER, 2)):
        returner.call("save_load", jid, {**LOAD, "jid": jid})
        returner.call("returner", ret("m1", value, jid))
    returner.call("returner", ret("m2", 3))
    found = returner.call("get_fun", "test.ping")
    assert {minion: one["return"] for minion, one in found.items()} == {"m1": 2, "m2": 3}


def test_a_return_without_a_job_gets_one(returner):
    returner.call("returner", ret("m1", jid="req"))
    (jid,) = returner.call("get_jids")
    assert len(jid) == 20
    assert returner.call("get_jid", jid)["m1"]["jid"] == jid


def test_a_second_return_of_a_minion_is_not_a_second_one_for_readers(returner):
    returner.call("save_load", JID, LOAD)
    returner.call("returner", ret("m1"))
    returner.call("returner", ret("m1"))
    assert returner.call("get_jid", JID) == {"m1": ret("m1")}


def test_a_text_with_nul_is_kept(returner, name):
    returner.call("returner", ret("m1", {"a\0": "b\0c"}))
    expected = {"a\ufffd": "b\ufffdc"} if name == "pgjsonb" else {"a\0": "b\0c"}
    assert returner.call("get_jid", JID)["m1"]["return"] == expected


def test_long_names_cost_no_return(returner):
    fun = "module." + "x" * 80
    returner.call("returner", ret("m1", fun=fun))
    assert returner.call("get_jid", JID)["m1"]["fun"] == fun


def test_many_are_written_in_few_transactions(returner, ctx, name):
    later = resolve(name, SimpleNamespace(**{**vars(ctx), "writes_later": True}))
    later.call("save_load", JID, LOAD)
    for number in range(1200):
        later.call("returner", ret(f"m{number}"))
    spool, _events = later.server.spools()
    assert spool.count() == 1201
    spool.close()
    began = time.monotonic()
    returner.server.drain_again(name)
    assert time.monotonic() - began < 20
    assert len(returner.call("get_jid", JID)) == 1200


def test_what_waits_is_written_when_the_server_is_back(returner, ctx, name, tmp_path, caplog):
    away = context(tmp_path, **_elsewhere(ctx.config.extra, name))
    gone = resolve(name, away)
    for number in range(3):
        gone.call("returner", ret(f"m{number}"))
    assert "is away; 3 records wait" in caplog.text
    assert (tmp_path / "returners" / f"{name}.waits").exists()
    returner.call("returner", ret("m3"))
    assert list(returner.call("get_jid", JID)) == ["m0", "m1", "m2", "m3"]
    assert not (tmp_path / "returners" / f"{name}.waits").exists()
    with pytest.raises(ServerAway):
        gone.server.store().load(JID)


def _elsewhere(extra, name):
    """The same options with a socket that nobody listens on."""
    if name == "redis":
        return {"redis.unix_socket_path": "/nonexistent/s"}
    if name == "mysql":
        return {**extra, "mysql.host": "/nonexistent/s"}
    key = f"returner.{name}"
    return {key: {**extra[key], "host": "/nonexistent"}}


def test_a_job_may_name_another_destination(returner, ctx, name, request, tmp_path):
    """``--return_config``: of a return that then has to wait, too."""
    other = context(tmp_path, **options_of(name, request))
    alternative = {f"alt.{key}": value for key, value in other.config.extra.items()}
    both = context(tmp_path, **ctx.config.extra, **alternative)
    resolve(name, both).call("returner", ret("m1", ret_config="alt"))
    assert returner.call("get_jid", JID) == {}
    assert resolve(name, other).call("get_jid", JID) == {"m1": ret("m1")}


def test_events_are_kept(returner, name):
    returner.call("event_return", [{"tag": "salt/x", "data": {"a": "\0", "b": b"\xff"}}])
    store = returner.server.store()
    if name == "redis":
        ((_, fields),) = store._client.xrange("events")
        tag, data, master = fields["tag"], fields["data"], fields["master_id"]
    else:
        ((tag, data, master),) = store.rows("SELECT tag, data, master_id FROM salt_events")
    data = json.loads(data) if isinstance(data, str) else data
    assert (tag, data["b"], master) == ("salt/x", "\ufffd", "m_master")


POISON = {
    "half a surrogate pair": ret("m1", "\ud800"),
    "half a surrogate pair in the function": ret("m1", fun="test.\ud800"),
    "no number": ret("m1", [float("nan"), float("inf"), float("-inf")]),
    "keys": ret("m1", {1: "a", None: "b", "\udfff": 1.5}),
}


@pytest.mark.parametrize("about", POISON)
def test_what_a_server_cannot_take_holds_nobody_up(returner, about):
    returner.call("returner", POISON[about])
    returner.call("returner", ret("m2"))
    assert returner.call("get_jid", JID)["m2"] == ret("m2")
    spool, _events = returner.server.spools()
    assert spool.count() == 0


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("pgjsonb", "\ud800", "\ufffd"),
        ("pgjsonb", float("nan"), None),
        ("mysql", "\ud800", "\ud800"),
    ],
)
def test_no_return_is_lost_for_a_character(returner, value, read):
    returner.call("returner", ret("m1", [value]))
    assert returner.call("get_jid", JID)["m1"]["return"] == [read]


@pytest.mark.parametrize("name", ["mysql"])
def test_a_return_larger_than_a_packet_is_lost_alone(returner, mariadb, caplog):
    import pymysql

    def limit(size_bytes):
        with closing(pymysql.connect(unix_socket=mariadb, user="root")) as db:
            db.cursor().execute(f"SET GLOBAL max_allowed_packet = {size_bytes}")

    limit(1024 * 1024)
    try:
        returner.call("returner", ret("m1", '"' * 200_000))  # quoted twice, twice there
        returner.call("returner", ret("m2"))
    finally:
        limit(16 * 1024 * 1024)
    assert returner.call("get_jid", JID) == {"m2": ret("m2")}
    assert "more than the 1048576 that the server takes" in caplog.text


@pytest.mark.parametrize("name", ["redis"])
def test_a_key_of_another_type_costs_one_return(returner, caplog):
    returner.server.store()._client.set("ret:1", "not a hash")
    returner.call("returner", ret("m1", jid="1"))
    returner.call("returner", ret("m2"))
    assert returner.call("get_jid", JID) == {"m2": ret("m2")}
    assert "A record is lost: Redis: " in caplog.text


@pytest.mark.parametrize("name", ["redis"])
def test_what_is_kept_beside_a_refused_record_is_kept_once(returner, caplog):
    store = returner.server.store()
    store._client.set("ret:1", "not a hash")
    store.write([EventRecord("a", {}, "m"), ReturnRecord(ret("m1", jid="1")),
                 EventRecord("b", {}, "m")])  # fmt: skip
    assert [fields["tag"] for _, fields in store._client.xrange("events")] == ["a", "b"]
    assert caplog.text.count("A record is lost: Redis: ") == 1


@pytest.mark.parametrize("name", ["redis"])
@pytest.mark.parametrize(("keep_s", "expires_s"), [(0, -1), (100, 100)])
def test_how_long_redis_keeps_a_job(returner, keep_s, expires_s):
    store = returner.server.open_store(returner.server.read_options(None), keep_s)
    store.write([LoadRecord(JID, LOAD), ReturnRecord(ret("m1"))])
    for key in (f"load:{JID}", f"ret:{JID}", "m1:test.ping"):
        assert expires_s - 2 <= store._client.ttl(key) <= expires_s
    store.close()


@pytest.mark.parametrize("name", ["postgres"])
def test_a_row_that_is_cut_hides_no_other(returner, caplog):
    returner.call("returner", ret("m1"))
    returner.call("returner", ret("m2"))
    with returner.server.store()._transaction() as cursor:
        cursor.execute("UPDATE salt_returns SET full_ret = '{\"id\": ' WHERE id = 'm1'")
    assert returner.call("get_jid", JID) == {"m1": {}, "m2": ret("m2")}
    assert "not JSON" in caplog.text


def test_a_return_without_a_job_has_the_same_one_when_it_is_written_twice(returner, ctx, name):
    later = resolve(name, SimpleNamespace(**{**vars(ctx), "writes_later": True}))
    later.call("returner", ret("m1", jid="req"))
    spool, _events = later.server.spools()
    with closing(spool):
        records = [unpack_record(one.line) for one in spool.peek(10)]
    for _ in range(2):
        returner.server.store().write(records)
    assert len(returner.call("get_jids")) == 1


def test_a_return_tells_a_master_no_destination(returner, ctx, name):
    later = resolve(name, SimpleNamespace(**{**vars(ctx), "writes_later": True}))
    later.call("returner", ret("m1", ret_config="alt", ret_kwargs={"host": "192.0.2.1"}))
    returner.server.drain_again(name)
    assert returner.call("get_jid", JID) == {"m1": ret("m1")}


def test_a_job_killed_while_it_writes_leaves_a_sign(returner, name, tmp_path, monkeypatch):
    def be_killed(*_args):
        raise SystemExit

    monkeypatch.setattr("saltlite.databases.returner.drain", be_killed)
    with pytest.raises(SystemExit):
        returner.call("returner", ret("m1"))
    monkeypatch.undo()
    assert waiting_spools(tmp_path) == [name]
    returner.server.drain_again(name)
    assert waiting_spools(tmp_path) == []
    assert returner.call("get_jid", JID) == {"m1": ret("m1")}


@pytest.mark.parametrize("name", SQL)
def test_the_columns_are_salts(returner, name):
    returner.call("returner", ret("m1", {"a": 1}))
    returner.call("returner", ret("m2", 2, success=False))
    column = "`return`" if name == "mysql" else "return"
    rows = returner.server.store().rows(
        f"SELECT fun, jid, {column}, id, success, full_ret FROM salt_returns ORDER BY id"
    )
    values = [[json.loads(one) if at in (2, 5) and isinstance(one, str) else one
               for at, one in enumerate(row)] for row in rows]  # fmt: skip
    yes, no = ("1", "0") if name == "mysql" else ("true", "false")
    assert values == [
        ["test.ping", JID, {"a": 1}, "m1", yes, ret("m1", {"a": 1})],
        ["test.ping", JID, 2, "m2", no, ret("m2", 2, success=False)],
    ]


@pytest.mark.parametrize("name", SQL)
@pytest.mark.parametrize("archive", [False, True])
def test_old_jobs_are_forgotten(returner, ctx, name, archive):
    ctx.config.extra["archive_jobs"] = archive
    if name == "postgres":
        ctx.config.extra["returner.postgres"]["clean"] = True
    one = resolve(name, ctx)
    for jid in (JID, OTHER):
        one.call("save_load", jid, {**LOAD, "jid": jid})
        one.call("returner", ret("m1", jid=jid))
    one.call("event_return", [{"tag": "salt/x", "data": {}}])
    store = one.server.store()
    old = "now() - interval 2 day" if name == "mysql" else "now() - interval '2 days'"
    with store._transaction() as cursor:
        cursor.execute(f"UPDATE salt_returns SET alter_time = {old} WHERE jid = %s", (JID,))
        cursor.execute(f"UPDATE salt_events SET alter_time = {old}")
    one.call("clean_old_jobs")
    assert list(one.call("get_jids")) == [OTHER]
    assert one.call("get_jid", JID) == {}
    assert one.call("get_jid", OTHER) == {"m1": ret("m1", jid=OTHER)}
    assert store.rows("SELECT count(*) FROM salt_events")[0][0] == 0
    if archive:
        for table in ("jids", "salt_returns", "salt_events"):
            assert store.rows(f"SELECT count(*) FROM {table}_archive")[0][0] == 1
    store.close()


def test_salts_postgres_returner_cleans_nothing(request, tmp_path):
    ctx = context(tmp_path, **options_of("postgres", request))
    one = resolve("postgres", ctx)
    one.call("returner", ret("m1"))
    with one.server.store()._transaction() as cursor:
        cursor.execute("UPDATE salt_returns SET alter_time = now() - interval '2 days'")
    one.call("clean_old_jobs")
    assert one.call("get_minions") == ["m1"]


@pytest.mark.parametrize(
    ("name", "extra", "driver"),
    [("pgjsonb", "postgres", "psycopg"), ("mysql", "mysql", "pymysql"),
     ("redis", "redis", "redis")],
)  # fmt: skip
def test_a_missing_driver_is_one_line_that_names_the_extra(
    name, extra, driver, tmp_path, monkeypatch
):
    from saltlite.errors import StoreError

    monkeypatch.setitem(__import__("sys").modules, driver, None)
    with pytest.raises(StoreError, match=rf"pip install 'saltlite\[{extra}\]'"):
        resolve(name, context(tmp_path)).call("get_minions")
