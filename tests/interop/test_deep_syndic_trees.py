"""Trees of two levels, and syndics below two masters, of both kinds of daemons.

A real syndic is beside a real master always, see test_syndic_trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from shutil import copy2
from typing import Any

import pytest
from tree import Tree, growing

from cluster import OURS, SALT_3006, SALT_3008, Cluster, eventually, is_installed

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]

DEEP = [
    pytest.param(((OURS, SALT_3006, OURS), (SALT_3006, OURS)), id="ours-3006-ours"),
    pytest.param(((SALT_3006, OURS, SALT_3006), (OURS, SALT_3006)), id="3006-ours-3006"),
    pytest.param(((SALT_3006, SALT_3008, OURS), (OURS, OURS)), id="3006-3008-ours"),
]
"""The three masters from the top down, each but the first with minions of its own kind; the
syndics of the lower two."""

BELOW = [
    pytest.param(((OURS, SALT_3006), OURS, OURS), id="ours-and-3006-above-ours"),
    pytest.param(((OURS, SALT_3008), SALT_3006, OURS), id="ours-and-3008-above-our-syndic-of-3006"),
]
"""Two masters, the one below them with its minions, its syndic; none of Salt's own, which gives
what is returned to one of the two by chance, whoever has asked."""


def skip_without(*kinds: str) -> None:
    for kind in kinds:
        if not is_installed(kind):
            pytest.skip(f"no Salt {kind} here")


def add_upper(tree: Tree, name: str, kind: str, **options: Any) -> Cluster:
    own = {"syndics": ["synd*"]} if kind == OURS else {}
    return tree.add_master(name, kind, order_masters=True, syndic_wait=3, **own, **options)


def static(master: Cluster, *args: str) -> Any:
    ran = master.salt("-t", "12", *args, "--out=json", "--static")
    return ran.json if ran.stdout.strip() else {}


def answers(master: Cluster, wanted: dict[str, Any], what: str) -> None:
    eventually(lambda: static(master, "*", "test.ping") == wanted, within_s=120, what=what)


def is_on_record(master: Cluster, jid: str, wanted: dict[str, Any]) -> bool:
    return bool(master.salt_run("jobs.lookup_jid", jid, "--out=json").json == wanted)


ALL = {"mid1": True, "low1": True, "low2": True}


@pytest.fixture(scope="module", params=DEEP)
def deep(request: pytest.FixtureRequest) -> Iterator[Tree]:
    masters, syndics = request.param
    skip_without(*masters, *syndics)
    with growing() as one:
        add_upper(one, "top", masters[0])
        add_upper(one, "mid", masters[1], minions=["mid1"])
        one.add_master("low", masters[2], minions=["low1", "low2"])
        one.add_syndic("syndmid", "mid", ["top"], kind=syndics[0])
        one.add_syndic("syndlow", "low", ["mid"], kind=syndics[1])
        one.start()
        answers(one.masters["top"], ALL, "all answer the top")
        yield one


def test_arguments_pass_two_levels(deep: Tree) -> None:
    assert static(deep.masters["top"], "low1", "test.arg_clean", "1", "a b", "k=v") == {
        "low1": {"args": [1, "a b"], "kwargs": {"k": "v"}}
    }


def test_jobs_of_each_level_are_on_record_at_the_top(deep: Tree) -> None:
    top = deep.masters["top"]
    for name, master in deep.masters.items():
        jid = master.salt("low2", "test.echo", name, "--async").stdout.split()[-1]
        wanted = {"low2": name}
        eventually(
            lambda jid=jid, wanted=wanted: is_on_record(top, jid, wanted),  # type: ignore[misc]
            what=f"a job of {name} is on record at the top",
        )


def test_the_one_in_the_middle_starts_anew(deep: Tree) -> None:
    for number in range(2):
        syndic, mid = deep.syndics["syndmid"], deep.masters["mid"]
        if number:
            syndic.stop()
            mid.master.stop()
            mid.master.start()
            syndic.start()
        else:
            syndic.kill()
            syndic.start()
        answers(deep.masters["top"], ALL, "all answer again")


BOTH = {"low1": True, "low2": True}


@pytest.fixture(scope="module", params=BELOW)
def below(request: pytest.FixtureRequest) -> Iterator[Tree]:
    uppers, lower, syndic = request.param
    skip_without(*uppers, lower, syndic)
    with growing() as one:
        left, right = add_upper(one, "left", uppers[0]), add_upper(one, "right", uppers[1])
        one.add_master("low", lower, minions=["low1", "low2"])
        one.add_syndic("synd1", "low", ["left", "right"], kind=syndic)
        left.start_master()
        # Masters of one minion have one key: so do those of a syndic.
        right.pki_dir.mkdir(mode=0o700, parents=True)
        for name in ("master.pem", "master.pub"):
            copy2(left.pki_dir / name, right.pki_dir / name)
        left.master.stop()
        one.start()
        for name in ("left", "right"):
            answers(one.masters[name], BOTH, f"both answer {name}")
        yield one


def test_each_of_two_gets_what_it_asked_for(below: Tree) -> None:
    for name in ("left", "right"):
        master = below.masters[name]
        jid = master.salt("*", "test.echo", name, "--async").stdout.split()[-1]
        wanted = dict.fromkeys(BOTH, name)
        eventually(
            lambda master=master, jid=jid, wanted=wanted: is_on_record(master, jid, wanted),  # type: ignore[misc]
            what=f"a job of {name} is on record there",
        )


def test_one_of_two_is_away_and_comes_back(below: Tree) -> None:
    below.masters["left"].master.stop()
    answers(below.masters["right"], BOTH, "both answer the other")
    below.masters["left"].start_master()
    answers(below.masters["left"], BOTH, "both answer again")
