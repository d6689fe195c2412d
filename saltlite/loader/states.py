"""State functions by name. Only the module that is asked for is imported; users' files come first.

A built-in state module is a file of plain functions with Salt's signatures, or several (see
:mod:`saltlite.loader.builtin`). One that needs the machine takes ``ctx: MinionContext`` first. A
trailing underscore is dropped from names. A function named ``mod_watch`` is called when something
that is watched has changed; it also gets ``sfun``, the function that was declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import FunctionType
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionUnavailable
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import STATES

MOD_WATCH = "mod_watch"
_OWN = "saltlite.states.own"


@dataclass(frozen=True, slots=True)
class StateFunction:
    """A state function that is ready to be called.

    It gives what :mod:`saltlite.highstate.resource` calls declared; one of users (``is_users``)
    gives a finished return.
    """

    name: str
    call: Callable[..., Any]
    is_users: bool = False


def resolve(name: str, ctx: MinionContext) -> StateFunction:
    """The state function ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    module, _, function = name.partition(".")
    users = _of_user(module, ctx)
    if users is not None and function in users:
        return StateFunction(name, users[function], is_users=True)
    found = functions(module).get(function)
    if found is None:
        raise FunctionUnavailable(name)
    code = found.__code__
    takes_context = code.co_argcount > 0 and code.co_varnames[0] == "ctx"
    return StateFunction(name, partial(found, ctx) if takes_context else found)


@cache
def functions(module: str) -> Mapping[str, FunctionType]:
    """The functions of a built-in state module by Salt's names; none if there is no module."""
    loaded = STATES.load(module)
    return {} if loaded is None else functions_of(loaded)


def _of_user(module: str, ctx: MinionContext) -> Mapping[str, Callable[..., Any]] | None:
    modules: Any = ctx.state.get(_OWN)
    if modules is None:
        from saltlite.loader.surroundings import surroundings
        from saltlite.loader.user import UserModules

        modules = ctx.state.setdefault(_OWN, UserModules(ctx, "states", surroundings(ctx)))
    source = modules.source(module)
    return None if source is None else source.functions
