"""Files below ``/proc`` to the values of ``status.*``. Pure; numbers are the kernel's own units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.core.numbers import is_digits

_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_DISK = (
    "reads_issued",
    "reads_merged",
    "sectors_read",
    "ms_spent_reading",
    "writes_completed",
    "writes_merged",
    "sectors_written",
    "ms_spent_writing",
    "io_in_progress",
    "ms_spent_in_io",
    "weighted_ms_spent_in_io",
)
_RECEIVED = ("bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast")
_SENT = ("bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed")
_LISTS = {"intr": "irqs", "softirq": "softirqs"}


def number(text: str) -> int | float:
    """A whole number if it is one."""
    return float(text) if "." in text else int(text)


def parse_cpuinfo(text: str) -> dict[str, Any]:
    """``/proc/cpuinfo``, of the last processor; ``flags`` is a list."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            name = name.strip()
            found[name] = value.split() if name in ("flags", "Features") else value[1:]
    return found


def parse_stat(text: str) -> dict[str, Any]:
    """``/proc/stat``, in ticks; of a single processor the time for users."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        name, *values = line.split() or [""]
        if not values or not all(is_digits(value) for value in values):
            continue
        if name == "cpu":
            times = dict(zip(_CPU, map(int, values), strict=False))
            found[name] = {key: times[key] for key in sorted(times)}
        elif name in _LISTS:
            numbers = list(map(int, values))
            found[name] = {"total": numbers[0], _LISTS[name]: numbers[1:]}
        else:
            found[name] = int(values[0])
    return found


def parse_meminfo(text: str) -> dict[str, dict[str, str]]:
    """``/proc/meminfo``: value and unit, as text."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            found[name] = dict(zip(("value", "unit"), words, strict=False))
    return found


def parse_diskstats(text: str) -> dict[str, dict[str, Any]]:
    """``/proc/diskstats``; of newer kernels' columns the first."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 + len(_DISK):
            values = map(number, words[3 : 3 + len(_DISK)])
            found[words[2]] = {
                "major": int(words[0]),
                "minor": int(words[1]),
                "device": words[2],
                **dict(zip(_DISK, values, strict=True)),
            }
    return found


def parse_netdev(text: str) -> dict[str, dict[str, Any]]:
    """``/proc/net/dev``."""
    found = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        values = list(map(int, rest.split()))
        if len(values) < len(_RECEIVED) + len(_SENT):
            continue
        row: dict[str, Any] = {"iface": name.strip()}
        row |= _name_counters("rx", _RECEIVED, values)
        row |= _name_counters("tx", _SENT, values[len(_RECEIVED) :])
        found[name.strip()] = {key: row[key] for key in ("iface", *sorted(row.keys() - {"iface"}))}
    return found


def _name_counters(prefix: str, names: Sequence[str], values: Sequence[int]) -> dict[str, int]:
    return {f"{prefix}_{name}": value for name, value in zip(names, values, strict=False)}


def parse_netstat(text: str) -> dict[str, dict[str, int]]:
    """``/proc/net/netstat``: lines in pairs, names then numbers."""
    found = {}
    lines = text.splitlines()
    for head, values in zip(lines[::2], lines[1::2], strict=False):
        kind, _, names = head.partition(":")
        numbers = values.partition(":")[2].split()
        found[kind] = dict(zip(names.split(), map(int, numbers), strict=False))
    return found


def parse_vmstat(text: str) -> dict[str, int | float]:
    """``/proc/vmstat``."""
    pairs = (line.split() for line in text.splitlines())
    return {words[0]: number(words[1]) for words in pairs if len(words) == 2}


def parse_ps(text: str) -> dict[str, dict[str, str]]:
    """``ps -efHww``: process id → user and command."""
    found = {}
    for line in text.splitlines()[1:]:
        words = line.split(None, 7)
        if len(words) == 8:
            found[words[1]] = {"user": words[0], "cmd": words[7].strip()}
    return found


def parse_w(text: str) -> list[dict[str, str]]:
    """``w -fh``: who is logged in."""
    names = ("idle", "jcpu", "login", "pcpu", "tty", "user", "what")
    found = []
    for line in text.splitlines():
        words = line.split(None, 6)
        if len(words) == 7:
            user, tty, login, idle, jcpu, pcpu, what = words
            values = (idle, jcpu, login, pcpu, tty, user, " ".join(what.split()))
            found.append(dict(zip(names, values, strict=True)))
    return found
