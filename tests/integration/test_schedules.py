"""A minion that runs jobs by itself, and is told at once what to run: with a real master.

The fields of the returns are those that Salt 3006.30 sends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import yaml

from cluster import Cluster, eventually, running
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Event, EventSubscriber

DEADLINE_S = 20.0

PILLAR = {
    "whens": {"tea": "4:00pm"},
    "schedule": {"from_pillar": {"function": "test.ping", "when": "tea"}},
}


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    schedule = {"unheard": {"function": "test.ping", "seconds": 1, "return_job": False}}
    with running(
        minions=1, master_options={"worker_threads": 2}, minion_options={"schedule": schedule}
    ) as cluster:
        pillar = cluster.root / "master" / "pillar"
        pillar.mkdir(exist_ok=True)
        (pillar / "top.sls").write_text("base: {'*': [plan]}")
        (pillar / "plan.sls").write_text(yaml.safe_dump(PILLAR))
        yield cluster


def said(pair: Cluster, *args: str) -> Any:
    return pair.salt("m1", *args, "--out=json").json["m1"]


def returned(bus: EventSubscriber, name: str) -> Event:
    found: list[Event] = []

    def one() -> bool:
        event = bus.get(1.0)
        if event is not None:
            assert event.data.get("schedule") != "unheard"
            found.extend([event] if event.data.get("schedule") == name else [])
        return bool(found)

    eventually(one, within_s=DEADLINE_S, what=f"a return of {name}")
    return found[0]


def test_an_added_job_runs_at_once_and_returns_as_salts(pair: Cluster) -> None:
    sockets = MasterSockets(pair.sock_dir)
    with EventSubscriber(sockets.event_pub, ("salt/job/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        job = ("function=test.arg", "job_args=[a, 1]", "job_kwargs={k: 2}", "metadata={a: 1}")
        answer = said(pair, "schedule.add", "often", "seconds=1", *job)
        assert answer == {
            "comment": "Added job: often to schedule.",
            "result": True,
            "changes": {"often": "added"},
        }
        load = returned(bus, "often").data
    assert "Running scheduled job: unheard" in (pair.root / "m1" / "log").read_text()
    assert load["fun"] == "test.arg"
    assert load["fun_args"] == ["a", 1, {"k": 2}]
    assert load["return"]["args"] == ["a", 1]
    assert load["return"]["kwargs"]["k"] == 2
    assert load["retcode"] == 0
    assert load["jid"].isdigit()
    assert load["metadata"]["a"] == 1
    assert set(load["metadata"]) == {"a", "_TOS", "_TS", "_TT"}
    assert load["pid"] > 0
    kept = pair.minion_dir("m1") / "minion.d" / "_schedule.conf"
    assert yaml.safe_load(kept.read_text())["schedule"]["often"]["seconds"] == 1
    assert said(pair, "schedule.delete", "often")["result"] is True
    assert "often" not in yaml.safe_load(kept.read_text())["schedule"]


def test_the_pillars_jobs_come_and_their_times_are_told(pair: Cluster) -> None:
    assert said(pair, "saltutil.refresh_pillar", "wait=True")
    listed = said(pair, "schedule.list", "return_yaml=False")
    assert listed["from_pillar"]["when"] == "tea"
    told = said(pair, "schedule.show_next_fire_time", "from_pillar")
    assert told["result"] is True
    assert told["next_fire_time"].endswith("T16:00:00")


def test_a_job_is_put_off_switched_and_run_by_hand(pair: Cluster) -> None:
    said(pair, "schedule.add", "later", "function=test.ping", "days=3", "persist=False")
    assert said(pair, "schedule.disable_job", "later")["changes"] == {"later": "disabled"}
    refused = said(pair, "schedule.run_job", "later")
    assert refused == {"comment": "Job later is disabled.", "result": True}
    assert said(pair, "schedule.enable_job", "later")["result"] is True
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("salt/job/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        assert said(pair, "schedule.run_job", "later")["result"] is True
        assert returned(bus, "later").data["return"] is True


def test_a_state_declares_a_job(pair: Cluster) -> None:
    declared = ("schedule.present", "declared", "function=test.ping", "hours=4")
    for wanted in ({"declared": "added"}, {}):
        (answer,) = said(pair, "state.single", *declared).values()
        assert (answer["result"], answer["changes"]) == (True, wanted)
    (answer,) = said(pair, "state.single", "schedule.absent", "declared").values()
    assert answer["changes"] == {"declared": "removed"}


def test_a_run_that_the_minions_death_cut_short_is_heard_of(pair: Cluster) -> None:
    """P-dead of docs/reliability.md holds for these jobs, too."""
    minion = pair.minions["m1"]
    said(pair, "schedule.add", "long", "function=test.sleep", "job_args=[300]", "days=1")
    said(pair, "schedule.run_job", "long")
    jobs = eventually(lambda: minion.titled("test.sleep"), within_s=DEADLINE_S, what="it runs")
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("salt/job/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        for process in [*minion.processes(), *jobs]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        eventually(lambda: not minion.alive(), within_s=DEADLINE_S, what="the minion is gone")
        minion.start()
        load = returned(bus, "long").data
    assert (load["retcode"], load["success"]) == (254, False)
    assert load["return"] == "The minion stopped while this job ran."
    assert (load["fun"], load["fun_args"], load["pid"]) == ("test.sleep", [300], jobs[0].pid)
