"""Custom code of the master: copied from its own file roots to where its commands look for it."""

from __future__ import annotations

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


def sync_cache(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_cache``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_cache
    """
    return _fetch_kind(ctx, "cache", saltenv, extmod_whitelist, extmod_blacklist)


def sync_clouds(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_clouds``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_clouds
    """
    return _fetch_kind(ctx, "clouds", saltenv, extmod_whitelist, extmod_blacklist)


def sync_engines(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_engines``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_engines
    """
    return _fetch_kind(ctx, "engines", saltenv, extmod_whitelist, extmod_blacklist)


def sync_executors(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_executors``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_executors
    """
    return _fetch_kind(ctx, "executors", saltenv, extmod_whitelist, extmod_blacklist)


def sync_fileserver(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_fileserver``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_fileserver
    """
    return _fetch_kind(ctx, "fileserver", saltenv, extmod_whitelist, extmod_blacklist)


def sync_grains(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_grains``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_grains
    """
    return _fetch_kind(ctx, "grains", saltenv, extmod_whitelist, extmod_blacklist)


def sync_modules(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_modules``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_modules
    """
    return _fetch_kind(ctx, "modules", saltenv, extmod_whitelist, extmod_blacklist)


def sync_output(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_output``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_output
    """
    return _fetch_kind(ctx, "output", saltenv, extmod_whitelist, extmod_blacklist)


def sync_pillar(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_pillar``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_pillar
    """
    return _fetch_kind(ctx, "pillar", saltenv, extmod_whitelist, extmod_blacklist)


def sync_proxymodules(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_proxy``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_proxymodules
    """
    return _fetch_kind(ctx, "proxymodules", saltenv, extmod_whitelist, extmod_blacklist)


def sync_queues(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_queues``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_queues
    """
    return _fetch_kind(ctx, "queues", saltenv, extmod_whitelist, extmod_blacklist)


def sync_renderers(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_renderers``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_renderers
    """
    return _fetch_kind(ctx, "renderers", saltenv, extmod_whitelist, extmod_blacklist)


def sync_returners(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_returners``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_returners
    """
    return _fetch_kind(ctx, "returners", saltenv, extmod_whitelist, extmod_blacklist)


def sync_roster(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_roster``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_roster
    """
    return _fetch_kind(ctx, "roster", saltenv, extmod_whitelist, extmod_blacklist)


def sync_runners(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_runners``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_runners
    """
    return _fetch_kind(ctx, "runners", saltenv, extmod_whitelist, extmod_blacklist)


def sync_sdb(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_sdb``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_sdb
    """
    return _fetch_kind(ctx, "sdb", saltenv, extmod_whitelist, extmod_blacklist)


def sync_serializers(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_serializers``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_serializers
    """
    return _fetch_kind(ctx, "serializers", saltenv, extmod_whitelist, extmod_blacklist)


def sync_states(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_states``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_states
    """
    return _fetch_kind(ctx, "states", saltenv, extmod_whitelist, extmod_blacklist)


def sync_thorium(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_thorium``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_thorium
    """
    return _fetch_kind(ctx, "thorium", saltenv, extmod_whitelist, extmod_blacklist)


def sync_tops(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_tops``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_tops
    """
    return _fetch_kind(ctx, "tops", saltenv, extmod_whitelist, extmod_blacklist)


def sync_utils(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_utils``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_utils
    """
    return _fetch_kind(ctx, "utils", saltenv, extmod_whitelist, extmod_blacklist)


def sync_wheel(
    ctx: RunnerContext,
    saltenv: object = "base",
    extmod_whitelist: object = None,
    extmod_blacklist: object = None,
) -> list[str]:
    """Fetch custom code from ``salt://_wheel``.

    The lists name files, with globs; commas separate several.

    CLI Example:

        salt-run saltutil.sync_wheel
    """
    return _fetch_kind(ctx, "wheel", saltenv, extmod_whitelist, extmod_blacklist)


def _fetch_kind(
    ctx: RunnerContext, kind: str, saltenv: object, only: object, never: object
) -> list[str]:
    choice = sync.Choice(sync.parse_names(only, kind), sync.parse_names(never, kind) or ())
    return sync.sync_master(ctx.config, _DIRECTORIES.get(kind, kind), saltenv, choice).names
