"""A whole master on free ports, spoken to from outside."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from ports import free_ports
from repository import ROOT

from saltlite.channel.handshake import Accepted, MinionHandshake
from saltlite.channel.minion import MinionChannel
from saltlite.channel.publication import open_publication
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import PrivateKey
from saltlite.transport.bus import EventSubscriber
from saltlite.transport.codec import pack, unpack
from saltlite.transport.req import Requester

pytestmark = pytest.mark.alone

DEADLINE_S = 20.0


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    until_s = time.monotonic() + DEADLINE_S
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < until_s, f"not in time: {what}"
        time.sleep(0.01)


class RunningMaster:
    """``salt-master`` in a directory of its own."""

    def __init__(self, root: Path, *more: str) -> None:
        self.root = root
        self.publish_port, self.ret_port = free_ports(2)
        lines = [
            f"root_dir: {root}",
            "interface: 127.0.0.1",
            f"publish_port: {self.publish_port}",
            f"ret_port: {self.ret_port}",
            "auto_accept: True",
            "worker_threads: 2",
            *more,
        ]
        (root / "master").write_text("\n".join(lines) + "\n")
        (root / "master").chmod(0o644)  # whatever the umask of a test: it is not the master's
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (self.root / "log").open("ab") as log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "saltlite.cli.salt_master",
                    "-c",
                    str(self.root),
                    "-l",
                    "info",
                ],
                env=env,
                stderr=log,
            )

    def log(self) -> str:
        return (self.root / "log").read_text()

    def wait_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.log()
            return "is ready on" in self.log()

        wait_for(ready, "the master")

    def child(self, name: str) -> int | None:
        """The process of a child, by its title."""
        for path in Path("/proc").glob("[0-9]*"):
            try:
                parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:
                continue
            if int(parent) == self.process.pid and words == f"salt-master {name}":
                return int(path.name)
        return None

    def request(self, frame: bytes, timeout_s: float = 10.0) -> bytes:
        requester = Requester(f"tcp://127.0.0.1:{self.ret_port}")
        try:
            return requester.request(frame, timeout_s=timeout_s)
        finally:
            requester.close()

    def publish(self, **load: Any) -> Any:
        key = (self.root / "var/cache/salt/master/.root_key").read_text()
        whole = {
            "cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": "root", "key": key, **load,
        }  # fmt: skip
        return unpack(self.request(pack({"enc": "clear", "load": whole, "version": 3})))

    def events(self, prefix: str = "") -> EventSubscriber:
        path = self.root / "var/run/salt/master/master_event_pub.ipc"
        bus = EventSubscriber(path, (prefix,))
        assert bus.connect_confirmed(DEADLINE_S)
        return bus

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=DEADLINE_S)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory with a short name: Unix sockets need one."""
    with tempfile.TemporaryDirectory(prefix="sl-") as name:
        yield Path(name)


@pytest.fixture
def master(short_path: Path) -> Iterator[RunningMaster]:
    if os.geteuid() != 0:
        pytest.skip("the key of root is only written by root")
    running = RunningMaster(short_path)
    try:
        running.wait_ready()
        yield running
    finally:
        running.process.kill()
        running.process.wait()


@pytest.fixture(scope="module")
def minion_key() -> PrivateKey:
    return PrivateKey.generate(2048)


class Web1:
    """A minion made of the wire's own client code."""

    def __init__(self, master: RunningMaster, key: PrivateKey) -> None:
        self.master = master
        self.key = key
        self.accepted = self.authenticate()

    def authenticate(self) -> Accepted:
        shake = MinionHandshake(self.key, "web1")
        self.accepted = shake.accept(self.master.request(shake.request()))
        self.channel = MinionChannel(
            "web1", self.key, self.accepted.session, master_key=self.accepted.master_key
        )
        return self.accepted

    def ask(self, cmd: str, **load: Any) -> Any:
        frame, nonce = self.channel.seal({"cmd": cmd, **load})
        return self.channel.open(self.master.request(frame), nonce)

    def subscribe(self, context: zmq.Context[Any]) -> Any:
        sub = context.socket(zmq.SUB)
        sub.linger = 0
        sub.subscribe(b"")
        sub.connect(f"tcp://127.0.0.1:{self.accepted.publish_port}")
        return sub


def test_one_job_there_and_back(master: RunningMaster, minion_key: PrivateKey) -> None:
    web1 = Web1(master, minion_key)
    context: zmq.Context[Any] = zmq.Context()
    with master.events() as bus:
        sub = web1.subscribe(context)
        jids = []

        def heard() -> bool:  # the subscription is in force when a first job is heard
            jids.append(master.publish()["load"]["jid"])
            return bool(sub.poll(200))

        wait_for(heard, "a publication")
        job, serial = open_publication(
            sub.recv(),
            crypticle=Crypticle(web1.accepted.aes),
            last_serial=0,
            master_key=web1.accepted.master_key,
            require_signature=True,
        )
        assert job["jid"] == jids[serial - 1]
        answer = {"jid": job["jid"], "return": True, "retcode": 0, "success": True}
        assert web1.ask("_return", fun="test.ping", fun_args=[], **answer) is None
        tags = []
        while not tags or not tags[-1].endswith("/ret/web1"):
            event = bus.get(DEADLINE_S)
            assert event is not None, tags
            tags.append(event.tag)
        assert f"salt/job/{job['jid']}/new" in tags
        assert bus.lost == 0
    context.destroy(linger=0)


def test_a_killed_worker_is_replaced_and_its_caller_told(
    master: RunningMaster, minion_key: PrivateKey
) -> None:
    web1 = Web1(master, minion_key)
    workers = [master.child(f"MWorker-{n}") for n in range(2)]
    assert None not in workers
    for pid in workers:
        os.kill(pid or 0, signal.SIGSTOP)
    frame, _nonce = web1.channel.seal({"cmd": "_file_envs"})
    context: zmq.Context[Any] = zmq.Context()
    caller = context.socket(zmq.REQ)
    caller.linger = 0
    caller.connect(f"tcp://127.0.0.1:{master.ret_port}")
    caller.send(frame)
    time.sleep(0.3)  # nothing tells from outside that a stopped worker has been handed a request
    began_s = time.monotonic()
    for pid in workers:
        os.kill(pid or 0, signal.SIGKILL)
    assert caller.poll(30_000)
    answer = unpack(caller.recv())
    assert time.monotonic() - began_s < 20.0, "long before a request is given up, after 60 s"
    assert answer == "Some exception handling minion payload"
    context.destroy(linger=0)
    wait_for(
        lambda: all(master.child(f"MWorker-{n}") not in (None, workers[n]) for n in range(2)),
        "new workers",
    )
    assert web1.ask("_file_envs") == ["base"]


@pytest.mark.parametrize(
    "name", ["ReqServer", "Publisher", "EventPublisher", "Maintenance", "MWorker-0"]
)
def test_any_child_may_die(master: RunningMaster, minion_key: PrivateKey, name: str) -> None:
    web1 = Web1(master, minion_key)
    first = master.child(name)
    assert first
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: master.child(name) not in (None, first), "its successor")
    assert web1.ask("_file_envs") == ["base"]
    with master.events():
        assert master.publish()["load"]["minions"] == ["web1"]


def test_nothing_is_left_after_a_sigterm(master: RunningMaster) -> None:
    assert master.stop() == 0
    run = master.root / "var/run"
    assert [path.name for path in run.rglob("*") if not path.is_dir()] == []
    check = socket.socket()
    check.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    check.bind(("127.0.0.1", master.ret_port))
    check.close()
    assert "Traceback" not in master.log()


def test_a_session_and_what_was_seen_survive_an_orderly_restart(
    master: RunningMaster, minion_key: PrivateKey
) -> None:
    web1 = Web1(master, minion_key)
    frame, nonce = web1.channel.seal({"cmd": "_mine", "data": {"x": 1}})
    assert web1.channel.open(master.request(frame), nonce) is True
    master.stop()
    (master.root / "log").write_text("")
    master.process = master.start()
    master.wait_ready()
    assert unpack(master.request(frame)) == "bad load"
    assert web1.ask("_file_envs") == ["base"]


def test_after_a_kill_old_requests_are_worth_nothing(
    master: RunningMaster, minion_key: PrivateKey
) -> None:
    web1 = Web1(master, minion_key)
    frame, nonce = web1.channel.seal({"cmd": "_mine", "data": {"x": 1}})
    assert web1.channel.open(master.request(frame), nonce) is True
    children = [master.child(name) for name in ("ReqServer", "Publisher", "MWorker-0")]
    master.process.kill()
    master.process.wait()
    alive = [Path(f"/proc/{pid}/exe") for pid in children]
    wait_for(lambda: not any(os.path.lexists(p) and _runs(p) for p in alive), "the children's end")
    (master.root / "log").write_text("")
    master.process = master.start()
    master.wait_ready()
    assert unpack(master.request(frame)) == "bad load"
    web1.authenticate()
    assert web1.ask("_file_envs") == ["base"]


def _runs(exe: Path) -> bool:
    try:
        return bool(os.readlink(exe))
    except OSError:  # a zombie has none
        return False


def test_the_publication_key_is_changed_on_request(
    master: RunningMaster, minion_key: PrivateKey
) -> None:
    web1 = Web1(master, minion_key)
    before = web1.accepted.aes
    request = master.root / "var/cache/salt/master/.dfn"
    with master.events("key") as bus:  # the sign-in before may be told late
        request.touch(mode=0o400)
        request.chmod(0o400)
        event = bus.get(DEADLINE_S)
        assert event is not None
        assert (event.tag, event.data["rotate_aes_key"]) == ("key", True)
    assert not request.exists()
    assert web1.authenticate().aes != before


def test_a_key_that_went_by_other_hands_ends_its_session(
    master: RunningMaster, minion_key: PrivateKey
) -> None:
    Web1(master, minion_key)
    session = master.root / "var/cache/salt/master/sessions/web1"
    assert session.exists()
    with master.events("key") as bus:  # the sign-in before may be told late
        (master.root / "etc/salt/pki/master/minions/web1").unlink()
        event = bus.get(DEADLINE_S)
        assert event is not None
        assert event.tag == "key"
    assert not session.exists()


def test_a_second_start_is_one_line_and_touches_nothing(master: RunningMaster) -> None:
    pid_file = master.root / "var/run/salt-master.pid"
    assert int(pid_file.read_text()) == master.process.pid
    second = subprocess.run(
        [sys.executable, "-m", "saltlite.cli.salt_master", "-c", str(master.root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert second.returncode == 1
    assert str(master.process.pid) in second.stderr
    assert len(second.stderr.strip().splitlines()) <= 2  # and the warning about auto_accept
    assert int(pid_file.read_text()) == master.process.pid
    assert unpack(master.request(pack({"enc": "clear", "load": {"cmd": "ping"}, "version": 3})))


def test_a_taken_port_is_one_line(short_path: Path) -> None:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    running = RunningMaster(short_path, f"ret_port: {taken.getsockname()[1]}")
    try:
        text = (short_path / "master").read_text().splitlines()
        kept = [line for line in text if not line.startswith("ret_port")] + [text[-1]]
        running.process.kill()
        running.process.wait()
        (short_path / "master").write_text("\n".join(kept) + "\n")
        (short_path / "log").write_text("")
        running.process = running.start()
        assert running.process.wait(timeout=DEADLINE_S) == 1
        lines = [line for line in running.log().splitlines() if "cannot listen" in line]
        assert len(lines) == 1
        assert str(taken.getsockname()[1]) in lines[0]
        assert "Traceback" not in running.log()
    finally:
        running.process.kill()
        running.process.wait()
        taken.close()


def test_secrets_are_private_whatever_the_umask(short_path: Path, minion_key: PrivateKey) -> None:
    before = os.umask(0)
    try:
        running = RunningMaster(short_path)
        try:
            running.wait_ready()
            Web1(running, minion_key)
            open_to_others = [
                path
                for top in ("etc/salt/pki", "var/cache/salt", "var/run/salt")
                for path in (short_path / top).rglob("*")
                if path.name != "master.pub"
                and not path.is_symlink()
                and stat.S_IMODE(path.lstat().st_mode) & 0o077
            ]
        finally:
            running.process.kill()
            running.process.wait()
    finally:
        os.umask(before)
    assert open_to_others == []


def test_a_socket_directory_with_too_long_a_name_is_one_line(short_path: Path) -> None:
    deep = short_path / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    running = RunningMaster(deep)
    assert running.process.wait(timeout=DEADLINE_S) == 1
    (line,) = running.log().strip().splitlines()
    assert "sock_dir" in line
