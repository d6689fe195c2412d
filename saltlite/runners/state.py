"""``state.*``: orchestration, and the master's event bus.

Source: tests/cases/data/cli_samples.yaml, docs/cli.md#salt-run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltlite.core.eventline import watch
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError, UsageError
from saltlite.runner_context import RunnerContext

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.highstate.apply import Wishes
    from saltlite.highstate.chunk import Chunk
    from saltlite.highstate.compile import Compiled

NO_ENCRYPTION = "pillar_enc is not supported: give the pillar as a map"


def orchestrate(
    ctx: RunnerContext,
    mods: Any,
    saltenv: str = "base",
    test: bool | None = None,
    exclude: Any = None,
    pillar: object = None,
    pillarenv: str | None = None,
    pillar_enc: str | None = None,
    orchestration_jid: str | None = None,
) -> dict[str, Any]:
    """Run the states of SLS files on the master, which in turn have minions do something.

    ``orch`` and ``sls`` are other names of it.

    mods
        Names of SLS files, with commas or as a list.

    pillar
        A map that lies over the pillar of the master's id, ``<host>_master``.

    test : False
        States that minions run are only tried; nothing else is done.

    CLI Example:

        salt-run state.orchestrate webserver
        salt-run state.orchestrate webserver saltenv=dev pillarenv=aws test=True
    """
    from saltlite.masterside import orchestration

    if pillar_enc:
        raise UsageError(NO_ENCRYPTION)
    master = orchestration.master_context(
        ctx, pillar=pillar, pillarenv=pillarenv, orchestration_jid=orchestration_jid
    )

    def make(found: MinionContext, wishes: Wishes) -> Compiled:
        from saltlite.highstate.compile import compile_sls

        return compile_sls(found, mods, saltenv=wishes.saltenv, exclude=wishes.exclude)

    given = {"saltenv": saltenv, "test": test, "exclude": exclude}
    return orchestration.as_return(master, orchestration.ran(master, make, given))


orch = orchestrate
sls = orchestrate


def orchestrate_single(
    ctx: RunnerContext,
    fun: str,
    name: str,
    test: bool | None = None,
    queue: object = False,
    pillar: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run one state function on the master; the returns by the master's id.

    CLI Example:

        salt-run state.orchestrate_single fun=salt.wheel name=key.list_all
    """
    del queue
    return _call_and_report(ctx, pillar, "state.single", fun, name, test=test, **kwargs)


def orchestrate_high(
    ctx: RunnerContext,
    data: object,
    test: bool | None = None,
    queue: object = False,
    pillar: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run high data on the master; the returns by the master's id.

    CLI Example:

        salt-run state.orchestrate_high '{a: {salt.state: [{tgt: "*"}, {sls: vim}]}}'
    """
    from saltlite.masterside import orchestration

    del queue
    high = orchestration.as_high(data)
    return _call_and_report(ctx, pillar, "state.high", high, test=test, **kwargs)


def orchestrate_show_sls(
    ctx: RunnerContext,
    mods: object,
    saltenv: str = "base",
    test: bool | None = None,
    queue: object = False,
    pillar: object = None,
    pillarenv: str | None = None,
    pillar_enc: str | None = None,
) -> dict[str, Any]:
    """Return the high data of SLS files as the master renders them; nothing is run.

    ``orch_show_sls`` is another name of it.

    CLI Example:

        salt-run state.orchestrate_show_sls webserver pillar='{"hosts": 3}'
    """
    from saltlite.masterside import orchestration

    del queue
    if pillar_enc:
        raise UsageError(NO_ENCRYPTION)
    master = orchestration.master_context(ctx, pillar=pillar, pillarenv=pillarenv)
    found = master.functions.call("state.show_sls", mods, test=test, saltenv=saltenv)
    return {master.config.identity.id: found}


orch_show_sls = orchestrate_show_sls


def diff(
    ctx: RunnerContext,
    one: str,
    other: str,
    mods: Any = None,
    saltenv: str | None = None,
    timeout: float | None = None,
) -> dict[str, Any]:
    """How what two minions would get differs; nothing is run.

    Both are asked for their low data: of ``mods``, or without it of the top file. ``added`` are
    the states that only the second has, ``removed`` those that only the first has, ``changed`` and
    ``moved`` are of those that both have. ``timeout`` is in seconds.

    CLI Example:

        salt-run state.diff web1 web2
        salt-run state.diff web1 web2 mods=nginx saltenv=dev --out=json
    """
    from saltlite.highstate.differing import compare, declarations_of

    minions = [str(one), str(other)]
    for minion in minions:
        if minion not in ctx.expected([minion], "list"):
            raise FunctionError(f"minion: {minion!r} has no accepted key")
    fun, arg = ("state.show_low_sls", [mods]) if mods else ("state.show_lowstate", [])
    kwarg = {"saltenv": saltenv} if saltenv else None
    answers = ctx.local.cmd(minions, fun, arg, tgt_type="list", kwarg=kwarg, timeout=timeout)
    sides = [declarations_of(_read_low(minion, answers, fun)) for minion in minions]
    return compare(*sides).as_answer(*sides)


def _read_low(minion: str, answers: Mapping[str, Any], fun: str) -> list[Chunk]:
    """The chunks of a minion's answer.

    Raises:
        FunctionError: it has not answered, or with what does not compile.
    """
    from saltlite.highstate.chunk import Chunk

    if minion not in answers:
        raise FunctionError(f"{minion} did not return; is it up? (salt-run manage.status)")
    answer = answers[minion]
    if isinstance(answer, list) and all(_is_low(each) for each in answer):
        return [Chunk.from_low(each) for each in answer]
    lines = answer if isinstance(answer, list) else [answer]
    raise FunctionError("\n".join([f"{minion}: {fun} failed:", *(f"  {line}" for line in lines)]))


def _is_low(value: object) -> bool:
    needed = ("state", "fun", "name", "__id__")
    return isinstance(value, Mapping) and all(key in value for key in needed)


def pause(
    ctx: RunnerContext, jid: str, state_id: str | None = None, duration: float | None = None
) -> None:
    """Let an orchestration wait before a state, or before the next one.

    ``duration`` is in seconds; without it until it is resumed. ``set_pause`` is another name.

    CLI Example:

        salt-run state.pause 20171130110407769519
        salt-run state.pause 20171130110407769519 vim 10
    """
    _on_master(ctx, "pause", jid, state_id, duration)


set_pause = pause


def resume(ctx: RunnerContext, jid: str, state_id: str | None = None) -> None:
    """Let an orchestration go on that waits; ``rm_pause`` is another name of it.

    CLI Example:

        salt-run state.resume 20171130110407769519
    """
    _on_master(ctx, "resume", jid, state_id)


rm_pause = resume


def soft_kill(ctx: RunnerContext, jid: str, state_id: str | None = None) -> None:
    """Let an orchestration end before a state, or before the next one.

    CLI Example:

        salt-run state.soft_kill 20171130110407769519
    """
    _on_master(ctx, "soft_kill", jid, state_id)


def _on_master(ctx: RunnerContext, fun: str, *args: Any) -> None:
    from saltlite.masterside.context import execution_context

    execution_context(ctx).functions.call(f"state.{fun}", *args)


def _call_and_report(
    ctx: RunnerContext, pillar: object, fun: str, /, *args: Any, **kwargs: Any
) -> dict[str, Any]:
    """Call a function on the master; its value by the master's id, told on the bus as well."""
    from saltlite.masterside import orchestration

    master = orchestration.master_context(ctx, pillar=pillar)
    own = own_keywords(kwargs)
    data = {master.config.identity.id: master.functions.call(fun, *args, **own)}
    orchestration.tell(ctx, data)
    return data


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
    watch(ctx.listen, None if quiet else ctx.write, str(tagmatch), int(count), pretty=pretty)
