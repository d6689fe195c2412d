"""``salt.*``: have minions and the master do something, for orchestrations.

They run on the master (``salt-run state.orchestrate``), or on a minion on the master's machine.
What they started is told on the master's bus, ``salt/run/<jid>/args``.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import dataclasses, tags
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.keywords import own_keywords
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.states._salt.returns import Leniency, is_good, of_function, of_states

NO_SSH = "salt-ssh is not there; leave out 'ssh'"
NO_STATES = "No highstate or sls specified, no execution made"
ARGUMENTS = "Please specify 'arg' as a list of arguments."
KEYWORDS = "'kwarg' must be a map of arguments, or a list of maps"

ORCHESTRATIONS = frozenset({"state.orchestrate", "state.orch", "state.sls"})
"""Runners that are told in which orchestration they are."""


def state(
    ctx: MinionContext,
    name: str,
    tgt: object,
    ssh: bool = False,
    tgt_type: str = "glob",
    ret: str | list[str] = "",
    ret_config: object = None,
    ret_kwargs: object = None,
    highstate: object = None,
    sls: object = None,
    top: object = None,
    saltenv: str | None = None,
    test: bool | None = None,
    pillar: object = None,
    pillarenv: str | None = None,
    expect_minions: bool = True,
    exclude: object = None,
    fail_minions: object = None,
    allow_fail: int = 0,
    concurrent: bool = False,
    timeout: float | None = None,
    batch: object = None,
    queue: object = False,
    subset: int | None = None,
    failhard: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Run states on minions: ``sls`` (one or a list), ``highstate: True``, or a ``top`` file.

    ``tgt`` and ``tgt_type`` as with ``salt``. Failures of ``fail_minions``, and up to
    ``allow_fail`` others, do not fail it. A test run of it is one of the states on the minions.
    """
    leniency = Leniency.of(fail_minions, allow_fail)
    if isinstance(leniency, str):
        return Verdict(result=False, comment=leniency)
    if ssh:
        return Verdict(result=False, comment=NO_SSH)
    called = _choose_function(highstate, top, sls)
    if called is None:
        return Verdict(result=False, comment=NO_STATES)
    fun, arg = called
    kwarg = _given_values(
        test=test, pillar=pillar, pillarenv=pillarenv, saltenv=saltenv, exclude=exclude
    )
    kwarg |= {"queue": queue, "concurrent": concurrent}
    wanted = {
        "arg": arg, "kwarg": kwarg, "ret": ret, "timeout": timeout, "tgt_type": tgt_type,
        "ssh": ssh, "expect_minions": expect_minions,
        **_given_values(
            ret_config=ret_config, ret_kwargs=ret_kwargs, subset=subset, failhard=failhard
        ),
        **({} if batch is None else {"batch": str(batch)}),
    }  # fmt: skip

    def act(ctx: MinionContext, *, test: bool) -> Verdict:
        asked = {**wanted, "kwarg": {**kwarg, "test": True} if test else kwarg}
        _tell_start(ctx, {"type": "state", "tgt": tgt, "name": name, "args": asked})
        returns = _publish_job(ctx, tgt, fun, asked)
        return of_states(
            returns, leniency, test=test, batch=batch is not None, expected=bool(expect_minions)
        )

    return Action(
        would=f"States would be run on {tgt}",
        run=partial(act, test=bool(test)),
        foreseen=partial(act, test=True),
    )


def _choose_function(highstate: object, top: object, sls: Any) -> tuple[str, list[Any]] | None:
    """The function of minions that runs what is asked for, and its arguments."""
    if highstate:
        return "state.highstate", []
    if top:
        return "state.top", [top]
    if sls:
        return "state.sls", [sls if isinstance(sls, str) else ",".join(map(str, sls))]
    return None


def function(
    ctx: MinionContext,
    name: str,
    tgt: object,
    ssh: bool = False,
    tgt_type: str = "glob",
    ret: str | list[str] = "",
    ret_config: object = None,
    ret_kwargs: object = None,
    expect_minions: bool = False,
    fail_minions: object = None,
    fail_function: str | None = None,
    arg: Any = None,
    kwarg: Any = None,
    timeout: float | None = None,
    batch: object = None,
    subset: int | None = None,
    failhard: bool | None = None,
    **kwargs: Any,
) -> Declared:
    """Run the execution function ``name`` on minions, with ``arg`` and ``kwarg``.

    ``fail_function`` is an execution function that gets each return on the master and says whether
    it is good. A test run calls nothing.
    """
    leniency = Leniency.of(fail_minions)
    if isinstance(leniency, str):
        return Verdict(result=False, comment=leniency)
    if ssh:
        return Verdict(result=False, comment=NO_SSH)
    if isinstance(arg, str):
        leniency = dataclasses.replace(leniency, warnings=(*leniency.warnings, ARGUMENTS))
        arg = arg.split()
    joined: dict[str, Any] = {}
    for part in kwarg if isinstance(kwarg, list) else [kwarg or {}]:
        if not isinstance(part, Mapping):
            return Verdict(result=False, comment=KEYWORDS)
        joined.update(part)
    wanted = {
        "arg": list(arg or []), "kwarg": joined, "ret": ret, "timeout": timeout,
        **_given_values(
            ret_config=ret_config, ret_kwargs=ret_kwargs, subset=subset, failhard=failhard
        ),
        **({} if batch is None else {"batch": str(batch)}),
        "tgt_type": tgt_type, "ssh": ssh, "expect_minions": expect_minions,
    }  # fmt: skip

    def act(ctx: MinionContext) -> Verdict:
        _tell_start(
            ctx,
            {
                "type": "function",
                "tgt": tgt,
                "name": name,
                "args": {**wanted, "_cmd_meta": True},
            },
        )
        returns = _publish_job(ctx, tgt, name, wanted)
        judge = partial(ctx.functions.call, fail_function) if fail_function else is_good
        return of_function(name, returns, leniency, judge=judge, batch=batch is not None)

    would = f"Function {name} would be executed on target {tgt}"
    foreseen = Verdict(result=None, comment=would, more=leniency.more({}))
    return Action(would=would, run=act, foreseen=lambda ctx: foreseen)


def runner(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Run a runner on the master: ``arg`` (a list), ``kwarg`` (a map), or keywords beside ``name``.

    It fails if the runner does, or says so with a ``retcode``.
    """
    own = own_keywords(kwargs)
    args = own.pop("arg", None) or []
    keywords = {**own, **(own.pop("kwarg", None) or {})}
    keywords.pop("kwarg", None)

    def act(ctx: MinionContext) -> Verdict:
        if name in ORCHESTRATIONS:
            keywords.setdefault("saltenv", kwargs.get("__env__") or "base")
            keywords.setdefault("orchestration_jid", _orchestration_jid(ctx))
        _tell_start(ctx, {"type": "runner", "name": name, "args": list(args), "kwargs": keywords})
        return _run_function(ctx, "runner", name, list(args), keywords)

    return Action(would=f"Runner function '{name}' would be executed.", run=act)


def wheel(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Run a wheel function on the master; arguments as ``runner``."""
    own = own_keywords(kwargs)
    args = own.get("arg") or []
    keywords = {**own, **(own.get("kwarg") or {})}
    keywords = {key: value for key, value in keywords.items() if key not in ("arg", "kwarg")}

    def act(ctx: MinionContext) -> Verdict:
        _tell_start(ctx, {"type": "wheel", "name": name, "args": own})
        return _run_function(ctx, "wheel", name, list(args), keywords)

    return Action(would=f"Wheel function '{name}' would be executed.", run=act)


def parallel_runners(ctx: MinionContext, name: str, runners: object, **kwargs: Any) -> Declared:
    """Run several runners at once: id → ``name``, ``arg``, ``kwarg``, in a map or in several."""
    wanted: dict[str, Mapping[str, Any]] = {}
    for ident, given in runners.items() if isinstance(runners, Mapping) else ():
        parts = given if isinstance(given, (list, tuple)) else [given]
        one = {k: v for part in parts if isinstance(part, Mapping) for k, v in part.items()}
        if one:
            wanted[str(ident)] = {"name": ident, **one}
    if not isinstance(runners, Mapping) or len(wanted) != len(runners):
        text = "'runners' must be a map: id → name, arg and kwarg of a runner"
        return Verdict(result=False, comment=text)
    env = kwargs.get("__env__")
    return Action(
        would=f"Runner functions would be executed in parallel: {', '.join(wanted)}",
        run=lambda ctx: _all_at_once(ctx, wanted, env),
    )


def wait_for_event(
    ctx: MinionContext,
    name: str,
    id_list: Any,
    event_id: str = "id",
    timeout: float = 300,
    node: str = "master",
) -> Declared:
    """Wait until all of ``id_list`` have come as ``event_id`` of events tagged ``name`` (a glob).

    ``timeout`` is in seconds.
    """
    del node
    ids = [id_list] if isinstance(id_list, (str, int)) else list(id_list or [])
    return Action(
        would=f"Orchestration would wait for event '{name}'",
        run=lambda ctx: _await_events(ctx, name, ids, event_id, float(timeout)),
    )


# --- what they share -----------------------------------------------------------------------------


def _given_values(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _orchestration_jid(ctx: MinionContext) -> str:
    return str(ctx.state.get("orchestration_jid") or ctx.jid)


def _tell_start(ctx: MinionContext, data: dict[str, Any]) -> None:
    """Say on the master's bus what is started."""
    jid = _orchestration_jid(ctx)
    if jid and ctx.master_side is not None:
        ctx.events.fire(tags.run_part(jid, "args"), data)


def _publish_job(
    ctx: MinionContext, tgt: object, fun: str, wanted: Mapping[str, object]
) -> dict[str, dict[str, Any]]:
    from saltlite.masterside.context import run_for

    asked = {key: value for key, value in wanted.items() if key != "ssh"}
    asked["failhard"] = bool(asked.get("failhard"))
    if isinstance(asked["ret"], (list, tuple)):
        asked["ret"] = ",".join(map(str, asked["ret"]))
    returns: dict[str, dict[str, Any]] = run_for(ctx, "local", fun, [], {"tgt": tgt, **asked})[
        "return"
    ]
    return returns


def _run_function(
    ctx: MinionContext, kind: str, name: str, arg: Sequence[object], kwarg: Mapping[str, object]
) -> Verdict:
    from saltlite.masterside.context import run_for

    ran = _read_outcome(run_for(ctx, kind, name, arg, kwarg))
    return Verdict(
        result=ran.is_good,
        comment=f"{kind.capitalize()} function '{name}' {'executed' if ran.is_good else 'failed'}.",
        changes={"return": ran.value},
        more={"__jid__": ran.jid},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOutcome:
    """What came of a runner or wheel function; ``wrong``: its arguments were."""

    value: Any
    success: Any
    wrong: Any = False
    jid: Any = None

    @property
    def is_good(self) -> bool:
        """Whether it ran, and did not say that it failed."""
        retcode = self.value.get("retcode") if isinstance(self.value, Mapping) else None
        return bool(self.success) and not self.wrong and not retcode


def _read_outcome(found: Mapping[str, Any]) -> FunctionOutcome:
    return read_fields(FunctionOutcome, {**found, "value": found["return"]})


def _all_at_once(
    ctx: MinionContext, wanted: Mapping[str, Mapping[str, object]], env: object
) -> Verdict:
    from concurrent.futures import ThreadPoolExecutor

    calls = {ident: _call_of(ctx, one, env) for ident, one in wanted.items()}
    for name, arg, kwarg in calls.values():
        _tell_start(ctx, {"type": "runner", "name": name, "args": arg, "kwargs": kwarg})
    with ThreadPoolExecutor(max_workers=max(1, len(calls))) as pool:
        found = dict(zip(calls, pool.map(partial(_run_apart, ctx), calls.values()), strict=True))
    failed = [ident for ident, one in found.items() if not one.is_good]
    comment = "All runner functions executed successfully."
    if failed:
        comment = f"Runner functions failed: {', '.join(failed)}."
    changes = {
        ident: {"return": one.value, **_given_values(jid=one.jid)} for ident, one in found.items()
    }
    return Verdict(result=not failed, comment=comment, changes={"ret": changes})


def _call_of(
    ctx: MinionContext, one: Mapping[str, Any], env: object
) -> tuple[str, list[Any], dict[str, Any]]:
    """Name and arguments of one of several runners."""
    name = str(one["name"])
    kwarg = {key: value for key, value in one.items() if key not in ("name", "arg", "kwarg")}
    kwarg |= one.get("kwarg") or {}
    if name in ORCHESTRATIONS:
        kwarg = {"saltenv": env or "base", "orchestration_jid": _orchestration_jid(ctx), **kwarg}
    return name, list(one.get("arg") or []), kwarg


def _run_apart(ctx: MinionContext, call: tuple[str, list[Any], dict[str, Any]]) -> FunctionOutcome:
    """What came of a runner in a process of its own; never raises for its faults."""
    from saltlite.masterside.context import run_apart

    try:
        return _read_outcome(run_apart(ctx, "runner", *call))
    except SaltliteError as error:
        return FunctionOutcome(value=str(error), success=False)


def _await_events(
    ctx: MinionContext, tag: str, ids: list[Any], event_id: str, timeout_s: float
) -> Verdict:
    if ctx.master_side is None:
        return Verdict(result=False, comment="Events can be waited for in orchestrations alone")
    began = time.monotonic()
    listener = ctx.master_side.listen(re.split(r"[*?\[]", tag, maxsplit=1)[0])
    missing, seen = list(ids), list[Any]()
    try:
        while (left_s := began + timeout_s - time.monotonic()) > 0:
            event = listener.get(left_s)
            if event is None or not fnmatch.fnmatchcase(event.tag, tag):
                continue
            who = _sender_of(event.data, event_id)
            if who in missing:
                missing.remove(who)
                seen.append(who)
            if seen and not missing:
                break
    finally:
        listener.close()
    changes = {"minions_seen": seen} if seen else {}
    if not seen or missing:
        return Verdict(result=False, comment="Timeout value reached.", changes=changes)
    took_s = time.monotonic() - began
    return Verdict(result=True, comment=f"All events seen in {took_s} seconds.", changes=changes)


def _sender_of(data: Mapping[str, object], event_id: str) -> Any:
    """Whose event it is: at the top of the data, or in what a minion sent with it."""
    inner = data.get("data")
    if event_id in data or not isinstance(inner, Mapping):
        return data.get(event_id)
    return inner.get(event_id)
