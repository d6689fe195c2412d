"""Custom code of the master: copied from its own file roots to where its commands look for it."""

from __future__ import annotations

from collections.abc import Callable

from saltlite.core.factories import name_function
from saltlite.fileserver import sync
from saltlite.runner_context import RunnerContext

_KINDS = (
    "clouds",
    "modules",
    "states",
    "grains",
    "renderers",
    "returners",
    "output",
    "proxymodules",
    "runners",
    "wheel",
    "engines",
    "thorium",
    "queues",
    "pillar",
    "utils",
    "sdb",
    "cache",
    "fileserver",
    "tops",
    "tokens",
    "serializers",
    "executors",
    "roster",
)
"""The kinds that ``sync_all`` fetches, in its order."""

_DIRECTORIES = {"proxymodules": "proxy"}
"""Kinds whose directory has another name."""


def sync_all(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> dict[str, list[str]]:
    """Fetch custom code of every kind; the names of what is new or has changed.

    ``saltenv`` names one environment, or several with commas. The lists are maps from kinds to
    names of files: only these, or all but these.

    CLI Example:

        salt-run saltutil.sync_all
        salt-run saltutil.sync_all extmod_whitelist='{runners: [custom]}'
    """
    return {
        kind: _fetch_kind(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist) for kind in _KINDS
    }


def sync_eauth_tokens(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom stores of tokens from ``salt://_tokens``.

    CLI Example:

        salt-run saltutil.sync_eauth_tokens
    """
    return _fetch_kind(ctx, "tokens", saltenv, extmod_whitelist, extmod_blacklist)


def _make_sync(kind: str) -> Callable[..., list[str]]:
    """Make the function that fetches one kind."""

    def sync_kind(
        ctx: RunnerContext,
        saltenv: object = "base",
        extmod_whitelist: object = None,
        extmod_blacklist: object = None,
    ) -> list[str]:
        return _fetch_kind(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist)

    text = f"""Fetch custom code from ``salt://_{_DIRECTORIES.get(kind, kind)}``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_{kind}
    """
    return name_function(sync_kind, f"sync_{kind}", text)


sync_cache = _make_sync("cache")
sync_clouds = _make_sync("clouds")
sync_engines = _make_sync("engines")
sync_executors = _make_sync("executors")
sync_fileserver = _make_sync("fileserver")
sync_grains = _make_sync("grains")
sync_modules = _make_sync("modules")
sync_output = _make_sync("output")
sync_pillar = _make_sync("pillar")
sync_proxymodules = _make_sync("proxymodules")
sync_queues = _make_sync("queues")
sync_renderers = _make_sync("renderers")
sync_returners = _make_sync("returners")
sync_roster = _make_sync("roster")
sync_runners = _make_sync("runners")
sync_sdb = _make_sync("sdb")
sync_serializers = _make_sync("serializers")
sync_states = _make_sync("states")
sync_thorium = _make_sync("thorium")
sync_tops = _make_sync("tops")
sync_utils = _make_sync("utils")
sync_wheel = _make_sync("wheel")


def _fetch_kind(
    ctx: RunnerContext, kind: str, saltenv: object, only: object, never: object
) -> list[str]:
    choice = sync.Choice(sync.parse_names(only, kind), sync.parse_names(never, kind) or ())
    return sync.sync_master(ctx.config, _DIRECTORIES.get(kind, kind), saltenv, choice).names
