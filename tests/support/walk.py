"""A stranger's walk: type README's lines for real machines on a bare root file system, as root.

    python tests/support/walk.py ROOTFS [--packages DIR]

ROOTFS is a directory as debootstrap makes it. It is left as it is: the walk is in namespaces of its
own, on an overlay. ``--packages`` installs Debian packages from DIR instead of ``scripts/install``.
With ROOTFS ``/`` and packages it needs no network, and has none.
There is no systemd in it; in its place stands a program that runs the ``ExecStart`` of a unit and
waits until it has said that it is ready. Prints each line with its time, and what was seen.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from repository import ROOT

SETUP = r"""
set -e
root=$1 work=$2 checkout=$3 packages=$4
mount --make-rprivate /
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
mount -t proc proc proc
for path in dev dev/shm run; do
    mkdir -p "$path"
    mount -t tmpfs none "$path"
done
for path in null zero full random urandom tty; do
    touch "dev/$path"
    mount --bind "/dev/$path" "dev/$path"
done
ln -s /proc/self/fd dev/fd
mount -t tmpfs none tmp
cp -L /etc/resolv.conf etc/resolv.conf
cp /etc/hosts etc/hosts
mkdir -p root/saltlite root/packages etc/ssl/certs etc/xdg
cp -r "$checkout/." root/saltlite
[ -z "$packages" ] || cp "$packages"/*.deb root/packages
# How this machine reaches its registries: certificates as copies, since packages write there, and
# the rest to be read only.
mkdir -p usr/local/share/ca-certificates
for path in /etc/ssl/certs /usr/local/share/ca-certificates; do
    # Not cp: above an overlay of this machine it takes what it reads and writes for one file.
    [ ! -d "$path" ] || tar -C "$path" -chf - . | tar -C ".$path" -xf -
done
for path in /etc/xdg/pip /opt/pypi /opt/pypi-more /opt/wheels /etc/pip.conf \
    /etc/apt/apt.conf.d; do
    [ -e "$path" ] || continue
    if [ -d "$path" ]; then mkdir -p ".$path"; else touch ".$path"; fi
    mount --bind "$path" ".$path"
    mount -o remount,ro,bind ".$path"
done
mkdir -p usr/local/sbin
cat > usr/local/sbin/systemctl <<'PYTHON'
SYSTEMCTL
PYTHON
chmod +x usr/local/sbin/systemctl
exec chroot . /bin/sh -c 'cd /root/saltlite && exec /bin/bash -s'
"""

SYSTEMCTL = r"""#!/usr/bin/python3
# In place of systemd: starts what a unit's ExecStart says, and waits for its READY=1.
import glob, os, re, socket, subprocess, sys
for name in sys.argv[1:] if sys.argv[1] == "enable" else []:
    if name in ("enable", "--now"):
        continue
    unit = next(open(path).read() for folder in ("/etc", "/lib", "/usr/lib")
                for path in glob.glob(f"{folder}/systemd/system/{name}.service"))
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(f"/run/notify.{name}")
    server.settimeout(120)
    command = re.search(r"^ExecStart=(.*)$", unit, re.M)[1].split()
    subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL,
                     stdout=open(f"/run/{name}.out", "w"), stderr=subprocess.STDOUT,
                     env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": f"/run/notify.{name}"})
    while b"READY=1" not in server.recv(4096):
        pass
"""

ACCEPTS = "salt-key -A"
WAIT_FOR_KEY = (
    "for i in $(seq 200); do ls /etc/salt/pki/master/minions_pre/* >/dev/null 2>&1 && break;"
    " sleep 0.1; done"
)
WAIT_FOR_MINION = "for i in $(seq 60); do salt '*' test.ping -t 1 >/dev/null 2>&1 && break; done"
"""What a person does by typing slowly."""


LOOPBACK_UP = (
    "python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(socket.AF_INET,"
    ' socket.SOCK_DGRAM), 0x8914, struct.pack("16sH14x", b"lo", 0x41))\'\n'
)
"""As ``net.bring_loopback_up``, in a line."""


def lines(packages: bool, *, offline: bool = False) -> list[str]:
    """The lines behind ``#`` in README's part about real machines."""
    part = (
        (ROOT / "README.md").read_text().partition("## On real machines")[2].partition("\n## ")[0]
    )
    found = re.findall(r"^# (.*)$", part, re.MULTILINE)
    if not packages:
        return found
    instead = "apt-get install -y /root/packages/*.deb"
    own = "echo 'master: 127.0.0.1' > /etc/salt/minion.d/master.conf"
    kept = [line for line in found if "python3-venv" not in line]
    kept = [line for line in kept if not (offline and line == "apt-get update")]
    at = next(n for n, line in enumerate(kept) if line.startswith("scripts/install"))
    return [*kept[:at], instead, own, *kept[at + 1 :]]


def script(typed: list[str]) -> str:
    parts = ["export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root\n"]
    for line in typed:
        answer = "<<<y" if line == ACCEPTS else "</dev/null"
        parts.append(f"{WAIT_FOR_KEY}\n" if line == ACCEPTS else "")
        parts.append(
            f"begin=$(date +%s%N)\n{{ {line}\n}} >/run/seen 2>&1 {answer}\ncode=$?\n"
            f"printf '# %s   (%s ms, exit code %s)\\n' {_quoted(line)}"
            " $((($(date +%s%N) - begin) / 1000000)) $code\n"
            "tail -n 12 /run/seen\n[ $code = 0 ] || exit $code\n"
        )
        parts.append(f"{WAIT_FOR_MINION}\n" if line == ACCEPTS else "")
    return "".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def walk(rootfs: Path, packages: Path | None) -> subprocess.CompletedProcess[str]:
    """Do the walk; what was seen is in ``stdout``."""
    offline = packages is not None and rootfs == Path("/")
    typed = script(lines(packages is not None, offline=offline))
    with tempfile.TemporaryDirectory(prefix="walk-") as folder:
        checkout = Path(folder, "checkout")
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", "HEAD"], capture_output=True, check=True
        ).stdout
        checkout.mkdir()
        subprocess.run(["tar", "-x", "-C", str(checkout)], input=archive, check=True)
        work = Path(folder, "work")
        work.mkdir()
        unshare = shutil.which("unshare") or "unshare"
        setup = SETUP.replace("SYSTEMCTL", SYSTEMCTL, 1)
        argv = [unshare, "-m", "-p", "-u", *(["-n"] if offline else []), "--fork", "--kill-child",
                "sh", "-c", setup, "sh",
                str(rootfs.resolve()), str(work), str(checkout), str(packages or "")]  # fmt: skip
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "SALT"))
        }
        env["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return subprocess.run(
            argv,
            input=(LOOPBACK_UP if offline else "") + typed,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rootfs", type=Path)
    parser.add_argument("--packages", type=Path)
    options = parser.parse_args()
    done = walk(options.rootfs, options.packages and options.packages.resolve())
    print(done.stdout, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
