"""The schedule of a running master: events, records, returners, and a restart in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cluster import Cluster, eventually
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

RECORDED = json.loads(
    (Path(__file__).parents[1] / "cases" / "reactor" / "vectors.json").read_text()
)["master_schedule_event"]

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
