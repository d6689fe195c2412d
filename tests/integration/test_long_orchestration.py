"""A long orchestration on the master's schedule: reactions and other jobs go on beside it.

SALTLITE_STEP_S is how long each of its five steps takes (2 s; 120 s makes ten minutes of it).
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster import Cluster, eventually
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventPusher, EventSubscriber

STEP_S = float(os.environ.get("SALTLITE_STEP_S", "2"))
STEPS = 5
OTHERS_S = 1
WITHIN_S = 30.0
LATE_S = 3.0
"""How much later than due others begin at most, mostly, on a machine that has much to do."""

LATEST_S = 8.0
"""One alone; the orchestration takes longer."""

ORCHESTRATION = "".join(
    f"step{number}:\n  salt.runner:\n    - name: test.sleep\n    - s_time: {STEP_S}\n"
    for number in range(STEPS)
)
REACTION = "answer:\n  runner.test.arg:\n    - args: [{n: {{ data['n'] }}}]\n"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    schedule = {
        "long": {"function": "state.orchestrate", "args": ["orch"], "seconds": 1},
        "other": {"function": "test.arg", "args": ["other"], "seconds": OTHERS_S},
    }
    options: dict[str, Any] = {"worker_threads": 2, "schedule": schedule}
    one = Cluster(minions={}, master_options=options)
    states, reaction = one.master_dir / "states", one.root / "answer.sls"
    states.mkdir(parents=True)
    (states / "orch.sls").write_text(ORCHESTRATION)
    reaction.write_text(REACTION)
    one.reconfigure(
        one.master_dir / "master",
        file_roots={"base": [str(states)]},
        reactor=[{"ask/*": [str(reaction)]}],
    )
    with one:
        one.start_master()
        one.wait_for_reactor()
        yield one


def long_runs(cluster: Cluster) -> list[Any]:
    return cluster.master.titled("Run runner.state.orchestrate")


def watch(cluster: Cluster) -> dict[str, Any]:
    """Ask once a second until an orchestration has ended: its return, delays, others' starts."""
    sockets = MasterSockets(cluster.sock_dir)
    delays: list[float] = []
    others: list[float] = []
    asked: dict[int, float] = {}
    with EventPusher(sockets.event_pull) as pusher, EventSubscriber(sockets.event_pub) as bus:
        assert bus.connect_confirmed(WITHIN_S)
        end_s, next_s = time.monotonic() + STEPS * STEP_S + 60, 0.0
        most = 0
        while time.monotonic() < end_s:
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + 1.0
                asked[len(asked)] = time.monotonic()
                pusher.fire(f"ask/{len(asked)}", {"n": len(asked) - 1})
                most = max(most, len(long_runs(cluster)))
            event = bus.get(0.2)
            if event is None or not event.tag.startswith("salt/run/"):
                continue
            data = event.data
            fun = data.get("fun")
            if fun == "runner.test.arg" and event.tag.endswith("/new"):
                if data["user"] == "Reactor":
                    delays.append(time.monotonic() - asked[data["fun_args"][0]["n"]])
                else:
                    others.append(time.monotonic())
            if fun == "runner.state.orchestrate" and event.tag.endswith("/ret"):
                return {"ret": data, "delays": delays, "others": others, "most": most}
    raise AssertionError("the orchestration has not ended")


def test_a_long_orchestration_delays_nobody_and_is_on_record(cluster: Cluster) -> None:
    eventually(lambda: long_runs(cluster), within_s=WITHIN_S, what="the orchestration")
    seen = watch(cluster)
    gaps = [late - early for early, late in zip(seen["others"], seen["others"][1:], strict=False)]
    print(
        f"reactions: {len(seen['delays'])}, median {statistics.median(seen['delays']):.3f} s,"
        f" longest {max(seen['delays']):.3f} s; other job: {len(seen['others'])} runs,"
        f" longest gap {max(gaps):.2f} s; orchestrations at once: {seen['most']}"
    )
    ret = seen["ret"]
    assert ret["success"] is True, ret
    assert ret["user"] == "Schedule"
    assert seen["most"] == 1  # maxrunning, though it is due every second
    assert statistics.median(seen["delays"]) < LATE_S
    assert max(seen["delays"]) < LATEST_S
    assert max(gaps) < OTHERS_S + LATEST_S
    assert len(seen["others"]) >= STEPS * STEP_S / (OTHERS_S + 1)
    jid = ret["jid"]
    kept = json.loads(cluster.salt_run("jobs.list_job", jid, "--out=json").stdout)
    assert kept["Function"] == "runner.state.orchestrate"
    assert kept["User"] == "Schedule"
    (result,) = kept["Result"].values()
    assert result["return"]["return"] == ret["return"]
    (steps,) = ret["return"]["data"].values()
    assert [step["result"] for step in steps.values()] == [True] * STEPS


def test_it_ends_with_the_master_and_the_next_master_runs_it_anew(cluster: Cluster) -> None:
    (run,) = eventually(lambda: long_runs(cluster), within_s=WITHIN_S, what="the orchestration")
    family = [run, *run.children(recursive=True)]
    assert cluster.master.stop() == 0
    assert not [one for one in family if one.is_running() and one.status() != "zombie"]
    cluster.start_master()
    (again,) = eventually(lambda: long_runs(cluster), within_s=WITHIN_S, what="the next one")
    assert again.pid != run.pid
    assert watch(cluster)["ret"]["success"] is True
