"""What a minion is given that would never end, or begin without end: it goes on with its work.

Source: docs/security.md#limits; docs/schedule.md.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from attacks import LIMITED, Stranger, clear
from cluster import Cluster
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

SLOW = "(a+)+[.]c"
LISTENED_S = 4.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """``m1`` has a process for each job, ``m2`` a thread."""
    options = {"publisher_acl": {LIMITED: [SLOW, {f"E@{SLOW}": ["test.ping"]}]}}
    minion_options = {
        "http_request_timeout": 2.0,
        "jinja_time_limit": 1.0,
        "schedule": {
            "often": {"function": "test.echo", "args": ["often"], "seconds": 1e-9},
            "oftener": {"function": "test.echo", "args": ["oftener"], "minutes": 1e-9},
        },
    }
    with Cluster(minions=2, master_options=options, minion_options=minion_options) as one:
        one.reconfigure(one.minion_dir("m2") / "minion", multiprocessing=False)
        yield one.start()


@pytest.fixture
def dripping() -> Iterator[str]:
    """The address of a server that sends a byte now and then, and never the last one."""
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not over.wait(0.2):
                connection.sendall(b"x")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _address = listener.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"
        over.set()


def ask(cluster: Cluster, *words: str) -> Any:
    ran = cluster.salt("*", *words, "--out=json", "--static", "-t", "40")
    found = json.loads(ran.stdout)
    assert sorted(found) == ["m1", "m2"], ran
    return found


def test_a_program_that_keeps_the_pipe(cluster: Cluster) -> None:
    begun_s = time.monotonic()
    found = ask(cluster, "cmd.run", "sleep 61 & echo ok")
    assert found == {"m1": "ok", "m2": "ok"}
    assert time.monotonic() - begun_s < 20


@pytest.mark.parametrize("words", [("http.query",), ("cp.get_url",), ("file.get_source_sum", "")])
def test_a_server_that_drips(cluster: Cluster, dripping: str, words: tuple[str, ...]) -> None:
    """The file itself, and the one with its sum."""
    fun, *before = words
    more = {"cp.get_url": ["dest=None"], "file.get_source_sum": [f"source_hash={dripping}"]}
    begun_s = time.monotonic()
    given = [dripping] if fun != "file.get_source_sum" else []
    found = ask(cluster, fun, *(before and ["file_name=x"]), *given, *more.get(fun, []))
    assert time.monotonic() - begun_s < 25
    assert "xxxx" not in str(found)


def test_a_schedule_of_no_time(cluster: Cluster) -> None:
    sockets = MasterSockets(cluster.sock_dir)
    heard: list[str] = []
    until_s = time.monotonic() + LISTENED_S
    with EventSubscriber(sockets.event_pub, ("salt/job/",)) as bus:
        assert bus.connect_confirmed(5)
        while (left_s := until_s - time.monotonic()) > 0:
            event = bus.get(left_s)
            if event is not None and event.data.get("schedule"):
                heard.append(f"{event.data['id']} {event.data['schedule']}")
    for name in ("m1 often", "m2 often", "m1 oftener", "m2 oftener"):
        assert 1 <= heard.count(name) <= LISTENED_S + 2, heard


@pytest.mark.parametrize("name", ["regex_match", "regex_search", "regex_replace"])
def test_an_expression_in_a_template(cluster: Cluster, name: str) -> None:
    more = ", 'x'" if name == "regex_replace" else ""
    template = "{{ ('a' * 60 ~ 'b') | " + name + "('(a+)+$'" + more + ") }}"
    begun_s = time.monotonic()
    found = ask(cluster, "slsutil.renderer", f"string={template}", "default_renderer=jinja")
    assert all("takes more than" in str(one) or "more than 1 s" in str(one)
               for one in found.values()), found  # fmt: skip
    assert time.monotonic() - begun_s < 30


def test_an_expression_of_an_access_list(cluster: Cluster) -> None:
    """What it is compared with is of the caller's choice."""
    key = (cluster.cache_dir / f".{LIMITED}_key").read_text().strip()
    load = {"cmd": "publish", "tgt": "*", "fun": "a" * 60 + ".b", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": LIMITED, "key": key}  # fmt: skip
    stranger = Stranger(cluster.ret_port)
    begun_s = time.monotonic()
    replies = stranger.send_many([clear(load)] * 10 + [clear({"cmd": "ping"})], within_s=40)
    stranger.close()
    assert time.monotonic() - begun_s < 30
    assert replies[-1] == {"cmd": "ping"}
    assert {one["error"]["name"] for one in replies[:-1]} == {"AuthorizationError"}
    assert cluster.salt("m1", "test.ping").exit_code == 0
