"""``state.*``: compile, show and run states; watch the minion's own event bus."""

from __future__ import annotations

import fnmatch
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.eventline import event_line
from saltlite.disk import write_file
from saltlite.errors import FunctionError, UsageError
from saltlite.highstate.apply import (
    COMPILE_ERROR,
    Wishes,
    apply,
    apply_some,
    compiled,
    no_states,
    refusal,
    retcode_of,
    synchronise,
    with_pillar,
)
from saltlite.highstate.apply import running as runs
from saltlite.highstate.compile import Compiled
from saltlite.highstate.low import low_tag
from saltlite.highstate.run import run_chunk

WAIT_S = 3600.0


OUTPUTTERS = dict.fromkeys(
    (
        *("apply", "test", "highstate", "sls", "sls_id", "single", "high", "top", "template"),
        *("template_str", "request", "run_request", "check_request"),
    ),
    "highstate",
)

_REQUESTS = "req_state.json"


def apply_(ctx: MinionContext, mods: Any = None, **kwargs: Any) -> Any:
    """Run the states of SLS files, or without a name those of the top file.

    CLI Example:

        salt '*' state.apply
        salt '*' state.apply core,edit.vim test=True pillar='{"foo": "bar"}'
    """
    return sls(ctx, mods, **kwargs) if mods else highstate(ctx, **kwargs)


def test(ctx: MinionContext, mods: Any = None, **kwargs: Any) -> Any:
    """Tell what ``state.apply`` would do.

    CLI Example:

        salt '*' state.test core
    """
    return apply_(ctx, mods, **{**kwargs, "test": True})


def sls(
    ctx: MinionContext,
    mods: Any,
    test: bool | None = None,
    exclude: Any = None,
    queue: Any = None,
    sync_mods: Any = None,
    state_events: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run the states of one or more SLS files.

    ``pillar`` lies on top of the pillar; ``exclude`` names SLS files or ids that are left out;
    ``queue`` waits for other runs; with ``state_events`` each state is told to the master.

    CLI Example:

        salt '*' state.sls core,edit.vim exclude="[{'id': 'id_to_exclude'}]"
    """
    kwargs |= {"test": test, "exclude": exclude, "queue": queue, "state_events": state_events}
    wishes = Wishes.of(ctx, kwargs)
    for kind in _words(sync_mods):
        ctx.functions.call(f"saltutil.sync_{kind}", saltenv=wishes.saltenv)
    return _applied(ctx, wishes, lambda: _of_sls(ctx, mods, wishes))


def highstate(
    ctx: MinionContext,
    test: bool | None = None,
    queue: Any = None,
    state_events: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run the states that the top file has for this minion.

    CLI Example:

        salt '*' state.highstate exclude=bar,baz
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue, "state_events": state_events})
    return _applied(ctx, wishes, lambda: _of_top(ctx, wishes), is_top=True)


def sls_id(
    ctx: MinionContext,
    id_: Any,
    mods: Any,
    test: bool | None = None,
    queue: Any = None,
    state_events: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run single ids of SLS files, and what they require.

    CLI Example:

        salt '*' state.sls_id my_state my_module,a_common_module
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue, "state_events": state_events})
    with with_pillar(ctx, wishes):
        refused = refusal(ctx, wishes)
        if refused is not None:
            return refused
        synchronise(ctx, wishes.saltenv)
        found = compiled(ctx, lambda: _of_sls(ctx, mods, wishes))
        answers = apply_some(ctx, found, wishes, _words(id_))
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
    queue: Any = None,
    **kwargs: Any,
) -> Any:
    """Run one state function.

    CLI Example:

        salt '*' state.single pkg.installed name=vim
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue})
    state, dot, function = str(fun).partition(".")
    if not dot:
        ctx.state["retcode"] = COMPILE_ERROR
        return "Invalid function passed"
    given = {
        key: value
        for key, value in kwargs.items()
        if not key.startswith("__") and key not in ("pillar", "concurrent", "state_events")
    }
    chunk = {"state": state, "fun": function, "name": name, "__id__": name, **given}
    chunk |= {"__sls__": None, "__env__": wishes.saltenv}
    with with_pillar(ctx, wishes):
        refused = refusal(ctx, wishes)
        if refused is not None:
            return refused
        answers = {low_tag(chunk): run_chunk(ctx, chunk, test=wishes.test)}
    ctx.state["retcode"] = retcode_of(answers)
    return answers


def low(ctx: MinionContext, data: dict[str, Any], queue: Any = None, **kwargs: Any) -> Any:
    """Run one low chunk.

    CLI Example:

        salt '*' state.low '{"state": "pkg", "fun": "installed", "name": "vi"}'
    """
    wishes = Wishes.of(ctx, {**kwargs, "queue": queue})
    refused = refusal(ctx, wishes)
    if refused is not None:
        return refused
    lacking = [f'Missing "{key}" data' for key in ("state", "fun", "name") if key not in data]
    if lacking:
        ctx.state["retcode"] = COMPILE_ERROR
        return lacking
    chunk = {"__id__": data.get("name"), "__sls__": None, "__env__": wishes.saltenv, **data}
    answer = run_chunk(ctx, chunk, test=wishes.test)
    ctx.state["retcode"] = retcode_of({"": answer})
    return answer


def high(
    ctx: MinionContext,
    data: dict[str, Any],
    test: bool | None = None,
    queue: Any = None,
    **kwargs: Any,
) -> Any:
    """Run high data.

    CLI Example:

        salt '*' state.high '{"vim": {"pkg": ["installed"]}}'
    """
    from saltlite.highstate.compile import compile_high

    wishes = Wishes.of(ctx, {**kwargs, "test": test, "queue": queue})
    return _applied(ctx, wishes, lambda: compile_high(ctx, data, exclude=wishes.exclude))


def template(ctx: MinionContext, tem: str, queue: Any = None, **kwargs: Any) -> Any:
    """Run the states of a file on the minion.

    CLI Example:

        salt '*' state.template '<Path to template on the minion>'
    """
    text = ctx.host.read_text(str(tem))
    if text is None:
        raise UsageError(f"{tem} cannot be read")
    return template_str(ctx, text, queue, **kwargs)


def template_str(ctx: MinionContext, tem: str, queue: Any = None, **kwargs: Any) -> Any:
    """Run the states of a text.

    CLI Example:

        salt '*' state.template_str '<Template String>'
    """
    from saltlite.highstate.compile import compile_high
    from saltlite.renderers.engine import Source, render

    wishes = Wishes.of(ctx, {**kwargs, "queue": queue})

    def make() -> Compiled:
        return compile_high(ctx, render(Source(text=str(tem), saltenv=wishes.saltenv), ctx))

    return _applied(ctx, wishes, make)


# --- what would be run ---------------------------------------------------------------------------


def show_sls(
    ctx: MinionContext, mods: Any, test: bool | None = None, queue: Any = None, **kwargs: Any
) -> Any:
    """The high data of SLS files.

    CLI Example:

        salt '*' state.show_sls core,edit.vim dev
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test})
    return _shown(
        ctx, wishes, lambda: _of_sls(ctx, mods, wishes).as_written(), lambda found: found.high
    )


def show_low_sls(
    ctx: MinionContext, mods: Any, test: bool | None = None, queue: Any = None, **kwargs: Any
) -> Any:
    """The low data of SLS files.

    CLI Example:

        salt '*' state.show_low_sls foo
    """
    wishes = Wishes.of(ctx, {**kwargs, "test": test})
    return _shown(
        ctx, wishes, lambda: _of_sls(ctx, mods, wishes).as_written(), lambda found: found.low
    )


def show_highstate(ctx: MinionContext, queue: Any = None, **kwargs: Any) -> Any:
    """The high data that the top file has for this minion.

    CLI Example:

        salt '*' state.show_highstate
    """
    wishes = Wishes.of(ctx, kwargs)
    return _shown(ctx, wishes, lambda: _of_top(ctx, wishes).as_written(), lambda found: found.high)


def show_lowstate(ctx: MinionContext, queue: Any = None, **kwargs: Any) -> Any:
    """The low data that the top file has for this minion.

    CLI Example:

        salt '*' state.show_lowstate
    """
    wishes = Wishes.of(ctx, kwargs)
    return _shown(ctx, wishes, lambda: _of_top(ctx, wishes), lambda found: found.low)


def show_top(ctx: MinionContext, queue: Any = None, **kwargs: Any) -> Any:
    """The SLS files that the top files have for this minion, by environment.

    CLI Example:

        salt '*' state.show_top
    """
    from saltlite.highstate.compile import top_of

    found = top_of(ctx, saltenv=kwargs.get("saltenv"))
    if found.errors:
        ctx.state["retcode"] = COMPILE_ERROR
        return list(found.errors)
    return found.sls


def show_states(ctx: MinionContext, queue: Any = None, **kwargs: Any) -> Any:
    """The names of all SLS files that a highstate would run, in order.

    CLI Example:

        salt '*' state.show_states
    """
    found = show_lowstate(ctx, **kwargs)
    if ctx.state.get("retcode"):
        return found
    return list(dict.fromkeys(chunk["__sls__"] for chunk in found))


def sls_exists(
    ctx: MinionContext, mods: Any, test: bool | None = None, queue: Any = None, **kwargs: Any
) -> bool:
    """Whether there is an SLS file of that name.

    CLI Example:

        salt '*' state.sls_exists core,edit.vim
    """
    found = show_sls(ctx, mods, test=test, **kwargs)
    ctx.state["retcode"] = 0
    return isinstance(found, dict)


def id_exists(
    ctx: MinionContext,
    ids: Any,
    mods: Any,
    test: bool | None = None,
    queue: Any = None,
    **kwargs: Any,
) -> bool:
    """Whether SLS files have states of all these ids.

    CLI Example:

        salt '*' state.id_exists create_myfile,update_template filestate
    """
    found = show_low_sls(ctx, mods, test=test, **kwargs)
    ctx.state["retcode"] = 0
    there = {str(chunk["__id__"]) for chunk in found if isinstance(chunk, dict)}
    return set(_words(ids)) <= there


def running(ctx: MinionContext, concurrent: bool = False) -> list[str]:
    """A sentence about each run of states that goes on now.

    CLI Example:

        salt '*' state.running
    """
    return [] if concurrent else runs(ctx)


# --- requests ------------------------------------------------------------------------------------


def request(ctx: MinionContext, mods: Any = None, **kwargs: Any) -> Any:
    """Ask an administrator to run states: a dry run is made and kept, nothing is applied.

    CLI Example:

        salt '*' state.request stuff
    """
    kwargs = {key: value for key, value in kwargs.items() if not key.startswith("__pub")}
    name = str(kwargs.pop("name", "default"))
    tried = apply_(ctx, mods, **{**kwargs, "test": True})
    entry = {"test_run": tried, "mods": mods, "kwargs": kwargs}
    _keep(ctx, {**_requests(ctx), name: entry})
    return tried


def check_request(ctx: MinionContext, name: str | None = None) -> Any:
    """What has been asked for with ``state.request``.

    CLI Example:

        salt '*' state.check_request
    """
    kept = _requests(ctx)
    return kept.get(name, {}) if name else kept


def clear_request(ctx: MinionContext, name: str | None = None) -> bool:
    """Forget what has been asked for: all, or one request.

    CLI Example:

        salt '*' state.clear_request
    """
    kept = _requests(ctx)
    if name and name not in kept:
        return False
    _keep(ctx, {key: entry for key, entry in kept.items() if name and key != name})
    return True


def run_request(ctx: MinionContext, name: str = "default", **kwargs: Any) -> Any:
    """Run what has been asked for, and forget it.

    CLI Example:

        salt '*' state.run_request
    """
    entry = _requests(ctx).get(name)
    if entry is None:
        return {}
    answers = apply_(ctx, entry["mods"], **entry["kwargs"])
    clear_request(ctx, name)
    return answers


def _requests(ctx: MinionContext) -> dict[str, Any]:
    text = ctx.host.read_text(str(Path(ctx.config.paths.cachedir, _REQUESTS)))
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _keep(ctx: MinionContext, requests: dict[str, Any]) -> None:
    path = Path(ctx.config.paths.cachedir, _REQUESTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(requests).encode(), mode=0o600)


# --- between these functions and the engine ------------------------------------------------------


def _of_sls(ctx: MinionContext, mods: Any, wishes: Wishes) -> Compiled:
    from saltlite.highstate.compile import compile_sls

    return compile_sls(ctx, mods, saltenv=wishes.saltenv, exclude=wishes.exclude)


def _of_top(ctx: MinionContext, wishes: Wishes) -> Compiled:
    from saltlite.highstate.compile import compile_highstate

    return compile_highstate(ctx, saltenv=wishes.only_env, exclude=wishes.exclude)


def _applied(
    ctx: MinionContext, wishes: Wishes, make: Callable[[], Compiled], *, is_top: bool = False
) -> Any:
    with with_pillar(ctx, wishes):
        refused = refusal(ctx, wishes)
        if refused is not None:
            return refused
        synchronise(ctx, wishes.saltenv)
        found = compiled(ctx, make)
        if is_top and not found.low and not found.errors:
            answers = no_states()
            ctx.state["retcode"] = retcode_of(answers)
            return answers
        return apply(ctx, found, wishes)


def _shown(
    ctx: MinionContext,
    wishes: Wishes,
    make: Callable[[], Compiled],
    part: Callable[[Compiled], Any],
) -> Any:
    with with_pillar(ctx, wishes):
        found = compiled(ctx, make)
    return list(found.errors) if found.errors else part(found)


def _words(given: Any) -> list[str]:
    """A list, or text with commas, as a list."""
    if given is None:
        return []
    parts = given.split(",") if isinstance(given, str) else given
    return [str(part).strip() for part in (parts if isinstance(parts, list) else [parts])]


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
