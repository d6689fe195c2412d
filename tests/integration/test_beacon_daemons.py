"""A minion with beacons, and a real master that hears their events."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from watches import is_watched

from cluster import Cluster, Daemon, eventually, running
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Event, EventSubscriber

DEADLINE_S = 20.0
WAITING = "events of beacons wait for master"

CUSTOM = """
def validate(config):
    return True, "Valid beacon configuration"

def beacon(config):
    return [{"tag": "shown", "config": config, "id_of_grains": __grains__["id"],
             "calls": __salt__["test.echo"]("hello")}]
"""

HANGING = """
import statistics
import time

def beacon(config):
    time.sleep(1000)
"""

RAISING = """
def beacon(config):
    raise ValueError("oh no")
"""

PILLAR = {"beacons": {"of_pillar": [{"percent": "0%"}, {"beacon_module": "memusage"}]}}

OURS: dict[str, Any] = {
    "usage": [{"percent": "0%"}, {"beacon_module": "memusage"}, {"interval": 1}],
    "custom": [{"a": 1}, {"interval": 2}],
    "hanging": [{"interval": 1}],
    "raising": [{"interval": 1}],
}


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    with running(minions=0, master_options={"worker_threads": 2}) as cluster:
        master = cluster.root / "master"
        write(master / "srv" / "_beacons", custom=CUSTOM, hanging=HANGING, raising=RAISING)
        (master / "pillar").mkdir(exist_ok=True)
        (master / "pillar" / "top.sls").write_text("base: {'*': [beacons]}")
        (master / "pillar" / "beacons.sls").write_text(yaml.safe_dump(PILLAR))
        cluster.add_minion("m1", beacons=OURS).start()
        cluster.wait_for_ping("m1")
        assert set(said(cluster, "saltutil.sync_beacons")) == {
            "beacons.custom",
            "beacons.hanging",
            "beacons.raising",
        }
        yield cluster


def wait_for_watch(minion: Daemon, folder: Path) -> None:
    """Wait until one of its beacons does: what happened before does not count."""
    eventually(
        lambda: is_watched(folder, minion.titled("beacons")), within_s=DEADLINE_S, what="a watch"
    )


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def said(pair: Cluster, *args: str) -> Any:
    return pair.salt("m1", *args, "--out=json").json["m1"]


def heard(pair: Cluster, name: str, do: Any = lambda: None) -> Event:
    """The first event of a beacon after something was done."""
    found: list[Event] = []
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("salt/beacon/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        do()

        def one() -> bool:
            event = bus.get(1.0)
            if event is not None and event.tag.startswith(f"salt/beacon/m1/{name}/"):
                found.append(event)
            return bool(found)

        eventually(one, within_s=DEADLINE_S, what=f"an event of {name}")
    return found[0]


def ping_s(pair: Cluster) -> float:
    """How long a ping takes, from its publication to its return, as the master's bus tells it."""
    stamps = {}
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("salt/job/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        assert said(pair, "test.ping") is True
        while len(stamps) < 2:
            event = bus.get(DEADLINE_S)
            assert event is not None
            if event.data.get("fun") == "test.ping":
                kind = "ret" if "return" in event.data else "new"
                stamps[kind] = datetime.fromisoformat(event.data["_stamp"])
    return (stamps["ret"] - stamps["new"]).total_seconds()


def plain(event: Event) -> dict[str, Any]:
    return {key: value for key, value in event.data.items() if key != "_stamp"}


def test_events_have_the_form_of_salts(pair: Cluster) -> None:
    event = heard(pair, "usage")
    assert event.tag == "salt/beacon/m1/usage/"
    data = plain(event)
    assert 0 < data.pop("memusage") < 100
    assert data == {"id": "m1"}


def test_beacons_of_pillar_and_configuration_run(pair: Cluster) -> None:
    assert heard(pair, "of_pillar").data["id"] == "m1"


def test_a_custom_beacon_gets_what_salts_does(pair: Cluster) -> None:
    event = heard(pair, "custom")
    assert event.tag == "salt/beacon/m1/custom/shown"
    assert plain(event) == {
        "config": [{"a": 1}, {"_beacon_name": "custom"}],
        "id_of_grains": "m1",
        "calls": "hello",
        "id": "m1",
    }


def test_one_that_raises_tells_so_without_data(pair: Cluster) -> None:
    assert plain(heard(pair, "raising")) == {"id": "m1"}  # the id is the master's addition
    lines = (pair.root / "m1" / "log").read_text().splitlines()
    assert len([line for line in lines if "beacon raising: ValueError: oh no" in line]) == 1


def test_a_hanging_one_delays_neither_jobs_nor_other_beacons(pair: Cluster) -> None:
    minion = pair.minions["m1"]
    eventually(lambda: minion.titled("beacons: hanging"), within_s=DEADLINE_S, what="it hangs")
    began_s = time.monotonic()
    heard(pair, "usage")
    assert time.monotonic() - began_s < 10
    waits_s = [ping_s(pair) for _ in range(20)]
    assert statistics.median(waits_s) < 0.1


def test_a_beacon_that_is_added_runs_at_once_and_until_it_is_deleted(pair: Cluster) -> None:
    data = '[{"percent": "0%"}, {"beacon_module": "memusage"}, {"interval": 1}]'
    answer = {"comment": "Added beacon: added.", "result": True}
    assert said(pair, "beacons.add", "added", data) == answer
    heard(pair, "added")
    assert said(pair, "beacons.delete", "added")["result"] is True
    assert "added" not in said(pair, "beacons.list", "return_yaml=False")


def test_a_path_of_inotify_is_in_the_tag(pair: Cluster) -> None:
    folder = pair.root / "watched"
    folder.mkdir()
    said(pair, "beacons.add", "inotify", f'[{{"files": {{"{folder}": {{}}}}}}]')
    minion = pair.minions["m1"]

    def write_once_watched() -> None:
        wait_for_watch(minion, folder)
        (folder / "new").write_text("x")

    event = heard(pair, "inotify", write_once_watched)
    assert event.tag == f"salt/beacon/m1/inotify/{folder}"
    assert plain(event) == {"path": f"{folder}/new", "change": "IN_CREATE", "id": "m1"}
    said(pair, "beacons.delete", "inotify")


def test_events_wait_for_a_master_that_is_away(pair: Cluster) -> None:
    folder = pair.root / "later"
    folder.mkdir()
    said(
        pair,
        "beacons.add",
        "waits",
        f'[{{"files": {{"{folder}": {{}}}}}}, {{"beacon_module": "inotify"}}]',
    )
    minion = pair.minions["m1"]
    wait_for_watch(minion, folder)
    pair.master.stop()
    (folder / "while_away").write_text("x")
    eventually(lambda: WAITING in minion.log(), within_s=DEADLINE_S, what="the event waits")
    pair.master.start()
    eventually(lambda: pair.master.alive(), what="the master runs")
    found: list[str] = []
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("salt/beacon/m1/waits",)) as bus:
        eventually(lambda: bus.connect_confirmed(1.0), what="its bus answers")

        def one() -> bool:
            event = bus.get(1.0)
            if event is not None:
                found.append(event.data["path"])
            return bool(found)

        eventually(one, within_s=60, what="the event came")
    assert found[0].endswith("while_away")


def test_one_that_hangs_is_killed_and_begins_again(pair: Cluster) -> None:
    minion = pair.minions["m1"]

    def says_so() -> bool:
        return "beacon hanging: no end after 30 s" in (pair.root / "m1" / "log").read_text()

    eventually(says_so, within_s=60, what="the hanging beacon is killed")
    eventually(
        lambda: minion.titled("beacons: hanging"), within_s=DEADLINE_S, what="it begins again"
    )
    assert len(minion.titled("beacons: hanging")) == 1


def test_beacons_begin_before_a_master_answers_if_they_are_told_to(pair: Cluster) -> None:
    folder = pair.root / "early"
    folder.mkdir()
    pair.master.stop()
    watch = {"watch": [{"files": {str(folder): {}}}, {"beacon_module": "inotify"}]}
    minion = pair.add_minion("early", beacons=watch, beacons_before_connect=True)
    minion.start()
    wait_for_watch(minion, folder)
    (folder / "before").write_text("x")
    time.sleep(1.5)  # a look; nothing tells that an event waits for a first master
    pair.master.start()
    found: list[str] = []
    prefix = "salt/beacon/early/watch"
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, (prefix,)) as bus:
        eventually(lambda: bus.connect_confirmed(1.0), what="its bus answers")

        def one() -> bool:
            event = bus.get(1.0)
            if event is not None:
                found.append(event.data["path"])
            return bool(found)

        eventually(one, within_s=60, what="the event came")
    minion.stop()
    assert found[0].endswith("before")
