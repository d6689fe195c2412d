"""The fault lab itself: each promise, once it is broken, is seen in the history.

Source: docs/reliability.md#the-fault-lab.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster_script import NODES, ROWS, draw_cluster_script
from fault_checker import SAME_LINES, find_breaches
from fault_history import History, HistoryFile, digest_of
from fault_script import KINDS, SLOW_KINDS, draw_script

Lines = list[dict[str, Any]]
PROCESS = {"count": 1, "mib": 30.0, "descriptors": 20, "threads": 1}
USAGE = {"processes": {"master: salt-master MWorker-0": PROCESS}, "zombies": 0,
         "files": {"m1/outbox": 0}}  # fmt: skip


def line(kind: str, at: float, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "at": at, **fields}


def good_run() -> Lines:
    """Three jobs of one minion, a command, events, and a worker that was killed between."""
    found = [line("usage", 0.0, when="before", **USAGE)]
    for number in (1, 2, 3):
        at = float(number * 10)
        jid = f"jid{number}"
        digest = digest_of(str(number))
        found += [
            line("asked", at, number=number, what="command", digest=digest),
            line("published", at, number=number, jid=jid, asked_s=at, answered_s=at + 0.1),
            line("fired", at, number=number),
            line("event", at + 0.1, subscriber="all", number=number),
            line("run", 99.0, minion="m1", number=number, what="start", at_s=at + 0.2),
            line("seen", at + 0.2, minion="sim1", jid=jid),
            line("acked", at + 0.3, minion="sim1", jid=jid),
            line("job", 99.0, jid=jid, number=number, fun="cmd.run"),
            line("return", 99.0, jid=jid, minion="m1", retcode=0, digest=digest),
            line("return", 99.0, jid=jid, minion="sim1", retcode=0, digest="any"),
        ]
    found += [
        line("cli", 32.0, number=3, minions=["m1"], begun_s=30.0, ended_s=31.0, limit_s=12.0,
             exit_code=0, said="m1:\n    3", was_killed=False),
        line("fault", 15.0, name="kill MWorker-0", begun_s=15.0, ended_s=15.0, back_within_s=10.0,
             minions=[], pids=[77], is_disk_lost=False),
        line("log", 15.1, daemon="master",
             line="[WARNING ] MWorker-0 (process 77) ended with SIGKILL; starting it again"),
        line("usage", 99.0, when="after", **copy.deepcopy(USAGE)),
    ]  # fmt: skip
    return found


def first(lines: Lines, kind: str, **fields: Any) -> dict[str, Any]:
    """A line of the run, to be spoilt."""
    return next(one for one in lines if one["kind"] == kind and fields.items() <= one.items())


def drop(lines: Lines, kind: str, **fields: Any) -> None:
    lines.remove(first(lines, kind, **fields))


def add(kind: str, at: float, **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: lines.append(line(kind, at, **fields))


def spoil(kind: str, where: dict[str, Any], **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: first(lines, kind, **where).update(fields)


def lose(kind: str, **fields: Any) -> Callable[[Lines], None]:
    return lambda lines: drop(lines, kind, **fields)


def grow(**more: float) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        first(lines, "usage", when="after")["processes"]["master: salt-master MWorker-0"] |= more

    return change


def say_often(lines: Lines) -> None:
    lines += [
        line("log", 40 + n / 2, daemon="m1", line=f"[ERROR   ] no answer from {n}")
        for n in range(SAME_LINES + 2)
    ]


def nothing_after(seconds: float) -> Callable[[Lines], None]:
    """Jobs are still asked for then, and none gets a jid."""

    def change(lines: Lines) -> None:
        late = [one for one in lines if one["kind"] == "published" and one["at"] > seconds]
        for one in late:
            lines.remove(one)
        lines += [line("asked", seconds + n, number=100 + n, what="ping") for n in range(10)]

    return change


BREACHES: dict[str, list[Callable[[Lines], None]]] = {
    "P-job": [
        lose("job", jid="jid2"),
        spoil("published", {"number": 2}, jid="jid1"),
        add("run", 99.0, minion="m1", number=9, what="start", at_s=50.0),
        add("seen", 50.0, minion="sim1", jid="jid9"),
    ],
    "P-once": [add("run", 99.0, minion="m1", number=1, what="start", at_s=13.0)],
    "P-ret": [
        lose("return", jid="jid2", minion="m1"),
        lose("return", jid="jid2", minion="sim1"),
        lose("acked", jid="jid2", minion="sim1"),
        spoil("return", {"jid": "jid2", "minion": "m1"}, digest="another"),
    ],
    "P-dead": [spoil("return", {"jid": "jid1", "minion": "m1"}, retcode=254)],
    "P-event": [
        lose("event", number=2),
        add("event", 40.0, subscriber="all", number=3),
        add("event", 40.0, subscriber="all", number=1),
    ],
    "P-cli": [
        spoil("cli", {}, ended_s=45.0),
        spoil("cli", {}, exit_code=2, said=""),
        spoil("cli", {}, said="m2:\n    3"),
        spoil("return", {"jid": "jid3", "minion": "m1"}, retcode=254),
    ],
    "P-up": [nothing_after(15.0)],
    "P-flat": [
        grow(mib=100.0),
        grow(descriptors=40),
        grow(threads=9),
        grow(count=2),
        spoil("usage", {"when": "after"}, zombies=1),
        spoil("usage", {"when": "after"}, files={"m1/outbox": 3}),
        lose("usage", when="after"),
    ],
    "P-say": [
        say_often,
        lose("log", daemon="master"),
        add("log", 15.2, daemon="master", line="[WARNING ] MWorker-0 (process 77) ended, again"),
        add("log", 40.0, daemon="m1", line="Traceback (most recent call last):"),
    ],
}


def broken_by(lines: Lines) -> set[str]:
    return {one.promise for one in find_breaches(History(lines))}


def test_a_good_run_breaks_nothing() -> None:
    assert find_breaches(History(good_run())) == []


@pytest.mark.parametrize(
    ("promise", "number"), [(name, n) for name, ways in BREACHES.items() for n in range(len(ways))]
)
def test_a_planted_breach_is_seen(promise: str, number: int) -> None:
    lines = good_run()
    BREACHES[promise][number](lines)
    assert promise in broken_by(lines)


def good_run_of_a_cluster() -> Lines:
    """The same at three nodes, each asked in turn; one is cut off from the engine for a while."""
    lines = good_run()
    lines.insert(0, line("script", 0.0, masters=list(NODES), connections=100))
    for one in lines:
        if "number" in one:
            one["node"] = one["origin"] = NODES[one["number"] % 3]
    # Those of other nodes are heard too, and each node has an order of its own.
    for number in (4, 5, 6):
        lines += [
            line("fired", 40.0 + number, number=number, origin="n1"),
            line("event", 40.1 + number, subscriber="all@n2", number=number, origin="n1"),
            line("asked", 70.0 + number, number=10 + number, what="ping", node="n1"),
            line("published", 70.0 + number, number=10 + number, jid=f"jid{10 + number}",
                 asked_s=70.0 + number, answered_s=70.1 + number, node="n1"),
            line("job", 99.0, jid=f"jid{10 + number}", number=0, fun="test.ping"),
        ]  # fmt: skip
    lines += [
        line("event", 50.0, subscriber="all@n2", number=1, origin="n2"),
        line("fault", 80.0, name="cut-engine n2", begun_s=70.0, ended_s=80.0, back_within_s=30.0,
             minions=["m1"], pids=[], is_disk_lost=False, nodes=["n2"]),
    ]  # fmt: skip
    return lines


def refuse_at_others(lines: Lines) -> None:
    for number in (14, 15):
        drop(lines, "published", number=number)


def grow_publisher(by: int) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        for when, descriptors in (("before", 20), ("after", 20 + by)):
            processes = first(lines, "usage", when=when)["processes"]
            processes["n1: salt-master Publisher"] = {**PROCESS, "descriptors": descriptors}

    return change


BREACHES_OF_A_CLUSTER: dict[str, list[Callable[[Lines], None]]] = {
    "P-once": [add("seen", 60.0, minion="sim1", jid="jid1")],
    "P-event": [
        lose("event", number=5),
        add("event", 60.0, subscriber="all@n2", number=5, origin="n1"),
    ],
    "P-rest": [refuse_at_others],
    "P-flat": [grow_publisher(200)],
}


def test_a_good_run_of_a_cluster_breaks_nothing() -> None:
    lines = good_run_of_a_cluster()
    grow_publisher(90)(lines)  # a node has died, and its minions came here
    assert find_breaches(History(lines)) == []


@pytest.mark.parametrize(
    ("promise", "number"),
    [(name, n) for name, ways in BREACHES_OF_A_CLUSTER.items() for n in range(len(ways))],
)
def test_a_planted_breach_of_a_cluster_is_seen(promise: str, number: int) -> None:
    lines = good_run_of_a_cluster()
    BREACHES_OF_A_CLUSTER[promise][number](lines)
    assert promise in broken_by(lines)


def test_rows_of_a_cluster_are_scripts() -> None:
    for name, row in ROWS.items():
        drawn = [draw_cluster_script(name, seed, 1000) for seed in range(12)]
        assert drawn[0] == draw_cluster_script(name, 0, 1000)
        kinds = {fault.kind for one in drawn for fault in one.faults}
        assert kinds == set(row.kinds), name
        # One after the other, so that each is seen alone.
        for one in drawn:
            for first, second in zip(one.faults, one.faults[1:], strict=False):
                assert first.at_job + first.for_jobs < second.at_job
    with pytest.raises(ValueError, match="no such row: fire"):
        draw_cluster_script("fire", 1, 100)


def test_what_is_allowed_is_no_breach() -> None:
    lines = good_run()
    drop(lines, "event", number=2)
    lines.append(line("link", 21.0, subscriber="all", connections=2, lost=0))
    lines.append(
        line("fault", 35.0, name="kill job m1", begun_s=30.0, ended_s=34.0, back_within_s=5.0,
             minions=["m1"], pids=[], is_disk_lost=False)
    )  # fmt: skip
    first(lines, "return", jid="jid3", minion="m1").update(retcode=254, digest="cut short")
    first(lines, "acked", jid="jid3")["kind"] = "unkept"  # it was told so
    drop(lines, "cli")
    drop(lines, "log", daemon="master")  # who would have said so was killed with it
    lines.append(
        line("fault", 15.0, name="kill master", begun_s=15.1, ended_s=15.2, back_within_s=10.0,
             minions=[], pids=[], is_disk_lost=False, ended_daemon="master")
    )  # fmt: skip
    assert find_breaches(History(lines)) == []


def test_a_run_without_jobs_proves_nothing() -> None:
    assert broken_by([]) == {"P-up"}


def test_a_history_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "history"
    history = HistoryFile(path)
    history.note("published", number=1, jid="jid1")
    history.close()
    with path.open("a") as file:
        file.write('{"kind": "cut')
    (found,) = History.read(path).of("published")
    assert (found["number"], found["jid"]) == (1, "jid1")


def test_a_seed_is_a_script() -> None:
    assert draw_script(7, 400) == draw_script(7, 400)
    assert draw_script(7, 400) != draw_script(8, 400)


def test_all_kinds_of_faults_come() -> None:
    drawn = {one.kind for seed in range(5) for one in draw_script(seed, 400).faults}
    assert drawn == set(KINDS)
    assert {one.kind for one in draw_script(1, 100, ["hang"]).faults} == set(SLOW_KINDS)
    with pytest.raises(ValueError, match="no such fault: fire"):
        draw_script(1, 100, ["fire"])
