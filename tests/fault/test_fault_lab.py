"""Two short runs of the fault lab, one of a cluster's, and what it breaks things with.

``SALTLITE_FAULT_SEEDS=7,8``, ``SALTLITE_FAULT_S=60`` and ``SALTLITE_FAULT_ROWS=promote,key`` run
others, for longer. Source: docs/reliability.md#the-fault-lab.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_shim import Shim, compile_shim, has_compiler
from net import Proxy
from ports import free_ports
from repository import ROOT

SEEDS = [int(one) for one in os.environ.get("SALTLITE_FAULT_SEEDS", "1,2").split(",")]
LASTS_S = float(os.environ.get("SALTLITE_FAULT_S", "4"))
NOT_ELSEWHERE = "cut-engine,cut-minions,promote,engine-full,spool-full"
"""Rows that no other test shows with daemons."""

ROWS = os.environ.get("SALTLITE_FAULT_ROWS", NOT_ELSEWHERE).split(",")
CLUSTER_S = 8.0
NO_NAMESPACES = 77


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(200 + 6 * LASTS_S)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_promises_hold_whatever_breaks(seed: int) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "fault_lab"), f"--first-seed={seed}",
         f"--seconds={LASTS_S}", "--simulated=20", "--without-real"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == NO_NAMESPACES:
        pytest.skip(done.stderr.strip())
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(400 + 6 * LASTS_S)
@pytest.mark.parametrize("row", ROWS)
def test_a_cluster_keeps_them_too(row: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "fault_lab"), "--cluster", f"--rows={row}",
         f"--first-seed={SEEDS[0]}", f"--seconds={max(LASTS_S, CLUSTER_S)}", "--minions=30",
         "--without-real"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == NO_NAMESPACES:
        pytest.skip(done.stderr.strip())
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the network -------------------------------------------------------------------------


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it is sent."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(link: socket.socket) -> None:
        with link, contextlib.suppress(ConnectionError):
            while data := link.recv(65536):
                link.sendall(data)

    def serve() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(link,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def proxy(echo: int) -> Iterator[tuple[Proxy, int]]:
    (port,) = free_ports(1)
    one = Proxy(("127.0.0.1", port), ("127.0.0.1", echo))
    yield one, port
    one.close()


def ask(link: socket.socket, text: bytes, within_s: float = 5.0) -> bytes:
    """What comes back, as far as it does."""
    link.settimeout(within_s)
    link.sendall(text)
    found = b""
    try:
        while len(found) < len(text) and (data := link.recv(65536)):
            found += data
    except TimeoutError:
        pass
    return found


def test_a_good_network(proxy: tuple[Proxy, int]) -> None:
    with socket.create_connection(("127.0.0.1", proxy[1])) as link:
        text = os.urandom(200_000)
        assert ask(link, text) == text


@pytest.mark.parametrize("how", ["stall", "half-open"])
def test_a_silent_network_ends_its_links_when_it_is_back(
    proxy: tuple[Proxy, int], how: str
) -> None:
    with socket.create_connection(("127.0.0.1", proxy[1])) as link:
        assert ask(link, b"before") == b"before"
        proxy[0].misbehave(how)
        assert ask(link, b"during", 0.3) == b""
        proxy[0].behave()
        link.settimeout(5)
        with pytest.raises(ConnectionResetError):
            link.recv(1)


@pytest.mark.parametrize("how", ["cut", "reset"])
def test_a_network_that_is_cut(proxy: tuple[Proxy, int], how: str) -> None:
    with socket.create_connection(("127.0.0.1", proxy[1])) as link:
        assert ask(link, b"before") == b"before"
        proxy[0].misbehave(how)
        link.settimeout(5)
        try:
            assert link.recv(1) == b""
            assert how == "cut"
        except ConnectionResetError:
            assert how == "reset"
    proxy[0].behave()
    with socket.create_connection(("127.0.0.1", proxy[1])) as link:
        assert ask(link, b"after") == b"after"


def test_a_slow_network(proxy: tuple[Proxy, int]) -> None:
    with socket.create_connection(("127.0.0.1", proxy[1])) as link:
        proxy[0].misbehave("delay", 0.2)
        begun_s = time.monotonic()
        assert ask(link, b"late") == b"late"
        assert time.monotonic() - begun_s >= 0.4  # there and back
        proxy[0].misbehave("trickle")
        assert ask(link, b"byte by byte") == b"byte by byte"


# --- calls that fail, and the clock ------------------------------------------------------

WRITER = """
import os, sys, time
print(time.time())
for number in range(4):
    try:
        fd = os.open("x/draft", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"data")
        os.fsync(fd)
        os.rename("x/draft", "x/file")
        print("done")
    except OSError as error:
        print(error.strerror)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not has_compiler():
        pytest.skip("needs a C compiler")
    return compile_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def shim(library: Path, tmp_path: Path) -> Iterator[Shim]:
    (tmp_path / "x").mkdir()
    one = Shim(library, tmp_path / "control")
    yield one
    one.close()


def write(shim: Shim, place: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", WRITER], cwd=place, env={**os.environ, **shim.environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[1:]


@pytest.mark.parametrize("call", ["write", "flush", "rename"])
def test_the_second_call_fails(shim: Shim, tmp_path: Path, call: str) -> None:
    below = "x" if call == "rename" else str(tmp_path / "x")  # a path as it was given
    shim.fail(call, 2, "EIO", Path(below))
    assert write(shim, tmp_path) == (0, ["done", "Input/output error", "done", "done"])
    assert shim.disarm()
    shim.fail(call, 2, "ENOSPC", tmp_path / "elsewhere")
    assert write(shim, tmp_path) == (0, ["done"] * 4)
    assert not shim.disarm()


def test_a_process_dies_at_a_call(shim: Shim, tmp_path: Path) -> None:
    shim.fail("flush", 3, "dies", tmp_path / "x")
    assert write(shim, tmp_path)[0] == -9


def test_a_database_sees_its_disk_fail(shim: Shim, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x" / "db") as db:
        db.execute("CREATE TABLE t (n)")
    script = "import sqlite3; sqlite3.connect('x/db').execute('INSERT INTO t VALUES (1)')"
    shim.fail("write", 1, "ENOSPC", tmp_path / "x")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, **shim.environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "full" in done.stderr or "disk I/O error" in done.stderr


def test_the_clock_is_off(shim: Shim, tmp_path: Path) -> None:
    shim.step_clock(-3600)
    done = subprocess.run(
        [sys.executable, "-c", WRITER], cwd=tmp_path, env={**os.environ, **shim.environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert -3700 < float(done.stdout.split()[0]) - time.time() < -3500
