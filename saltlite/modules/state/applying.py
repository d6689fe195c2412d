"""Run states: of SLS files, of the top file, of data, or a single one."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable, UsageError
from saltlite.highstate import control
from saltlite.highstate.apply import (
    COMPILE_ERROR,
    NO_STATES,
    NO_TOP,
    STATE_FAILURE,
    Wishes,
    apply,
    apply_some,
    compile_states,
    find_secrets_of,
    need_pillar,
    no_states,
    prepare_context,
    refusal,
    retcode_of,
    synchronise,
)
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.compile import Compiled
from saltlite.highstate.masking import mask_answers, mask_data
from saltlite.highstate.run import run_chunk
from saltlite.highstate.sls import SUFFIX
from saltlite.loader.states import resolve
from saltlite.modules._state import Make, of_sls, of_top, words


def apply_(ctx: MinionContext, mods: object = None, **kwargs: Any) -> Any:
    """Run the states of SLS files, or without a name those of the top file.

    CLI Example:

        salt '*' state.apply
        salt '*' state.apply core,edit.vim test=True pillar='{"foo": "bar"}'
    """
    return sls(ctx, mods, **kwargs) if mods else highstate(ctx, **kwargs)


def test(ctx: MinionContext, mods: object = None, **kwargs: Any) -> Any:
    """Tell what ``state.apply`` would do.

    CLI Example:

        salt '*' state.test core
    """
    return apply_(ctx, mods, **{**kwargs, "test": True})


def audit(ctx: MinionContext, mods: object = None, **kwargs: Any) -> Any:
    """Tell what is not as it is declared, to the master too; nothing is done. For schedules.

    As ``state.test``; besides, an event ``salt/audit/<minion>/drift`` lists what would be changed.
    Its last word is ``failed`` if states could not be looked at, ``clean`` if there is nothing.
    ``salt-run drift`` finds it later.

    CLI Example:

        salt '*' state.audit
        salt '*' state.audit core
    """
    from saltlite.highstate.auditing import tell_audit

    answers = apply_(ctx, mods, **{**kwargs, "test": True})
    tell_audit(ctx, answers)
    return answers


def sls(
    ctx: MinionContext,
    mods: object,
    test: bool | None = None,
    exclude: object = None,
    queue: object = None,
    sync_mods: object = None,
    state_events: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run the states of one or more SLS files.

    ``pillar`` lies on top of the pillar; ``exclude`` names SLS files or ids that are left out;
    ``queue`` waits for other runs; with ``state_events`` each state is told to the master;
    ``localconfig`` is a file of options that lie over the minion's meanwhile; ``terse`` leaves what
    is clean out of the return; ``force`` runs them though the pillar has errors.

    CLI Example:

        salt '*' state.sls core,edit.vim exclude="[{'id': 'id_to_exclude'}]"
    """
    kwargs |= {"test": test, "exclude": exclude, "queue": queue, "state_events": state_events}
    wishes = Wishes.of(ctx, kwargs, tells=True)
    for kind in words(sync_mods):
        ctx.functions.call(f"saltutil.sync_{kind}", saltenv=wishes.saltenv)
    if no := control.list_refusals(ctx, words(mods)):
        ctx.retcode = COMPILE_ERROR
        return no
    answers = _apply_states(ctx, wishes, lambda own: of_sls(own, mods, wishes))
    return _build_return(ctx, answers, kwargs)


def highstate(
    ctx: MinionContext,
    test: bool | None = None,
    queue: object = None,
    state_events: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run the states that the top file has for this minion.

    CLI Example:

        salt '*' state.highstate exclude=bar,baz
    """
    if control.HIGHSTATE in control.list_disabled(ctx.grains):
        ctx.retcode = COMPILE_ERROR
        return dict(control.HIGHSTATE_DISABLED)
    kwargs |= {"test": test, "queue": queue, "state_events": state_events}
    wishes = Wishes.of(ctx, kwargs, tells=True)
    answers = _apply_states(ctx, wishes, lambda own: of_top(own, wishes), is_top=True)
    return _build_return(ctx, answers, kwargs)


def _build_return(ctx: MinionContext, answers: object, given: dict[str, Any]) -> Any:
    """All, or with ``terse=True`` only what changed or failed. A run of no state has failed."""
    if answers == {}:
        ctx.retcode = STATE_FAILURE
    if not isinstance(answers, dict) or not given.get("terse"):
        return answers
    return {
        tag: answer
        for tag, answer in answers.items()
        if answer.get("changes") or answer.get("result") is not True
    }


def sls_id(
    ctx: MinionContext,
    id_: object,
    mods: object,
    test: bool | None = None,
    queue: object = None,
    state_events: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run single ids of SLS files, and what they require.

    CLI Example:

        salt '*' state.sls_id my_state my_module,a_common_module
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue})
    with prepare_context(ctx, wishes) as own:
        refused = refusal(own, wishes)
        if refused is not None:
            return refused
        synchronise(own, wishes.saltenv)
        found = compile_states(own, lambda: of_sls(own, mods, wishes))
        answers = apply_some(own, found, wishes, words(id_))
    if not answers:
        raise UsageError(
            f"No matches for ID '{id_}' found in SLS '{mods}' within saltenv '{wishes.saltenv}'"
        )
    return answers


def single(
    ctx: MinionContext,
    fun: str,
    name: str,
    test: bool | None = None,
    queue: object = None,
    **kwargs: Any,
) -> Any:
    """Run one state function.

    CLI Example:

        salt '*' state.single pkg.installed name=vim
    """
    wishes = Wishes.of(
        ctx, {**kwargs, "test": test, "queue": queue, "localconfig": None, "force": True}
    )
    state, dot, function = str(fun).partition(".")
    if not dot:
        ctx.retcode = COMPILE_ERROR
        return "Invalid function passed"
    given = {
        key: value
        for key, value in kwargs.items()
        if not key.startswith("__") and key not in ("pillar", "concurrent", "state_events")
    }
    try:
        resolve(str(fun), ctx)
    except FunctionUnavailable:
        ctx.retcode = COMPILE_ERROR
        return [f"Specified state '{fun}' was not found"]
    low = {"state": state, "fun": function, "name": name, "__id__": name, **given}
    chunk = Chunk.from_low({**low, "__env__": kwargs.get("__env__") or wishes.saltenv})
    with prepare_context(ctx, wishes):
        refused = refusal(ctx, wishes)
        if refused is not None:
            return refused
        found = run_chunk(ctx, chunk, test=wishes.test)
        secrets = find_secrets_of(ctx)
    ctx.retcode = retcode_of([found])
    return mask_answers({chunk.tag: found.to_return()}, secrets)


def low(ctx: MinionContext, data: dict[str, Any], queue: object = None, **kwargs: Any) -> Any:
    """Run one low chunk.

    CLI Example:

        salt '*' state.low '{"state": "pkg", "fun": "installed", "name": "vi"}'
    """
    kwargs = {
        "test": ctx.config.files.test,
        **kwargs,
        "queue": queue,
        "localconfig": None,
        "force": True,
    }
    wishes = Wishes.of(ctx, kwargs)
    refused = refusal(ctx, wishes)
    if refused is not None:
        return refused
    lacking = [f'Missing "{key}" data' for key in ("state", "fun", "name") if key not in data]
    if lacking:
        ctx.retcode = COMPILE_ERROR
        return lacking
    chunk = Chunk.from_low({"__id__": data.get("name"), "__env__": wishes.saltenv, **data})
    found = run_chunk(ctx, chunk, test=wishes.test)
    ctx.retcode = retcode_of([found])
    return mask_data(found.to_return(), find_secrets_of(ctx))


def high(
    ctx: MinionContext,
    data: dict[str, Any],
    test: bool | None = None,
    queue: object = None,
    **kwargs: Any,
) -> Any:
    """Run high data.

    CLI Example:

        salt '*' state.high '{"vim": {"pkg": ["installed"]}}'
    """
    from saltlite.highstate.compile import compile_high

    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue, "force": True})
    return _apply_states(ctx, wishes, lambda own: compile_high(own, data, exclude=wishes.exclude))


def template(ctx: MinionContext, tem: str, queue: object = None, **kwargs: Any) -> Any:
    """Run the states of a file on the minion.

    CLI Example:

        salt '*' state.template '<Path to template on the minion>'
    """
    path = str(tem) if str(tem).endswith(SUFFIX) else f"{tem}{SUFFIX}"
    text = ctx.host.read_text(path)
    if text is None:
        ctx.retcode = COMPILE_ERROR
        return [f"Specified SLS {path} on local filesystem cannot be found."]
    return _of_text(ctx, text, queue, kwargs, path)


def template_str(ctx: MinionContext, tem: str, queue: object = None, **kwargs: Any) -> Any:
    """Run the states of a text.

    CLI Example:

        salt '*' state.template_str '<Template String>'
    """
    return _of_text(ctx, str(tem), queue, kwargs)


def _of_text(
    ctx: MinionContext, text: str, queue: object, given: dict[str, Any], path: str = ""
) -> Any:
    from saltlite.highstate.compile import compile_template
    from saltlite.templates.pipe import TemplateSource, render

    wishes = Wishes.of(ctx, {**given, "queue": queue, "force": True})
    pillar_counts = bool(path) and not given.get("force")

    def make(own: MinionContext) -> Compiled:
        if pillar_counts:
            need_pillar(own)
        data = render(TemplateSource(text=text, saltenv=wishes.saltenv), own)
        return compile_template(own, data, path)

    return _apply_states(ctx, wishes, make)


def top(
    ctx: MinionContext, topfn: str, test: bool | None = None, queue: object = None, **kwargs: Any
) -> Any:
    """Run the states that another top file has for this minion.

    CLI Example:

        salt '*' state.top reverse_top.sls
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue, "force": False})
    return _apply_states(ctx, wishes, lambda own: of_top(own, wishes, str(topfn)), is_top=True)


def _apply_states(ctx: MinionContext, wishes: Wishes, make: Make, *, is_top: bool = False) -> Any:
    with prepare_context(ctx, wishes) as own:
        refused = refusal(own, wishes)
        if refused is not None:
            return refused
        synchronise(own, wishes.saltenv)
        found = compile_states(own, lambda: make(own))
        if is_top and not found.errors and not (found.low or wishes.exclude):
            own.retcode = STATE_FAILURE
            return no_states(NO_STATES if found.wanted else NO_TOP)
        return apply(own, found, wishes)
