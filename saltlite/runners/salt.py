"""``salt.*``: execution functions from the master's side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltlite.core.keywords import own_keywords
from saltlite.masterside.context import execution_context
from saltlite.runner_context import RunnerContext


def cmd(ctx: RunnerContext, fun: str, *args: Any, **kwargs: Any) -> Any:
    """Run an execution function on the master itself, without a minion.

    with_pillar : False
        Give it the pillar of the master itself, which is compiled for ``<id>_master``.

    CLI Example:

        salt-run salt.cmd test.ping
        salt-run salt.cmd test.arg 1 2 3 a=1
        salt-run salt.cmd pillar.get roles with_pillar=True
    """
    wanted = own_keywords(kwargs)
    with_pillar = bool(wanted.pop("with_pillar", False))
    own = execution_context(ctx, with_pillar=with_pillar)
    return own.functions.call(fun, *args, **wanted)


def execute(
    ctx: RunnerContext,
    tgt: str | list[str],
    fun: str,
    arg: Iterable[Any] = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    jid: str = "",
    kwarg: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Mapping[str, Any]:
    """Run an execution function on the targeted minions and wait for what they return.

    CLI Example:

        salt-run salt.execute '*' test.ping
    """
    wanted = own_keywords(kwargs)
    listed = [arg] if isinstance(arg, str) else list(arg)
    return ctx.local.cmd(
        tgt, fun, listed, timeout=timeout, tgt_type=tgt_type, ret=ret, jid=jid, kwarg=kwarg,
        **wanted,
    )  # fmt: skip
