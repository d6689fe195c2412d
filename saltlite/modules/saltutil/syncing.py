"""Fetch custom code from the master, or from the minion's own files."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.factories import alias_function, name_function
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError
from saltlite.fileserver import sync
from saltlite.modules.saltutil.refreshing import refresh_beacons, refresh_modules, refresh_pillar

log = logging.getLogger(__name__)

_EXTENSIONS = (
    "clouds",
    "beacons",
    "modules",
    "states",
    "sdb",
    "grains",
    "renderers",
    "returners",
    "output",
    "utils",
    "log_handlers",
    "executors",
    "proxymodules",
    "engines",
    "thorium",
    "serializers",
    "matchers",
    "pillar",
)
"""The kinds that ``sync_all`` fetches, in its order."""

_DIRECTORIES = {"proxymodules": "proxy"}
"""Kinds whose directory has another name."""


def sync_all(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
    clean_pillar_cache: bool = False,
) -> dict[str, list[str]]:
    """Fetch custom code of every kind; the names of what is new or has changed.

    ``saltenv`` names the environments (default: the minion's own). The lists are maps here, from
    kinds to names of files: only these, or all but these.

    CLI Example:

        salt '*' saltutil.sync_all
        salt '*' saltutil.sync_all saltenv=base,dev
        salt '*' saltutil.sync_all extmod_whitelist='{modules: [custom]}'
    """
    log.debug("Syncing all")
    found = {
        kind: _fetch_kind(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist)
        for kind in _EXTENSIONS
        if kind != "pillar" or _is_masterless(ctx)
    }
    if refresh:
        refresh_modules(ctx)
        refresh_pillar(ctx, clean_cache=clean_pillar_cache)
    return found


def sync_modules(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom execution modules from ``salt://_modules``; see ``saltutil.sync_all``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt '*' saltutil.sync_modules
        salt '*' saltutil.sync_modules saltenv=dev
    """
    found = _fetch_kind(ctx, "modules", saltenv, extmod_whitelist, extmod_blacklist)
    if refresh:
        refresh_modules(ctx)
    return found


def _make_sync(
    kind: str,
    what: str,
    *,
    refresh: bool = True,
    renew: Callable[[MinionContext], object] = refresh_modules,
) -> Callable[..., list[str]]:
    """Make the function that fetches one kind; ``renew`` follows unless callers say otherwise."""
    wanted = refresh

    def sync_kind(
        ctx: MinionContext,
        saltenv: object = None,
        refresh: bool = wanted,
        extmod_whitelist: object = None,
        extmod_blacklist: object = None,
    ) -> list[str]:
        found = _fetch_kind(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist)
        if refresh:
            renew(ctx)
        return found

    directory = _DIRECTORIES.get(kind, kind)
    text = f"Fetch custom {what} from ``salt://_{directory}``; see ``saltutil.sync_modules``."
    return name_function(sync_kind, f"sync_{kind}", text)


sync_states = _make_sync("states", "state modules")
sync_beacons = _make_sync("beacons", "beacons", renew=refresh_beacons)
sync_clouds = _make_sync("clouds", "cloud modules")
sync_executors = _make_sync("executors", "executors")
sync_log_handlers = _make_sync("log_handlers", "log handlers")
sync_output = _make_sync("output", "outputters")
sync_renderers = _make_sync("renderers", "renderers")
sync_returners = _make_sync("returners", "returners")
sync_serializers = _make_sync("serializers", "serializers")
sync_tops = _make_sync("tops", "top systems")
sync_utils = _make_sync("utils", "utilities")
sync_wrapper = _make_sync("wrapper", "wrappers of salt-ssh")
sync_engines = _make_sync("engines", "engines", refresh=False)
sync_thorium = _make_sync("thorium", "thorium modules", refresh=False)
sync_proxymodules = _make_sync("proxymodules", "proxy modules", refresh=False)
sync_matchers = _make_sync("matchers", "matchers", refresh=False)


sync_outputters = alias_function(sync_output, "sync_outputters", "saltutil.sync_output")


def sync_sdb(
    ctx: MinionContext,
    saltenv: object = None,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom sdb modules from ``salt://_sdb``; see ``saltutil.sync_modules``."""
    return _fetch_kind(ctx, "sdb", saltenv, extmod_whitelist, extmod_blacklist)


def sync_grains(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
    clean_pillar_cache: bool = False,
) -> list[str]:
    """Fetch custom grains from ``salt://_grains``, and collect grains and pillar anew.

    See ``saltutil.sync_modules``.

    CLI Example:

        salt '*' saltutil.sync_grains
    """
    found = _fetch_kind(ctx, "grains", saltenv, extmod_whitelist, extmod_blacklist)
    if refresh:
        if ctx.refresh_grains is not None:
            ctx.grains = ctx.refresh_grains()
        refresh_modules(ctx)
        refresh_pillar(ctx, clean_cache=clean_pillar_cache)
    return found


def sync_pillar(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
    clean_pillar_cache: bool = False,
) -> list[str]:
    """Fetch custom sources of pillar from ``salt://_pillar``, where there is no master.

    See ``saltutil.sync_modules``.
    """
    if not _is_masterless(ctx):
        raise FunctionError("Pillar modules can only be synced to masterless minions")
    found = _fetch_kind(ctx, "pillar", saltenv, extmod_whitelist, extmod_blacklist)
    if refresh:
        refresh_modules(ctx)
        refresh_pillar(ctx, clean_cache=clean_pillar_cache)
    return found


def list_extmods(ctx: MinionContext) -> dict[str, list[str]]:
    """The custom code that was fetched: names of files by kind.

    CLI Example:

        salt '*' saltutil.list_extmods
    """
    return sync.list_synced(ctx.config)


def mmodule(ctx: MinionContext, saltenv: str, fun: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function of this minion; the environment's modules are those that were fetched.

    CLI Example:

        salt '*' saltutil.mmodule base test.ping
    """
    return ctx.functions.call(fun, *args, **own_keywords(kwargs))


def _fetch_kind(
    ctx: MinionContext, kind: str, saltenv: object, only: object, never: object
) -> list[str]:
    extra = ctx.config.extra
    choice = sync.Choice(
        sync.parse_names(only if only is not None else extra.get("extmod_whitelist"), kind),
        sync.parse_names(never if never is not None else extra.get("extmod_blacklist"), kind) or (),
    )
    return sync.sync(ctx, _DIRECTORIES.get(kind, kind), saltenv, choice)


def _is_masterless(ctx: MinionContext) -> bool:
    return ctx.master is None or ctx.config.files.file_client == "local"
