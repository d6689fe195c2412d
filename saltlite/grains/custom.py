"""Grains that users' ``_grains`` files give.

Every public function of every file is called, in the order of the files' names, and gives a map.
One that takes ``grains`` gets what is known so far; ``__grains__`` has the same. They have no
``__salt__``, as in Salt: functions need grains themselves.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.context import NoFunctions
from saltlite.core.data import merge
from saltlite.core.dataclasses import dataclass, field
from saltlite.loader import catalogue

log = logging.getLogger(__name__)


@dataclass
class GrainContext:
    """What grains functions are loaded for."""

    config: MinionConfig
    grains: dict[str, Any]
    functions: NoFunctions = field(default_factory=NoFunctions)
    pillar: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


def add_custom(config: MinionConfig, grains: dict[str, Any]) -> dict[str, Any]:
    """``grains`` with what users' files say on top."""
    if not catalogue.has_custom_code(config, "grains"):
        return grains
    from saltlite.loader.surroundings import Surroundings

    ctx = GrainContext(config, dict(grains))
    files = Surroundings(ctx).modules("grains")
    for name in files.modules():
        source = files.source(name)
        for function, call in (source.functions if source is not None else {}).items():
            _join_grains(ctx, _call_grain(f"{name}.{function}", call, ctx))
    return ctx.grains


def _call_grain(name: str, call: Callable[..., Any], ctx: GrainContext) -> Any:
    parameters = inspect.signature(call).parameters
    given = {"grains": ctx.grains, "proxy": {}}
    kwargs = {key: value for key, value in given.items() if key in parameters}
    try:
        return call(**kwargs)
    except Exception as error:  # noqa: BLE001 - a user's function
        log.error(
            "grains of %s (%s): %s: %s", name, _source_path(call), type(error).__name__, error
        )
        return None


def _source_path(call: Callable[..., Any]) -> str:
    return str(inspect.unwrap(call).__code__.co_filename)


def _join_grains(ctx: GrainContext, found: object) -> None:
    """Add a map of grains; whole values, or with ``grains_deep_merge`` what is in maps."""
    if not isinstance(found, dict):
        return
    if ctx.config.grains.grains_deep_merge:
        ctx.grains = merge(ctx.grains, found)
    else:
        ctx.grains.update(found)
