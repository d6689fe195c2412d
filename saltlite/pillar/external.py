"""``ext_pillar``: sources of pillar besides files, each a function of the minion's id and pillar.

Ours are in ``pillar/sources``; files of users (``extension_modules/pillar``, ``_pillar``) come
first, and have a function ``ext_pillar(minion_id, pillar, *args, **kwargs)`` as in Salt.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.loader.catalogue import PILLAR

if TYPE_CHECKING:
    from saltlite.loader.user import UserModules

log = logging.getLogger(__name__)

External = Callable[..., Mapping[str, Any]]
"""Called with the context, the pillar so far, and the option's arguments."""

Called = tuple[Callable[..., Any], tuple[Any, ...]]
"""A source's function, and the arguments that come before the option's."""

_USER = "pillar.user"


class ExternalFailed(SaltliteError):
    """A source gives nothing; its text says why."""


OPTIONS = "pillar.options"
"""In a context's state: a function that gives the ``__opts__`` of sources, a fresh dict."""

EXTRA: Final = "extra_minion_data"
"""The argument in which a source gets what a minion's ``pass_to_ext_pillars`` names."""


def options_of(ctx: MinionContext) -> dict[str, Any]:
    """The ``__opts__`` of sources: those of who compiles, with ``minion_id``; a fresh dict."""
    options: dict[str, Any] = ctx.state[OPTIONS]()
    return options


def ask(
    ctx: MinionContext,
    name: str,
    argument: object,
    pillar: Mapping[str, object],
    extra_minion_data: Mapping[str, object] | None = None,
) -> Mapping[str, Any] | None:
    """What a source says; ``None`` if there is no such source, which is logged.

    A map is given to it as keywords, a list as arguments, anything else as the one argument. Who
    has a parameter for it gets ``extra_minion_data`` too, unless there is none.

    Raises:
        ExternalFailed: it fails.
    """
    called = _of_user(ctx, name, pillar) or _load_built_in(ctx, name, pillar)
    if called is None:
        configured = any(name in one for one in ctx.config.pillar.ext_pillar if one)
        level = logging.CRITICAL if configured else logging.DEBUG  # any minion may name another
        log.log(level, "Specified ext_pillar interface %s is unavailable", name)
        return None
    try:
        found = _call_source(called, argument, extra_minion_data)
    except SaltliteError:
        raise
    except Exception as error:  # a callback of users: one source must not cost all the others
        log.exception("ext_pillar %s", name)
        raise ExternalFailed(str(error)) from error
    if found is not None and not isinstance(found, Mapping):
        raise ExternalFailed(f"it gives a {type(found).__name__}, not a dictionary")
    return found


def _call_source(
    called: Called, argument: object, extra_minion_data: Mapping[str, object] | None
) -> Any:
    function, first = called
    extra = {EXTRA: extra_minion_data} if extra_minion_data and _takes_extra(function) else {}
    if isinstance(argument, Mapping):
        return function(*first, **{str(key): argument[key] for key in argument}, **extra)
    if isinstance(argument, list):
        return function(*first, *argument, **extra)
    return function(*first, argument, **extra)


def _takes_extra(function: Callable[..., Any]) -> bool:
    """Whether it has a parameter of that name, and not for keywords alone, as Salt looks at it."""
    found = inspect.signature(function).parameters.get(EXTRA)
    return found is not None and found.kind is found.POSITIONAL_OR_KEYWORD


def _load_built_in(ctx: MinionContext, name: str, pillar: Mapping[str, object]) -> Called | None:
    module = PILLAR.load(name)
    if module is None:
        return None
    source: External = vars(module)["ext_pillar"]
    return source, (ctx, pillar)


def _of_user(ctx: MinionContext, name: str, pillar: Mapping[str, object]) -> Called | None:
    source = _user_modules(ctx).source(name)
    function = source.functions.get("ext_pillar") if source is not None else None
    return None if function is None else (function, (ctx.config.identity.id, dict(pillar)))


def _user_modules(ctx: MinionContext) -> UserModules:
    from saltlite.loader.surroundings import Surroundings

    found: UserModules | None = ctx.state.get(_USER)
    if found is None:
        around = Surroundings(ctx, partial(options_of, ctx))
        found = ctx.state[_USER] = around.modules("pillar")
    return found
