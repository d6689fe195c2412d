"""One syndic below two masters. Source: docs/syndic.md."""

from __future__ import annotations

from collections.abc import Iterator
from shutil import copy2

import pytest
from tree import Tree, growing

from cluster import eventually
from saltlite.client.job_request import JobRequest
from saltlite.client.jobs import JobClient
from saltlite.config.load import load_master
from saltlite.syndic.up import GIVEN_OVER_S


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    upper = {"order_masters": True, "syndics": ["syn"], "syndic_wait": 2}
    with growing() as one:
        left, right = one.add_master("left", **upper), one.add_master("right", **upper)
        one.add_master("low", minions=["low1", "low2"])
        one.add_syndic("syn", "low", ["left", "right"])
        left.start_master()
        # Masters of one minion have one key: so do those of a syndic.
        right.pki_dir.mkdir(mode=0o700, parents=True)
        for name in ("master.pem", "master.pub"):
            copy2(left.pki_dir / name, right.pki_dir / name)
        left.master.stop()
        yield one.start()


def pinged(tree: Tree, name: str) -> bool:
    ran = tree.masters[name].salt("*", "test.ping", "--out=json", "--static", "-t", "8")
    return bool(ran.stdout) and ran.json == {"low1": True, "low2": True}


def returned(tree: Tree, name: str, jid: str) -> object:
    return tree.masters[name].salt_run("jobs.lookup_jid", jid, "--out=json").json


def test_each_gets_what_it_has_asked_for(tree: Tree) -> None:
    for name in ("left", "right"):
        eventually(lambda name=name: pinged(tree, name), what=f"{name} is answered")  # type: ignore[misc]
    jid = tree.masters["left"].salt("*", "test.echo", "l", "--async").stdout.split()[-1]
    eventually(lambda: returned(tree, "left", jid) == {"low1": "l", "low2": "l"})
    assert returned(tree, "right", jid) in ({}, None)


def test_the_same_job_of_both_runs_once(tree: Tree) -> None:
    """Salt's issues 28785 and 13875."""
    low = tree.masters["low"]
    jid = ""
    for name in ("left", "right"):
        request = JobRequest(tgt="*", fun="test.echo", arg=["x"], jid=jid)
        with JobClient(load_master(tree.masters[name].master_dir)) as client:
            reply = client.publish(request)
        assert reply is not None
        jid = reply.jid or ""
    eventually(lambda: returned(tree, "left", jid) == {"low1": "x", "low2": "x"})
    assert low.minions["low1"].log().count(f"job {jid}: test.echo") == 1
    assert low.master.log().count(jid) == 1


@pytest.mark.timeout(400)
def test_one_that_is_away_does_not_hold_up_the_other(tree: Tree) -> None:
    tree.masters["left"].master.stop()
    eventually(lambda: pinged(tree, "right"), what="right is answered")
    jid = tree.masters["low"].salt("*", "test.echo", "own", "--async").stdout.split()[-1]
    # Chance may have given it to the one that is away; that is waited for, but not for ever.
    eventually(
        lambda: returned(tree, "right", jid) == {"low1": "own", "low2": "own"},
        within_s=GIVEN_OVER_S + 60,
    )
    tree.masters["left"].start_master()
    eventually(lambda: pinged(tree, "left"), what="left is answered again")
