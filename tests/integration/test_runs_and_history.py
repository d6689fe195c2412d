"""Runners and wheel functions by a running master, and what the store tells afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from programs import need

from cluster import Cluster, eventually
from saltlite.cli.runs import runner_context
from saltlite.client.runner import RunnerClient, WheelClient
from saltlite.config.load import load_master
from saltlite.errors import MasterRefused, RequestTimeout
from saltlite.master.acl import process_user
from saltlite.runner_context import RunnerContext


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    cluster = Cluster(
        minions=2,
        master_options={
            "worker_threads": 2,
            "timeout": 2,
            "gather_job_timeout": 1,
            "master_job_cache": "sqlite3",
            "event_return": "rawfile_json",
            "event_return_blacklist": ["salt/auth"],
            "peer_run": {"m1": ["test.*"]},
        },
    )
    files = {"sqlite3.database": str(cluster.root / "jobs.db")}
    files |= {"rawfile_json.filename": str(cluster.root / "events.json")}
    cluster.reconfigure(cluster.master_dir / "master", **files)
    with cluster:
        cluster.start()
        yield cluster


@pytest.fixture
def ctx(salted: Cluster) -> Iterator[RunnerContext]:
    with runner_context(load_master(str(salted.master_dir)), lambda _line: None) as found:
        yield found


def run(salted: Cluster, *words: str) -> Any:
    ran = salted.salt_run(*words, "--out=json")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout) if ran.stdout.strip() else None


def test_a_runner_by_the_master(ctx: RunnerContext) -> None:
    client = RunnerClient(ctx)
    answer = client.cmd_async({"fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}})
    assert answer["tag"] == f"salt/run/{answer['jid']}"
    low = {"fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}}
    assert client.cmd_sync(low, timeout=20) == {"args": ["a"], "kwargs": {"b": 1}}
    assert "not available" in client.cmd_sync({"fun": "nosuch.thing"}, timeout=20)
    with pytest.raises(RequestTimeout):
        client.cmd_sync({"fun": "test.sleep", "arg": [1]}, timeout=0.2)
    with pytest.raises(MasterRefused):
        client.cmd_async({"fun": "test.arg", "user": "root", "key": "x" * 76})


def test_a_wheel_function_by_the_master(ctx: RunnerContext) -> None:
    need("ip")  # minions are known by the addresses in their grains
    client = WheelClient(ctx)
    assert client.cmd_sync({"fun": "key.list", "match": "acc"}) == {"minions": ["m1", "m2"]}
    data = client.cmd_async({"fun": "minions.connected"})["data"]
    assert (data["fun"], data["success"]) == ("wheel.minions.connected", True)
    assert data["return"] == ["m1", "m2"]
    assert data["user"] == process_user()


def test_a_run_that_dies_is_an_answer(salted: Cluster, ctx: RunnerContext) -> None:
    """A minion waits for the value of its runner; nobody waits for ever."""
    eventually(lambda: not salted.master.titled("Run runner"), within_s=10, what="others to end")
    started = salted.salt("m1", "publish.runner", "test.sleep", "30", "--async").stdout
    eventually(lambda: salted.master.titled("Run runner.test.sleep 2"), within_s=10, what="a run")
    for process in salted.master.titled("Run runner.test.sleep 2"):
        process.kill()
    jid = started.split()[-1]
    found = eventually(lambda: ctx.jobs.returns(jid), within_s=20, what="the return")
    assert "ended before it was done" in str(found["m1"]["return"])


def test_runs_are_on_record(salted: Cluster, ctx: RunnerContext) -> None:
    RunnerClient(ctx).cmd_sync({"fun": "test.arg", "arg": ["recorded"]}, timeout=20)
    entry = next(iter(run(salted, "jobs.last_run", "function=runner.test.arg").values()))
    ((_master, ret),) = entry["Result"].items()
    assert ret["return"]["return"] == {"args": ["recorded"], "kwargs": {}}


def test_another_store_has_the_same(salted: Cluster) -> None:
    salted.salt("*", "test.echo", "kept")
    found = run(salted, "jobs.list_jobs", "search_function=test.echo", "ext_source=sqlite3")
    (jid,) = found
    assert run(salted, "jobs.lookup_jid", jid) == {"m1": "kept", "m2": "kept"}
    assert run(salted, "jobs.lookup_jid", jid, "ext_source=local_cache") == {
        "m1": "kept",
        "m2": "kept",
    }
    assert run(salted, "jobs.exit_success", jid) == {"m1": True, "m2": True}


def test_events_go_to_returners_too(salted: Cluster) -> None:
    jid = salted.salt("m1", "test.ping", "--async").stdout.split()[-1]
    path = salted.root / "events.json"
    tag = f"salt/job/{jid}/ret/m1"
    eventually(lambda: path.exists() and tag in path.read_text(), within_s=10, what="the event")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert next(one for one in events if one["tag"] == tag)["data"]["return"] is True
    assert not [one for one in events if one["tag"] == "salt/auth"]


def test_what_changed_since_yesterday(salted: Cluster) -> None:
    salted.salt("m1", "cmd.run", "true")
    salted.salt("m1", "test.ping")
    found = run(salted, "jobs.changes", "m1", "since=yesterday")
    assert {entry["Function"] for entry in found.values()} == {"cmd.run"}


def test_why_nobody_answers(salted: Cluster) -> None:
    started = salted.salt("*", "cmd.run", "sleep 30", "--async").stdout
    jid = started.split()[-1]
    eventually(lambda: len(sleepers(salted)) == 2, within_s=10, what="the job to run")
    found = run(salted, "jobs.why", jid)
    assert {one["reason"] for one in found.values()} == {"running"}
    assert "still runs cmd.run" in found["m1"]["text"]
    assert list(run(salted, "jobs.active")) == [jid]
    salted.salt("*", "saltutil.kill_job", jid)
    eventually(lambda: not sleepers(salted), within_s=10, what="the job to end")
    eventually(lambda: run(salted, "jobs.why", jid) == {}, within_s=20, what="both returns")
    assert asked(salted, "m2", "saltutil.received", jid) == {"m2": True}


def asked(salted: Cluster, *words: str) -> Any:
    return salted.salt(*words, "--out=json", "--static").json


def sleepers(salted: Cluster) -> list[Any]:
    daemons = salted.minions.values()
    return [one for daemon in daemons for one in daemon.titled("sleep 30") if one.name() == "sleep"]


def test_why_of_a_key_and_of_a_minion_that_went(salted: Cluster) -> None:
    salted.minions["m2"].stop()
    try:
        salted.salt("-L", "m2,nobody", "test.ping", "--async")
        jid = next(iter(run(salted, "jobs.last_run", "function=test.ping")))
        found = run(salted, "jobs.why", jid)
    finally:
        salted.minions["m2"].start()
        salted.wait_for_ping("m2")
    assert found["nobody"]["reason"] == "key"
    assert found["m2"]["reason"] in ("silent", "not connected")
    assert found["m2"]["last_heard"].startswith(time.strftime("%Y-", time.gmtime()))


def test_the_process_that_runs_them_is_replaced(salted: Cluster, ctx: RunnerContext) -> None:
    """What it had forked ends with it; what is asked for next is done."""
    client = RunnerClient(ctx)
    client.cmd_async({"fun": "test.sleep", "arg": [60]})
    eventually(lambda: salted.master.titled("Run runner.test.sleep"), within_s=10, what="a run")
    (server,) = salted.master.titled("salt-master RunServer")
    (run_process,) = salted.master.titled("Run runner.test.sleep")
    server.kill()
    eventually(lambda: not run_process.is_running(), within_s=10, what="the run to end too")

    def works() -> bool:
        try:
            answer = WheelClient(ctx).cmd_async({"fun": "minions.connected"})
        except MasterRefused:
            return False
        return bool(answer["data"]["success"])

    eventually(works, within_s=15, what="another RunServer")
