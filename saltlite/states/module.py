"""``module.*``: call execution functions, always, or when something watched has changed."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable, SaltliteError
from saltlite.highstate.resource import Action, Declared, Verdict

log = logging.getLogger(__name__)

MEANT = {"m_name": "name", "m_fun": "fun", "m_names": "names", "m_state": "state"}
MEANT |= {"m_saltenv": "saltenv"}
"""How arguments are written whose own names mean something to states."""

NO_MESSAGE = "(error message N/A)"


class _Resolver(Protocol):
    def resolve(self, name: str) -> Any:
        """The function of that name; raises FunctionUnavailable."""


def run(ctx: MinionContext, name: str | None = None, **kwargs: Any) -> Declared:
    """Call functions: ``- mod.fun: [arguments]``, or one by ``name`` with its arguments beside it.

    A function that gives ``False``, or a map that says it failed, fails the state.
    """
    functions = {key: value for key, value in kwargs.items() if "." in key}
    if functions:
        return _declare_several(ctx, functions)
    return _declare_one(ctx, str(name), kwargs)


def wait(name: str, **kwargs: Any) -> Declared:
    """Call a function only if something that is watched has changed; arguments as ``run``."""
    return Verdict(result=True, comment="")


watch = wait


def mod_watch(ctx: MinionContext, name: str, sfun: str, **kwargs: Any) -> Declared:
    """What a change in something watched sets off."""
    return run(ctx, name, **kwargs)


# --- the newer syntax ----------------------------------------------------------------------------


def _declare_several(ctx: MinionContext, functions: Mapping[str, object]) -> Declared:
    names = list(functions)
    missing = [name for name in names if _find_code(ctx, name) is None]
    there = [name for name in names if name not in missing]
    several = "True" if len(there) > 1 else ""
    would = f"Function{several} {', '.join(there)} to be executed."
    more = {"name": names}
    if missing:
        word = "functions" if len(missing) > 1 else "function"
        lost = f"Unavailable {word}: {', '.join(missing)}."

        def refuse(_: MinionContext) -> Verdict:
            return Verdict(result=False, comment=lost, more=more)

        def foresee(_: MinionContext) -> Verdict:
            comment = f"{lost} {would}" if there else lost
            return Verdict(result=False, comment=comment, more=more)

        return Action(would=would, run=refuse, foreseen=foresee)
    return Action(
        would=would,
        run=lambda ctx: _all_called(ctx, functions),
        foreseen=lambda _: Verdict(result=None, comment=would, more=more),
    )


def _all_called(ctx: MinionContext, functions: Mapping[str, object]) -> Verdict:
    failures: list[str] = []
    said: list[str] = []
    changes: dict[str, Any] = {}
    for name, given in functions.items():
        value, fault = _call_function(ctx, name, given)
        if fault is not None:
            failures.append(f"'{name}' failed: {fault}")
        elif not _is_success(value):
            failures.append(_say_failure(name, value))
        else:
            changes[name] = value
            plain = isinstance(value, (str, int, float))
            said.append(f"{name}: {value if plain else 'Success'}")
    return Verdict(
        result=not failures,
        comment=", ".join([*failures, *said]),
        changes=changes,
        more={"name": list(functions)},
    )


def _say_failure(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return f"'{name}' failed: {value.get('comment', NO_MESSAGE)}"
    return f"'{name}': {value}"


def _call_function(ctx: MinionContext, name: str, given: Any) -> tuple[Any, str | None]:
    """The value of one function and, if it could not be called or failed, why."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for item in given or ():
        if isinstance(item, Mapping):
            kwargs.update(item)
        else:
            args.append(item)
    code = _find_code(ctx, name)
    if code is None:
        return None, f"'{name}' is not available."
    needed = code.needed[len(args) :]
    missing = [argument for argument in needed if argument not in kwargs]
    if missing:
        return None, f"Missing arguments: {', '.join(missing)}"
    try:
        return ctx.functions.call(name, *args, **kwargs), None
    except Exception as error:
        log.debug("%s failed", name, exc_info=error)
        return None, str(error)


# --- the older syntax ----------------------------------------------------------------------------


def _declare_one(ctx: MinionContext, name: str, given: Mapping[str, object]) -> Declared:
    code = _find_code(ctx, name)
    if code is None:
        return Verdict(result=False, comment=f"Module function {name} is not available")
    return Action(
        would=f"Module function {name} is set to execute",
        run=lambda ctx: _one_called(ctx, name, code, given),
    )


def _one_called(ctx: MinionContext, name: str, code: _Code, given: Mapping[str, Any]) -> Verdict:
    beside = {MEANT.get(key, key): value for key, value in given.items() if key not in code.meant}
    kwargs = {key: value for key, value in beside.items() if key in code.taken}
    extra = given.get("kwargs")
    if isinstance(extra, Mapping):
        kwargs.update({str(key): value for key, value in extra.items()})
    if given.get("args") is not None and not isinstance(given["args"], (list, tuple)):
        return Verdict(result=False, comment="'args' must be a list.")
    before = list(itertools.takewhile(kwargs.__contains__, code.needed))
    args = [*(kwargs.pop(argument) for argument in before), *(given.get("args") or ())]
    missing = [argument for argument in code.needed[len(args) :] if argument not in kwargs]
    if missing:
        text = f"The following arguments are missing: {', '.join(missing)}"
        return Verdict(result=False, comment=text)
    try:
        value = ctx.functions.call(name, *args, **kwargs)
    except Exception as error:  # noqa: BLE001 - the result says it
        text = f"Module function {name} threw an exception. Exception: {error}"
        return Verdict(result=False, comment=text)
    _return_to(ctx, given.get("returner"), name, value)
    return Verdict(
        result=_is_success(value),
        comment=f"Module function {name} executed",
        changes={"ret": value},
    )


def _return_to(ctx: MinionContext, returner: object, name: str, value: object) -> None:
    """Also give the value to a returner, if one is named."""
    if not returner:
        return
    from saltlite.loader.returners import resolve

    ret = {"id": ctx.config.identity.id, "ret": value, "fun": name, "jid": ctx.jid}
    try:
        resolve(str(returner), ctx).call("returner", ret)
    except (SaltliteError, AttributeError) as error:
        log.error("returner %s: %s", returner, error)


# --- functions -----------------------------------------------------------------------------------


class _Code:
    """What a function takes: ``needed`` have no default, ``taken`` are all names."""

    def __init__(self, function: Callable[..., Any]) -> None:
        from saltlite.loader.registry import argspec

        spec = argspec(function)
        names = list(spec["args"] or [])
        self.taken = frozenset(names)
        self.needed: Sequence[str] = names[: len(names) - len(spec["defaults"] or ())]
        self.meant = frozenset({"args", "kwargs", "returner"} - self.taken)


def _find_code(ctx: MinionContext, name: str) -> _Code | None:
    try:
        return _Code(cast(_Resolver, ctx.functions).resolve(name).call)
    except FunctionUnavailable:
        return None


def _is_success(value: object) -> bool:
    """Whether a function's own value tells of success; a run of states has one for each."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        return True
    if "retcode" in value:
        return bool(value["retcode"] == 0)
    if "success" in value or "result" in value:
        return bool(value.get("result", True)) and bool(value.get("success", True))
    states = [each for each in value.values() if isinstance(each, Mapping) and "result" in each]
    return all(each["result"] is not False for each in states)
