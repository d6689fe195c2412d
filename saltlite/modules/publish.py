"""Have other minions do something, where the master's options ``peer``, ``peer_run`` allow it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from saltlite.context import MasterLink, MinionContext
from saltlite.core.plain import Plain
from saltlite.errors import FunctionError, RequestTimeout
from saltlite.loader.arguments import parse_argument

log = logging.getLogger(__name__)

FIRST_LOOK_S = 0.05
LOOK_S = 0.3
"""How often the master is asked for returns. Source: docs/wire.md#peers."""

NO_MASTER = "No access to master. If using salt-call with --local, please remove."


def publish(
    ctx: MinionContext,
    tgt: object,
    fun: str,
    arg: object = None,
    tgt_type: str = "glob",
    returner: str = "",
    timeout: float = 5,
    via_master: str | None = None,
) -> dict[str, Any]:
    """Run a function on minions and return ``{minion: value}`` of those that answer in time.

    ``{}`` unless the master's option ``peer`` allows this minion the function.

    arg
        A value, or a list of them; ``name=value`` is a keyword.

    CLI Example:

        salt system.example.com publish.publish '*' cmd.run 'ls -la /tmp'
    """
    del via_master
    found = _publish_job(ctx, tgt, fun, arg, tgt_type, returner, timeout, form="clean")
    return {minion: ret.get("ret") for minion, ret in found.items() if isinstance(ret, Mapping)}


def full_data(
    ctx: MinionContext,
    tgt: object,
    fun: str,
    arg: object = None,
    tgt_type: str = "glob",
    returner: str = "",
    timeout: float = 5,
) -> dict[str, Any]:
    """Run a function on minions and return ``{minion: {"ret": value, "out": outputter}}``.

    CLI Example:

        salt system.example.com publish.full_data '*' cmd.run 'ls -la /tmp'
    """
    return _publish_job(ctx, tgt, fun, arg, tgt_type, returner, timeout, form="full")


def runner(ctx: MinionContext, fun: str, arg: object = None, timeout: float = 5) -> Any:
    """Have the master run a runner and return its value.

    ``{}`` unless the master's option ``peer_run`` allows this minion the runner.

    CLI Example:

        salt '*' publish.runner manage.down
    """
    if ctx.master is None:
        return NO_MASTER
    load: dict[str, Plain] = {
        "cmd": "minion_runner", "fun": fun, "arg": _parse_arguments(arg), "tmo": timeout,
        "no_parse": [],
    }  # fmt: skip
    try:
        return ctx.master.request(load)
    except RequestTimeout:
        return f"'{fun}' runner publish timed out"


def _publish_job(
    ctx: MinionContext,
    tgt: Any,
    fun: str,
    arg: Any,
    tgt_type: str,
    returner: str,
    timeout: float,
    *,
    form: str,
) -> dict[str, Any]:
    if ctx.master is None:
        log.error(
            "Cannot run publish commands without a connection to a salt master. No command sent."
        )
        return {}
    if fun.startswith("publish."):
        log.info("Cannot publish publish calls. Returning {}")
        return {}
    load: dict[str, Plain] = {
        "cmd": "minion_pub", "fun": fun, "arg": _parse_arguments(arg), "tgt": tgt,
        "tgt_type": tgt_type, "ret": returner, "tmo": timeout, "form": form, "no_parse": [],
    }  # fmt: skip
    try:
        job = ctx.master.request(load)
    except RequestTimeout:
        return {}
    if isinstance(job, dict) and job.get("error"):
        raise FunctionError(str(job["error"]))
    if not isinstance(job, dict) or not job.get("jid"):
        return {}
    minions = job.get("minions")
    expected = len(minions) if isinstance(minions, (list, tuple)) else 0
    return _collect_returns(ctx.master, str(job["jid"]), expected, float(timeout))


def _collect_returns(
    master: MasterLink, jid: str, expected: int, timeout_s: float
) -> dict[str, Any]:
    """What has come back when all have answered, or the time is over."""
    until_s = time.monotonic() + timeout_s
    wait_s = FIRST_LOOK_S
    while True:
        time.sleep(min(wait_s, max(0.0, until_s - time.monotonic())))
        wait_s = min(LOOK_S, wait_s * 2)
        found = master.request({"cmd": "pub_ret", "jid": jid})
        returned: dict[str, Any] = found if isinstance(found, dict) else {}
        if len(returned) >= expected or time.monotonic() >= until_s:
            return returned


def _parse_arguments(arg: object) -> list[Any]:
    """One argument or several, with texts as YAML would read them."""
    value = parse_argument(arg) if isinstance(arg, str) else arg
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
