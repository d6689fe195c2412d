"""The processors, from ``/proc/cpuinfo``."""

from __future__ import annotations

from typing import Any

from saltlite.core.numbers import is_digits
from saltlite.host import Host

PATH = "/proc/cpuinfo"

_MODEL_KEYS = ("model name", "cpu", "Processor", "vendor_id")
_FLAG_KEYS = ("flags", "Features")


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    return parse_cpuinfo(host.read_text(PATH) or "")


def parse_cpuinfo(text: str) -> dict[str, Any]:
    """``num_cpus``, ``cpu_model`` (of the last processor) and ``cpu_flags``."""
    count = 0
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        if name == "processor":
            count += 1
        elif name == "# processors":  # IBM Z tells the number itself
            count = int(value) if is_digits(value) else count
        values[name] = value
    model = next((values[key] for key in _MODEL_KEYS if key in values), "Unknown")
    flags = next((values[key].split() for key in _FLAG_KEYS if key in values), [])
    return {"num_cpus": count, "cpu_model": model, "cpu_flags": flags}
