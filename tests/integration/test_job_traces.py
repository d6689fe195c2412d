"""``jobs.trace`` of what real daemons did: docs/one-job.md, "Where did the second go?"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster

PAGE = (Path(__file__).parents[2] / "docs" / "one-job.md").read_text()
SLEEP_S = 1
SLOW = f"slow:\n  cmd.run:\n    - name: sleep {SLEEP_S}\n"


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    cluster = Cluster(minions=2)
    tree = cluster.root / "master" / "srv"
    tree.mkdir(parents=True)
    (tree / "motd.sls").write_text(SLOW)
    with cluster:
        yield cluster.start()


def run(cluster: Cluster, *words: str) -> str:
    """The jid of a job that has returned."""
    ran = cluster.salt(*words, "--show-jid")
    found = re.match(r"jid: (\d{20})\n", ran.stdout)
    assert found, ran
    return found[1]


def trace(cluster: Cluster, jid: str, *words: str) -> dict[str, Any]:
    ran = cluster.salt_run("jobs.trace", jid, *words, "--out=json")
    assert ran.exit_code == 0, ran
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def documented_steps() -> list[str]:
    """The words of the steps in the page's example, without those of its states."""
    lines = re.findall(r"^ +\d\.\d{4} +\d\.\d{4}  (\S+) +(.+)$", PAGE, re.MULTILINE)
    return [what.removesuffix("  <-- longest") for _where, what in lines]


def test_the_steps_of_the_page(salted: Cluster) -> None:
    found = trace(salted, run(salted, "m1", "state.apply", "motd"))
    assert found["function"] == "state.apply"
    assert found["minion"] == "m1"
    assert found["clock_ahead_s"] == 0
    said = [step["what"] for step in found["steps"]]
    assert [what for what in documented_steps() if what not in said] == []
    (longest,) = (step for step in found["steps"] if step["longest"])
    assert longest["what"] == "cmd.run slow"
    assert longest["took_s"] >= SLEEP_S
    outer = [step for step in found["steps"] if not step["inner"]]
    assert sum(step["took_s"] for step in outer) == pytest.approx(found["total_s"], abs=0.001)
    assert found["total_s"] > SLEEP_S


def test_as_a_table(salted: Cluster) -> None:
    jid = run(salted, "m2", "test.ping")
    shown = salted.salt_run("jobs.trace", jid).stdout.splitlines()
    assert re.fullmatch(rf"{jid}  test\.ping  m2  \d\.\d{{3}} s", shown[0])
    assert shown[1].split() == ["at", "s", "took", "s", "where", "what"]
    assert sum(line.endswith("  <-- longest") for line in shown) == 1


def test_one_of_several_minions(salted: Cluster) -> None:
    jid = run(salted, "*", "test.ping")
    for minion in ("m1", "m2"):
        found = trace(salted, jid, f"minion={minion}")
        assert found["minion"] == minion
        assert {step["where"] for step in found["steps"]} >= {minion, "Publisher", "salt"}
    assert "returned last of 2" in trace(salted, jid)["notes"][-1]


def test_the_bus_and_the_lists_of_jobs_hear_nothing_of_times(salted: Cluster) -> None:
    jid = run(salted, "m1", "test.ping")
    shown = salted.salt_run("jobs.list_job", jid, "--out=json").stdout
    assert "times" not in shown
    assert "__asked_at__" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("20200102030405000006",), "no job with this jid: 20200102030405000006"),
        (("$jid", "minion=m9"), "was not for m9"),
    ],
)
def test_what_cannot_be_traced_is_said(salted: Cluster, words: tuple[str, ...], said: str) -> None:
    jid = run(salted, "m1", "test.ping")
    ran = salted.salt_run("jobs.trace", *(word.replace("$jid", jid) for word in words))
    assert ran.exit_code == 1
    assert said in ran.stdout + ran.stderr


def test_a_minion_that_has_not_returned(salted: Cluster) -> None:
    ran = salted.salt("m1", "test.sleep", "30", "--async")
    jid = ran.stdout.split()[-1]
    try:
        found = trace(salted, jid)
        assert found["steps"][-1]["what"] == "job sealed, signed and sent"
        assert any("has not returned" in note for note in found["notes"])
    finally:
        salted.salt("m1", "saltutil.kill_job", jid)
