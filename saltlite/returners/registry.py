"""Returners by name: where returns go besides the master, and job stores of other kinds.

A returner is a module with some of the functions of modules.md 2: ``returner(ret)``,
``save_load(jid, load, minions)``, ``get_load(jid)``, ``get_jid(jid)``, ``get_jids()``,
``get_fun(fun)``, ``get_minions()``, ``event_return(events)``, ``clean_old_jobs()`` and
``prep_jid(nocache, passed_jid)``. A user's own goes before ours.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from saltlite.errors import FunctionUnavailable
from saltlite.loader import places
from saltlite.loader.builtin import functions_of
from saltlite.returners.context import ReturnerContext

RETURNERS: Mapping[str, str] = MappingProxyType(
    {
        name: f"saltlite.returners.{name}"
        for name in (
            "local",
            "local_cache",
            "multi_returner",
            "rawfile_json",
            "sqlite3",
            "syslog",
        )
    }
)
"""Salt's name → module. A table, so that no name reaches an import."""


@dataclass(frozen=True, slots=True)
class Returner:
    """A returner that is ready to be used: what it can do, by Salt's names."""

    name: str
    functions: Mapping[str, Callable[..., Any]]

    def can(self, function: str) -> bool:
        """Whether it has this function."""
        return function in self.functions

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """Call one of its functions.

        Raises:
            FunctionUnavailable: it has none of that name.
        """
        found = self.functions.get(function)
        if found is None:
            raise FunctionUnavailable(f"{self.name}.{function}")
        return found(*args, **kwargs)


def resolve(name: str, ctx: ReturnerContext) -> Returner:
    """The returner of that name.

    Raises:
        FunctionUnavailable: there is none.
    """
    if _is_disabled(name, ctx):
        raise FunctionUnavailable(f"{name}.returner", f"the returner {name} is disabled")
    users = _of_users(name, ctx)
    if users:
        return Returner(name, users)
    if name not in RETURNERS:
        raise FunctionUnavailable(f"{name}.returner")
    ours = functions_of(importlib.import_module(RETURNERS[name]))
    return Returner(name, {function: partial(found, ctx) for function, found in ours.items()})


def _is_disabled(name: str, ctx: ReturnerContext) -> bool:
    """Whether a minion's option ``disable_returners`` names it; a master has no such option."""
    from saltlite.config.minion import MinionConfig

    config = ctx.config
    return isinstance(config, MinionConfig) and name in config.modules.disable_returners


def _of_users(name: str, ctx: ReturnerContext) -> Mapping[str, Callable[..., Any]]:
    """The functions of a user's returner; none if there is none of that name."""
    if places.is_empty(ctx.config, "returners"):
        return {}
    from saltlite.loader.dunders import surroundings

    source = surroundings(ctx).modules("returners").source(name)
    return {} if source is None else source.functions
