"""Run what the master runs: runners, wheel functions, jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError

_PUBLISHING = frozenset(
    {"batch", "subset", "expect_minions", "failhard", "ret_config", "ret_kwargs", "delimiter"}
)
"""Keywords of ``saltutil.cmd`` that are about the job, not for the function."""


def runner(
    ctx: MinionContext,
    name: str,
    arg: Any = None,
    kwarg: Mapping[str, object] | None = None,
    full_return: bool = False,
    saltenv: str = "base",
    jid: str | None = None,
    **kwargs: Any,
) -> Any:
    """Run a runner: here, on the machine of a master; else by the master, if ``peer_run`` lets us.

    CLI Example:

        salt master_minion saltutil.runner jobs.list_jobs
        salt master_minion saltutil.runner test.arg arg="['baz']" kwarg="{'foo': 'bar'}"
    """
    del saltenv, jid
    args = [] if arg is None else list(arg) if isinstance(arg, (list, tuple)) else [arg]
    keywords = {**(kwarg or {}), **own_keywords(kwargs)}
    if _has_master(ctx):
        found = _run_here(ctx, "runner", name, args, keywords)
        told = {"jid": found.get("jid"), "user": found.get("user"), "fun": f"runner.{name}"}
        return {**told, **found} if full_return else found["return"]
    if ctx.master is None:
        raise FunctionError("saltutil.runner needs the machine of a master, or a master")
    words = [*args, {**keywords, "__kwarg__": True}] if keywords else args
    return ctx.master.request({"cmd": "minion_runner", "fun": name, "arg": words, "no_parse": []})


def wheel(ctx: MinionContext, name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Run a wheel function, on the machine of a master.

    CLI Example:

        salt master_minion saltutil.wheel key.accept jerry
    """
    if not _has_master(ctx):
        raise FunctionError("saltutil.wheel needs the machine of a master")
    keywords = {**own_keywords(kwargs), **(kwargs.get("kwarg") or {})}
    keywords = {key: value for key, value in keywords.items() if key not in ("arg", "kwarg")}
    listed = [*args, *(kwargs.get("arg") or [])]
    found = _run_here(ctx, "wheel", name, listed, keywords)
    return {"fun": f"wheel.{name}", **found}


def cmd(
    ctx: MinionContext,
    tgt: Any,
    fun: str,
    arg: Any = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    kwarg: Mapping[str, object] | None = None,
    ssh: bool = False,
    **kwargs: Any,
) -> Any:
    """Publish a job and wait for it, on the machine of a master; full returns by minion.

    CLI Example:

        salt master_minion saltutil.cmd '*' test.ping
    """
    if ssh or not _has_master(ctx):
        raise FunctionError("saltutil.cmd needs the machine of a master, and no ssh")
    own = own_keywords(kwargs)
    request = {
        "tgt": tgt, "fun": fun, "arg": [arg] if isinstance(arg, str) else list(arg),
        "timeout": timeout, "tgt_type": tgt_type, "ret": ret,
        "kwarg": {**(kwarg or {}), **{k: v for k, v in own.items() if k not in _PUBLISHING}},
        **{name: value for name, value in own.items() if name in _PUBLISHING},
    }  # fmt: skip
    return _run_here(ctx, "local", fun, [], request)["return"]


def cmd_iter(
    ctx: MinionContext,
    tgt: object,
    fun: str,
    arg: object = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: str = "",
    kwarg: Mapping[str, object] | None = None,
    ssh: bool = False,
    **kwargs: Any,
) -> list[dict[str, Any]]:
    """As ``saltutil.cmd``, a list with one map per minion.

    CLI Example:

        salt master_minion saltutil.cmd_iter '*' test.ping
    """
    found = cmd(ctx, tgt, fun, arg, timeout, tgt_type, ret, kwarg, ssh, **kwargs)
    return [{minion: value} for minion, value in found.items()]


def _run_here(
    ctx: MinionContext, kind: str, fun: str, arg: list[Any], kwarg: Mapping[str, object]
) -> dict[str, Any]:
    """Run it with the master's options; what came of it as Salt tells it."""
    from saltlite.masterside.context import run_for

    found = run_for(ctx, kind, fun, arg, kwarg)
    found.pop("wrong", None)
    return found


def _has_master(ctx: MinionContext) -> bool:
    from saltlite.masterside.context import has_master

    return has_master(ctx)
