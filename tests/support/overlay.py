"""A program in an overlay of the root, in namespaces of its own: it may do what it likes there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from repository import PROGRAMS, ROOT

SETUP = """
set -e
work=$1 visible=$2
shift 2
mount --make-rprivate /
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
mount -t proc proc proc
for path in dev home mnt srv tmp run root var/mail; do
    mkdir -p "$path"
    mount -t tmpfs none "$path"
done
for path in null zero full random urandom; do
    touch "dev/$path"
    mount --bind "/dev/$path" "dev/$path"
done
ln -s /proc/self/fd dev/fd
ip link set lo up || true
chmod 1777 tmp
for path in $visible; do
    mkdir -p ".$path"
    mount --bind "$path" ".$path"
    mount -o remount,ro,bind ".$path"
done
exec chroot . "$@"
"""


def run_in_overlay(
    argv: Sequence[str],
    program: str,
    work: Path,
    *visible: Path,
    verbose: bool = False,
    timeout_s: float = 600,
) -> subprocess.CompletedProcess[str]:
    """Run ``argv`` there and give back what it printed.

    What is seen of ``/srv``, ``/tmp`` and home directories are this project, the environment of
    ``program`` (a Python) and ``visible``, none of them to be written. Needs root.
    """
    work.mkdir(exist_ok=True)
    unshare = [shutil.which("unshare") or "unshare", "-m", "-n", "-p", "-u", "--fork",
               "--kill-child"]  # fmt: skip
    python = Path(program)
    seen = [ROOT, python.parents[1], python.resolve().parents[1], *visible]
    places = sorted({str(one) for one in seen} - {"/usr"})
    kept = {"LC_ALL": "C.UTF-8", "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1"}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.run(
        [*unshare, "sh", "-c", SETUP, "sh", str(work), " ".join(places), *argv],
        env={**kept, "PATH": f"{PROGRAMS / 'states'}:{path}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if verbose else subprocess.PIPE,
        text=True,
        timeout=timeout_s,
        check=False,
    )
