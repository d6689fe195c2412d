"""What a node publishes reaches all nodes unchanged, and what others put there reaches none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from saltlite.channel.publication import open_publication, seal_publication
from saltlite.cluster import portions, publications
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.identity import ClusterIdentity
from saltlite.cluster.key_ring import ClusterKeyRing
from saltlite.cluster.publications import ALONE, ClusterPublisher, PublicationFeed
from saltlite.config.master import KeyOptions
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import ServerAway

KEY = PrivateKey.generate(2048)
STRANGER = PrivateKey.generate(2048)


@dataclass
class Local:
    jobs: list[Any] = field(default_factory=list)

    def publish(self, job: Any, topics: list[bytes]) -> None:
        self.jobs.append((job, topics))


class Node:
    """The publishing half of a node."""

    def __init__(self, database: dict[str, str], name: str, *, serves: bool = True) -> None:
        identity = ClusterIdentity(KEY, "c")
        self.engine = ClusterEngine(database, timeout_s=10)
        self.ring = ClusterKeyRing(self.engine, identity, timeout_s=10)
        self.ring.begin(new_key_string, time.monotonic())
        self.local = Local()
        self.publisher = ClusterPublisher(
            self.engine,
            self.ring,
            identity,
            self.local,
            node=name,
            signer=KEY,
            sig_algo="PKCS1v15-SHA1",
            serves=serves,
            timeout_s=10,
        )
        self.feed = PublicationFeed(self.engine, self.ring, KeyOptions(), KEY.public, place=0)

    def close(self) -> None:
        self.ring.close()
        self.engine.close()


@pytest.fixture
def nodes(database: dict[str, str]) -> Iterator[list[Node]]:
    with ExitStack() as stack:
        found = [Node(database, name) for name in ("a", "b")]
        for node in found:
            stack.callback(node.close)
        yield found


def job(number: int) -> dict[str, Any]:
    return {"fun": "test.ping", "jid": f"20260102030405{number:06}", "tgt": "*", "arg": []}


def test_every_node_sends_the_same_bytes_in_the_same_order(nodes: list[Node]) -> None:
    one, two = nodes
    for number in range(4):
        nodes[number % 2].publisher.publish(job(number), [b"broadcast"])
    mine, theirs = list(one.feed.read()), list(two.feed.read())
    assert mine == theirs
    assert [publication.job for publication in mine] == [job(number) for number in range(4)]
    last = 0
    for publication in mine:
        opened, last = open_publication(
            publication.frame,
            crypticle=Crypticle(one.ring.current().key),
            last_serial=last,
            master_key=KEY.public,
            require_signature=True,
        )
        assert opened == publication.job
    assert list(one.feed.read()) == []
    assert one.local.jobs == []


def test_large_jobs_are_read_in_portions(
    nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "PORTION_BYTES", 5000)
    asked: list[str] = []
    execute = nodes[1].engine.execute

    def note(statement: str, *values: Any) -> Any:
        asked.append(statement)
        return execute(statement, *values)

    monkeypatch.setattr(nodes[1].engine, "execute", note)
    for number in range(12):
        nodes[0].publisher.publish({**job(number), "arg": ["x" * 2000 * (number % 4)]}, [])
    found = list(nodes[1].feed.read())
    assert asked.count(publications._READ) > 3
    assert [publication.job["jid"] for publication in found] == [job(n)["jid"] for n in range(12)]
    assert list(nodes[1].feed.read()) == []


def test_nobody_reads_past_a_serial(nodes: list[Node], database: dict[str, str]) -> None:
    """Serials are given in the order of commits: what is read later is never smaller."""

    def publish(number: int) -> None:
        mine = Node(database, "ab"[number % 2])
        for at in range(25):
            mine.publisher.publish(job(number * 100 + at), [b"broadcast"])
        mine.close()

    seen: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(publish, number) for number in range(4)]
        while not all(one.done() for one in futures):
            seen += [one.jid for one in nodes[0].feed.read()]
        for one in futures:
            one.result()
    seen += [one.jid for one in nodes[0].feed.read()]
    assert sorted(seen) == sorted(job(n * 100 + at)["jid"] for n in range(4) for at in range(25))


def test_serials_go_on_under_another_key(nodes: list[Node]) -> None:
    one, two = nodes
    one.publisher.publish(job(1), [b"broadcast"])
    one.ring.rotate(new_key_string(), time.monotonic())
    two.publisher.publish(job(2), [b"broadcast"])  # of a node that has not heard of it yet
    assert two.ring.current().generation == 1
    found = list(two.feed.read())
    assert [publication.jid for publication in found] == [job(1)["jid"], job(2)["jid"]]
    # Before the frame goes out, so that a minion that signs in again gets the key it needs.
    assert two.ring.current().generation == 2
    assert found[0].serial < found[1].serial


def forge(node: Node, frame: bytes, serial: int) -> None:
    node.engine.execute(
        "INSERT INTO publications VALUES (1, %s, 'x', 1, %b, %b)", [serial, frame, [b"broadcast"]]
    )


def test_what_a_stranger_puts_into_the_table_is_not_sent(
    nodes: list[Node], caplog: pytest.LogCaptureFixture
) -> None:
    one, two = nodes
    one.publisher.publish(job(1), [b"broadcast"])
    sealed = next(one.feed.read())
    base = sealed.serial
    key = one.ring.current().key
    forge(one, b"junk", base + 1)
    forge(one, sealed.frame, base + 2)  # an old frame under a new number
    for number, (aes, signer) in enumerate(
        [(key, STRANGER), (key, None), (new_key_string(), KEY)], 3
    ):
        frame = seal_publication(job(number), aes=aes, serial=base + number, signer=signer)
        forge(one, frame, base + number)
    assert [publication.jid for publication in two.feed.read()] == [job(1)["jid"]]
    assert caplog.text.count("is not sent") == 5
    two.publisher.publish(job(9), [b"broadcast"])
    assert [publication.jid for publication in two.feed.read()] == [job(9)["jid"]]


def test_a_node_alone_publishes_to_its_own_minions(
    database: dict[str, str],
    nodes: list[Node],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, _two = nodes
    refusing = Node(database, "b", serves=False)

    def fail(_engine: ClusterEngine, _work: object) -> object:
        raise ServerAway("cluster engine away: test")

    monkeypatch.setattr(ClusterEngine, "_run_work", fail)
    assert [one.publisher.publish(job(number), [b"broadcast"]) for number in (1, 2)] == [ALONE] * 2
    assert one.local.jobs == [(job(1), [b"broadcast"]), (job(2), [b"broadcast"])]
    assert caplog.text.count("goes to the minions of this node only") == 1
    with pytest.raises(ServerAway):
        refusing.publisher.publish(job(2), [b"broadcast"])
    assert refusing.local.jobs == []
    monkeypatch.undo()
    refusing.close()


def test_a_publisher_that_hangs_does_not_keep_the_others(
    database: dict[str, str], nodes: list[Node]
) -> None:
    """The server ends a transaction that holds the lock and says nothing."""
    one, two = nodes
    begun, go_on = [], []

    def hang(transaction: Any) -> None:
        from saltlite.cluster.key_ring import take_serials_lock

        take_serials_lock(transaction, 0.3)
        begun.append(1)
        while not go_on:
            time.sleep(0.01)

    stuck = ClusterEngine(database, timeout_s=10)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(stuck.transact, hang)
        while not begun:
            time.sleep(0.01)
        two.publisher.publish(job(1), [b"broadcast"])
        go_on.append(1)
        with pytest.raises(ServerAway):
            future.result()
    assert [publication.jid for publication in one.feed.read()] == [job(1)["jid"]]
    stuck.close()
