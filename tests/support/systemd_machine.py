"""A machine of its own with systemd as its first process, of this machine's programs.

It has namespaces of its own for mounts, network, processes, names and cgroups. All of this machine
is there to be read; written to is memory: ``/etc``, of which ``salt`` and ``systemd/system`` begin
empty, ``/run``, ``/usr/local`` and ``/var``. Nothing of the distribution is started but what a test
asks for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import need

CGROUPS = Path("/sys/fs/cgroup")
SYSTEMD = Path("/lib/systemd/systemd")
UP_S = 30.0
ENDED_S = 20.0

BOOT = r"""
set -e
mount --make-rprivate /
mkdir -p "$1/dev" "$1/empty"
mount -t tmpfs none "$1/dev" -o mode=755
for each in null zero full random urandom tty; do
    : > "$1/dev/$each"; mount --bind "/dev/$each" "$1/dev/$each"
done
mkdir "$1/dev/pts" "$1/dev/shm"
: > "$1/dev/console"
mount -t devpts devpts "$1/dev/pts" -o newinstance,ptmxmode=0666
ln -s pts/ptmx "$1/dev/ptmx"
ln -s /proc/self/fd "$1/dev/fd"
mount -t tmpfs none "$1/dev/shm"
mount --rbind "$1/dev" /dev
mount -t tmpfs none /sys/fs/cgroup -o mode=755
if [ "$2" = unified ]; then
    mount -t cgroup2 none /sys/fs/cgroup
else
    mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
    mount -t cgroup -o none,name=systemd none /sys/fs/cgroup/systemd
    mount -t cgroup2 none /sys/fs/cgroup/unified || rmdir /sys/fs/cgroup/unified
fi
# What the distribution would start with any machine.
for each in /lib/systemd/system/*.wants; do mount --bind "$1/empty" "$each"; done
mkdir "$1/etc"
mount -t tmpfs none "$1/etc"
mkdir "$1/etc/upper" "$1/etc/work"
mount -t overlay none /etc -o "lowerdir=/etc,upperdir=$1/etc/upper,workdir=$1/etc/work"
rm -rf /etc/salt /etc/systemd/system
mkdir -p /etc/salt /etc/systemd/system
for each in /run /usr/local /var; do mount -t tmpfs none "$each" -o mode=755; done
mkdir -p /var/log /var/cache /run/lock
mount -o remount,bind,ro /
mount -t proc none /proc
ip link set lo up
hostname machine
exec env -i container=test PATH="$PATH" SYSTEMD_LOG_TARGET=console \
    "$3" --system --unit=basic.target --default-standard-output=null
"""


class SystemdMachine:
    """The machine; :func:`booted` makes one."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._log = work / "boot.log"
        self._layout = "unified" if (CGROUPS / "cgroup.controllers").exists() else "legacy"
        self._groups = [
            CGROUPS / tree / f"saltlite-{uuid.uuid4().hex}"
            for tree in (("",) if self._layout == "unified" else ("systemd", "unified"))
            if (CGROUPS / tree).is_dir()
        ]
        self._boot: subprocess.Popen[bytes] | None = None
        self._pid = 0

    def boot(self) -> None:
        """Start it; skips the test where that cannot be."""
        try:
            for group in self._groups:
                group.mkdir()
        except OSError as error:
            pytest.skip(f"needs cgroups of its own: {error}")
        enter = "".join(f'echo $$ > "{group}/cgroup.procs"; ' for group in self._groups)
        argv = ["unshare", "-m", "-n", "-p", "-u", "-i", "-C", "--fork", "--kill-child"]
        words = [*argv, "sh", "-c", BOOT, "sh", str(self._work), self._layout, str(SYSTEMD)]
        with self._log.open("wb") as log:  # out here: in there all is to be read only
            self._boot = subprocess.Popen(
                ["sh", "-c", f'{enter}exec "$@"', "sh", *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline_s = time.monotonic() + UP_S
        while time.monotonic() < deadline_s:
            self._pid = self._pid or self._find_first()
            if (
                self._pid
                and self.run("systemctl", "is-active", "-q", "basic.target").returncode == 0
            ):
                return
            if self._boot.poll() is not None:
                break
            time.sleep(0.05)
        pytest.skip(f"systemd does not start in a namespace: {self._read_complaint()}")

    def run(self, *words: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command there; output and errors together."""
        argv = ["nsenter", f"--target={self._pid}", "-m", "-n", "-p", "-u", "-i", "-C", *words]
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},  # not that of these tests
            text=True, timeout=timeout_s, check=False,
        )  # fmt: skip

    def close(self) -> None:
        """End it with all that runs there."""
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        if self._boot is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._boot.pid, signal.SIGKILL)
            self._boot.wait(ENDED_S)
        for group in self._groups:
            _remove_group(group)

    def _find_first(self) -> int:
        """The process that is the first one there, 0 while there is none."""
        assert self._boot is not None
        pid = self._boot.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            name = Path(f"/proc/{children[0]}/comm").read_text().strip() if children else ""
        except OSError:
            return 0
        return int(children[0]) if name == "systemd" else 0

    def _read_complaint(self) -> str:
        return " ".join(self._log.read_text(errors="replace").split())[-300:]


def _remove_group(group: Path) -> None:
    """A group with all below it, once its processes are gone."""
    deadline_s = time.monotonic() + ENDED_S
    below = sorted((Path(path) for path, _, _ in os.walk(group)), key=lambda one: -len(one.parts))
    for each in below:
        while True:
            try:
                each.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.02)


@contextlib.contextmanager
def booted(work: Path) -> Iterator[SystemdMachine]:
    """A machine that has started; ``work`` is an empty directory."""
    if os.geteuid() != 0:
        pytest.skip("needs root: systemd is started as the first process of a namespace")
    need("unshare", "nsenter", "mount", "ip", "hostname", "systemctl")
    if not SYSTEMD.exists():
        pytest.skip(f"needs {SYSTEMD}, of Debian's package systemd")
    machine = SystemdMachine(work)
    try:
        machine.boot()
        yield machine
    finally:
        machine.close()
