"""Core grains of all topics, then what the user set."""

from __future__ import annotations

from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.host import Host


def collect(config: MinionConfig, host: Host) -> dict[str, Any]:
    """All grains."""
    return {"id": config.identity.id, "kernel": "Linux", **config.grains.grains}
