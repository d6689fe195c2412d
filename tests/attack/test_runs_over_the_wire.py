"""Runners and wheel functions that are asked for over the wire.

Source: docs/security.md#ids-jids-and-paths, #who-may-do-what.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Any

import pytest
import zmq

from attacks import LIMITED, WEB_ONLY, Victim, clear, unharmed
from cluster import Cluster, eventually
from rogue import Rogue, Sealed
from saltlite.master.deferred_replies import LATE
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.bus import EventSubscriber
from saltlite.transport.codec import unpack

"""The cluster's local users: one may only ``test.ping``, the other only minions ``web*``."""

RUNS = r"salt/(run|wheel)/\d{20}/(new|ret)"


def key_of(cluster: Cluster, user: str) -> str:
    return (cluster.cache_dir / f".{user}_key").read_text().strip()


def error_of(reply: Any) -> str:
    error = reply.get("error") if isinstance(reply, dict) else None
    return str(error.get("name")) if isinstance(error, dict) else repr(reply)


@pytest.mark.parametrize("name", ["runner", "wheel"])
def test_a_limited_user_has_nothing_run(victim: Victim, name: str) -> None:
    cluster = victim.cluster
    loads: list[dict[str, Any]] = []
    for user in (LIMITED, WEB_ONLY):
        key = key_of(cluster, user)
        for claimed in (user, "root", "sudo_root", f"sudo_{user}", ""):
            loads += [
                {"fun": fun, "user": claimed, "key": key}
                for fun in (
                    "test.ping",
                    "test.arg",
                    "key.list_all",
                    "salt.cmd",
                    "saltutil.find_job",
                )
            ]
    with unharmed(victim):
        replies = victim.stranger.send_many([clear({"cmd": name, **load}) for load in loads])
    assert {error_of(reply) for reply in replies} == {"UserAuthenticationError"}


ODD: list[dict[str, Any]] = [
    {"fun": 5}, {"fun": ["key.list_all"]}, {"fun": {}}, {"fun": None}, {}, {"fun": ""},
    {"fun": "key"}, {"fun": "key.list_all\n"}, {"fun": "key."}, {"fun": "../x.y"},
    {"fun": "key.list_all", "kwarg": "x"}, {"fun": "key.list_all", "kwarg": {5: 5}},
    {"fun": "x." + "a" * 1_000_000},
]  # fmt: skip


@pytest.mark.parametrize("name", ["runner", "wheel"])
def test_the_form_of_a_request_is_checked(victim: Victim, root_key: str, name: str) -> None:
    own = {"cmd": name, "user": "root", "key": root_key}
    with unharmed(victim):
        replies = victim.stranger.send_many([clear({**own, **load}) for load in ODD])
    found = [(str(load)[:60], error_of(reply)) for load, reply in zip(ODD, replies, strict=True)]
    assert [one for one in found if one[1] != "UserAuthenticationError"] == []


def test_what_does_not_exist_and_what_fails_is_an_answer(victim: Victim, root_key: str) -> None:
    own = {"cmd": "wheel", "user": "root", "key": root_key}
    asked = [
        ({"fun": "nosuch.thing"}, "is not available"),
        ({"fun": "keyring.generate"}, "is not available"),
        ({"fun": "key.accept", "nosuch": 1}, "Passed invalid arguments"),
        ({"fun": "error.error", "arg": ["SystemExit", "x"]}, "SystemExit: x"),
        ({"fun": "key.gen_accept", "id_": "../../x"}, "cannot be a minion's id"),
        ({"fun": "config.update_config", "arg": ["../x", {}]}, "cannot be the name"),
    ]
    with unharmed(victim, events=RUNS):
        frames = [clear({**own, **load}) for load, _words in asked]
        replies = victim.stranger.send_many(frames, within_s=20)
    for reply, (_load, words) in zip(replies, asked, strict=True):
        assert reply["data"]["success"] is False
        assert words in reply["data"]["return"]


@pytest.mark.parametrize("kind", ["file_roots", "pillar_roots"])
def test_not_even_root_gets_out_of_the_roots(victim: Victim, root_key: str, kind: str) -> None:
    own = {"cmd": "wheel", "user": "root", "key": root_key}
    paths = ["../outside.txt", "/etc/passwd", "a/../../x", ""]
    paths += ["up/outside.txt", "way-out"] if kind == "file_roots" else []
    loads = [{"fun": f"{kind}.{fun}", "path": path, **extra} for path in paths
             for fun, extra in (("read", {}), ("write", {"data": "PWNED"}))]  # fmt: skip
    loads += [{"fun": f"{kind}.read", "path": "x", "saltenv": one} for one in ("../../etc", "", 5)]
    with unharmed(victim, events=RUNS):
        replies = victim.stranger.send_many([clear({**own, **one}) for one in loads], within_s=30)
    for reply in replies:
        assert "TOP-SECRET" not in repr(reply)
        assert reply["data"]["success"] is False or reply["data"]["return"] == []


def test_who_asked_is_who_was_proven(victim: Victim, root_key: str) -> None:
    load = {"cmd": "runner", "fun": "test.arg", "user": "root", "key": root_key}
    with EventSubscriber(MasterSockets(victim.cluster.sock_dir).event_pub, ("salt/run/",)) as bus:
        assert bus.connect_confirmed(5)
        kwarg = {"user": "evil", "__user__": "evil"}
        victim.stranger.send(clear({**load, "kwarg": kwarg}))
        event = bus.get(10)
    assert event is not None
    assert event.data["user"] == "root"


def test_runners_keep_no_worker(victim: Victim, root_key: str) -> None:
    """More of them than there are workers, and more than run at once."""
    load = {"cmd": "runner", "fun": "test.sleep", "arg": [9], "user": "root", "key": root_key}
    with unharmed(victim, events=RUNS):
        begun_s = time.monotonic()
        replies = victim.stranger.send_many([clear(load)] * 12, within_s=20)
        assert all(reply["tag"].startswith("salt/run/") for reply in replies)
        assert victim.stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"}
        assert time.monotonic() - begun_s < 9
        eventually(lambda: not running(victim), within_s=30, what="the runners to end")


def running(victim: Victim) -> list[Any]:
    return victim.cluster.master.titled("salt-master Run ")


def test_junk_for_the_process_that_runs_them(victim: Victim, root_key: str) -> None:
    """By somebody who runs as the master's user: it may be refused, nothing more."""
    path = str(MasterSockets(victim.cluster.sock_dir).runs)
    head = struct.Struct(">I").pack
    pieces = [b"", b"\xff" * 64, head(2**32 - 1), head(3) + b"\x93\1\2", head(1) + b"\x80",
              head(10) + b"\x81\xa3fun\xa4abcd"]  # fmt: skip
    with unharmed(victim, events=RUNS):
        for piece in pieces:
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(path)
                one.sendall(piece)
                one.shutdown(socket.SHUT_WR)
                one.settimeout(10)
                with contextlib.suppress(ConnectionResetError):
                    assert one.recv(1) == b""
        own = {"cmd": "wheel", "user": "root", "key": root_key}
        reply = victim.stranger.send(clear({**own, "fun": "minions.connected"}))
        assert reply["data"]["return"] == []


def test_junk_among_the_late_replies(victim: Victim, root_key: str) -> None:
    """Replies without a ticket, or with one of nobody's, reach nobody."""
    path = ipc(MasterSockets(victim.cluster.sock_dir).late)
    with unharmed(victim, events=RUNS), zmq.Context() as context:
        with context.socket(zmq.PUSH) as one:
            one.connect(path)
            for frames in ([b""], [b"x"], [b"x" * 16, b"reply"], [b"a", b"b", b"c"], [b"", b""]):
                for _ in range(200):
                    one.send_multipart(frames)
        own = {"cmd": "wheel", "user": "root", "key": root_key}
        reply = victim.stranger.send(clear({**own, "fun": "minions.connected"}))
        assert reply["data"]["return"] == []


def test_no_request_is_taken_for_a_ticket(victim: Victim) -> None:
    """The byte that begins a ticket is no msgpack, and what a caller sends is never a reply."""
    frames = [LATE + b"x" * 16, LATE, LATE[:1]]
    with unharmed(victim):
        replies = victim.stranger.exchange(frames)
    assert [unpack(one) for one in replies] == [{"msg": "bad load"}] * len(frames)


def test_a_minion_has_no_runner_run_unless_told(victim: Victim, rogue: Rogue) -> None:
    loads = [
        {"cmd": "minion_runner", "fun": fun, "arg": []}
        for fun in ("test.arg", "salt.cmd", "test.arg,salt.cmd", "publish.runner", "test.arg\n")
    ]
    with unharmed(victim):
        replies = rogue.send_many([rogue.make(load) for load in loads])
    assert replies == [Sealed({})] * len(loads)
