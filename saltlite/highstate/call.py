"""Call one state function with what its declaration says; what it gives becomes a StateReturn."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.disk import with_umask
from saltlite.errors import FunctionUnavailable, SaltliteError, UsageError
from saltlite.highstate.chunk import ABSENT, LOWSTATE, Chunk, LowState
from saltlite.highstate.conditions import find_skip_reason, run_check_cmd
from saltlite.highstate.requisites import OWN
from saltlite.highstate.resource import Verdict, realise
from saltlite.highstate.slots import fill_slots
from saltlite.highstate.state_return import StateReturn
from saltlite.loader.catalogue import STATES
from saltlite.loader.function import Function
from saltlite.loader.signature import keywords, required
from saltlite.loader.states import MOD_WATCH, StateFunction, functions, resolve

CHECKS_ITSELF = frozenset({"file.managed"})
"""State functions that take ``check_cmd`` themselves."""

ENVIRONMENT_AS_GIVEN = frozenset({"salt"})
"""State modules whose functions are for elsewhere: the environment of the SLS is not theirs."""

_KEPT_BACK = OWN - {"aggregate", "timeout", "__agg__", "__reqs__"}
"""What custom code that takes any keyword is not given, as in Salt."""

_KEPT = frozenset({"__env__", "__id__", "__sls__"})
_FOR_COMMANDS = frozenset({"runas", "umask", "timeout", "saltenv"})
"""Passed on by those that call the function that was declared."""


RUNNING = "running"
"""Where ``ctx.state`` has the returns of what has run, by tag."""


class Refused(SaltliteError):
    """A declaration that cannot be called; ``str()`` is Salt's comment."""


def call(ctx: MinionContext, chunk: Chunk, *, test: bool) -> StateReturn:
    """The return of a chunk's function, if its conditions let it run; without times and numbers.

    Raises:
        Refused: there is no such function, an argument is missing, or ``umask`` is none.
        UsageError: it does not take an argument that is given.
    """
    function = _find_state_function(ctx, chunk)
    # Before the conditions: a wrong declaration is told even where it would not be run.
    arguments, stray = _select_arguments(ctx, function, chunk)
    mask = _read_umask(chunk)
    found = _call_if_met(ctx, function, arguments, chunk, mask, test=test)
    if stray:
        _warn_of_slips(ctx, function, stray, chunk, found)
    return found


def _call_if_met(
    ctx: MinionContext,
    function: StateFunction,
    arguments: Mapping[str, object],
    chunk: Chunk,
    mask: int | None,
    *,
    test: bool,
) -> StateReturn:
    try:
        met = find_skip_reason(ctx, chunk)
        if met is not None:
            return _from_verdict(met, chunk)
        if is_exported(function.call, chunk):
            return _export_state(ctx, chunk, arguments, test=test)
        # Slots call functions, so not before it is clear that the state runs.
        arguments = fill_slots(ctx, arguments)
        with with_umask(mask):
            found = _call_state(ctx, function, arguments, chunk, test=test)
        if chunk.options.check_cmd is not ABSENT and chunk.function not in CHECKS_ITSELF:
            # What the state itself says of its result is gone then, as in Salt.
            found.result, found.comment = run_check_cmd(ctx, chunk)
        return found
    except SaltliteError as error:
        return _from_verdict(Verdict(result=False, comment=str(error)), chunk)
    except Exception as error:  # noqa: BLE001 - a state's fault is its result
        comment = f"An exception occurred in this state: {_format_trace(error)}"
        return _from_verdict(Verdict(result=False, comment=comment), chunk)


def is_exported(function: Callable[..., Any], chunk: Chunk) -> bool:
    """Whether a declaration is for others; a function may have an argument of that name itself."""
    return bool(chunk.options.export) and "export" not in keywords(function)[0]


def _export_state(
    ctx: MinionContext, chunk: Chunk, arguments: Mapping[str, Any], *, test: bool
) -> StateReturn:
    from saltlite.highstate.exporting import export

    if chunk.fun == MOD_WATCH:
        return _from_verdict(Verdict(result=True, comment="It is exported"), chunk)
    own = {name: value for name, value in arguments.items() if name not in OWN}
    return _from_verdict(export(ctx, chunk, own, test=test), chunk)


def _from_verdict(verdict: Verdict, chunk: Chunk) -> StateReturn:
    return StateReturn(verdict.as_return(chunk.name))


def load_function(ctx: MinionContext, chunk: Chunk) -> None:
    """Import the function of a chunk, so that processes that fork from here have it already."""
    # The child says so, as the result of the state.
    with suppress(FunctionUnavailable):
        resolve(chunk.function, ctx)


def _read_umask(chunk: Chunk) -> int | None:
    """The permissions that ``umask`` takes from what the state makes; digits are octal ones."""
    mask = chunk.options.umask
    if mask is ABSENT:
        return None
    try:
        return int(str(mask), 8)
    except ValueError:
        raise Refused(f"Invalid umask: {mask}\n") from None


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
        # The context is bound to it; the documentation is that of the function below.
        while isinstance(code, partial):
            code = code.func

        def run(name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
            declared = found.call(name, *args, **kwargs)
            made = realise(declared, self._ctx, test=self._is_test())
            return made.as_return(name) if isinstance(made, Verdict) else dict(made)

        return Function(name, run, code.__doc__, None)

    def names(self) -> list[str]:
        """All ``module.function`` names of states, sorted."""
        from saltlite.loader.surroundings import surroundings

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
) -> StateReturn:
    if function.is_users:
        _set_globals(ctx, function, chunk)
    with _test_surroundings(ctx, function, test=test):
        declared = function.call(**arguments)
        found = realise(declared, ctx, test=test)
    if isinstance(found, Verdict):
        return _from_verdict(found, chunk)  # ``more`` may have another name
    if not isinstance(found, Mapping):
        raise Refused(f"Malformed state return: {chunk.function} gave no dictionary")
    return StateReturn.from_custom(found, chunk.name)


def _set_globals(ctx: MinionContext, function: StateFunction, chunk: Chunk) -> None:
    """Let a custom state's module know in its globals what is run, as Salt does."""
    # The loader's wrapper is of another module, whose globals the state does not see.
    known = getattr(function.call, "__wrapped__", function.call).__globals__
    lowstate: LowState | None = ctx.state.get(LOWSTATE)
    known |= {
        "__low__": chunk.to_low(),
        "__env__": chunk.saltenv or "base",
        "__lowstate__": lowstate.to_low() if lowstate is not None else [],
        "__running__": ctx.state.get(RUNNING, {}),
    }


def _test_surroundings(
    ctx: MinionContext, function: StateFunction, *, test: bool
) -> AbstractContextManager[None]:
    """Custom code, also such as a built-in state calls, sees in its options what kind of run it is.

    Not entered where no custom code can be meant, since it costs the making of all options.
    """
    if not function.is_users:
        return nullcontext()
    from saltlite.loader.surroundings import surroundings

    return surroundings(ctx).with_opts(test=test)


def _find_state_function(ctx: MinionContext, chunk: Chunk) -> StateFunction:
    try:
        return resolve(chunk.function, ctx)
    except FunctionUnavailable as error:
        from saltlite.highstate.slips import join_hint, locate, suggest_function

        where = f"State '{chunk.function}' was not found in SLS '{chunk.sls}'"
        told = join_hint(locate(ctx, chunk), suggest_function(ctx, chunk.function))
        raise Refused(f"{where}\nReason: {error}\n{_as_line(told)}") from None


def _select_arguments(
    ctx: MinionContext, function: StateFunction, chunk: Chunk
) -> tuple[dict[str, Any], list[str]]:
    """Those of the chunk that the function takes, and the names of those that are none of its own.

    Raises:
        Refused: one is missing.
        UsageError: there are such names, and it does not take any keyword.
    """
    taken, any_other = keywords(function.call)
    given = {str(key): value for key, value in chunk.to_low().items()}
    missing = missing_of(function.call, given)
    if missing:
        from saltlite.highstate.slips import locate

        lines = (f"Missing parameter {each} for state {chunk.function}\n" for each in missing)
        raise Refused(f"{''.join(lines)}{_as_line(locate(ctx, chunk))}")
    if "saltenv" in taken and chunk.state not in ENVIRONMENT_AS_GIVEN:
        # Files are looked for in the environment of the SLS, unless the state names another.
        given.setdefault("saltenv", chunk.saltenv or "base")
    stray = [key for key in given if key not in taken and not _is_engines_own(key)]
    if stray and not any_other:
        raise UsageError(_describe_stray_arguments(ctx, stray, taken, chunk))
    if any_other and function.is_users:
        kept = {key: given[key] for key in given if key in taken or key not in _KEPT_BACK}
        return kept, stray
    keep = _KEPT if any_other else frozenset()
    if chunk.fun == MOD_WATCH:
        # It calls the declared function in its turn, which is to run as it would have.
        keep |= _FOR_COMMANDS
    kept = {
        key: value
        for key, value in given.items()
        if key in taken or key in keep or (any_other and not _is_engines_own(key))
    }
    return kept, stray


def _warn_of_slips(
    ctx: MinionContext,
    function: StateFunction,
    stray: list[str],
    chunk: Chunk,
    found: StateReturn,
) -> None:
    """Tell of misspelt arguments of a function that takes any keyword, and so this one too."""
    # The function that was declared has told them; its answer to a change gets them once more.
    if chunk.fun == MOD_WATCH:
        return
    from saltlite.highstate.slips import describe_slips, find_slips

    taken, _ = keywords(function.call)
    slips = find_slips(stray, chunk, taken, OWN, is_custom=function.is_users)
    if slips:
        found.add_warnings(describe_slips(ctx, chunk, slips))


def _as_line(text: str) -> str:
    return f"{text}\n" if text else ""


def _is_engines_own(key: str) -> bool:
    return key in OWN or key.startswith("__")


def _describe_stray_arguments(
    ctx: MinionContext, stray: list[str], taken: frozenset[str], chunk: Chunk
) -> str:
    """Salt's sentence about arguments that a function does not take, and what was meant, where."""
    from saltlite.highstate.slips import join_hint, locate, suggest_nearest

    quoted = ", ".join(f"'{key}'" for key in stray)
    are = "is an invalid keyword argument" if len(stray) == 1 else "are invalid keyword arguments"
    told = join_hint(locate(ctx, chunk, stray[0]), suggest_nearest(stray[0], taken | OWN, 0.5))
    return f"{quoted} {are} for '{chunk.function}'{f' ({told})' if told else ''}"


def missing_of(function: Callable[..., Any], given: Mapping[str, object]) -> list[str]:
    """The arguments without a default that are not given."""
    return [name for name in required(function) if name not in given]


def _format_trace(error: BaseException) -> str:
    frames = error.__traceback__
    # The frames of this file say nothing about the fault of the state.
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))
