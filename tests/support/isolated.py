"""A copy of ``/etc`` that a test may change: functions of ours, run in namespaces of their own.

``calls`` are ``[fun, *args]`` lists, a last map with ``__kw`` being keywords; the answers come back
in order. Nothing that is done reaches the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from programs import need

COVER = """
cover() {  # a directory as it is, with whatever is written to it in $2, which is a tmpfs
    mkdir -p "$2/upper" "$2/work"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1"
}
"""

# What functions write below the home directory or where they happen to run stays here, too.
COVER_HOMES = (
    COVER
    + """
if [ -r /root ]; then cover /root "$1/root-home"; fi
case "$HOME" in
    /root | /root/* | "") ;;
    *) if [ -d "$HOME" ]; then cover "$HOME" "$1/own-home"; fi ;;
esac
copy_etc() {  # what an ordinary user may not read is left out, but for the lists of accounts
    cp -a /etc "$1/etc" 2> "$1/unread" || [ "$(awk '{ print $3 }' /proc/self/uid_map)" = 1 ]
    for each in passwd:shadow group:gshadow; do
        [ -r "/etc/${each#*:}" ] ||
            sed 's/:.*/:*:19000:0:99999:7:::/' "/etc/${each%:*}" > "$1/etc/${each#*:}"
    done
}
cd /mnt
"""
)

SETUP = f"""
set -e
mount -t tmpfs none "$1"
{COVER_HOMES}
copy_etc "$1"
if [ -d "$2" ]; then cp -a --no-preserve=ownership "$2/." "$1/etc/"; fi
mkdir -p "$1/home" "$1/mail"
mount --bind "$1/etc" /etc
mount --bind "$1/home" /home
if [ -d /var/mail ]; then mount --bind "$1/mail" /var/mail; fi
shift 2
exec "$@"
"""


def unshare(*, mapped: bool = False) -> list[str]:
    """The command that makes a mount namespace; skips the test where none can be made.

    ``mapped``: an ordinary user may be root of a user namespace there, where there is nobody else.
    """
    if os.geteuid() != 0 and not mapped:
        pytest.skip("needs root: users and system files are changed in a mount namespace")
    need("unshare", "mount")
    argv = ["unshare", "-m", "-n", "--propagation", "private"]
    if os.geteuid() != 0:
        argv.append("--map-root-user")
    probe = "mount -t tmpfs none /mnt"
    if subprocess.run([*argv, "sh", "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a mount namespace")
    return argv


def need_packet_filter() -> None:
    """Skip where a network namespace of its own has no packet filter."""
    need("iptables", "ip6tables", "iptables-save", "ip6tables-save")
    probe = "iptables -t nat -S && ip6tables -S"
    if subprocess.run(
        [*unshare(mapped=True), "sh", "-c", probe], capture_output=True, check=False
    ).returncode:
        pytest.skip("the kernel has no packet filter for a network namespace")


def answers(
    calls: list[Any],
    etc: Path | None,
    tmp_path: Path,
    *,
    programs: Path | None = None,
    mapped: bool = False,
) -> list[dict[str, Any]]:
    """What our functions answer: ``{"return": ...}`` or ``{"error": text}`` for each call.

    ``etc`` is laid over the copy of ``/etc``; ``programs`` come before those of the machine;
    ``mapped`` as for ``unshare``.
    """
    work = tmp_path / "namespace"
    work.mkdir()
    argv = [*unshare(mapped=mapped), "sh", "-c", SETUP, "sh", str(work), str(etc or "/nonexistent")]
    path = os.environ["PATH"] if programs is None else f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        [*argv, sys.executable, __file__],
        env={**os.environ, "PATH": path},
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main() -> None:
    from saltlite.config.minion import MinionConfig, PathOptions
    from saltlite.context import MinionContext
    from saltlite.errors import SaltliteError
    from saltlite.host import Host
    from saltlite.loader.registry import Registry
    from saltlite.minion.job import as_plain

    grains = {"os_family": "Debian", "os": "Debian", "kernel": "Linux", "osmajorrelease": 12}
    config = MinionConfig(paths=PathOptions(cachedir="/home/cache"))
    ctx = MinionContext(config=config, host=Host(), grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    found: list[dict[str, Any]] = []
    for fun, *args in json.load(sys.stdin):
        keywords = args.pop() if args and isinstance(args[-1], dict) and "__kw" in args[-1] else {}
        keywords.pop("__kw", None)
        try:
            found.append({"return": as_plain(ctx.functions.call(fun, *args, **keywords))})
        except (SaltliteError, TypeError) as error:
            found.append({"error": str(error)})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
