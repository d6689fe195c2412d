"""Fetch custom code from the master, or from the minion's own files."""

from __future__ import annotations

import logging
from typing import Any

from saltlite.context import MinionContext
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
    return _sync_kind(ctx, "modules", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_states(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom state modules from ``salt://_states``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "states", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_beacons(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom beacons from ``salt://_beacons``; see ``saltutil.sync_modules``."""
    found = _fetch_kind(ctx, "beacons", saltenv, extmod_whitelist, extmod_blacklist)
    if refresh:
        refresh_beacons(ctx)
    return found


def sync_clouds(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom cloud modules from ``salt://_clouds``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "clouds", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_executors(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom executors from ``salt://_executors``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "executors", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_log_handlers(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom log handlers from ``salt://_log_handlers``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "log_handlers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_output(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom outputters from ``salt://_output``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "output", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_renderers(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom renderers from ``salt://_renderers``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "renderers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_returners(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom returners from ``salt://_returners``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "returners", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_serializers(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom serializers from ``salt://_serializers``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "serializers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_tops(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom top systems from ``salt://_tops``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "tops", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_utils(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom utilities from ``salt://_utils``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "utils", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_wrapper(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom wrappers of salt-ssh from ``salt://_wrapper``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "wrapper", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_engines(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = False,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom engines from ``salt://_engines``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "engines", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_thorium(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = False,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom thorium modules from ``salt://_thorium``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "thorium", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_proxymodules(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = False,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom proxy modules from ``salt://_proxy``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "proxymodules", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_matchers(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = False,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom matchers from ``salt://_matchers``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "matchers", saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_outputters(
    ctx: MinionContext,
    saltenv: object = None,
    refresh: bool = True,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """The same as ``saltutil.sync_output``."""
    return sync_output(ctx, saltenv, refresh, extmod_whitelist, extmod_blacklist)


def sync_sdb(
    ctx: MinionContext,
    saltenv: object = None,
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom sdb modules from ``salt://_sdb``; see ``saltutil.sync_modules``."""
    return _sync_kind(ctx, "sdb", saltenv, False, extmod_whitelist, extmod_blacklist)


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


def _sync_kind(
    ctx: MinionContext, kind: str, saltenv: object, refresh: bool, only: object, never: object
) -> list[str]:
    found = _fetch_kind(ctx, kind, saltenv, only, never)
    if refresh:
        refresh_modules(ctx)
    return found


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
