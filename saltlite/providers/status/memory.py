"""Memory and swap space in use, from ``/proc/meminfo``; rounded as psutil does."""

from __future__ import annotations

from saltlite.errors import FunctionError
from saltlite.host import Host

MEMINFO = "/proc/meminfo"


def parse_kibibytes(text: str) -> dict[str, int]:
    """``/proc/meminfo``: the numbers by name. Pure."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            found[name] = int(words[0])
    return found


def share_in_use(total: int, free: int) -> float:
    """What is not free, in percent, with one digit; 0 of nothing. Pure."""
    return round(100.0 * (total - free) / total, 1) if total else 0.0


def memory_percent(host: Host) -> float:
    """The memory that programs cannot have."""
    now = _read_meminfo(host)
    return share_in_use(now["MemTotal"], now.get("MemAvailable", now["MemFree"]))


def swap_percent(host: Host) -> float:
    """The swap space in use."""
    now = _read_meminfo(host)
    return share_in_use(now.get("SwapTotal", 0), now.get("SwapFree", 0))


def _read_meminfo(host: Host) -> dict[str, int]:
    text = host.read_text(MEMINFO)
    if text is None:
        raise FunctionError(f"{MEMINFO} cannot be read")
    return parse_kibibytes(text)
