"""Wheel functions by name. Only the module that is asked for is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from saltlite.runners.context import RunnerContext
from saltlite.runners.registry import Catalogue, Runner

WHEELS: Final = Catalogue(
    "wheel",
    {
        name: f"saltlite.wheel.{name}"
        for name in ("config", "error", "file_roots", "key", "minions", "pillar_roots")
    },
)


def resolve(name: str, ctx: RunnerContext) -> Runner:
    """The wheel function ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    return WHEELS.resolve(name, ctx)


def docs(wanted: Sequence[str] = ()) -> dict[str, str]:
    """Documentation by name: of everything, or of the named modules and functions."""
    return WHEELS.docs(wanted)
