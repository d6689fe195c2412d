"""The processes of this machine, for systems whose ``ps`` knows few options (busybox)."""

from __future__ import annotations

import re

from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.host import Host

CUT_AT = 15
"""Names of processes that are as long may be longer."""

_UID = regex(r"^Uid:\s+(\d+)", re.MULTILINE)
_NAME = regex(r"^Name:\s+(.*)", re.MULTILINE)


def read(host: Host) -> dict[str, dict[str, str]]:
    """As :func:`saltlite.providers.status.proc.parse_ps`, from ``/proc``."""
    found = {}
    for pid in sorted((name for name in host.names("/proc") if is_digits(name)), key=int):
        status = host.read_text(f"/proc/{pid}/status")
        if status is not None:
            line = (host.read_text(f"/proc/{pid}/cmdline") or "").replace("\0", " ").strip()
            found[pid] = {
                "user": _find_user(status),
                "cmd": line or f"[{_first_group(_NAME, status)}]",
            }
    return found


def names(host: Host) -> set[str]:
    """The names of all processes that run, in full where the kernel cuts them at 15 letters."""
    found = set()
    for pid in filter(is_digits, host.names("/proc")):
        short = (host.read_text(f"/proc/{pid}/comm") or "").rstrip("\n")
        found.add(_full_name(host, pid, short) if len(short) >= CUT_AT else short)
    return found - {""}


def _full_name(host: Host, pid: str, short: str) -> str:
    """The name of the program in the command line, if the kernel's is its beginning."""
    line = host.read_text(f"/proc/{pid}/cmdline") or ""
    name = line.partition("\0")[0].rpartition("/")[2]
    return name if name.startswith(short) else short


def _find_user(status: str) -> str:
    import pwd

    uid = _first_group(_UID, status)
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, ValueError):
        return uid


def _first_group(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""
