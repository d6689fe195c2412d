"""The beacon ``haproxy`` before a real haproxy, started in a directory of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ports import free_ports
from programs import need

from cluster import Cluster, eventually
from saltlite.beacons import haproxy
from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import BeaconContext, MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import with_functions
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

CONFIGURATION = """
    global
        stats socket {folder}/haproxy.sock level user
    defaults
        mode tcp
        timeout connect 5s
        timeout client 60s
        timeout server 60s
        timeout client-fin 100ms
        timeout server-fin 100ms
    listen www
        bind 127.0.0.1:{www}
        server app1 127.0.0.1:{server}
        server app2 127.0.0.1:{server} backup
    listen www2
        bind 127.0.0.1:{www2}
        server app1 127.0.0.1:{server}
"""


@dataclass
class Proxy:
    """A running haproxy: its socket, and a port for each backend."""

    socket: str
    ports: dict[str, int]

    @contextlib.contextmanager
    def sessions(self, backend: str, count: int) -> Iterator[None]:
        """So many connections through a backend to its first server."""
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                address = ("127.0.0.1", self.ports[backend])
                connection = stack.enter_context(socket.create_connection(address, timeout=10))
                assert connection.recv(2) == b"ok"  # it has come through
            yield


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    need("haproxy")
    folder = tmp_path_factory.mktemp("haproxy")
    www, www2 = free_ports(2)
    with Greeter() as server:
        text = CONFIGURATION.format(folder=folder, www=www, www2=www2, server=server.port)
        (folder / "haproxy.cfg").write_text(textwrap.dedent(text))
        argv = ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]
        with (folder / "out").open("wb") as out:
            running = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT)
        try:
            one = Proxy(str(folder / "haproxy.sock"), {"www": www, "www2": www2})
            eventually(
                lambda: Path(one.socket).exists() and answers(www2), within_s=20,
                what=f"haproxy starts: {(folder / 'out').read_text()}",
            )  # fmt: skip
            yield one
        finally:
            running.terminate()
            running.wait(20)


class Greeter:
    """A server that says ``ok`` to each client and keeps it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port = self._listener.getsockname()[1]
        self._kept: list[socket.socket] = []

    def __enter__(self) -> Greeter:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._kept.append(client)
                client.sendall(b"ok")

    def __exit__(self, *_exc: object) -> None:
        self._listener.close()
        for one in self._kept:
            one.close()


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@pytest.fixture
def ctx(tmp_path: Path) -> BeaconContext:
    config = MinionConfig(paths=PathOptions(conf_file=str(tmp_path / "minion")))
    minion = with_functions(MinionContext(config=config, host=Host(), grains={}, pillar={}))
    return BeaconContext(minion, "haproxy", time.monotonic)


def configuration(proxy: Proxy, threshold: int) -> dict[str, Any]:
    servers = {"www": ["app1", "app2", "not there"], "www2": ["app1"]}
    backends = {name: {"threshold": threshold, "servers": those} for name, those in servers.items()}
    return {"backends": backends, "socket": proxy.socket}


def test_a_server_with_more_sessions_than_the_threshold(ctx: BeaconContext, proxy: Proxy) -> None:
    config = configuration(proxy, 2)
    assert haproxy.validate(config)[0]
    eventually(lambda: haproxy.beacon(ctx, config) == [], what="no sessions are left")
    with proxy.sessions("www", 2):
        assert haproxy.beacon(ctx, config) == []
    with proxy.sessions("www", 3), proxy.sessions("www2", 1):
        told = {"server": "app1", "scur": "3", "threshold": 2}
        eventually(lambda: haproxy.beacon(ctx, config) == [told], what="the third session")
    eventually(lambda: haproxy.beacon(ctx, config) == [], what="no sessions are left")


def test_backends_are_told_apart(ctx: BeaconContext, proxy: Proxy) -> None:
    """Both have an ``app1``."""
    with proxy.sessions("www2", 2):
        told = {"server": "app1", "scur": "2", "threshold": 1}
        config = configuration(proxy, 1)
        eventually(lambda: haproxy.beacon(ctx, config) == [told], what="both sessions")
        del config["backends"]["www2"]
        assert haproxy.beacon(ctx, config) == []


def test_haproxy_has_gone(ctx: BeaconContext, proxy: Proxy) -> None:
    config = {**configuration(proxy, 1), "socket": f"{proxy.socket}.not"}
    with pytest.raises(FunctionError, match=r"haproxy: .*\.not: "):
        haproxy.beacon(ctx, config)


def test_the_event_reaches_the_master(proxy: Proxy) -> None:
    options = {"beacons": {"haproxy": [configuration(proxy, 1)]}, "loop_interval": 1}
    with Cluster(minions=1, minion_options=options) as cluster:
        cluster.start()
        sockets = MasterSockets(cluster.sock_dir)
        with EventSubscriber(sockets.event_pub, ("salt/beacon/",)) as bus:
            assert bus.connect_confirmed(20)
            with proxy.sessions("www", 2):
                event = bus.get(30)
    assert event is not None
    assert event.tag == "salt/beacon/m1/haproxy/"
    shown = {key: event.data[key] for key in ("id", "server", "scur", "threshold")}
    assert shown == {"id": "m1", "server": "app1", "scur": "2", "threshold": 1}
