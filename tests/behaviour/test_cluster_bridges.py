"""Two nodes' bridges and one PostgreSQL: what crosses, what waits, what is said once more.

The bridges run as in a daemon but for their Publisher, in whose place is a socket that is read
here; buses are real.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import databases
import pytest
import zmq

from cluster import eventually
from saltlite.cluster import schema
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.feeds import EventExchange
from saltlite.cluster.identity import make_cluster_key
from saltlite.cluster.membership import (
    Membership,
    join_cluster,
    list_prefixes,
    open_engine,
    open_jobs,
)
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.config.load import load_master
from saltlite.core import tags
from saltlite.errors import ConfigError, ServerAway
from saltlite.master.eventpublisher import EventPublisher
from saltlite.master.jobcache import Stored
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.bus import EventPusher, EventSubscriber
from saltlite.transport.codec import unpack_bin

NUMBERS = itertools.count()
LOAD = {"cmd": "publish", "tgt": "*", "fun": "test.ping", "user": "root"}

pytestmark = pytest.mark.skipif(
    databases.postgres_programs() is None, reason="there is no PostgreSQL server"
)


class ThreadLife:
    """What a child of the supervisor has, for one that is a thread."""

    def __init__(self) -> None:
        self.stopping = False
        self.restarts = 0
        self.is_ready = threading.Event()

    def register(self, poller: zmq.Poller) -> None:
        """No signals come to a thread."""

    def ready(self) -> None:
        self.is_ready.set()

    def poll(self, poller: zmq.Poller, timeout_s: float = 1.0) -> list[Any]:
        return poller.poll(round(min(timeout_s, 0.2) * 1000))


class Node:
    """A master's bus, its bridge, and what its Publisher is handed."""

    def __init__(self, root: Path, name: str, dsn: str, key: bytes | None, options: str) -> None:
        self.root = root / name
        (self.root / "run").mkdir(parents=True)
        (self.root / "master").write_text(
            f"root_dir: {self.root}\nid: {name}\ncluster_id: c\ncluster_dsn: '{dsn}'\n"
            f"cluster_lease: 3\nsock_dir: {self.root}/run\n{options}"
        )
        self.config = load_master(self.root, environ={})
        if key is None:
            make_cluster_key(self.config)
        else:
            (self.root / "etc/salt/pki/master").mkdir(parents=True)
            path = self.root / "etc/salt/pki/master/cluster.pem"
            path.write_bytes(key)
            path.chmod(0o400)
        self.sockets = MasterSockets(Path(self.config.paths.sock_dir))
        self.context: zmq.Context[Any] = zmq.Context()
        self.pull = self.context.socket(zmq.PULL)
        self.pull.bind(ipc(self.sockets.publish_pull))
        self.membership: Membership = join_cluster(self.config, "127.0.0.1")
        self.lives: list[tuple[ThreadLife, threading.Thread]] = []

    @property
    def key(self) -> bytes:
        return (self.root / "etc/salt/pki/master/cluster.pem").read_bytes()

    def start(self) -> None:
        self._run(EventPublisher(self.sockets, 1000, [], [], window=0).run)
        self.hears = EventSubscriber(self.sockets.event_pub, context=self.context)
        assert self.hears.connect_confirmed(10)
        self.fires = EventPusher(self.sockets.event_pull, context=self.context)
        self._run(self.membership.make_bridge().run)

    def _run(self, work: Callable[[Any], None]) -> None:
        life = ThreadLife()
        thread = threading.Thread(target=work, args=[life], daemon=True)
        thread.start()
        assert life.is_ready.wait(10)
        self.lives.append((life, thread))

    def stop_bridge(self) -> None:
        life, thread = self.lives.pop()
        life.stopping = True
        thread.join(10)
        assert not thread.is_alive()

    def close(self) -> None:
        while self.lives:
            self.stop_bridge()
        if hasattr(self, "fires"):
            self.fires.close()
            self.hears.close()
        self.pull.close(linger=0)
        self.context.destroy(linger=0)
        self.membership.close()

    def next_order(self, within_s: float = 10) -> dict[str, Any]:
        assert self.pull.poll(round(within_s * 1000)), "nothing is published"
        return unpack_bin(self.pull.recv())  # type: ignore[return-value]

    def next_event(self, tag: str, within_s: float = 10) -> dict[str, Any]:
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s:
            event = self.hears.get(0.1)
            if event is not None and event.tag == tag:
                return event.data
        raise AssertionError(f"no event {tag}")


def jid(number: int) -> str:
    return f"20260102030405{number:06}"


@pytest.fixture(scope="module")
def server() -> Iterator[databases.Postgres]:
    with databases.postgres_server() as one:
        yield one


@pytest.fixture
def dsn(server: databases.Postgres) -> Iterator[str]:
    with databases.database_of(server.place, f"b{next(NUMBERS)}") as one:
        engine = ClusterEngine(dict(part.split("=", 1) for part in one.split()), timeout_s=10)
        schema.install(engine)
        engine.close()
        yield one


@pytest.fixture
def make_nodes(tmp_path: Path, dsn: str) -> Iterator[Callable[..., list[Node]]]:
    with contextlib.ExitStack() as stack:

        def make(count: int = 2, options: str = "") -> list[Node]:
            found: list[Node] = []
            for number in range(count):
                key = found[0].key if found else None
                node = Node(tmp_path, f"n{number}", dsn, key, options)
                stack.callback(node.close)
                node.start()
                found.append(node)
            return found

        yield make


def publish(node: Node, number: int, minions: list[str]) -> None:
    """As a worker of the node does."""
    engine = open_engine(node.config)
    context: zmq.Context[Any] = zmq.Context()
    store = open_jobs(node.config, engine)
    assert store.new_job(jid(number), {**LOAD, "jid": jid(number)}, minions)
    publisher = node.membership.open_publisher(engine, context)
    publisher.publish({"jid": jid(number), "fun": "test.ping", "tgt": "*"}, [b"broadcast"])
    store.close()
    context.destroy(linger=1000)


def take_return(node: Node, number: int, minion: str) -> Stored:
    store = open_jobs(node.config, open_engine(node.config))
    try:
        return store.add_return(jid(number), minion, {"return": True, "retcode": 0})
    finally:
        store.close()


# --- what crosses ----------------------------------------------------------------------------


def test_a_job_goes_to_the_minions_of_all_nodes(make_nodes: Callable[..., list[Node]]) -> None:
    one, two = make_nodes()
    publish(one, 1, ["m1", "m2"])
    mine, theirs = one.next_order(), two.next_order()
    assert mine == theirs
    assert mine["job"] == {"jid": jid(1), "fun": "test.ping", "tgt": "*"}
    assert mine["topics"] == [b"broadcast"]
    publish(two, 2, ["m1"])
    assert one.next_order()["job"]["jid"] == two.next_order()["job"]["jid"] == jid(2)


def test_a_return_is_heard_where_the_job_was_published(
    make_nodes: Callable[..., list[Node]],
) -> None:
    one, two, three = make_nodes(3)
    publish(one, 1, ["m1", "m2"])
    three.next_order()
    assert take_return(two, 1, "m1") is Stored.NEW
    assert take_return(three, 1, "m1") is Stored.REPEAT
    assert take_return(three, 1, "m2") is Stored.NEW
    found = {}
    while len(found) < 2:
        event = one.hears.get(10)
        assert event is not None
        if event.tag.startswith(tags.job(jid(1)) + "ret/"):
            assert event.tag not in found
            found[event.tag] = event.data
    first = found[tags.job_ret(jid(1), "m1")]
    assert (first["jid"], first["id"], first["return"]) == (jid(1), "m1", True)
    two.fires.fire("salt/custom/end", {})
    three.next_event("salt/custom/end")  # no return came before it that was not asked for here


def test_events_cross_once_and_do_not_come_back(make_nodes: Callable[..., list[Node]]) -> None:
    one, two = make_nodes()
    for number in range(3):
        one.fires.fire("salt/minion/m1/start", {"n": number})
        one.fires.fire("minion_start", {"n": number})  # not of those that cross
    one.fires.fire("salt/custom/end", {})
    heard = []
    while not heard or heard[-1].tag != "salt/custom/end":
        event = two.hears.get(10)
        assert event is not None
        heard.append(event)
    assert [(event.tag, event.data.get("n")) for event in heard] == [
        *(("salt/minion/m1/start", number) for number in range(3)),
        ("salt/custom/end", None),
    ]
    two.fires.fire("salt/custom/back", {})
    mine = []
    while not mine or mine[-1] != "salt/custom/back":
        event = one.hears.get(10)
        assert event is not None
        mine.append(event.tag)
    assert mine.count("salt/minion/m1/start") == 3


def test_events_that_an_engine_took_and_did_not_say_so_cross_once(
    make_nodes: Callable[..., list[Node]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood still before its answer, so they are sent again when it is back."""
    send, sent = EventExchange.send, []

    def send_unheard(self: EventExchange, events: Any) -> None:
        send(self, events)
        sent.append(len(events))
        if len(sent) == 1:
            raise ServerAway("it does not answer")

    monkeypatch.setattr(EventExchange, "send", send_unheard)
    one, two = make_nodes()
    one.fires.fire("salt/custom/n", {"n": 1})
    eventually(lambda: len(sent) > 1, within_s=20)
    one.fires.fire("salt/custom/n", {"n": 2})
    heard: list[int] = []
    while 2 not in heard:
        event = two.hears.get(10)
        assert event is not None
        heard.append(event.data["n"])
    assert heard == [1, 2]


def test_what_the_bus_is_asked_for() -> None:
    assert list_prefixes(["salt/key", "salt/job/*/new", "salt/job/[0-9]*", "a?"]) == [
        "a",
        "salt/job/",
        "salt/key",
    ]
    assert list_prefixes(["salt/*", "*"]) == [""]


# --- what fails ------------------------------------------------------------------------------


def test_a_bridge_that_died_goes_on_from_its_place(make_nodes: Callable[..., list[Node]]) -> None:
    one, two = make_nodes()
    publish(one, 1, ["m1"])
    assert two.next_order()["job"]["jid"] == jid(1)
    two.stop_bridge()
    publish(one, 2, ["m1"])
    two._run(two.membership.make_bridge().run)
    assert two.next_order()["job"]["jid"] == jid(2)


def test_while_postgresql_is_away_a_node_goes_on_alone(
    make_nodes: Callable[..., list[Node]], server: databases.Postgres, caplog: Any
) -> None:
    caplog.set_level("INFO")
    one, two = make_nodes()
    publish(one, 1, ["m1", "m2"])
    before = one.next_order()
    two.next_order()
    server.stop()
    try:
        assert take_return(one, 1, "m1") is Stored.NEW
        publish(one, 2, ["m1"])
        alone = one.next_order()
        assert alone["job"]["jid"] == jid(2)
        assert "frame" not in alone  # our Publisher seals it, with a serial of this node
        assert one.membership.ring.next_serial()[1] > one.membership.ring.last_serial() - 1
        assert take_return(one, 2, "m1") is Stored.NEW
        publish(two, 2, ["m2"])  # of a master above: the syndic of each node has it
        assert two.next_order()["job"]["jid"] == jid(2)
        assert take_return(two, 2, "m2") is Stored.NEW
        eventually(lambda: "this node goes on alone" in caplog.text, within_s=10)
    finally:
        server.start()
    engine = open_engine(two.config)
    store = PostgresJobStore(engine, "n1")
    for count in ("1 jobs and 2 returns", "1 jobs and 1 returns"):
        eventually(lambda count=count: f"Brought up {count}" in caplog.text, within_s=20)  # type: ignore[misc]
    assert set(store.returns(jid(1))) == {"m1"}
    assert set(store.returns(jid(2))) == {"m1", "m2"}
    assert sorted(store.minions(jid(2)) or []) == ["m1", "m2"]
    engine.close()
    assert "as another one" not in caplog.text
    publish(one, 3, ["m1"])
    after = one.next_order()
    assert after["job"]["jid"] == jid(3)
    serials = [one.membership.ring.last_serial()]
    assert serials[0] > 0
    assert two.next_order()["job"]["jid"] == jid(3)  # and nothing of job 2, of another node's own
    assert before["frame"] != after["frame"]


def test_another_job_of_the_same_jid_gets_nobody_of_it(
    make_nodes: Callable[..., list[Node]], server: databases.Postgres, caplog: Any
) -> None:
    one, two = make_nodes()
    server.stop()
    try:
        publish(one, 2, ["m1"])
        engine = open_engine(two.config)
        alone = open_jobs(two.config, engine)
        assert alone.new_job(jid(2), {**LOAD, "jid": jid(2), "fun": "test.echo"}, ["m2"])
        alone.close()
    finally:
        server.start()
    store = PostgresJobStore(engine, "n1")
    eventually(lambda: "is on record already, as another one" in caplog.text, within_s=20)
    # Whichever came first is the job, with its own minions alone.
    record = store.job(jid(2))
    assert record is not None
    asked = {"test.ping": ["m1"], "test.echo": ["m2"]}
    assert record.minions == asked[str(record.load["fun"])]
    store.close()


def test_jobs_that_a_dead_nodes_minions_missed_are_published_again(
    make_nodes: Callable[..., list[Node]], monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("saltlite.cluster.bridge.HOUSE_S", 0.2)
    one, two = make_nodes()
    publish(one, 1, ["m1", "m2", "m3"])
    take_return(one, 1, "m2")
    one.next_order()
    two.stop_bridge()
    again = one.next_order(20)
    assert again["job"]["jid"] == jid(1)
    assert (again["job"]["tgt"], again["job"]["tgt_type"]) == (["m1", "m3"], "list")
    assert "The node n1 is not heard of" in caplog.text
    publish(one, 2, ["m1"])
    assert one.next_order()["job"]["jid"] == jid(2)  # job 1 was published again only once

    engine = open_engine(one.config)
    engine.execute(
        "UPDATE publications SET at = at - interval '1 minute' "
        "WHERE serial = (SELECT min(serial) FROM publications)"
    )
    engine.execute("UPDATE nodes SET repeated = false WHERE node = 'n1'")  # as by another death
    engine.close()
    assert one.next_order(20)["job"]["jid"] == jid(2)  # job 1 is too old, though not its repetition


def test_a_node_that_may_not_start(make_nodes: Callable[..., list[Node]], tmp_path: Path) -> None:
    (one,) = make_nodes(1)
    dsn = one.config.cluster.cluster_dsn
    with pytest.raises(ConfigError, match=r"cluster\.pem is not the one"):
        Node(tmp_path, "stranger", dsn, None, "")
    engine = open_engine(one.config)
    engine.execute("UPDATE schema_version SET version = 0")
    with pytest.raises(ConfigError, match="are of version 0"):
        join_cluster(one.config, "127.0.0.1")
    engine.close()
