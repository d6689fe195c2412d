"""``state.*``: compile, show and run states; watch the minion's own event bus."""

from __future__ import annotations

import fnmatch
import re
import sys
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.eventline import event_line
from saltlite.errors import FunctionError
from saltlite.highstate.run import run_chunk, tag_of

WAIT_S = 3600.0


OUTPUTTERS = {"single": "highstate"}


def single(
    ctx: MinionContext,
    fun: str,
    name: str,
    test: bool | None = None,
    queue: Any = None,
    **kwargs: Any,
) -> Any:
    """Run one state function.

    CLI Example:

        salt '*' state.single pkg.installed name=vim
    """
    state, dot, function = str(fun).partition(".")
    if not dot:
        ctx.state["retcode"] = 1
        return "Invalid function passed"
    given = {key: value for key, value in kwargs.items() if not key.startswith("__")}
    chunk = {"state": state, "fun": function, "name": name, "__id__": name, **given}
    chunk |= {"__sls__": None, "__env__": given.get("saltenv") or "base"}
    answer = run_chunk(ctx, chunk, test=_is_test(ctx, test))
    ctx.state["retcode"] = 2 if answer.get("result") is False else 0
    return {tag_of(chunk): answer}


def _is_test(ctx: MinionContext, test: Any) -> bool:
    return bool(ctx.config.files.test if test is None else test)


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
    listener = ctx.listen(re.split(r"[*?\[]", str(tagmatch), maxsplit=1)[0])
    left = int(count)
    try:
        while left != 0:
            found = listener.get(WAIT_S)
            if found is None or not fnmatch.fnmatchcase(found.tag, str(tagmatch)):
                continue
            if not quiet:
                sys.stdout.write(f"{event_line(found.tag, found.data, pretty=pretty)}\n")
                sys.stdout.flush()
            left -= 1
    finally:
        listener.close()
