"""Masters, syndics and minions of both kinds in one tree.

A syndic reads the event bus of the master on its machine, and that is private to each of them: ours
reads both, real ones their own release's alone. So a real syndic is beside a real master always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tree import Tree, growing

from cluster import OURS, SALT_3006, SALT_3008, Cluster, eventually, is_installed

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]
TREES = [
    pytest.param((OURS, SALT_3006, SALT_3006), id="ours-above-3006"),
    pytest.param((SALT_3006, OURS, OURS), id="3006-above-ours"),
    pytest.param((SALT_3008, OURS, OURS), id="3008-above-ours"),
    pytest.param((OURS, SALT_3006, OURS), id="our-syndic-of-a-3006-master"),
    pytest.param((OURS, SALT_3008, OURS), id="our-syndic-of-a-3008-master"),
    pytest.param((SALT_3006, SALT_3008, OURS), id="our-syndic-between-3006-and-3008"),
    pytest.param((SALT_3008, SALT_3006, OURS), id="our-syndic-between-3008-and-3006"),
]
"""Upper master, lower master with its minions, syndic. That of 3008.5 is not among them: in a tree
of nothing but 3008.5 no job went down and no return came up (``StreamClosedError``, 3 of 3)."""


@pytest.fixture(scope="module", params=TREES)
def tree(request: pytest.FixtureRequest) -> Iterator[Tree]:
    upper, lower, syndic = request.param
    for kind in request.param:
        if not is_installed(kind):
            pytest.skip(f"no Salt {kind} here")
    with growing() as one:
        own = {"syndics": ["synd*"]} if upper == OURS else {}
        one.add_master("top", upper, order_masters=True, **own)
        one.add_master("low", lower, minions=["m1", "m2"])
        one.add_syndic("synd1", "low", ["top"], kind=syndic)
        one.start()
        eventually(lambda: static(one.masters["top"], "*", "test.ping") == BOTH, what="both answer")
        yield one


BOTH = {"m1": True, "m2": True}


def static(master: Cluster, *args: str) -> Any:
    ran = master.salt("-t", "8", *args, "--out=json", "--static")
    return ran.json if ran.stdout.strip() else {}


def test_arguments_and_errors_pass(tree: Tree) -> None:
    top = tree.masters["top"]
    assert static(top, "m1", "test.arg_clean", "1", "a b", "k=v") == {
        "m1": {"args": [1, "a b"], "kwargs": {"k": "v"}}
    }
    ran = top.salt("-t", "8", "m2", "test.exception", "message=over here")
    assert "over here" in ran.stdout
    assert ran.exit_code == 1


def test_batch_and_subset(tree: Tree) -> None:
    top = tree.masters["top"]
    if top.master_kind != OURS:
        pytest.skip("Salt knows those minions alone whose keys it has")
    answered = static(top, "--subset", "1", "*", "test.ping")
    assert answered in ({"m1": True}, {"m2": True})
    assert static(top, "-b", "1", "*", "test.ping") == BOTH


def test_jobs_are_on_record_above(tree: Tree) -> None:
    top, low = tree.masters["top"], tree.masters["low"]
    for master, text in ((top, "asked above"), (low, "asked below")):
        jid = master.salt("m1", "test.echo", text, "--async").stdout.split()[-1]
        eventually(
            lambda jid=jid, text=text: (  # type: ignore[misc]
                top.salt_run("jobs.lookup_jid", jid, "--out=json").json == {"m1": text}
            ),
            what=f"{text} is on record above",
        )


def test_a_syndic_starts_anew(tree: Tree) -> None:
    tree.syndics["synd1"].stop()
    tree.syndics["synd1"].start()
    eventually(
        lambda: static(tree.masters["top"], "*", "test.ping") == BOTH, what="both answer again"
    )
