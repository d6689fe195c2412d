"""The executor ``splay``: wait a while, each minion another one."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError

SPLAY_S = 300.0
"""``splaytime`` where neither the job nor the configuration says it."""


def execute(
    ctx: MinionContext,
    job: Mapping[str, object],
    function: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> Any:
    """Wait, and leave the call to the next executor."""
    time.sleep(splay_s(_read_splaytime(job, ctx), ctx.config.identity.id))


def _read_splaytime(job: Mapping[str, object], ctx: MinionContext) -> float:
    given = job.get("executor_opts")
    wanted = given.get("splaytime") if isinstance(given, Mapping) else None
    wanted = ctx.config.extra.get("splaytime", SPLAY_S) if wanted is None else wanted
    if not isinstance(wanted, (int, float)) or wanted < 0:
        raise FunctionError("splaytime must be a number of seconds, zero or more")
    return float(wanted)


def splay_s(splaytime_s: float, minion_id: str) -> float:
    """How long a minion waits: the same each time, and even over all minions."""
    return splaytime_s * (zlib.crc32(minion_id.encode()) / 2**32)
