"""Junk from a process that runs as the daemon's own user: it harms itself. Source:
docs/security.md#malformed-input.

The Unix sockets are open to that user only; who can reach them could as well kill the daemon. So it
is not about what such a process may do, but that nothing it does by mistake ends a daemon or makes
it deaf.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

import zmtp
from attacks import LIMITED, WEB_ONLY, Victim, clear
from cluster import Cluster, Daemon, eventually
from fakemaster import FakeMaster
from rogue import Rogue
from saltlite.master.acl_files import READ_WRITE, access_list, user_ids
from saltlite.transport.addresses import MasterSockets, MinionSockets, ipc
from saltlite.transport.bus import EventPusher, EventSubscriber
from saltlite.transport.codec import pack_bin

MEBIBYTE = 2**20

FRAMES: dict[str, list[bytes]] = {
    "empty": [b""],
    "two empty": [b"", b""],
    "no delimiter": [b"tag and nothing more"],
    "no tag": [b"\n\n\x80"],
    "no body": [b"tag\n\n"],
    "not msgpack": [b"tag\n\n\xc1"],
    "a list for a map": [b"tag\n\n\x90"],
    "trailing": [b"tag\n\n\x80\x80"],
    "a tag of one MiB": [b"t" * MEBIBYTE + b"\n\n\x80"],
    "a tag that is no text": [b"\xff\xfe\n\n\x80"],
    "ten MiB": [b"tag\n\n" + b"x" * (10 * MEBIBYTE)],
    "deep": [b"tag\n\n" + b"\x91" * 100_000 + b"\xc0"],
    "claims": [b"tag\n\n\xdf\xff\xff\xff\xff", b"tag\n\n\xdd\xff\xff\xff\xff"],
    "many": [b"x"] * 1000,
    "a confirmation": [b"\xffready/" + b"0" * 32],
    "a sequence too": [b"tag\n\n\x80", b"\0" * 8],
    "random": [os.urandom(5_000)],
    "a number": [pack_bin(5)],
    "an order of nothing": [pack_bin({})],
    "an order of no job": [pack_bin({"job": 5, "topics": 7})],
    "an order of no topics": [pack_bin({"job": {}, "topics": {"a": 1}})],
    "an order of odd topics": [pack_bin({"job": {"jid": 5}, "topics": [5, None, "x"]})],
    "an order with odd keys": [pack_bin({"job": {5: {None: [b"\xff"]}}, "topics": []})],
    "an order of a date": [pack_bin({"job": {"jid": "x", "serial": "y"}, "topics": [b""]})],
}

RUDE: dict[str, bytes] = {
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "zeros": bytes(100_000),
    "half a greeting": zmtp.greeting()[:20],
    "no mechanism": zmtp.greeting(b"NOSUCH"),
    "2 GiB announced": zmtp.greeting() + zmtp.ready(b"PUSH") + zmtp.frame(b"x", announced=2**31),
    "no such type": zmtp.greeting() + zmtp.ready(b"NOSUCH") + zmtp.frame(b"x"),
    "a wrong type": zmtp.greeting() + zmtp.ready(b"PAIR") + zmtp.frame(b"x"),
}


@contextlib.contextmanager
def pushing(path: Path, kind: int = zmq.PUSH) -> Iterator[zmq.Socket[bytes]]:
    with zmq.Context() as context, context.socket(kind) as one:
        one.linger = 1000
        one.sndtimeo = 2000
        one.connect(ipc(path))
        yield one


def bus_works(pull: Path, pub: Path) -> None:
    """An honest event goes in and comes out."""
    tag = f"myco/{uuid.uuid4().hex}"
    with EventSubscriber(pub, [tag]) as hearing, EventPusher(pull) as pusher:
        assert hearing.connect_confirmed(5)
        assert pusher.fire(tag, {"n": 1})
        event = hearing.get(5)
    assert event is not None
    assert event.data["n"] == 1


@contextlib.contextmanager
def all_stay(daemon: Daemon) -> Iterator[None]:
    """No process of the daemon ends, but for those of jobs, and none logs a stack trace."""
    lasting = ("salt-master", "salt-minion Minion")
    before = {one.pid for name in lasting for one in daemon.titled(name)} | {daemon.pid}
    size = len(daemon.log())
    yield
    said = daemon.log()[size:]
    assert before <= {one.pid for one in daemon.processes()}, said[-3000:]
    assert "Traceback" not in said


# --- the master's -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sockets(victim: Victim) -> MasterSockets:
    return MasterSockets(victim.cluster.sock_dir)


def master_works(victim: Victim, sockets: MasterSockets, bystander: Rogue, root_key: str) -> None:
    """Requests, events and publications."""
    victim.honest()
    bus_works(sockets.event_pull, sockets.event_pub)
    load = {"cmd": "publish", "tgt": bystander.id, "fun": "test.ping", "arg": [], "ret": "",
            "tgt_type": "glob", "jid": "", "user": "root", "key": root_key}  # fmt: skip
    with bystander.listening() as ear:
        jid = victim.stranger.send(clear(load))["load"]["jid"]
        eventually(lambda: (ear.next(5) or {}).get("jid") == jid, within_s=10, what="the job")


MASTER_SOCKETS = ["event_pull", "event_pub", "publish_pull", "workers-0", "workers-1"]


def path_of(sockets: MasterSockets, name: str) -> Path:
    if name.startswith("workers-"):
        return sockets.workers(int(name[-1]))
    found: Path = getattr(sockets, name)
    return found


@pytest.mark.parametrize("name", MASTER_SOCKETS)
def test_the_masters_sockets_are_the_owners_alone(sockets: MasterSockets, name: str) -> None:
    status = os.lstat(path_of(sockets, name))
    assert stat.S_ISSOCK(status.st_mode)
    assert stat.S_IMODE(status.st_mode) == 0o600 or name == "event_pub"
    assert status.st_uid == os.geteuid()


def test_the_bus_is_open_to_the_limited_users_alone(sockets: MasterSockets) -> None:
    """By name; where there is no list of names, it is the owner's alone."""
    path = path_of(sockets, "event_pub")
    users = user_ids([LIMITED, WEB_ONLY])
    try:
        found = os.getxattr(path, "system.posix_acl_access")
    except OSError:
        assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    else:
        assert found == access_list(0o600, users, READ_WRITE)


KINDS = {"event_pull": zmq.PUSH, "publish_pull": zmq.PUSH, "event_pub": zmq.XSUB}


@pytest.mark.parametrize("name", KINDS)
def test_frames_of_no_use_to_the_master(
    victim: Victim, sockets: MasterSockets, bystander: Rogue, root_key: str, name: str
) -> None:
    with all_stay(victim.cluster.master):
        with pushing(path_of(sockets, name), KINDS[name]) as one:
            for frames in FRAMES.values():
                one.send_multipart(frames)
        master_works(victim, sockets, bystander, root_key)


@pytest.mark.parametrize("name", MASTER_SOCKETS)
def test_bytes_that_are_no_zmtp_to_the_master(
    victim: Victim, sockets: MasterSockets, bystander: Rogue, root_key: str, name: str
) -> None:
    """After they went; and while they stay, but for a worker's socket.

    There ZeroMQ takes whoever begins with another byte for a peer of its first version and hands it
    requests, which are given up when it goes.
    """
    with all_stay(victim.cluster.master):
        with contextlib.ExitStack() as stack:
            for said in RUDE.values():
                one = stack.enter_context(zmtp.connection(str(path_of(sockets, name))))
                with contextlib.suppress(ConnectionError):
                    one.sendall(said)
            if not name.startswith("workers-"):
                master_works(victim, sockets, bystander, root_key)
        eventually(lambda: works(victim), within_s=10, what="both workers answer")
        master_works(victim, sockets, bystander, root_key)


@pytest.mark.parametrize("number", [0, 1])
def test_a_second_worker_on_a_workers_socket(
    victim: Victim, sockets: MasterSockets, bystander: Rogue, root_key: str, number: int
) -> None:
    """It may swallow requests while it is there; with its end the real one gets them all again."""
    with all_stay(victim.cluster.master):
        with pushing(sockets.workers(number), zmq.REP) as thief:
            frames = [clear({"cmd": "ping", "n": n}) for n in range(8)]
            victim.stranger.send_many(frames, within_s=0.5)
            if thief.poll(100):
                thief.recv()
        eventually(lambda: works(victim), within_s=10, what="both workers answer")
        master_works(victim, sockets, bystander, root_key)


def works(victim: Victim) -> bool:
    try:
        for _ in range(3):
            victim.honest()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("number", [0, 1])
def test_frames_of_no_use_to_the_one_who_hands_out_requests(
    victim: Victim, sockets: MasterSockets, bystander: Rogue, root_key: str, number: int
) -> None:
    """Answers that nobody asked for, in every number of frames."""
    with all_stay(victim.cluster.master):
        with pushing(sockets.workers(number), zmq.DEALER) as one:
            for frames in FRAMES.values():
                one.send_multipart(frames)
            for n in range(200):
                one.send_multipart([struct.pack("<Q", n), b"", b"\xa6forged"])
        eventually(lambda: works(victim), within_s=10, what="both workers answer")
        master_works(victim, sockets, bystander, root_key)


def test_a_subscriber_that_does_not_read(victim: Victim, sockets: MasterSockets) -> None:
    """It loses events; nobody waits for it and memory is bounded."""
    with zmtp.peer(str(sockets.event_pub), b"SUB") as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.sendall(zmtp.frame(b"\x01"))
        before = victim.resident_bytes()
        with EventPusher(sockets.event_pull) as pusher:
            for number in range(3_000):
                assert pusher.fire("myco/flood", {"n": number, "x": "x" * 1_000})
        bus_works(sockets.event_pull, sockets.event_pub)
        assert victim.resident_bytes() - before < 64 * MEBIBYTE


def test_connections_that_come_and_go(victim: Victim, sockets: MasterSockets) -> None:
    before = victim.descriptors()
    with all_stay(victim.cluster.master):
        for name in MASTER_SOCKETS:
            for _ in range(100):
                with zmtp.connection(str(path_of(sockets, name))):
                    pass
        victim.honest()
    eventually(lambda: victim.descriptors() <= before + 2, within_s=10, what="descriptors")


# --- the minion's -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minion() -> Iterator[tuple[FakeMaster, Daemon, MinionSockets]]:
    with Cluster(minions=0) as cluster:
        master = FakeMaster(cluster.publish_port, cluster.ret_port)
        daemon = cluster.add_minion("mm")
        try:
            daemon.start()
            master.wait(lambda: len(master.requests("mm", "_minion_event")) >= 2, 30, "start")
            yield master, daemon, MinionSockets(cluster.root / "mm" / "run", "mm")
        finally:
            daemon.stop()
            master.close()


def minion_works(minion: tuple[FakeMaster, Daemon, MinionSockets], number: int) -> None:
    master, _, sockets = minion
    bus_works(sockets.event_pull, sockets.event_pub)
    jid = f"20240202{number:06d}{uuid.uuid4().int % 10**6:06d}"
    master.send(master.publication(master.job(jid, "mm")))
    master.wait(lambda: jid in master.returned("mm"), 20, "return")


@pytest.mark.parametrize("name", ["event_pull", "event_pub"])
def test_the_minions_sockets_are_the_owners_alone(
    minion: tuple[FakeMaster, Daemon, MinionSockets], name: str
) -> None:
    status = os.lstat(getattr(minion[2], name))
    assert stat.S_IMODE(status.st_mode) == 0o600


@pytest.mark.parametrize("name", ["event_pull", "event_pub"])
def test_junk_on_the_minions_bus(
    minion: tuple[FakeMaster, Daemon, MinionSockets], name: str
) -> None:
    path: Path = getattr(minion[2], name)
    with all_stay(minion[1]):
        with pushing(path, KINDS[name]) as one:
            for frames in FRAMES.values():
                one.send_multipart(frames)
        minion_works(minion, 1)
        with contextlib.ExitStack() as stack:
            for said in RUDE.values():
                peer = stack.enter_context(zmtp.connection(str(path)))
                with contextlib.suppress(ConnectionError):
                    peer.sendall(said)
            minion_works(minion, 2)
        minion_works(minion, 3)


ASKS: list[tuple[str, Any]] = [
    ("fire_master", {"tag": f"salt/job/{20 * '1'}/publish", "data": {}}),
    ("fire_master", {"tag": f"salt/job/{20 * '1'}/ret/other", "data": {"return": 1}}),
    ("fire_master", {"tag": "salt/key", "data": {}, "cmd": "publish"}),
    ("fire_master", {"tag": "salt/minion/other/start", "data": {"cmd": "publish"}}),
    ("fire_master", {"events": [{"tag": "key", "data": {}}, {"tag": 5}, 5, None, {}]}),
    ("fire_master", {"events": "x"}),
    ("fire_master", {"tag": ["salt/key"]}),
    ("fire_master", {}),
    ("fire_master", {"events": [{"tag": "new_job"}], "pretag": "salt"}),
    (f"salt/job/{20 * '1'}/publish", {"fun": "test.ping", "tgt": "*", "jid": 20 * "1"}),
    ("__master_req_channel_payload/x/m", {"cmd": "publish", "id": "other", "tgt": "*"}),
    ("__master_req_channel_payload", {"cmd": "publish", "id": "other", "fun": "cmd.run"}),
    ("__schedule_return", {"cmd": "_return", "id": "other", "jid": "req", "return": 1}),
    ("_minion_mine", {"data": 5, "id": "other"}),
    ("_minion_mine", {"cmd": "publish", "data": {"x": 1}, "id": "other"}),
    ("_minion_mine", {}),
    ("pillar_refresh", {"x": [1]}),
    ("grains_refresh", {}),
    ("manage_schedule", {"func": "add", "schedule": 5}),
    ("manage_beacons", {"func": "__class__"}),
    ("module_refresh", {"x": {}}),
    ("__master_disconnected", {"master": "x"}),
    ("salt/auth/creds", {"key": "x", "creds": {"aes": "x"}}),
]


def test_the_minions_bus_takes_local_work_only(
    minion: tuple[FakeMaster, Daemon, MinionSockets],
) -> None:
    """CVE-2025-22236: nothing that a local process says becomes a job or another's voice."""
    master, daemon, sockets = minion
    before = len(master.asked)
    with all_stay(daemon):
        with EventPusher(sockets.event_pull) as pusher:
            for tag, data in ASKS:
                pusher.fire(tag, data)
        minion_works(minion, 4)
    asked = master.asked[before:]
    assert {one.cmd for one in asked} <= {"_minion_event", "_mine", "_pillar", "_return", "_auth"}
    assert {one.id for one in asked} == {"mm"}
    tags = {str(one.load["tag"]) for one in asked if one.cmd == "_minion_event"}
    assert not {tag for tag in tags if tag.startswith("salt/") or tag in ("key", "new_job")}
    jids = {one.load["jid"] for one in asked if one.cmd == "_return"}
    assert not {20 * "1", "req"} & jids


def test_a_local_event_of_the_sites_own_goes_on(
    minion: tuple[FakeMaster, Daemon, MinionSockets],
) -> None:
    master, _, sockets = minion
    with EventPusher(sockets.event_pull) as pusher:
        pusher.fire("fire_master", {"tag": "myco/local", "data": {"x": 1}})
        pusher.fire("fire_master", {"tag": "salt/minion/mm/hello", "data": {"x": 1}})
    wanted = {"myco/local", "salt/minion/mm/hello"}
    master.wait(
        lambda: wanted <= {o.load["tag"] for o in master.requests("mm", "_minion_event")}, 20, "it"
    )
