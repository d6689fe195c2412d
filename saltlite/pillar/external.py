"""``ext_pillar``: sources of pillar besides files, each a function of the minion's id and pillar.

Built-in ones are in the table; files of users (``extension_modules/pillar``, ``_pillar``) come
first, and have a function ``ext_pillar(minion_id, pillar, *args, **kwargs)`` as in Salt.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError

log = logging.getLogger(__name__)

DRIVERS: Mapping[str, str] = {
    name: f"saltlite.pillar.{module}"
    for name, module in (
        ("cmd_json", "commands"),
        ("cmd_yaml", "commands"),
        ("cmd_yamlex", "commands"),
        ("file_tree", "file_tree"),
        ("git", "git"),
        ("http_json", "web"),
        ("http_yaml", "web"),
        ("nodegroups", "nodegroups"),
        ("postgres", "postgres"),
        ("redis", "redis"),
        ("sqlite3", "sqlite"),
        ("stack", "stack"),
    )
}
"""Salt's name of a driver, and the module whose ``SOURCES`` has it."""

External = Callable[..., Mapping[str, Any]]
"""Called with the context, the pillar so far, and the option's arguments."""


class ExternalFailed(SaltliteError):
    """A source gives nothing; its text says why."""


def ask(
    ctx: MinionContext, name: str, argument: Any, pillar: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """What a source says; ``None`` if there is no such source, which is logged.

    A map is given to it as keywords, a list as arguments, anything else as the one argument.

    Raises:
        ExternalFailed: it fails.
    """
    called = _of_user(ctx, name, pillar) or _built_in(ctx, name, pillar)
    if called is None:
        configured = any(name in one for one in ctx.config.pillar.ext_pillar if one)
        level = logging.CRITICAL if configured else logging.DEBUG  # any minion may name another
        log.log(level, "Specified ext_pillar interface %s is unavailable", name)
        return None
    try:
        found = _call(called, argument)
    except SaltliteError:
        raise
    except Exception as error:  # a callback of users: one source must not cost all the others
        log.exception("ext_pillar %s", name)
        raise ExternalFailed(str(error)) from error
    if found is not None and not isinstance(found, Mapping):
        raise ExternalFailed(f"it gives a {type(found).__name__}, not a dictionary")
    return found


def _call(called: Callable[..., Any], argument: Any) -> Any:
    if isinstance(argument, Mapping):
        return called(**{str(key): value for key, value in argument.items()})
    if isinstance(argument, list):
        return called(*argument)
    return called(argument)


def _built_in(
    ctx: MinionContext, name: str, pillar: Mapping[str, Any]
) -> Callable[..., Any] | None:
    module = DRIVERS.get(name)
    if module is None:
        return None
    source: External = importlib.import_module(module).SOURCES[name]

    def call(*args: Any, **kwargs: Any) -> Mapping[str, Any]:
        return source(ctx, pillar, *args, **kwargs)

    return call


def _of_user(ctx: MinionContext, name: str, pillar: Mapping[str, Any]) -> Callable[..., Any] | None:
    from saltlite.loader.user import UserModules

    modules: UserModules = ctx.state.setdefault("pillar.user", UserModules(ctx, "pillar"))
    source = modules.source(name)
    function = source.functions.get("ext_pillar") if source is not None else None
    if function is None:
        return None
    users: Callable[..., Any] = function

    def call(*args: Any, **kwargs: Any) -> Any:
        return users(ctx.config.identity.id, dict(pillar), *args, **kwargs)

    return call
