"""What nodes of a cluster share besides jobs, through real daemons: keys, facts, runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import databases
import pytest
from node_cluster import Nodes

from cluster import Cluster, eventually

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(300),
]

ALL = {"m1": True, "m2": True, "m3": True}
WAITS = """
first:
  test.succeed_without_changes: []
second:
  test.succeed_without_changes: []
"""


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(databases.postgres_server())
        dsn = stack.enter_context(databases.database_of(server.place, "cluster"))
        found = Nodes(server, dsn, stack)
        found.start()
        for node in found.all:
            eventually(lambda node=node: found.answers(node) == ALL, what="all minions answer")
        yield found


def listed(node: Cluster, state: str) -> list[str]:
    return next(iter(node.salt_key("-l", state, "--out=json").json.values()))


def start_again(node: Cluster, minion: str) -> None:
    """A minion that is refused ends."""
    eventually(lambda: not node.minions[minion].alive(), what=f"{minion} has ended")
    node.minions[minion].start()


def test_a_key_that_is_moved_by_hand_on_one_node_is_moved_on_all(nodes: Nodes) -> None:
    """Also of a minion that is connected to another one."""
    first, second, third = nodes.all
    accepted, rejected = second.pki_dir / "minions/m1", second.pki_dir / "minions_rejected/m1"
    os.rename(accepted, rejected)
    for node in (first, third):
        eventually(lambda node=node: listed(node, "rej") == ["m1"], what="m1 is rejected")
        eventually(lambda node=node: nodes.answers(node) == {"m2": True, "m3": True})
    os.rename(rejected, accepted)
    start_again(first, "m1")
    for node in nodes.all:
        eventually(lambda node=node: listed(node, "acc") == ["m1", "m2", "m3"])
        eventually(lambda node=node: nodes.answers(node) == ALL, within_s=60, what="m1 is back")


def test_a_key_that_is_rejected_on_one_node_signs_in_on_none(nodes: Nodes) -> None:
    first, second, third = nodes.all
    ran = second.salt_key("-r", "m3", "--include-accepted", "-y")
    assert ran.exit_code == 0, ran
    eventually(lambda: listed(third, "rej") == ["m3"], what="m3 is rejected")
    eventually(lambda: nodes.answers(first) == {"m1": True, "m2": True})
    assert third.salt_key("-a", "m3", "--include-rejected", "-y").exit_code == 0
    start_again(third, "m3")
    for node in nodes.all:
        eventually(lambda node=node: nodes.answers(node) == ALL, within_s=60, what="m3 is back")


def test_grains_pillar_and_mine_are_known_to_all(nodes: Nodes) -> None:
    first, second, third = nodes.all
    assert first.salt("m3", "grains.set", "colour", "green").exit_code == 0
    for node in nodes.all:
        words = ("-G", "colour:green", "test.ping", "--out=json", "--static")
        eventually(
            lambda node=node, words=words: '"m3": true' in node.salt(*words).stdout,
            what="the grain is known",
        )
    for number, node in enumerate((first, second, third), 1):
        sent = node.salt(
            f"m{number}", "mine.send", f"word{number}", "mine_function=test.echo", f"hello{number}"
        )
        assert sent.exit_code == 0, sent
    for number, node in enumerate((second, third, first), 1):
        asks, asked = f"m{number % 3 + 1}", f"m{number}"
        words = (asks, "mine.get", asked, f"word{number}", "--out=json")
        eventually(
            lambda node=node, words=words, wanted={asks: {asked: f"hello{number}"}}: (
                node.salt(*words).json == wanted
            ),
            what="the mine is read elsewhere",
        )
    assert third.salt_run("cache.mine", "tgt=m1", "--out=json").json == {"m1": {"word1": "hello1"}}
    assert first.salt_run("cache.clear_mine", "tgt=m2").exit_code == 0
    eventually(
        lambda: third.salt_run("cache.mine", "tgt=m2", "--out=json").json == {}, what="it is gone"
    )


def runs_of(node: Cluster) -> list[str]:
    folder = node.cache_dir / "proc"
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("ends", ["state.resume", "state.soft_kill"])
def test_an_orchestration_is_paused_and_ended_from_another_node(nodes: Nodes, ends: str) -> None:
    first, _second, third = nodes.all
    place = first.root / "master" / "srv"
    place.mkdir(exist_ok=True)
    (place / "waits.sls").write_text(WAITS)
    jid = "20260101000000000001" if ends == "state.resume" else "20260101000000000002"
    # Said before it begins, on a node where it will not run.
    assert third.salt_run("state.pause", jid, "second").exit_code == 0
    eventually(lambda: (first.cache_dir / "state_pause" / jid).exists(), what="it is told here")
    with ThreadPoolExecutor() as pool:
        words = ("state.orchestrate", "waits", "--jid", jid, "--out=json")
        running = pool.submit(first.salt_run, *words)
        eventually(lambda: runs_of(third) == [jid], what="the run is seen elsewhere")
        assert not running.done()
        assert third.salt_run(ends, jid, "second").exit_code == 0
        ran = running.result()
    states = next(iter(ran.json["data"].values()))
    results = [one["result"] for one in states.values()]
    assert results == ([True, True] if ends == "state.resume" else [True]), ran
    eventually(lambda: [runs_of(node) for node in nodes.all] == [[], [], []], what="it is over")
