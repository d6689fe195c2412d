"""The schedule of a running master: events, records, returners, and a restart in between.

SALTLITE_ORCHESTRATE_EVERY_S is how often an orchestration comes (5 s), SALTLITE_ORCHESTRATIONS how
many of them (4); 60 and 10 make ten minutes of it.
"""

from __future__ import annotations

import json
import os
import time
from itertools import pairwise
from typing import Any

import pytest
from repository import DATA

from cluster import Cluster, eventually
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

RECORDED = json.loads((DATA / "reactor" / "vectors.json").read_text())["master_schedule_event"]

EVERY_S = float(os.environ.get("SALTLITE_ORCHESTRATE_EVERY_S", "5"))
ORCHESTRATIONS = int(os.environ.get("SALTLITE_ORCHESTRATIONS", "4"))
LATE_S = 4.0
"""How far two starts may be from their interval where others work beside them."""

ORCHESTRATION = """
ask:
  salt.function:
    - name: test.ping
    - tgt: m1
then:
  salt.runner:
    - name: test.arg
    - require:
      - salt: ask
"""

SCHEDULE = {
    "t1": {
        "function": "test.arg", "seconds": 1, "args": ["a"], "kwargs": {"k": 1},
        "metadata": {"x": 1}, "returner": "rawfile_json",
    },
    "wrong": {"function": "no.such", "seconds": 1},
    "long": {"function": "test.sleep", "args": [30], "seconds": 1},
}  # fmt: skip


def test_the_masters_schedule() -> None:
    options: dict[str, Any] = {"worker_threads": 2, "schedule": SCHEDULE, "id": "master1"}
    cluster = Cluster(minions={}, master_options=options)
    file = cluster.root / "returns.json"
    cluster.reconfigure(cluster.master_dir / "master", **{"rawfile_json.filename": str(file)})
    with cluster:
        cluster.start_master()
        runs(cluster)
        assert len(cluster.master.titled("Run runner.test.sleep")) == 1  # maxrunning
        listed = json.loads(cluster.salt_run("jobs.list_jobs", "--out=json").stdout)
        mine = [one for one in listed.values() if one["Function"] == "runner.test.arg"]
        assert mine
        assert {one["User"] for one in mine} == {"Schedule"}
        returned = [json.loads(line) for line in file.read_text().splitlines()]
        assert returned[0]["schedule"] == "t1"
        assert returned[0]["jid"] in listed
        cluster.master.stop()
        cluster.start_master()
        runs(cluster)


def runs(cluster: Cluster) -> None:
    """The event is as recorded, beside those of every runner."""
    with EventSubscriber(MasterSockets(cluster.sock_dir).event_pub) as bus:
        assert bus.connect_confirmed(30)
        found: dict[str, dict[str, Any]] = {}

        def is_complete() -> bool:
            event = bus.get(1.0)
            if event is not None:
                name = event.data.get("schedule", "")
                found[event.tag if name != "wrong" else "wrong"] = event.data
            ret = [data for tag, data in found.items() if tag.endswith("/ret")]
            return "wrong" in found and "__schedule_return" in found and bool(ret)

        eventually(is_complete, within_s=40, what="runs of the schedule")
    event, recorded = found["__schedule_return"], RECORDED["data"]
    assert event.keys() == recorded.keys()
    assert event["metadata"].keys() == recorded["metadata"].keys()
    for key in ("cmd", "id", "fun", "fun_args", "schedule", "jid", "return", "retcode", "success"):
        assert event[key] == recorded[key], key
    assert found["wrong"]["success"] is False
    assert found["wrong"]["retcode"] == 1
    ret = next(data for tag, data in found.items() if tag.endswith("/ret"))
    assert ret["user"] == "Schedule"


@pytest.mark.timeout(120 + 2 * EVERY_S * ORCHESTRATIONS)
def test_orchestrations_come_in_their_time_before_and_after_a_restart() -> None:
    schedule = {"orch": {"function": "state.orchestrate", "args": ["orch"], "seconds": EVERY_S}}
    options: dict[str, Any] = {"worker_threads": 2, "schedule": schedule}
    cluster = Cluster(minions=1, master_options=options)
    states = cluster.master_dir / "states"
    states.mkdir(parents=True)
    (states / "orch.sls").write_text(ORCHESTRATION)
    cluster.reconfigure(cluster.master_dir / "master", file_roots={"base": [str(states)]})
    with cluster:
        cluster.start()
        returned = collect_orchestrations(cluster, ORCHESTRATIONS // 2)
        cluster.master.stop()
        cluster.start_master()
        cluster.wait_for_ping("m1")
        returned += collect_orchestrations(cluster, ORCHESTRATIONS - ORCHESTRATIONS // 2)
        listed = json.loads(cluster.salt_run("jobs.list_jobs", "--out=json").stdout)
    assert len({one["jid"] for one in returned}) == ORCHESTRATIONS
    for one in returned:
        assert one["success"] is True, one
        (steps,) = one["return"]["data"].values()
        assert [step["result"] for step in steps.values()] == [True, True], one
        assert listed[one["jid"]]["Function"] == "runner.state.orchestrate"
        assert listed[one["jid"]]["User"] == "Schedule"


def collect_orchestrations(cluster: Cluster, count: int) -> list[dict[str, Any]]:
    """What the next so many have returned; they must begin at their interval."""
    with EventSubscriber(MasterSockets(cluster.sock_dir).event_pub) as bus:
        assert bus.connect_confirmed(30)
        starts: list[float] = []
        returned: list[dict[str, Any]] = []
        end_s = time.monotonic() + count * EVERY_S + 60
        while len(returned) < count and time.monotonic() < end_s:
            event = bus.get(1.0)
            if event is None or event.data.get("fun") != "runner.state.orchestrate":
                continue
            if event.tag.endswith("/new"):
                starts.append(time.monotonic())
            elif event.tag.startswith("salt/run/") and event.tag.endswith("/ret"):
                returned.append(event.data)
    assert len(returned) == count
    for early, late in pairwise(starts):
        assert abs(late - early - EVERY_S) < LATE_S, starts
    return returned
