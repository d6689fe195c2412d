"""The minion's own event bus."""

from __future__ import annotations

import sys

from saltlite.context import MinionContext
from saltlite.core.eventline import watch
from saltlite.errors import FunctionError


def event(
    ctx: MinionContext,
    tagmatch: str = "*",
    count: int = -1,
    quiet: bool = False,
    sock_dir: str | None = None,
    pretty: bool = False,
    node: str = "minion",
) -> None:
    """Watch the minion's event bus and print each event as its tag, a tab, and JSON.

    For ``salt-call`` alone: what a job prints nobody sees.

    tagmatch : *
        Only events whose tag matches this glob.

    count : -1
        End after so many; -1 for never.

    CLI Example:

        salt-call --local state.event 'salt/*' count=2 pretty=True
    """
    del sock_dir, node
    if ctx.listen is None:
        raise FunctionError("there is no event bus of a minion to listen to")
    watch(ctx.listen, None if quiet else _print_line, str(tagmatch), int(count), pretty=pretty)


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
