"""States of ours, applied in namespaces of their own: nothing that is done reaches the machine.

A request is a map: ``{"write": {path: text}}``, ``{"read": path}`` (the answer is the text,
``None`` without a file), ``{"mode": path}``, ``{"env": name}``, ``{"lines": path, "of": name}`` (of
a file of accounts), ``{"command": argv}`` (what it prints, without comments), ``{"run": script}``
for ``sh`` (what it prints), or ``{"state": fun, "args": {...}, "test": bool}``, whose answer is
``{"result", "changes", "comment"}`` or a text if it was not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from isolated import COVER, COVER_HOMES, unshare
from repository import PROGRAMS

SETUP = (
    """
set -e
hostname vm
mount -t tmpfs none "$1"
"""
    + COVER_HOMES
    + """
copy_etc "$1"
rm -rf "$1/etc/fakecron" "$1/etc/fakesysctl" "$1/etc/network" "$1/etc/default/networking"
mkdir -p "$1/home" "$1/mail" "$1/lib/$(uname -r)/kernel"
mkdir -p "$1/etc/modules-load.d"
touch "$1/lib/$(uname -r)/kernel/dummy.ko" "$1/lib/$(uname -r)/kernel/other.ko"
touch "$1/lib/$(uname -r)/modules.builtin"
echo "busy 4096 1 - Live 0x0" > "$1/etc/fakemodules"
drop() {  # whom this machine has beside the accounts of every Debian
    own=$(awk -F: '$3 >= 100 && $3 != 65534 { print $1 }' "/etc/$1")
    for each in $own; do sed -i "/^$each:/d" "$2/$1" "$2/$3"; done
}
drop passwd "$1/etc" shadow
drop group "$1/etc" gshadow
# Those of the machine where the cases were recorded: what is free decides about new ids.
for id in 998 997 996 100 101; do echo "sys$id:x:$id:$id::/:/bin/false" >> "$1/etc/passwd"; done
for id in 999 998 997 996 101 102; do echo "sys$id:x:$id:" >> "$1/etc/group"; done
echo 'users:x:100:' >> "$1/etc/group"
# As whom psql is run:
for each in passwd group; do grep '^postgres:' "/etc/$each" >> "$1/etc/$each" || :; done
echo 'someone:x:1000:1000::/home/someone:/bin/bash' >> "$1/etc/passwd"
echo 'someone:x:1000:' >> "$1/etc/group"
sed -i '/^FAIL_DELAY/d' "$1/etc/login.defs"  # su waits a second after each refusal
echo 'FAIL_DELAY 0' >> "$1/etc/login.defs"
printf '127.0.0.1\\tlocalhost\\n' > "$1/etc/hosts"
printf '# table\\n' > "$1/etc/fstab"
mount --bind "$1/etc" /etc
mount --bind "$1/home" /home
mkdir -p "$1/upper/modules"
cp -a "$1/lib/." "$1/upper/modules/"
cover /usr/lib "$1"
ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime
mkdir -p "$1/alternatives"
if [ -d /var/lib/dpkg/alternatives ]; then  # and nothing is written to its log
    mount --bind "$1/alternatives" /var/lib/dpkg/alternatives
    mount -t tmpfs none /var/log
fi
if [ -d /var/mail ]; then mount --bind "$1/mail" /var/mail; fi
mount -t tmpfs none /mnt
mkdir -p /mnt/venv/bin
ln -s "$(command -v fakepip)" /mnt/venv/bin/python
mknod /mnt/blk b 240 0 2> /dev/null || true
cd /mnt
shift
exec "$@"
"""
)


COVER_LIBRARIES = f"{COVER}mount -t tmpfs none /mnt\ncover /usr/lib /mnt\n"


@cache
def overlay_fault(*argv: str) -> str:
    """Why ``/usr/lib`` cannot be covered in the namespaces that ``argv`` makes; empty if it can."""
    done = subprocess.run(
        [*argv, "sh", "-ec", COVER_LIBRARIES], capture_output=True, text=True, check=False
    )
    return done.stderr.partition("\n")[0] if done.returncode else ""


def in_namespace(
    program: list[str],
    requests: list[Any],
    work: Path,
    *,
    timeout_s: float = 600,
    mapped: bool = False,
) -> list[Any]:
    """What ``program`` answers, one JSON line for each request; ``mapped`` as for ``unshare``."""
    argv = unshare(mapped=mapped)
    # An ordinary user may not on an old kernel, nor where something is mounted below.
    if os.geteuid() != 0 and (fault := overlay_fault(*argv)):
        pytest.skip(f"needs an overlay over /usr/lib: {fault}")
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        [*argv, "--uts", "sh", "-c", SETUP, "sh", str(work), *program],
        env={
            **os.environ,
            "PATH": f"{PROGRAMS / 'states'}:{os.environ['PATH']}",
            "FAKE_PYTHON": sys.executable,
        },
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(requests: list[Any], tmp_path: Path, *, mapped: bool = False) -> list[Any]:
    """What our states answer."""
    program = [sys.executable, __file__]
    return in_namespace(program, requests, tmp_path / "namespace", mapped=mapped)


def mode_of(path: str) -> str | None:
    """The mode of what is there, ``None`` for nothing."""
    return oct(os.stat(path).st_mode & 0o7777) if os.path.exists(path) else None


def lines_of(path: str, name: str) -> list[str]:
    """The line of an account, and which lines have it as a member; this day is ``today``."""
    today = str(int(time.time() // 86400))
    lines = [line.split(":") for line in Path(path).read_text().splitlines()]
    return [
        ":".join("today" if field == today else field for field in each)
        if each[0] == name
        else each[0]
        for each in lines
        if name in {each[0], *each[-1].split(",")}
    ]


def printed_by(argv: list[str]) -> str:
    """What a command prints, without comments (``iptables-save`` tells the time in them)."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def printed_by_script(script: str) -> str:
    """What a script for ``sh`` prints; it has to succeed."""
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{script}\n{done.stdout}{done.stderr}")
    return done.stdout


def plain_request(request: Any) -> Any:
    """The answer to a request that is no state."""
    if "write" in request:
        for path, text in request["write"].items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        return True
    if "env" in request:
        return os.environ.get(request["env"])
    if "mode" in request:
        return mode_of(request["mode"])
    if "lines" in request:
        return lines_of(request["lines"], request["of"])
    if "command" in request:
        return printed_by(request["command"])
    if "run" in request:
        return printed_by_script(request["run"])
    path = Path(request["read"])
    return path.read_text(errors="backslashreplace") if path.is_file() else None


def main() -> None:
    from saltlite.config.minion import MinionConfig, PathOptions
    from saltlite.context import MinionContext
    from saltlite.host import Host
    from saltlite.loader.registry import Registry
    from saltlite.providers.kernel import modules
    from saltlite.providers.network import ifupdown
    from saltlite.providers.selinux import policy

    grains: dict[str, Any] = {
        "os_family": "Debian",
        "os": "Debian",
        "kernel": "Linux",
        "osmajorrelease": 12,
    }
    grains["systemd"] = {"version": "252"}
    paths = PathOptions(cachedir="/mnt/cache", conf_file="/mnt/conf/minion")
    ctx = MinionContext(config=MinionConfig(paths=paths), host=Host(), grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    policy.MOUNTED = ("/etc/fakeselinux",)
    ifupdown.SYS_NET = "/etc/fakenet"
    modules.PROC_MODULES = "/etc/fakemodules"  # there may be no /proc/modules to mount one over
    requests = [json.loads(line) for line in sys.stdin]
    if any(request.get("state", "").startswith("service.") for request in requests):
        have_systemd()
        grains["init"] = "systemd"
    if any(request.get("state", "").startswith("http.") for request in requests):
        from web_answers import serve

        serve()
    for request in requests:
        answer = _applied(request, ctx) if "state" in request else plain_request(request)
        sys.stdout.write(json.dumps(answer) + "\n")


def have_systemd() -> None:
    """One that runs nothing: tests/cases/programs/states/systemctl."""
    os.makedirs("/run/systemd", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/systemd"], check=True)
    os.makedirs("/run/systemd/system")


def _applied(request: Any, ctx: Any) -> Any:
    from saltlite.highstate.resource import Verdict, realise
    from saltlite.loader.states import resolve
    from saltlite.minion.job import as_plain

    name = request["args"]["name"]
    try:
        declared = resolve(request["state"], ctx).call(**request["args"])
        verdict = realise(declared, ctx, test=request["test"])
    except Exception as error:  # noqa: BLE001 - as a run of states does
        verdict = Verdict(result=False, comment=f"An exception occurred: {error}")
    answer = verdict.as_return(name) if isinstance(verdict, Verdict) else dict(verdict)
    return as_plain({key: answer[key] for key in ("result", "changes", "comment")})


if __name__ == "__main__":
    main()
