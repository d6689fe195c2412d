"""How much memory there is, in MiB, from ``/proc/meminfo``."""

from __future__ import annotations

from typing import Any

from saltlite.core.numbers import is_digits
from saltlite.host import Host

PATH = "/proc/meminfo"


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    return parse_meminfo(host.read_text(PATH) or "")


def parse_meminfo(text: str) -> dict[str, Any]:
    """``mem_total`` and ``swap_total``, rounded down."""
    sizes_kib: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number = value.split()
        if number and is_digits(number[0]):
            sizes_kib[name.strip()] = int(number[0])
    return {
        "mem_total": sizes_kib.get("MemTotal", 0) // 1024,
        "swap_total": sizes_kib.get("SwapTotal", 0) // 1024,
    }
