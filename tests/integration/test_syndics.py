"""A tree of masters: top, mid below it, low below mid; each but the top has minions.

Source: docs/syndic.md.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tree import Tree, growing

from cluster import Cluster, eventually

ALL = {"mid1": True, "low1": True, "low2": True}
WAIT = "-t", "8"
ORCHESTRATION = """
ping:
  salt.function:
    - name: test.ping
    - tgt: 'low*'
read:
  salt.function:
    - name: cp.list_master
    - tgt: low1
    - require:
      - salt: ping
"""


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    upper = {"order_masters": True, "syndics": ["syn*"], "syndic_wait": 2}
    with growing() as one:
        top = one.add_master("top", **upper)
        one.add_master("mid", minions=["mid1"], **upper)
        low = one.add_master("low", minions=["low1", "low2"])
        one.add_syndic("synmid", "mid", ["top"])
        one.add_syndic("synlow", "low", ["mid"])
        (top.root / "master" / "srv").mkdir(parents=True)
        (top.root / "master" / "srv" / "orch.sls").write_text(ORCHESTRATION)
        (low.root / "master" / "srv").mkdir(parents=True)
        (low.root / "master" / "srv" / "here.txt").write_text("of the lower master")
        yield one.start()


def static(master: Cluster, *args: str) -> Any:
    ran = master.salt(*WAIT, *args, "--out=json", "--static")
    assert ran.stdout, ran.stderr
    return ran.json


def start_job(master: Cluster, *args: str) -> str:
    return master.salt(*args, "--async").stdout.split()[-1]


def looked_up(master: Cluster, jid: str) -> Any:
    return master.salt_run("jobs.lookup_jid", jid, "--out=json").json or {}


def test_a_job_reaches_all_and_their_returns_come_back(tree: Tree) -> None:
    top = tree.masters["top"]
    eventually(lambda: static(top, "*", "test.ping") == ALL, what="all answer")
    ran = top.salt(*WAIT, "*", "test.ping", "--out=json")
    # Nobody waits for the syndics themselves.
    assert (ran.exit_code, ran.json) == (0, ALL)
    assert static(tree.masters["mid"], "*", "test.echo", "x") == dict.fromkeys(ALL, "x")


def test_the_first_job_of_a_new_syndic_loses_no_return() -> None:
    with growing() as one:
        top = one.add_master("top", order_masters=True, syndics=["syn*"], syndic_wait=2)
        one.add_master("low", minions=["low1", "low2"])
        one.add_syndic("synlow", "low", ["top"])
        one.start()
        first = eventually(lambda: static(top, "*", "test.ping"), what="anybody answers")
        assert first == {"low1": True, "low2": True}


def test_every_kind_of_target(tree: Tree) -> None:
    top = tree.masters["top"]
    assert static(top, "-L", "low1,mid1", "test.ping") == {"low1": True, "mid1": True}
    assert static(top, "-E", "low[2]", "test.ping") == {"low2": True}
    assert static(top, "-C", "low* and not low1", "test.ping") == {"low2": True}
    assert static(top, "-G", "id:mid1", "test.ping") == {"mid1": True}


def test_batch_and_subset(tree: Tree) -> None:
    top = tree.masters["top"]
    assert top.salt(*WAIT, "-b", "2", "*", "test.ping", "--out=json", "--static").json == ALL
    assert len(static(top, "--subset", "2", "*", "test.ping")) == 2


def test_a_long_job_is_asked_about_and_waited_for(tree: Tree) -> None:
    ran = tree.masters["top"].salt("-t", "3", "low*", "test.sleep", "9", "--out=json", "--static")
    assert ran.json == {"low1": True, "low2": True}


def test_orchestration_from_the_top(tree: Tree) -> None:
    """Files are those of the lower master."""
    ran = tree.masters["top"].salt_run("state.orchestrate", "orch", "--out=json", timeout_s=180)
    (states,) = ran.json["data"].values()
    assert [one["result"] for one in states.values()] == [True, True], ran.stdout
    ping, read = (one["changes"]["ret"] for one in states.values())
    assert (set(ping), read) == ({"low1", "low2"}, {"low1": ["here.txt"]})


def test_a_job_of_a_lower_master_is_known_above(tree: Tree) -> None:
    jid = start_job(tree.masters["low"], "low1", "test.echo", "own")
    eventually(lambda: looked_up(tree.masters["top"], jid) == {"low1": "own"}, what="told above")


def test_events_go_up_below_the_syndics(tree: Tree) -> None:
    from saltlite.transport.addresses import MasterSockets
    from saltlite.transport.bus import EventSubscriber

    with EventSubscriber(MasterSockets(tree.masters["top"].sock_dir).event_pub) as bus:
        assert bus.connect_confirmed(10)
        tree.masters["low"].salt("low1", "event.send", "myco/x", "{a: 1}")
        heard: set[str] = set()

        def has_come() -> bool:
            event = bus.get(1)
            if event is not None and event.tag.endswith("myco/x"):
                heard.add(event.tag)
            return {"myco/x", "syndic/synmid/syndic/synlow/myco/x"} <= heard

        eventually(has_come, what="the event is heard at the top")


def test_a_minion_that_is_killed_did_not_return(tree: Tree) -> None:
    low, top = tree.masters["low"], tree.masters["top"]
    low.minions["low2"].stop()
    ran = top.salt("-t", "3", "low*", "test.ping")
    assert "low1:\n    True" in ran.stdout
    assert "low2:\n    Minion did not return." in ran.stdout
    assert "syn" not in ran.stdout
    low.minions["low2"].start()
    low.wait_for_ping("low2")


def test_a_syndic_that_is_killed_loses_nothing(tree: Tree) -> None:
    low, top = tree.masters["low"], tree.masters["top"]
    jid = start_job(top, "low*", "test.sleep", "4")
    eventually(lambda: jid in low.salt_run("jobs.list_jobs").stdout, what="it has gone down")
    tree.syndics["synlow"].kill()
    eventually(lambda: len(looked_up(low, jid)) == 2, what="both have returned meanwhile")
    assert looked_up(top, jid) == {}
    tree.syndics["synlow"].start()
    eventually(lambda: len(looked_up(top, jid)) == 2, what="the returns are above")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_top_starts_anew_under_load(tree: Tree, number: signal.Signals) -> None:
    top = tree.masters["top"]
    jids = [start_job(top, "*", "test.sleep", str(2 + one % 3)) for one in range(6)]
    if number == signal.SIGTERM:
        top.master.stop()
    else:
        top.master.kill()
        top.master.stop()
    top.start_master()
    for jid in jids:
        eventually(lambda jid=jid: len(looked_up(top, jid)) == 3, what=f"{jid} is whole")  # type: ignore[misc]


def test_a_minion_may_have_the_id_of_its_syndic(tree: Tree) -> None:
    """Salt's issue 24669."""
    low, top = tree.masters["low"], tree.masters["top"]
    options = low.config("minion")
    low.add_minion("synlow", pki_dir=options["pki_dir"]).start()
    low.wait_for_ping("synlow")
    assert static(top, "synlow", "test.ping") == {"synlow": True}
    low.minions.pop("synlow").stop()
