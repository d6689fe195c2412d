#!/usr/bin/env python3
"""Record what a real Salt master, minion and CLI say to one another.

    PYTHONPATH=. .venv/bin/python tests/wire/record/record.py 3006.30

starts salt-master and salt-minion of that release from ~/.cache/saltlite-interop on loopback, with
the throw-away keys of tests/wire/vectors, puts a recording proxy between them, lets the minion be
pending, be accepted, run `test.ping` and start once more, and writes
tests/wire/frames/<release>.json. Nothing of Salt is imported. Run it again only to add frames: the
tests compare the recordings byte for byte.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import zmq

from saltlite.channel.payload import open_sealed
from saltlite.core.messages import as_bytes
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import load_private_key
from saltlite.errors import SaltliteError
from saltlite.transport.codec import unpack

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors"
FRAMES = HERE.parent / "frames"
INTEROP = Path.home() / ".cache" / "saltlite-interop"
MINION_ID = "recorded.minion"


class Proxy(threading.Thread):
    """REQ traffic and publications of one master, written down as they pass."""

    def __init__(self, ret_port: int, publish_port: int) -> None:
        super().__init__(daemon=True)
        self.context = zmq.Context()
        self.front = self.context.socket(zmq.ROUTER)
        self.front.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self.ret_port = self.front.bind_to_random_port("tcp://127.0.0.1")
        self.back = f"tcp://127.0.0.1:{ret_port}"
        self.clients: dict[bytes, zmq.Socket[bytes]] = {}
        self.sub = self.context.socket(zmq.SUB)
        self.sub.setsockopt(zmq.SUBSCRIBE, b"")
        self.sub.connect(f"tcp://127.0.0.1:{publish_port}")
        self.pub = self.context.socket(zmq.PUB)
        self.publish_port = self.pub.bind_to_random_port("tcp://127.0.0.1")
        self.frames: list[dict[str, str]] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        """Pass everything on. Each client has a REQ of its own: 3008 answers plain REQs only."""
        poller = zmq.Poller()
        for socket in (self.front, self.sub):
            poller.register(socket, zmq.POLLIN)
        exchanges: dict[bytes, int] = {}
        while not self.stopping.is_set():
            for socket, _ in poller.poll(100):
                parts = socket.recv_multipart()
                if socket is self.sub:
                    self.frames.append({"kind": "publication", "hex": parts[-1].hex()})
                    self.pub.send_multipart(parts)
                elif socket is self.front:
                    exchanges[parts[0]] = sum(one["kind"] == "request" for one in self.frames) + 1
                    self.note("request", exchanges[parts[0]], parts[-1])
                    self.client(parts[0], poller).send(parts[-1])
                else:
                    (identity,) = (key for key, value in self.clients.items() if value is socket)
                    self.note("reply", exchanges[identity], parts[-1])
                    self.front.send_multipart([identity, b"", parts[-1]])
        self.context.destroy(linger=0)

    def client(self, identity: bytes, poller: zmq.Poller) -> zmq.Socket[bytes]:
        if identity not in self.clients:
            socket = self.context.socket(zmq.REQ)
            socket.setsockopt(zmq.REQ_RELAXED, 1)
            socket.setsockopt(zmq.REQ_CORRELATE, 0)
            socket.connect(self.back)
            poller.register(socket, zmq.POLLIN)
            self.clients[identity] = socket
        return self.clients[identity]

    def note(self, kind: str, exchange: int, body: bytes) -> None:
        self.frames.append({"kind": kind, "exchange": str(exchange), "hex": body.hex()})


class Recording:
    """One release in one temporary directory."""

    def __init__(self, release: str, root: Path) -> None:
        self.release = release
        self.bin = INTEROP / f"salt-{release}" / "bin"
        self.root = root
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ret_port, self.publish_port = free_port(), free_port()
        self.proxy = Proxy(self.ret_port, self.publish_port)

    def prepare(self) -> None:
        for role in ("master", "minion"):
            pki = self.root / role / "pki"
            pki.mkdir(parents=True, mode=0o700)
            for suffix in ("pem", "pub"):
                shutil.copy(VECTORS / f"{role}.{suffix}", pki)
            (pki / f"{role}.pem").chmod(0o400)
        self.write("master", ret_port=self.ret_port, publish_port=self.publish_port)
        self.write("cli", directory="master", ret_port=self.proxy.ret_port)
        self.write(
            "minion",
            id=MINION_ID,
            master="127.0.0.1",
            master_port=self.proxy.ret_port,
            publish_port=self.proxy.publish_port,
            acceptance_wait_time=1,
            mine_enabled=False,
        )

    def write(self, name: str, directory: str = "", **options: object) -> None:
        base = self.root / (directory or name)
        conf = self.root / name / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        lines = {
            "root_dir": base,
            "pki_dir": "/pki",
            "cachedir": "/cache",
            "sock_dir": "/run",
            "log_file": "/log",
            "pidfile": f"/{name}.pid",
            "interface": "127.0.0.1",
            "user": "root",
            "worker_threads": 1,
            "log_level": "warning",
            **options,
        }
        text = "".join(f"{key}: {value}\n" for key, value in lines.items())
        (conf / ("minion" if name == "minion" else "master")).write_text(text)

    def start(self, command: str, name: str) -> subprocess.Popen[bytes]:
        with (self.root / f"{command}.out").open("ab") as out:
            process = subprocess.Popen(
                [self.bin / command, "-c", self.root / name / "conf"],
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        self.processes.remove(process)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.wait(15)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        process.wait()

    def session(self) -> Crypticle | None:
        """The session key of the last accepted `_auth` reply."""
        keys = [keys for keys in map(self.keys_of, self.proxy.frames) if keys]
        return Crypticle(keys[-1]["session"]) if keys else None

    def keys_of(self, frame: dict[str, str]) -> dict[str, str] | None:
        """The two key strings in an accepted `_auth` reply."""
        if frame["kind"] != "reply":
            return None
        try:
            outer = unpack(bytes.fromhex(frame["hex"]))
            inner = unpack(as_bytes(outer["load"], "load"))  # type: ignore[index, call-overload]
            return {
                name: load_private_key(VECTORS / "minion.pem")
                .decrypt(as_bytes(inner[name], name), "OAEP-SHA1")  # type: ignore[index, call-overload]
                .decode()
                for name in ("aes", "session")
            }
        except (SaltliteError, KeyError, TypeError):
            return None

    def heard(self, wanted: str, times: int = 1) -> bool:
        """Whether so many requests with this command (or event tag) were made and answered."""
        answered = {one["exchange"] for one in self.proxy.frames if one["kind"] == "reply"}
        names = [
            self.name_of(one) for one in list(self.proxy.frames) if one.get("exchange") in answered
        ]
        return names.count(wanted) >= times

    def name_of(self, frame: dict[str, str]) -> str:
        if frame["kind"] != "request":
            return ""
        try:
            outer = unpack(bytes.fromhex(frame["hex"]))
            load = outer["load"]  # type: ignore[index, call-overload]
            session = self.session()
            if isinstance(load, bytes) and session is not None:
                load = open_sealed(session, load)
            if load["cmd"] == "_minion_event":  # type: ignore[index, call-overload]
                return str(load.get("tag"))  # type: ignore[union-attr]
            return str(load["cmd"])  # type: ignore[index, call-overload]
        except (SaltliteError, KeyError, TypeError):
            return ""


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait(what: str, true: Callable[[], bool], timeout_s: float = 120) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit(f"gave up waiting for {what}")
        time.sleep(0.2)
    print(f"{what}: ok")


def record(release: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        recording = Recording(release, Path(directory))
        try:
            play(recording)
        finally:
            for process in list(recording.processes):
                recording.stop(process)
            recording.proxy.stopping.set()
    keys = [keys for keys in map(recording.keys_of, recording.proxy.frames) if keys]
    FRAMES.mkdir(exist_ok=True)
    named = [{"name": recording.name_of(one), **one} for one in recording.proxy.frames]
    whole = {"release": release, "id": MINION_ID, "keys": keys, "frames": named}
    (FRAMES / f"{release}.json").write_text(json.dumps(whole, indent=1) + "\n")
    print(f"{len(named)} frames of {release}")


def play(recording: Recording) -> None:
    recording.prepare()
    recording.proxy.start()
    recording.start("salt-master", "master")
    minion = recording.start("salt-minion", "minion")
    pending = recording.root / "master" / "pki" / "minions_pre" / MINION_ID
    wait("the key is pending", pending.exists)
    wait("the minion has been told", lambda: recording.heard("_auth"))
    pending.rename(pending.parent.parent / "minions" / MINION_ID)
    start_tag = f"salt/minion/{MINION_ID}/start"
    wait("the minion has started", lambda: recording.heard(start_tag))
    subprocess.run(
        [recording.bin / "salt", "-c", recording.root / "cli" / "conf", "*", "test.ping"],
        check=False,
    )
    wait("the return", lambda: recording.heard("_return"))
    recording.stop(minion)
    minion = recording.start("salt-minion", "minion")
    wait("the minion has started again", lambda: recording.heard(start_tag, 2))
    recording.stop(minion)


if __name__ == "__main__":
    for one in sys.argv[1:]:
        record(one)
