"""``jobs.*`` answers from each server as from the master's own store, to the byte."""

import json
import shutil
from contextlib import closing
from types import SimpleNamespace

import databases
import pytest
import returner_calls

from saltlite.cli.stores import JobReader
from saltlite.loader.returners import resolve
from saltlite.master.job_mirror import JobMirror
from saltlite.master.jobcache import SqliteJobStore
from saltlite.runners import jobs

PROGRAMS = {"mysql": "mariadbd", "redis": "redis-server"}
DRIVERS = {"mysql": "pymysql", "redis": "redis"}
JIDS = [f"2026010203040{number}000006" for number in range(8)]
PING, STATES, SEVERAL, SILENT, BATCH, META, OWN, FIND = JIDS


def load(jid, fun, arg=(), tgt="*", **more):
    return {"cmd": "publish", "fun": fun, "arg": list(arg), "tgt": tgt, "tgt_type": "glob",
            "user": "root", "ret": "", "jid": jid, **more}  # fmt: skip


def ret(value, retcode=0, **more):
    return {"return": value, "retcode": retcode, "success": retcode == 0, **more}


RAN = {
    "file_|-a_|-/a_|-managed": {"result": False, "changes": {}, "comment": "ä", "__run_num__": 0}
}
WORLD = [
    (load(PING, "test.ping"), ["m1", "m10", "m2"], {"m2": ret(True), "m10": ret(True)}),
    (load(STATES, "state.apply", ["web"]), ["m1"], {"m1": ret(RAN, 2, out="highstate")}),
    (load(SEVERAL, ["test.ping", "test.echo"], [[], ["x"]]), ["m1", "m2"],
     {"m1": ret({"test.ping": True, "test.echo": "x"}),
      "m2": {**ret({"test.ping": True, "test.echo": "no"}), "success": {"test.ping": True,
             "test.echo": False}, "retcode": {"test.ping": 0, "test.echo": 1}}}),
    (load(SILENT, "cmd.run", ["true"], ["m7", "m8"], tgt_type="list"), ["m7", "m8"], {}),
    (load(BATCH, "test.version", tgt=["m1"], tgt_type="list", user="sudo_joe"), ["m1"],
     {"m1": ret("3006.30")}),
    (load(META, "test.arg", ["1", {"__kwarg__": True, "a": None}],
          kwargs={"metadata": {"ticket": "A1", "n": 2}}), ["m2"],
     {"m2": ret({"args": ["1"], "kwargs": {"a": None}, "f": 0.1, "big": 2**60})}),
    (load(OWN, "grains.get", ["os"], "m1", cmd="_return", user=""), ["m1"], {"m1": ret("")}),
    (load(FIND, "saltutil.find_job", [PING]), ["m1"], {"m1": ret({}, 254)}),
]  # fmt: skip

ROWS = [
    *[("lookup_jid", {"jid": jid}) for jid in JIDS],
    ("lookup_jid", {"jid": PING, "missing": True}),
    ("lookup_jid", {"jid": SILENT, "missing": True, "returned": False}),
    ("lookup_jid", {"jid": "20260102030499000000"}),
    *[("list_job", {"jid": jid}) for jid in (PING, STATES, SEVERAL, SILENT, META, OWN)],
    ("list_job", {"jid": "20260102030499000000"}),
    ("print_job", {"jid": SEVERAL}),
    ("print_job", {"jid": "20260102030499000000"}),
    ("list_jobs", {}),
    ("list_jobs", {"search_function": "test.*,cmd.run"}),
    ("list_jobs", {"search_target": "m7"}),
    ("list_jobs", {"search_target": "m10"}),
    ("list_jobs", {"search_metadata": {"ticket": "A1"}}),
    ("list_jobs", {"search_user": "sudo_*"}),
    ("list_jobs", {"start_time": SILENT, "end_time": META}),
    ("list_jobs", {"start_time": "2026-01-03"}),
    ("list_jobs_filter", {"count": 3}),
    ("list_jobs_filter", {"count": 3, "filter_find_job": False}),
    ("list_jobs_filter", {"count": 100, "outputter": "json"}),
    ("last_run", {}),
    ("last_run", {"function": "test.ping"}),
    ("last_run", {"target": "m8"}),
    ("last_run", {"metadata": {"n": 2}}),
    ("last_run", {"function": "test.none"}),
    *[("exit_success", {"jid": jid}) for jid in (PING, STATES, SEVERAL, SILENT)],
]


@pytest.fixture(scope="module", params=returner_calls.NAMES)
def name(request):
    pytest.importorskip(DRIVERS.get(request.param, "psycopg"))
    program = PROGRAMS.get(request.param)
    if not (shutil.which(program) if program else databases.postgres_programs()):
        pytest.skip("there is no server for it")
    return request.param


@pytest.fixture(scope="module")
def world(name, tmp_path_factory):
    """Both stores, filled as the master's workers fill them."""
    place = tmp_path_factory.mktemp("jobs")
    with returner_calls.server(name) as server, closing(SqliteJobStore(place, sync="never")) as own:
        server.make("ours")
        ctx = returner_calls.context(place, server.options("ours"))
        ctx.config.jobs = SimpleNamespace(
            keep_jobs_seconds=86400.0, ext_job_cache="", master_job_cache=name, job_cache=True
        )
        mirror = JobMirror(ctx.config)
        for job, minions, returns in WORLD:
            own.new_job(job["jid"], job, minions)
            mirror.job(job["jid"], job, minions)
            for minion, one in returns.items():
                own.add_return(job["jid"], minion, one)
                mirror.note_return({"id": minion, "jid": job["jid"], "fun": job["fun"], **one})
        resolve(name, ctx).server.drain_again(name)
        ctx.jobs = JobReader(own, ctx.config)
        yield ctx


@pytest.mark.parametrize(("function", "kwargs"), ROWS, ids=lambda value: json.dumps(value)[:60])
def test_the_same_bytes(world, name, function, kwargs):
    call = getattr(jobs, function)
    expected = call(world, **kwargs, ext_source="local_cache")
    found = call(world, **kwargs)
    in_order = name != "pgjsonb"  # jsonb has an order of its own
    assert write(found, in_order) == write(expected, in_order)


def write(value, in_order):
    return json.dumps(value, sort_keys=not in_order)


def test_the_table_says_something(world):
    assert len(jobs.list_jobs(world)) == len(WORLD)
    assert list(jobs.list_jobs(world, search_target="m10")) == [PING]
    assert jobs.list_job(world, SILENT)["Minions"] == ["m7", "m8"]
