"""Call one state function with what its declaration says, and bring back Salt's dictionary."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.disk import with_umask
from saltlite.errors import FunctionUnavailable, SaltliteError, UsageError
from saltlite.highstate.conditions import find_skip_reason, run_check_cmd
from saltlite.highstate.low import LOWSTATE
from saltlite.highstate.resource import Verdict, realise
from saltlite.highstate.slots import fill_slots
from saltlite.loader.catalogue import STATES
from saltlite.loader.registry import Function
from saltlite.loader.signature import keywords
from saltlite.loader.states import MOD_WATCH, StateFunction, functions, resolve

Chunk = Mapping[str, Any]

REQUISITES = frozenset(
    f"{kind}{form}"
    for kind in ("require", "watch", "prereq", "onchanges", "onfail", "listen", "use")
    for form in ("", "_in", "_any", "_all")
)
OWN = REQUISITES | {
    *("state", "fun", "order", "onlyif", "unless", "creates", "check_cmd", "failhard", "retry"),
    *("parallel", "reload_modules", "reload_grains", "reload_pillar", "fire_event", "aggregate"),
    *("runas", "runas_password", "umask", "timeout", "saltenv", "prerequired", "onfail_stop"),
    *("__id__", "__sls__", "__env__", "__prereq__", "__prerequired__", "__reqs__", "__agg__"),
    *("__orchestration_jid__", "names"),
}
"""What the engine itself looks at. A function gets it only if it declares it."""

CHECKS_ITSELF = frozenset({"file.managed"})
"""State functions that take ``check_cmd`` themselves."""

ENVIRONMENT_AS_GIVEN = frozenset({"salt"})
"""State modules whose functions are for elsewhere: the environment of the SLS is not theirs."""

_KEPT_BACK = OWN - {"aggregate", "timeout", "__agg__", "__reqs__"}
"""What custom code that takes any keyword is not given, as in Salt."""

_KEPT = frozenset({"__env__", "__id__", "__sls__"})
_FOR_COMMANDS = frozenset({"runas", "umask", "timeout", "saltenv"})
"""Passed on by those that call the function that was declared."""

Answer = dict[str, Any]


class Refused(SaltliteError):
    """A declaration that cannot be called; ``str()`` is Salt's comment."""


def call(ctx: MinionContext, chunk: Chunk, *, test: bool) -> Answer:
    """The return of a chunk's function, if its conditions let it run; without times and numbers.

    Raises:
        Refused: there is no such function, an argument is missing, or ``umask`` is none.
        UsageError: it does not take an argument that is given.
    """
    function = _find_state_function(ctx, chunk)
    arguments = _select_arguments(function, chunk)
    mask = _read_umask(chunk)
    try:
        met = find_skip_reason(ctx, chunk)
        if met is not None:
            return met.as_return(chunk["name"])
        arguments = fill_slots(ctx, arguments)
        with with_umask(mask):
            answer = _call_state(ctx, function, arguments, chunk, test=test)
        if "check_cmd" in chunk and f"{chunk['state']}.{chunk['fun']}" not in CHECKS_ITSELF:
            answer["result"], answer["comment"] = run_check_cmd(ctx, chunk)
        return answer
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error)).as_return(chunk["name"])
    except Exception as error:  # noqa: BLE001 - a state's fault is its result
        comment = f"An exception occurred in this state: {_format_trace(error)}"
        return Verdict(result=False, comment=comment).as_return(chunk["name"])


def load_function(ctx: MinionContext, chunk: Chunk) -> None:
    """Import the function of a chunk, so that processes that fork from here have it already."""
    with suppress(FunctionUnavailable):
        resolve(f"{chunk['state']}.{chunk['fun']}", ctx)


def _read_umask(chunk: Chunk) -> int | None:
    """The permissions that ``umask`` takes from what the state makes; digits are octal ones."""
    if "umask" not in chunk:
        return None
    try:
        return int(str(chunk["umask"]), 8)
    except ValueError:
        raise Refused(f"Invalid umask: {chunk['umask']}\n") from None


class StateFunctions:
    """State functions as custom code calls them, in ``__states__``: each gives a dictionary."""

    def __init__(self, ctx: MinionContext, is_test: Callable[[], bool]) -> None:
        self._ctx = ctx
        self._is_test = is_test

    def resolve(self, name: str) -> Function:
        """The state function ``module.function``; raises FunctionUnavailable."""
        found = resolve(name, self._ctx)
        if found.is_users:
            return Function(name, found.call, found.call.__doc__, None)
        code: Any = found.call
        while isinstance(code, partial):
            code = code.func

        def run(name: str, *args: Any, **kwargs: Any) -> Answer:
            declared = found.call(name, *args, **kwargs)
            made = realise(declared, self._ctx, test=self._is_test())
            return made.as_return(name) if isinstance(made, Verdict) else dict(made)

        return Function(name, run, code.__doc__, None)

    def names(self) -> list[str]:
        """All ``module.function`` names of states, sorted."""
        from saltlite.loader.dunders import surroundings

        own = {f"{module}.{name}" for module in STATES for name in functions(module)}
        return sorted(own | set(surroundings(self._ctx).modules("states").names()))


def watches(ctx: MinionContext, state: str) -> bool:
    """Whether a state module has its own answer to changes in what is watched."""
    if MOD_WATCH in functions(state):
        return True
    try:
        resolve(f"{state}.{MOD_WATCH}", ctx)
    except FunctionUnavailable:
        return False
    return True


def _call_state(
    ctx: MinionContext,
    function: StateFunction,
    arguments: Mapping[str, object],
    chunk: Chunk,
    *,
    test: bool,
) -> Answer:
    if function.is_users:
        _set_globals(ctx, function, chunk)
    with _test_surroundings(ctx, function, test=test):
        declared = function.call(**arguments)
        found = realise(declared, ctx, test=test)
    if isinstance(found, Verdict):
        return found.as_return(chunk["name"])  # ``more`` may have another name
    if not isinstance(found, Mapping):
        kind = f"{chunk['state']}.{chunk['fun']}"
        raise Refused(f"Malformed state return: {kind} gave no dictionary")
    return _normalize_answer(dict(found), chunk)


def _set_globals(ctx: MinionContext, function: StateFunction, chunk: Chunk) -> None:
    """Let a custom state's module know in its globals what is run, as Salt does."""
    known = getattr(function.call, "__wrapped__", function.call).__globals__
    known["__low__"] = dict(chunk)
    known["__env__"] = chunk.get("__env__") or "base"
    known["__lowstate__"] = ctx.state.get(LOWSTATE, [])
    known["__running__"] = ctx.state.get("running", {})


def _normalize_answer(answer: Answer, chunk: Chunk) -> Answer:
    """A custom state's return in the shape that all others have."""
    answer.setdefault("name", chunk["name"])
    if not isinstance(answer.get("changes"), Mapping):
        answer["changes"] = {}
    answer["comment"] = text_of(answer.get("comment", ""))
    warnings = answer.get("warnings")
    if isinstance(warnings, str):
        answer["warnings"] = [warnings]
    return answer


def text_of(comment: object) -> str:
    """A comment, which may be a list of lines, as text."""
    return "\n".join(map(str, comment)) if isinstance(comment, (list, tuple)) else str(comment)


def _test_surroundings(
    ctx: MinionContext, function: StateFunction, *, test: bool
) -> AbstractContextManager[None]:
    """Custom code, also such as a built-in state calls, sees in its options what kind of run it is.

    Not entered where no custom code can be meant, since it costs the making of all options.
    """
    if not function.is_users:
        return nullcontext()
    from saltlite.loader.dunders import surroundings

    return surroundings(ctx).with_opts(test=test)


def _find_state_function(ctx: MinionContext, chunk: Chunk) -> StateFunction:
    name = f"{chunk['state']}.{chunk['fun']}"
    try:
        return resolve(name, ctx)
    except FunctionUnavailable as error:
        where = f"State '{name}' was not found in SLS '{chunk.get('__sls__')}'"
        raise Refused(f"{where}\nReason: {error}\n") from None


def _select_arguments(function: StateFunction, chunk: Chunk) -> dict[str, Any]:
    """Those of the chunk that the function takes."""
    taken, any_other = keywords(function.call)
    given = {str(key): value for key, value in chunk.items()}
    missing = missing_of(function.call, given)
    if missing:
        name = f"{chunk['state']}.{chunk['fun']}"
        raise Refused("".join(f"Missing parameter {each} for state {name}\n" for each in missing))
    if "saltenv" in taken and chunk["state"] not in ENVIRONMENT_AS_GIVEN:
        given.setdefault("saltenv", chunk.get("__env__") or "base")
    if any_other and function.is_users:
        return {key: given[key] for key in given if key in taken or key not in _KEPT_BACK}
    stray = [key for key in given if key not in taken and not _is_engines_own(key)]
    if stray and not any_other:
        raise UsageError(_describe_stray_arguments(stray, f"{chunk['state']}.{chunk['fun']}"))
    kept = _KEPT if any_other else frozenset()
    if chunk["fun"] == MOD_WATCH:
        kept |= _FOR_COMMANDS
    return {
        key: value
        for key, value in given.items()
        if key in taken or key in kept or (any_other and not _is_engines_own(key))
    }


def _is_engines_own(key: str) -> bool:
    return key in OWN or key.startswith("__")


def _describe_stray_arguments(stray: list[str], name: str) -> str:
    """Salt's sentence about arguments that a function does not take."""
    quoted = ", ".join(f"'{key}'" for key in stray)
    if len(stray) == 1:
        return f"{quoted} is an invalid keyword argument for '{name}'"
    return f"{quoted} are invalid keyword arguments for '{name}'"


def missing_of(function: Callable[..., Any], given: Mapping[str, object]) -> list[str]:
    """The arguments without a default that are not given, by the function's code."""
    bound = 0
    while isinstance(function, partial):
        bound, function = bound + len(function.args), function.func
    plain: Any = vars(function).get("__wrapped__", function)
    code = plain.__code__
    named = code.co_varnames[bound : code.co_argcount - len(plain.__defaults__ or ())]
    return [name for name in named if name not in given]


def _format_trace(error: BaseException) -> str:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))
