"""What functions of ``status`` give."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.beacons import COMMON_OPTIONS
from saltlite.providers.watch import settings

log = logging.getLogger(__name__)

DEFAULT: Final = ("loadavg", "cpustats", "meminfo", "vmstats", "time")
ALL: Final = "all"


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    for function, items in _functions(config):
        if items != ALL and not isinstance(items, (list, tuple)):
            text = f"{function} must be all or a list of items"
            return False, f"Configuration for status beacon: {text}."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell, each time, what the configured functions of ``status`` give, or some items of it."""
    wanted = list(_functions(config)) or [(function, ALL) for function in DEFAULT]
    data = {}
    for function, items in wanted:
        value = ctx.minion.functions.call(f"status.{function}")
        data[function] = _choose_items(function, value, items)
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    return [{"tag": now.isoformat(), "data": data}]


def _functions(config: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    return ((name, items) for name, items in config.items() if name not in COMMON_OPTIONS)


def _choose_items(function: str, value: Any, items: Any) -> Any:
    if items == ALL or ALL in items or not isinstance(value, Mapping):
        return value
    missing = [item for item in items if item not in value]
    if missing:
        log.debug("status.%s has no %s", function, ", ".join(map(str, missing)))
    return {item: value[item] for item in items if item in value}
