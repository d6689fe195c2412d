"""Peer publishing: minions that ask for jobs, where ``peer`` allows it.

Source: docs/wire.md#peers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.channel.master import OpenedRequest
from saltlite.core.ids import valid_function, valid_jid
from saltlite.core.messages import PublishLoad, as_text
from saltlite.core.plain import Plain
from saltlite.errors import PatternTooSlow, WireError
from saltlite.loader.arguments import KWARG, parse_arguments, split_args
from saltlite.master.commands import matching
from saltlite.master.commands.matching import rule_fits, without_patterns
from saltlite.master.commands.publish import ASKED_BY, send_job
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later
from saltlite.master.publishrights import Publisher, Refused, decide, list_granted_fields
from saltlite.master.run_requests import RunRequest


def minion_pub(ctx: MasterContext, request: OpenedRequest) -> dict[str, Plain]:
    """Publish for a minion; ``{"jid", "minions"}``, ``{}`` if it may not.

    With ``error`` nothing was published: real minions do not know that field, and get a job id and
    no minions, as they expect.
    """
    wanted = _read_publish(ctx, request)
    publisher = _publisher_of(ctx.config.access.peer, request.id)
    try:
        decision = decide(publisher, wanted, partial(matching.minions_asked_by, ctx, request.id))
    except PatternTooSlow as error:
        ctx.refusals.refuse("minion_pub", f"minion {request.id}: {error}")
        jid = ctx.shared.jids.next(ctx.now())
        return {"jid": jid, "minions": [], "error": f"Not published: {error}"}
    if isinstance(decision, Refused):
        ctx.refusals.refuse("minion_pub", f"minion {request.id}: {decision.reason}")
        return {}
    if not decision.minions:
        return {}
    reply = send_job(ctx, wanted, decision, asked_by=request.id)
    load = reply.get("load")
    if not isinstance(load, dict):
        return {}
    return {"jid": load["jid"], "minions": load["minions"]}


def is_slow(ctx: MasterContext, load: Mapping[str, object]) -> bool:
    """Whether finding the minions may take long."""
    return matching.asks_slowly(ctx, load)


def minion_publish(ctx: MasterContext, request: OpenedRequest) -> dict[str, Plain]:
    """The form in which the master would wait for the returns; nothing is published.

    Nobody can rely on it, since Salt's masters fail in it; minions use :func:`minion_pub` and
    :func:`pub_ret`.
    """
    ctx.refusals.refuse("minion_publish", f"minion {request.id}: minions use minion_pub")
    return {}


def minion_runner(ctx: MasterContext, request: OpenedRequest) -> dict[str, Plain] | Later:
    """Run a runner for a minion, where ``peer_run`` allows it; it is answered when that is done."""
    load = request.load
    fun = as_text(load.get("fun"), "fun")
    if not _is_permitted(ctx.config.access.peer_run, request.id, [fun]):
        ctx.refusals.refuse("minion_runner", f"minion {request.id}: {fun!r:.80}")
        return {}
    arg = load.get("arg")
    words = [] if arg is None else arg if isinstance(arg, list) else [arg]
    args, kwargs = _parse_words(words, load.get("no_parse"))
    later = Later()
    ctx.runs.start(
        RunRequest(
            kind="runner",
            fun=fun,
            jid=ctx.shared.jids.next(ctx.now()),
            user=request.id,
            arg=args,
            kwarg=kwargs,
            # Whole values only: patterns would tell a minion the pillar of others.
            ticket=later.ticket,
            minion=request.id,
            nonce=request.nonce,
            pillar_patterns=False,
        )
    )
    return later


def _parse_words(words: Sequence[Any], no_parse: object) -> tuple[list[Plain], dict[str, Plain]]:
    """A text ``name=value`` is a keyword, any other text what it stands for; as ``salt`` does."""
    kept = [one for one in no_parse if isinstance(one, str)] if isinstance(no_parse, list) else []
    return split_args(
        [parse_arguments([one], kept)[0] if isinstance(one, str) else one for one in words]
    )


def pub_ret(ctx: MasterContext, request: OpenedRequest) -> dict[str, Plain]:
    """The returns of a job that this minion asked for; ``{}`` of any other."""
    jid = request.load.get("jid")
    if not valid_jid(jid):
        raise WireError("jid is not a job id")
    job = ctx.jobs.job(str(jid))
    # The job of another is answered as one that is not there.
    if job is None or job.load.get(ASKED_BY) != request.id:
        return {}
    return {
        minion_id: {name: ret[name] for name in ("ret", "out") if name in ret}
        for minion_id, returned in ctx.jobs.returns(str(jid)).items()
        # Real minions look for ret, which is named return on record.
        for ret in ({**returned, "ret": returned.get("return")},)
    }


def _read_publish(ctx: MasterContext, request: OpenedRequest) -> PublishLoad:
    """The job asked for, as if a user had asked; a comma makes it several functions."""
    load = request.load
    fun = as_text(load.get("fun"), "fun")
    arg = load.get("arg", [])
    if not isinstance(arg, list):
        arg = [arg]
    functions: str | list[str] = fun
    if "," in fun:
        functions = fun.split(",")
        # As words of one text: of several functions each has its own.
        arg = [str(one).split() for one in arg]
    else:
        args, keywords = _parse_words(arg, load.get("no_parse"))
        arg = [*args, {**keywords, KWARG: True}] if keywords else args
    tgt_type = load.get("tgt_type", load.get("expr_form", "glob"))
    return PublishLoad.from_wire(
        {
            "tgt": load.get("tgt"),
            "fun": functions,
            "arg": arg,
            "tgt_type": without_patterns(ctx, load.get("tgt"), tgt_type),
            "ret": load.get("ret", ""),
            "user": request.id,
        }
    )


def _publisher_of(rules: Mapping[str, object], minion_id: str) -> Publisher:
    """What ``peer`` says of a minion; it restricts functions, and the fields beside them."""

    def allows(
        functions: Sequence[str], _arguments: Sequence[Sequence[object]], _minions: Sequence[str]
    ) -> bool:
        return _is_permitted(rules, minion_id, functions)

    return Publisher(
        f"minion {minion_id}",
        fields=list_granted_fields(_rules_of(rules, minion_id)),
        allows=allows,
    )


def _is_permitted(rules: Mapping[str, object], minion_id: str, functions: Sequence[str]) -> bool:
    """Whether the option names the whole id and each whole function; ``publish.*`` never is."""
    return all(
        valid_function(function)
        # Else a minion could publish through another one, with that one's rights.
        and not function.startswith("publish.")
        and _is_named(rules, minion_id, function)
        for function in functions
    )


def _is_named(rules: Mapping[str, object], minion_id: str, function: str) -> bool:
    listed = _rules_of(rules, minion_id)
    return any(rule_fits(one, function) for one in listed if isinstance(one, str))


def _rules_of(rules: Mapping[str, object], minion_id: str) -> list[Any]:
    """The entries of all the expressions that name the whole id."""
    found: list[Any] = []
    # All that fit count: the first one does not hide the others.
    for ids, allowed in rules.items():
        if rule_fits(str(ids), minion_id):
            found += allowed if isinstance(allowed, list) else [allowed]
    return found
