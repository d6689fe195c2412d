"""Real daemons on loopback, of saltlite and of real Salt, in any mixture.

``Cluster`` lays out one directory below /tmp (socket paths must be short), writes ordinary config
files, starts the daemons it is asked for, and ends every one of them with their whole families. The
tests drive it through the commands a user would type, and wait for conditions with deadlines.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil
import yaml
from ports import free_ports

OURS = "saltlite"
SALT_3006 = "3006.30"
SALT_3007 = "3007.17"
SALT_3008 = "3008.5"
INTEROP_HOME = Path(os.environ.get("SALTLITE_INTEROP", Path.home() / ".cache" / "saltlite-interop"))
START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 20.0
LOOK_S = 0.02
LONGEST_LOOK_S = 1.0
"""The least and the most that passes from one look at a condition to the next."""

T = TypeVar("T")


def bin_dir(kind: str) -> Path:
    """Where the commands of one kind of Salt are."""
    if kind == OURS:
        return Path(sys.executable).parent
    return INTEROP_HOME / f"salt-{kind}" / "bin"


def is_installed(kind: str) -> bool:
    return (bin_dir(kind) / "salt-master").exists()


def eventually(
    condition: Callable[[], T], *, within_s: float = START_DEADLINE_S, what: str = ""
) -> T:
    """The first true value of ``condition``; fails the test when the deadline passes.

    A condition may be a command that keeps a core busy: what takes long is looked at less often.
    """
    begun_s = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited_s = time.monotonic() - begun_s
        if waited_s > within_s:
            raise AssertionError(f"not within {within_s:g} s: {what or condition}; last: {value!r}")
        time.sleep(min(max(LOOK_S, waited_s / 20), LONGEST_LOOK_S))


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """One JSON document, or the union of one per minion."""
        decoder = json.JSONDecoder()
        text = self.stdout.strip()
        merged: Any = None
        while text:
            try:
                value, end = decoder.raw_decode(text)
            except ValueError as error:
                raise AssertionError(f"not JSON: {text!r}; stderr: {self.stderr}") from error
            merged = value if merged is None else {**merged, **value}
            text = text[end:].strip()
        return merged


@dataclass
class Daemon:
    """One daemon: its command, its log, its process."""

    command: list[str]
    log_path: Path
    env: dict[str, str]
    umask: int = -1
    process: subprocess.Popen[bytes] | None = None
    family: dict[int, psutil.Process] = field(default_factory=dict)

    def start(self) -> None:
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                start_new_session=True,
                umask=self.umask,
            )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def processes(self) -> list[psutil.Process]:
        """The daemon's process and all below it, now."""
        if self.process is None:
            return []
        with contextlib.suppress(psutil.NoSuchProcess):
            top = psutil.Process(self.pid)
            found = [top, *top.children(recursive=True)]
            self.family.update({one.pid: one for one in found})
            return found
        return []

    def titled(self, words: str) -> list[psutil.Process]:
        """Processes of this daemon whose command line contains ``words``."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if words in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def stop(self) -> int:
        """SIGTERM, wait; SIGKILL for whatever is left; the exit code."""
        self.processes()
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.kill()
        code = self.process.wait()
        self._sweep()
        return code

    def kill(self) -> None:
        """SIGKILL the daemon's first process, as a crash would."""
        self.processes()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def _sweep(self) -> None:
        for process in self.family.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.is_running():
                    process.kill()

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""


class Cluster:
    """A master and minions below one temporary directory."""

    def __init__(
        self,
        *,
        master: str = OURS,
        minions: Mapping[str, str] | int = 1,
        master_options: Mapping[str, Any] | None = None,
        minion_options: Mapping[str, Any] | None = None,
        auto_accept: bool = True,
        umask: int = -1,
        root: Path | None = None,
        interface: str = "127.0.0.1",
        ports: tuple[int, int] | None = None,
    ) -> None:
        self.interface = interface
        self.root = root or Path(tempfile.mkdtemp(prefix="sl-", dir="/tmp"))
        self.master_kind = master
        if isinstance(minions, int):
            minions = {f"m{number}": OURS for number in range(1, minions + 1)}
        self.minion_kinds = dict(minions)
        self.publish_port, self.ret_port = ports or free_ports(2)
        self.auto_accept = auto_accept
        self.umask = umask
        self.minion_options = dict(minion_options or {})
        self.minions: dict[str, Daemon] = {}
        self.extra_daemons: list[Daemon] = []
        """Others that end with the cluster: a syndic."""
        self._write_master(master_options or {})
        self.master = self._daemon(master, "salt-master", self.master_dir, "master")
        for minion_id, kind in self.minion_kinds.items():
            self.add_minion(minion_id, kind)

    @property
    def master_dir(self) -> Path:
        return self.root / "master" / "etc"

    def minion_dir(self, minion_id: str) -> Path:
        return self.root / minion_id / "etc"

    @property
    def pki_dir(self) -> Path:
        return self.root / "master" / "pki"

    @property
    def cache_dir(self) -> Path:
        return self.root / "master" / "cache"

    @property
    def sock_dir(self) -> Path:
        return self.root / "master" / "run"

    def _write_master(self, options: Mapping[str, Any]) -> None:
        base = self.root / "master"
        user = {"user": "root"} if os.geteuid() == 0 else {}
        self._write(
            self.master_dir / "master",
            {
                "root_dir": str(base),
                "interface": self.interface,
                "publish_port": self.publish_port,
                "ret_port": self.ret_port,
                "pki_dir": str(self.pki_dir),
                "cachedir": str(self.cache_dir),
                "sock_dir": str(self.sock_dir),
                "pidfile": str(base / "master.pid"),
                "log_file": str(base / "log"),
                "log_level": "info",
                "auto_accept": self.auto_accept,
                "gather_job_timeout": 2,
                "keysize": 2048,
                "file_roots": {"base": [str(base / "srv")]},
                "pillar_roots": {"base": [str(base / "pillar")]},
                **user,
                **options,
            },
        )

    def add_minion(self, minion_id: str, kind: str = OURS, **options: Any) -> Daemon:
        """Write a minion's configuration; it is not started yet."""
        base = self.root / minion_id
        user = {"user": "root"} if os.geteuid() == 0 else {}
        self._write(
            self.minion_dir(minion_id) / "minion",
            {
                "root_dir": str(base),
                "id": minion_id,
                "master": self.interface,
                "master_port": self.ret_port,
                "publish_port": self.publish_port,
                "pki_dir": str(base / "pki"),
                "cachedir": str(base / "cache"),
                "sock_dir": str(base / "run"),
                "pidfile": str(base / "minion.pid"),
                "log_file": str(base / "log"),
                "log_level": "info",
                "keysize": 2048,
                "acceptance_wait_time": 1,
                "random_reauth_delay": 1,
                "recon_default": 100,
                "recon_max": 500,
                "enable_fqdns_grains": False,
                "enable_gpu_grains": False,
                **user,
                **self.minion_options,
                **options,
            },
        )
        self.minion_kinds[minion_id] = kind
        daemon = self._daemon(kind, "salt-minion", self.minion_dir(minion_id), minion_id)
        daemon.env["MINION_HOME"] = str(base)
        self.minions[minion_id] = daemon
        return daemon

    @staticmethod
    def _write(path: Path, options: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(dict(options)))

    def reconfigure(self, path: Path, **options: Any) -> None:
        """Change options in a config file that was written before."""
        self._write(path, {**yaml.safe_load(path.read_text()), **options})

    def _daemon(self, kind: str, program: str, config_dir: Path, name: str) -> Daemon:
        command = [str(bin_dir(kind) / program), "-c", str(config_dir), "-l", "info"]
        if kind != OURS:
            command.append("--disable-keepalive")
        return Daemon(command, self.root / f"{name}.out", self._environment(), self.umask)

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SALT_", "PYTHON"))}
        return {**kept, "HOME": str(self.root), "LC_ALL": "C.UTF-8"}

    def start(self) -> Cluster:
        """Start the master, then every minion, and wait until each has answered once."""
        self.start_master()
        self.start_minions()
        return self

    def start_minions(self) -> None:
        """Wait for the master, start every minion, and wait until each has answered once."""
        eventually(self._master_listens, what="master listens")
        for minion_id in self.minions:
            self.minions[minion_id].start()
        for minion_id in self.minions:
            self.wait_for_ping(minion_id)

    def config(self, name: str) -> dict[str, Any]:
        """What was written into the configuration of the master's side."""
        found: dict[str, Any] = yaml.safe_load((self.master_dir / name).read_text())
        return found

    def start_master(self) -> None:
        self.master.start()
        eventually(self._master_listens, what="master listens")

    def _master_listens(self) -> bool:
        if not self.master.alive():
            raise AssertionError(f"master ended: {self.master.log()[-4000:]}")
        for port in (self.publish_port, self.ret_port):
            with socket.socket() as probe:
                if probe.connect_ex((self.interface, port)) != 0:
                    return False
        return True

    def wait_for_ping(self, minion_id: str, *, within_s: float = START_DEADLINE_S) -> None:
        def answers() -> bool:
            if not self.minions[minion_id].alive():
                raise AssertionError(f"minion ended: {self.minions[minion_id].log()[-4000:]}")
            ran = self.salt(minion_id, "test.ping", "--out=json", "--static", "-t", "2")
            return f'"{minion_id}": true' in ran.stdout

        eventually(self._accepted(minion_id), within_s=within_s, what=f"{minion_id} is accepted")
        eventually(answers, within_s=within_s, what=f"{minion_id} answers")

    def _accepted(self, minion_id: str) -> Callable[[], bool]:
        return lambda: (self.pki_dir / "minions" / minion_id).exists()

    def wait_for_reactor(self) -> None:
        """Until it hears events; its process is there before that."""
        eventually(lambda: not self.salt_run("reactor.list").exit_code, what="the reactor hears")

    def wait_for_pending(self, minion_id: str) -> None:
        eventually(
            lambda: (self.pki_dir / "minions_pre" / minion_id).exists(),
            what=f"{minion_id} is pending",
        )

    def command(
        self,
        program: str,
        *args: str,
        config_dir: Path | None = None,
        kind: str | None = None,
        stdin: str | None = None,
        timeout_s: float = 90.0,
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run one of the commands to its end."""
        done = subprocess.run(
            [
                str(bin_dir(kind or self.master_kind) / program),
                "-c",
                str(config_dir or self.master_dir),
                *args,
            ],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env={**self._environment(), **(env or {})},
            umask=self.umask,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def salt(self, *args: str, **kwargs: Any) -> Ran:
        return self.command("salt", *args, **kwargs)

    def salt_key(self, *args: str, **kwargs: Any) -> Ran:
        return self.command("salt-key", *args, **kwargs)

    def salt_run(self, *args: str, **kwargs: Any) -> Ran:
        return self.command("salt-run", *args, **kwargs)

    def salt_call(self, minion_id: str, *args: str, **kwargs: Any) -> Ran:
        kind = self.minion_kinds[minion_id]
        return self.command(
            "salt-call", *args, config_dir=self.minion_dir(minion_id), kind=kind, **kwargs
        )

    def close(self) -> None:
        """End everything, check that nothing is left, delete the directory."""
        for daemon in (*self.extra_daemons, *self.minions.values(), self.master):
            daemon.stop()
        left = [p for p in psutil.process_iter(["environ"]) if self._is_mine(p)]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def _is_mine(self, process: psutil.Process) -> bool:
        environment = process.info.get("environ") or {}
        return environment.get("HOME") == str(self.root) and process.pid != os.getpid()

    def logs(self) -> str:
        """Every log, for the report of a failed test."""
        parts = [f"=== master\n{self.master.log()[-6000:]}"]
        parts += [f"=== {name}\n{one.log()[-6000:]}" for name, one in self.minions.items()]
        return "\n".join(parts)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exc: object) -> None:
        if exc[0] is not None:
            print(self.logs())
        self.close()


@contextlib.contextmanager
def running(**kwargs: Any) -> Iterator[Cluster]:
    """A started cluster, ended afterwards whatever happens."""
    cluster = Cluster(**kwargs)
    with cluster:
        yield cluster.start()
