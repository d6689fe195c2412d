"""Engines as processes of both daemons: found, given what Salt gives them, kept up, and ended."""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cluster import Cluster, eventually, running
from saltlite.transport.addresses import MasterSockets, MinionSockets
from saltlite.transport.bus import EventSubscriber

DEADLINE_S = 30.0

# What each finds in its globals is what Salt 3006.30 gives engines.
TELL = """
    import os, time

    def start(**kwargs):
        found = {name: name in globals() for name in ("__states__", "__runners__", "__utils__")}
        __salt__["event.send"](
            "told/" + kwargs["who"],
            {
                "kwargs": kwargs, "found": found, "role": __opts__["__role"], "pid": os.getpid(),
                "id": __opts__["id"], "ping": __salt__["test.ping"](),
                "runner": "jobs.list_jobs" in __runners__,
            },
        )
        while True:
            time.sleep(3600)
"""

ECHO = """
    import salt.utils.event

    def start(node, to):
        with salt.utils.event.get_event(node, opts=__opts__, listen=True) as bus:
            for event in bus.iter_events(tag="ask/", full=True):
                data = event["data"]
                bus.fire_event({"heard": data.get("data", data)["n"]}, to)
"""

FAIL = """
    def start(text):
        __salt__["event.send"]("failing", {"text": text})
        raise ValueError(text)
"""

NOT_HERE = """
    def __virtual__():
        return (False, "not on this machine")

    def start():
        pass
"""

FILES = {"tell": TELL, "echo": ECHO, "fail": FAIL, "not_here": NOT_HERE}

MASTERS: list[Any] = [
    {"tell": {"who": "master"}},
    {"other": {"engine_module": "tell", "who": "other"}},
    {"echo": {"node": "master", "to": "answer/master"}},
    "nosuch",
    {"not_here": None},
    {"two": 1, "keys": 2},
]
MINIONS: list[Any] = [
    {"tell": {"who": "minion"}},
    {"echo": {"node": "minion", "to": "answer/minion"}},
    {"fail": {"text": "no luck"}},
    "nosuch",
]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code") / "engines"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return folder.parent


@pytest.fixture(scope="module")
def pair(code: Path) -> Iterator[Cluster]:
    with running(
        minions=1,
        master_options={"worker_threads": 2, "module_dirs": [str(code)], "engines": MASTERS},
        minion_options={"module_dirs": [str(code)], "engines": MINIONS},
    ) as cluster:
        yield cluster


def titled(cluster: Cluster, name: str) -> list[psutil.Process]:
    return cluster.minions["m1"].titled(f"Engine({name})")


def heard(cluster: Cluster, tag: str) -> dict[str, Any]:
    """The data of the next event with a tag; what fires it is killed, so that it is fired again."""
    with EventSubscriber(MasterSockets(cluster.sock_dir).event_pub, (tag,)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        for daemon in (cluster.master, cluster.minions["m1"]):
            for process in daemon.titled("Engine(tell)") + daemon.titled("Engine(other)"):
                process.kill()
        event = bus.get(DEADLINE_S)
    assert event is not None
    return event.data


def test_an_engine_of_the_master_has_what_salt_gives_it_and_is_started_again(pair: Cluster) -> None:
    data = heard(pair, "told/master")
    assert data["kwargs"] == {"who": "master"}
    assert data["found"] == {"__states__": False, "__runners__": True, "__utils__": True}
    assert (data["role"], data["ping"], data["runner"]) == ("master", True, True)


def test_engine_module_names_the_engine_and_is_no_argument(pair: Cluster) -> None:
    assert heard(pair, "told/other")["kwargs"] == {"who": "other"}


def test_an_engine_of_a_minion_reaches_the_masters_bus(pair: Cluster) -> None:
    data = heard(pair, "told/minion")["data"]
    assert data["kwargs"] == {"who": "minion"}
    assert (data["role"], data["id"], data["ping"]) == ("minion", "m1", True)
    assert data["found"] == {"__states__": False, "__runners__": True, "__utils__": True}
    assert data["runner"] is False


def test_an_engine_of_the_master_hears_and_answers_on_the_bus(pair: Cluster) -> None:
    with EventSubscriber(MasterSockets(pair.sock_dir).event_pub, ("answer/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        pair.salt("m1", "event.send", "ask/1", "n=7")
        event = bus.get(DEADLINE_S)
    assert event is not None
    assert (event.tag, event.data["heard"]) == ("answer/master", 7)


def test_an_engine_of_a_minion_hears_and_answers_on_its_own_bus(pair: Cluster) -> None:
    sockets = MinionSockets(pair.root / "m1/run", "m1", "sha256")
    with EventSubscriber(sockets.event_pub, ("answer/",)) as bus:
        assert bus.connect_confirmed(DEADLINE_S)
        done = pair.salt_call("m1", "event.fire", "{n: 3}", "ask/2", "--out=json")
        event = bus.get(DEADLINE_S)
    assert done.json == {"local": True}
    assert event is not None
    assert (event.tag, event.data["heard"]) == ("answer/minion", 3)


def test_what_there_is_not_is_one_line(pair: Cluster) -> None:
    log = pair.master.log()
    assert log.count("The engine nosuch is not started: there is no engine nosuch") == 1
    assert log.count("engines: found {'keys': 2, 'two': 1}") == 1
    refusal = "The engine not_here is not started: 'not_here' __virtual__ returned False"
    assert log.count(refusal) == 1
    assert pair.minions["m1"].log().count("The engine nosuch is not started") == 1


def test_one_that_fails_is_tried_again_ever_later_and_harms_no_job(pair: Cluster) -> None:
    minion = pair.minions["m1"]
    eventually(lambda: minion.log().count("Engine(fail) ended") > 2, what="three tries")
    assert "The engine fail fails: ValueError('no luck')" in minion.log()
    assert pair.salt("m1", "test.ping", "--out=json").json == {"m1": True}


def test_engines_end_with_the_loop_and_with_the_minion(pair: Cluster) -> None:
    before = eventually(lambda: titled(pair, "echo"), what="the engine runs")[0]
    (loop,) = pair.minions["m1"].titled("salt-minion Minion")
    loop.kill()
    eventually(lambda: not before.is_running(), within_s=10.0, what="it has ended with the loop")
    after = eventually(lambda: titled(pair, "echo"), what="it runs again")
    assert len(after) == 1
    pair.minions["m1"].process.send_signal(signal.SIGTERM)  # type: ignore[union-attr]
    eventually(lambda: not after[0].is_running(), within_s=10.0, what="it has ended in order")
    pair.minions["m1"].start()
    pair.wait_for_ping("m1")
    third = eventually(lambda: titled(pair, "echo"), what="it runs a third time")[0]
    pair.minions["m1"].kill()
    eventually(lambda: not third.is_running(), within_s=10.0, what="it was killed too")
    pair.minions["m1"].start()
    pair.wait_for_ping("m1")


def test_engines_of_the_master_end_with_it(pair: Cluster) -> None:
    engines = eventually(lambda: pair.master.titled("Engine("), what="engines of the master")
    assert pair.master.stop() == 0
    assert [one for one in engines if one.is_running()] == []
    pair.start_master()
    eventually(lambda: pair.master.titled("Engine(echo)"), what="they run again")


def test_engines_are_fetched_from_the_file_roots(pair: Cluster) -> None:
    folder = pair.root / "master/srv/_engines"
    folder.mkdir(parents=True)
    (folder / "fetched.py").write_text("def start(): pass\n")
    pair.wait_for_ping("m1")
    assert pair.salt("m1", "saltutil.sync_engines", "--out=json").json == {
        "m1": ["engines.fetched"]
    }
    assert pair.salt_run("saltutil.sync_engines", "--out=json").json == ["engines.fetched"]
