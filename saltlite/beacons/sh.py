"""What is run from the shells that people have open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.providers.watch import settings
from saltlite.providers.watch.shells import ShellWatch

KEPT: Final = "shells"


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon, which has no options of its own."""
    del config
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of every program that was run from a shell, with its arguments and the shell's user."""
    del config
    if KEPT not in ctx.kept:
        ctx.kept[KEPT] = ShellWatch(ctx.minion.host, ctx.now_s)
    watch: ShellWatch = ctx.kept[KEPT]
    watch.follow()
    return [
        {"tag": one.pid, "cmd": one.cmd, "args": list(one.args), "user": one.user}
        for one in watch.commands()
    ]


def close(ctx: BeaconContext, config: Mapping[str, object]) -> None:
    """Trace no shell any more."""
    del config
    if KEPT in ctx.kept:
        ctx.kept.pop(KEPT).close()
