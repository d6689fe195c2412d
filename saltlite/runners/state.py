"""``state.*``, as far as events go: watch the master's bus. Source: cli.md 8, modules.md 4."""

from __future__ import annotations

import fnmatch
import re

from saltlite.core.eventline import event_line
from saltlite.runners.context import RunnerContext

WAIT_S = 3600.0


def event(
    ctx: RunnerContext,
    tagmatch: str = "*",
    count: int = -1,
    quiet: bool = False,
    sock_dir: str | None = None,
    pretty: bool = False,
    node: str = "master",
) -> None:
    """Watch the event bus and print each event as ``tag``, a tab, and JSON.

    tagmatch : *
        Only events whose tag matches this glob.

    count : -1
        End after so many; -1 for never.

    quiet : False
        Print nothing.

    pretty : False
        Indent the JSON.

    CLI Example:

        salt-run state.event 'salt/job/*' count=2 pretty=True
    """
    del sock_dir, node
    tagmatch = str(tagmatch)
    listener = ctx.listen(re.split(r"[*?\[]", tagmatch, maxsplit=1)[0])
    left = int(count)
    try:
        while left != 0:
            found = listener.get(WAIT_S)
            if found is None or not fnmatch.fnmatchcase(found.tag, tagmatch):
                continue
            if not quiet:
                ctx.write(event_line(found.tag, found.data, pretty=pretty))
            left -= 1
    finally:
        listener.close()
