"""Run the functions of one job and say the outcome in Salt's words.

Called by the job processes of a minion (:mod:`saltlite.minion.process`) and by ``salt-call``. Here
alone a function's exception becomes the text, retcode and outputter that a master's user sees.
Knows nothing of processes, sockets or files.
"""

from __future__ import annotations

import logging
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime
from typing import Any, Protocol, cast

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.docstrings import clean_docstring
from saltlite.core.ids import valid_function
from saltlite.core.keywords import without_job
from saltlite.errors import (
    CommandError,
    FunctionError,
    FunctionUnavailable,
    RenderError,
    SaltliteError,
    UsageError,
)
from saltlite.loader.arguments import KWARG, parse_argument, split_args, split_keyword
from saltlite.loader.signature import keywords, misfit
from saltlite.minion.taken_job import TakenJob

log = logging.getLogger(__name__)

DEPTH_LIMIT = 90
"""How deep a return may nest; the wire takes 100 levels with the load around it."""


class Resolved(Protocol):
    """A function as the registry finds it."""

    @property
    def call(self) -> Callable[..., Any]:
        """The function, with its context bound."""

    @property
    def doc(self) -> str | None:
        """Its docstring."""

    @property
    def outputter(self) -> str | None:
        """The outputter it asks for, ``None`` for the default."""


class Resolver(Protocol):
    """The part of the registry that finds functions."""

    def get_offered(self, name: str) -> Resolved:
        """``mod.fun``, if jobs may call it; raises FunctionUnavailable."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one function came to. ``out`` is the outputter, ``None`` for the default."""

    value: Any
    retcode: int
    success: bool
    out: str | None = None


def run_job(job: TakenJob, ctx: MinionContext) -> dict[str, Any]:
    """Run a job and give back the fields of its ``_return``.

    ``{"return", "retcode", "success", "fun", "fun_args", "jid"}`` and, for a single function that
    has one, ``"out"``. Whatever the functions raise is in there; only KeyboardInterrupt passes.
    """
    fun, arg = job.fun, job.arguments
    fields: dict[str, Any] = {"fun": fun, "fun_args": arg, "jid": job.jid}
    if isinstance(fun, str):
        outcome = run_function(fun, arg, job, ctx)
        fields |= {
            "return": outcome.value,
            "retcode": outcome.retcode,
            "success": outcome.success,
        }
        return fields if outcome.out is None else fields | {"out": outcome.out}
    outcomes = [
        run_function(name, _arguments_of(arg, index), job, ctx)
        for index, name in enumerate(job.functions)
    ]
    return fields | _join_outcomes(job.functions, outcomes, ctx.config.returns.multifunc_ordered)


def build_failure_fields(job: TakenJob, text: str, retcode: int) -> dict[str, Any]:
    """The fields of a ``_return`` for a job that did not come to its own end."""
    fields: dict[str, Any] = {"fun": job.fun, "fun_args": job.arguments, "jid": job.jid}
    names = job.fun
    if isinstance(names, str):
        # An outputter is for one function; with several the default shows the map.
        end = {"out": "nested", "return": text, "retcode": retcode, "success": False}
        return fields | end
    return fields | {
        "return": dict.fromkeys(names, text),
        "retcode": dict.fromkeys(names, retcode),
        "success": dict.fromkeys(names, False),
    }


def run_function(name: str, arg: Sequence[object], job: TakenJob, ctx: MinionContext) -> Outcome:
    """Run one function of a job; its exceptions are in the outcome."""
    try:
        return call_function(name, arg, job, ctx)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the job runner: every end is a return
        return _explain_error(name, error, ctx)


def call_function(name: str, arg: Sequence[object], job: TakenJob, ctx: MinionContext) -> Outcome:
    """Run one function of a job and let its exceptions out, for callers with words of their own.

    Raises:
        InvocationError: a keyword argument is not one of the function's.
    """
    # Of several functions each begins without the failure of the one before.
    ctx.retcode = 0
    function = _resolve_function(name, ctx)
    ctx.times.note_found()
    args, kwargs = split_args([_as_keyword(item) for item in arg])
    call_kwargs = _kwargs_for(name, function.call, kwargs, job)
    value = as_plain(_call_through_executors(function.call, args, call_kwargs, job, ctx))
    return _finish_call(value, function.outputter, ctx)


_PLAIN = frozenset({type(None), bool, int, float, str, bytes})


def as_plain(value: Any, depth: int = 0) -> Any:
    """A function's value in the types that travel: sets, tuples and generators become lists.

    A generator that yields maps becomes one map, as in Salt. Times become their text.

    Raises:
        FunctionError: something in it cannot travel.
    """
    kind = type(value)  # a return may have a million values: the usual ones are seen at once
    if kind in _PLAIN or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if depth > DEPTH_LIMIT:
        raise FunctionError(f"the value returned nests deeper than {DEPTH_LIMIT} levels")
    depth += 1
    # Plain items are taken here and below without a call: a million calls cost more than the rest.
    if kind is dict or isinstance(value, Mapping):
        return {
            key if type(key) in _PLAIN else _plain_key(key): item
            if type(item) in _PLAIN
            else as_plain(item, depth)
            for key, item in value.items()
        }
    if kind is list:
        return [item if type(item) in _PLAIN else as_plain(item, depth) for item in value]
    if isinstance(value, (date, datetime)):
        return str(value)
    if isinstance(value, Iterator):
        return _drain_generator(value, depth - 1)
    if isinstance(value, (list, tuple, Set)):
        return [as_plain(item, depth) for item in value]
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise FunctionError(f"a value of type {type(value).__name__} cannot be returned")


def _plain_key(key: object) -> Any:
    return key if key is None or isinstance(key, (bool, int, float, str, bytes)) else str(key)


def _drain_generator(chunks: Iterator[object], depth: int) -> Any:
    values = [as_plain(chunk, depth + 1) for chunk in chunks]
    if values and all(isinstance(value, dict) for value in values):
        return {key: item for value in values for key, item in value.items()}
    return values


def _arguments_of(arg: list[Any], index: int) -> list[Any]:
    """The arguments of one function of several; a missing group counts as empty."""
    group = arg[index] if index < len(arg) else []
    return list(group) if isinstance(group, (list, tuple)) else [group]


def _join_outcomes(names: list[str], outcomes: list[Outcome], ordered: bool) -> dict[str, Any]:
    """The three answers of several functions. Source: docs/wire.md#_return."""
    if ordered:
        return {
            "return": [outcome.value for outcome in outcomes],
            "retcode": [outcome.retcode for outcome in outcomes],
            "success": [outcome.success for outcome in outcomes],
        }
    pairs = list(zip(names, outcomes, strict=True))
    return {
        "return": {name: outcome.value for name, outcome in pairs},
        "retcode": {name: outcome.retcode for name, outcome in pairs},
        "success": {name: outcome.success for name, outcome in pairs},
    }


def _as_keyword(item: object) -> Any:
    """A text ``name=value`` among the positional arguments is a keyword after all.

    Source: docs/wire.md#publications; observed on Salt 3006.30, which then complains of unknown
    names too.
    """
    if not isinstance(item, str):
        return item
    name, text = split_keyword(item)
    return item if name is None else {name: parse_argument(text), KWARG: True}


def _call_through_executors(
    call: Callable[..., Any],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    job: TakenJob,
    ctx: MinionContext,
) -> Any:
    """Call a function, through other executors if the job or the configuration asks for them."""
    if not job.module_executors and not ctx.config.extra.get("module_executors"):
        return call(*args, **kwargs)
    from saltlite.minion.executors import execute

    return execute(call, args, kwargs, job, ctx)


def _resolve_function(name: str, ctx: MinionContext) -> Resolved:
    if not valid_function(name):
        raise FunctionUnavailable(name)
    return cast(Resolver, ctx.functions).get_offered(name)


def _kwargs_for(
    name: str, call: Callable[..., Any], kwargs: dict[str, Any], job: TakenJob
) -> dict[str, Any]:
    """The keyword arguments as the function takes them: ``**kwargs`` also get ``__pub_*``.

    These are what the job says, and nothing that its caller named so: by ``__pub_id`` a function
    knows which minion asks.

    Raises:
        InvocationError: some are not taken. Source: observed on Salt 3006.30.
    """
    taken, any_other = keywords(call)
    if any_other:
        of_job = {f"__pub_{name}": value for name, value in job.fields.items()}
        return {**without_job(kwargs), **of_job}
    # Said here in Salt's words; of positional arguments Python speaks when it is called.
    stray = [f"{key}={value}" for key, value in kwargs.items() if key not in taken]
    if stray:
        raise InvocationError(f"The following keyword arguments are not valid: {', '.join(stray)}")
    return kwargs


class InvocationError(Exception):
    """The function was called wrongly; Salt's ``SaltInvocationError``."""


def _finish_call(value: object, outputter: str | None, ctx: MinionContext) -> Outcome:
    """A function that came to its end; its retcode is in the context, or in the map it returned."""
    # The map counts only where the function has set no retcode itself.
    retcode = _read_retcode(ctx.retcode)
    if retcode == 0 and isinstance(value, dict):
        retcode = 0 if value.get("result", True) and value.get("success", True) else 1
    return Outcome(value, retcode, retcode == 0, outputter)


def _read_retcode(retcode: object) -> int:
    """``__context__["retcode"]`` is anybody's to set; what is no number counts as failure."""
    if isinstance(retcode, int):
        # ``True`` would travel as a boolean, which a master refuses as a retcode.
        return int(retcode)
    return 0 if retcode is None else 1


def _explain_error(name: str, error: BaseException, ctx: MinionContext) -> Outcome:
    """Salt's words for what a function raised. Source: observed on Salt 3006.30."""
    retcode = error.retcode if isinstance(error, FunctionError) else 1
    return Outcome(_words_of_error(name, error, ctx), retcode, False, "nested")


def _words_of_error(name: str, error: BaseException, ctx: MinionContext) -> Any:
    # The particular first: UsageError is a SaltliteError and a TypeError, too. Only for this
    # name: where the function itself has called one that is missing, the fault is another.
    if isinstance(error, FunctionUnavailable) and error.name == name:
        return _describe_unavailable(name, error, ctx)
    if isinstance(error, (InvocationError, UsageError)):
        return f"ERROR executing '{name}': {error}"
    if isinstance(error, CommandError) and error.exit_code is None:
        return f"Command required for '{name}' not found: {error}"
    if isinstance(error, RenderError):
        return f"ERROR: {error.salt_text}"
    if isinstance(error, SaltliteError):
        return f"ERROR: {error}"
    # Also where one came from inside the function, as in Salt; the log has the traceback.
    if isinstance(error, TypeError):
        log.warning("Passed invalid arguments to %s: %s", name, error, exc_info=error)
        said = wrong_arguments(name, error, ctx)
        return f"Passed invalid arguments to {name}: {said}\n{_indent_doc(name, ctx)}"
    log.warning("The minion function caused an exception: %s", name, exc_info=error)
    return f"The minion function caused an exception: {_format_traceback(error)}"


def wrong_arguments(name: str, error: TypeError, ctx: MinionContext) -> str:
    """What Python says of arguments that do not fit, as who called the function counts them."""
    return misfit(error, _resolve_function(name, ctx).call)


def _describe_unavailable(name: str, error: FunctionUnavailable, ctx: MinionContext) -> Any:
    """Salt shows the documentation of what the name may be the beginning of."""
    begun = [other for other in ctx.functions.names() if name and other.startswith(name)]
    if not begun:
        return str(error)
    docs: dict[str, Any] = {other: ctx.functions.doc(other) for other in begun}
    return docs | {name: str(error)}


def _indent_doc(name: str, ctx: MinionContext) -> str:
    doc = clean_docstring(ctx.functions.doc(name) or "")
    return f"\n{textwrap.indent(doc, '    ')}\n    " if doc else ""


def _format_traceback(error: BaseException) -> str:
    """The traceback from the function on, without the frames of this module."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames))
