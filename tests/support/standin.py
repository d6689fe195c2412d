"""A master for clients to talk to: a request port and an event bus in a thread, and no minions.

Made of the same pieces as the real one (codec, bus). What each minion says is a function of the
published load; ``None`` is silence.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from datetime import datetime, timezone
from pathlib import Path

import zmq

from saltlite.client.identity import process_user
from saltlite.config.master import (
    JobOptions,
    MasterConfig,
    NetworkOptions,
    PathOptions,
    TargetOptions,
)
from saltlite.core.tags import job_ret
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import Relay, bind_bus, pack_event, take_subscription
from saltlite.transport.codec import pack, unpack


class StandIn:
    """Answers ``publish`` and fires returns. ``minions`` is name → function(load) or ``None``."""

    def __init__(self, minions=None, *, timeout=1.0, gather=1.0, nodegroups=None):
        self.folder = Path(tempfile.mkdtemp(prefix="standin", dir="/tmp"))
        self.minions = minions or {}
        self.published = []
        self.malformed = ""
        self.refuse = None
        self.silent = False
        self.early = False
        self.missing = []
        self._count = 0
        self._context = zmq.Context()
        self._stop = threading.Event()
        sockets = MasterSockets(self.folder)
        self._replier = self._context.socket(zmq.REP)
        self._replier.setsockopt(zmq.LINGER, 0)
        port = self._replier.bind_to_random_port("tcp://127.0.0.1")
        self._pull, self._publisher = bind_bus(self._context, sockets.event_pull, sockets.event_pub)
        (self.folder / f".{process_user()}_key").write_text("k" * 76)
        self.config = MasterConfig(
            network=NetworkOptions(interface="127.0.0.1", ret_port=port),
            paths=PathOptions(
                sock_dir=str(self.folder),
                cachedir=str(self.folder),
                pki_dir=str(self.folder / "pki"),
            ),
            jobs=JobOptions(timeout=timeout, gather_job_timeout=gather),
            targets=TargetOptions(nodegroups=nodegroups or {}),
        )
        self._write_config(port, timeout, gather, nodegroups or {})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _write_config(self, port, timeout, gather, nodegroups):
        lines = [
            "interface: 127.0.0.1",
            f"ret_port: {port}",
            f"sock_dir: {self.folder}",
            f"cachedir: {self.folder}",
            f"pki_dir: {self.folder / 'pki'}",
            f"log_file: {self.folder / 'log'}",
            f"key_logfile: {self.folder / 'keylog'}",
            f"timeout: {timeout}",
            f"gather_job_timeout: {gather}",
            f"nodegroups: {nodegroups}",
        ]
        (self.folder / "master").write_text("\n".join(lines) + "\n")

    def accept(self, *minions):
        """Put keys where a client looks for expected minions."""
        folder = self.folder / "pki" / "minions"
        folder.mkdir(parents=True, exist_ok=True)
        for minion in minions:
            (folder / minion).write_text("key")

    def fire(self, tag, data):
        """Put an event on the bus, from any thread."""
        with self._context.socket(zmq.PUSH) as pusher:
            pusher.connect(f"ipc://{MasterSockets(self.folder).event_pull}")
            pusher.send(pack_event(tag, data, datetime.now(timezone.utc)))
            pusher.close(linger=1000)

    def close(self):
        self._stop.set()
        self._thread.join(5)
        self._context.destroy(linger=0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()

    # --- the thread -------------------------------------------------------------------------------

    def _run(self):
        self._relay = Relay()
        poller = zmq.Poller()
        for socket in (self._replier, self._pull, self._publisher):
            poller.register(socket, zmq.POLLIN)
        while not self._stop.is_set():
            ready = dict(poller.poll(20))
            if self._publisher in ready:
                frames = self._publisher.recv_multipart()
                self._send(take_subscription(self._relay, self._publisher, frames))
            if self._pull in ready:
                self._send(self._relay.event(self._pull.recv_multipart()))
            if self._replier in ready:
                self._answer()

    def _send(self, frames):
        if frames is not None:
            self._publisher.send_multipart(frames)

    def _answer(self):
        load = unpack(self._replier.recv())["load"]
        self.published.append(load)
        if self.silent:
            return
        if self.refuse is not None and load.get("fun") != "saltutil.find_job":
            self._replier.send(pack(self.refuse))
            return
        if load["cmd"] != "publish":
            self._replier.send(pack(load))
            return
        wanted = load["tgt"]
        names = [name for name in self.minions if wanted in ("*", name) or name in wanted]
        if not names:
            error = self.malformed or f"Master could not resolve minions for target {wanted}"
            reply = {"jid": None, "minions": [], "error": error}
            self._replier.send(pack({"enc": "clear", "load": reply}))
            return
        self._count += 1
        jid = load.get("jid") or f"20260102030405{self._count:06}"
        reply = pack(
            {"enc": "clear", "load": {"jid": jid, "minions": names, "missing": self.missing}}
        )
        if self.early:
            self._returns(jid, names, load)
            self._replier.send(reply)
        else:
            self._replier.send(reply)
            self._returns(jid, names, load)

    def _returns(self, jid, names, load):
        for name in names:
            says = self.minions[name]
            data = says(load) if says is not None else None
            if data is not None:
                event = {"jid": jid, "id": name, "fun": load["fun"], "retcode": 0, **data}
                frame = pack_event(job_ret(jid, name), event, datetime.now(timezone.utc))
                self._send(self._relay.event([frame]))


def says(value, **more):
    """A minion that returns ``value`` to everything but ``find_job``."""

    def answer(load):
        if load["fun"] == "saltutil.find_job":
            return {"return": {}}
        return {"return": value, "success": True, **more}

    return answer


def pings(load):
    """A minion with the functions that tests use."""
    functions = {
        "test.ping": lambda: True,
        "test.echo": lambda text: text,
        "sys.list_functions": lambda *arg: ["test.ping", "test.echo"],
        "saltutil.find_job": lambda *arg: {},
        "saltutil.running": lambda *arg: [],
        "test.version": lambda: "3006.30",
    }
    with contextlib.suppress(TypeError, KeyError):
        return {"return": functions[load["fun"]](*load["arg"]), "success": True}
    return {"return": "no", "retcode": 1, "success": False}
