"""Returners by name: where returns go besides the master, and job stores of other kinds.

A returner is a module with some of the functions of docs/returners.md: ``returner(ret)``,
``save_load(jid, load, minions)``, ``get_load(jid)``, ``get_jid(jid)``, ``get_jids()``,
``get_fun(fun)``, ``get_minions()``, ``event_return(events)``, ``clean_old_jobs()`` and
``prep_jid(nocache, passed_jid)``. A user's own goes before ours.

One of ours may have ``make_server(ctx)`` instead: what that returns has all of these. It names the
package that it imports for its server in ``DRIVER``.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionUnavailable
from saltlite.loader import catalogue
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import RETURNERS

if TYPE_CHECKING:
    from saltlite.loader.dunders import Loads


@dataclass(frozen=True, slots=True)
class Returner:
    """A returner that is ready to be used: what it can do, by Salt's names.

    ``server`` is, of one that keeps its records on a server, what writes them later; else ``None``.
    """

    name: str
    functions: Mapping[str, Callable[..., Any]]
    server: Any = None

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


def resolve(name: str, ctx: Loads) -> Returner:
    """The returner of that name.

    Raises:
        FunctionUnavailable: there is none.
    """
    if _is_disabled(name, ctx):
        raise FunctionUnavailable(f"{name}.returner", f"the returner {name} is disabled")
    users = _of_users(name, ctx)
    if users:
        return Returner(name, users)
    loaded = RETURNERS.load(name)
    if loaded is None:
        raise FunctionUnavailable(f"{name}.returner")
    make_server = getattr(loaded, "make_server", None)
    if make_server is not None:
        server = make_server(ctx)
        return Returner(name, server.functions(), server)
    ours = functions_of(loaded)
    return Returner(name, {function: partial(found, ctx) for function, found in ours.items()})


def preload_drivers(names: Iterable[str]) -> None:
    """Import what returners of ours need to reach their servers, before a process forks often.

    A driver is a hundred milliseconds; whoever needs one that is not there will say so.
    """
    for name in names:
        driver = getattr(RETURNERS.load(name), "DRIVER", None)
        if driver is not None:
            with contextlib.suppress(ImportError):
                importlib.import_module(driver)


def _is_disabled(name: str, ctx: Loads) -> bool:
    """Whether a minion's option ``disable_returners`` names it; a master has no such option."""
    from saltlite.config.minion import MinionConfig

    config = ctx.config
    return isinstance(config, MinionConfig) and name in config.modules.disable_returners


def _of_users(name: str, ctx: Loads) -> Mapping[str, Callable[..., Any]]:
    """The functions of a user's returner; none if there is none of that name."""
    if not catalogue.has_custom_code(ctx.config, "returners"):
        return {}
    from saltlite.loader.surroundings import surroundings

    source = surroundings(ctx).modules("returners").source(name)
    return {} if source is None else source.functions
