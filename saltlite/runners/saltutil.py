"""``saltutil.*``: copy custom code from the file roots to where the master loads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from saltlite.runners.context import RunnerContext

KINDS: Final = (
    "clouds", "modules", "states", "grains", "renderers", "returners", "output", "proxymodules",
    "runners", "wheel", "engines", "thorium", "queues", "pillar", "utils", "sdb", "cache",
    "fileserver", "tops", "tokens", "serializers", "executors", "roster",
)  # fmt: skip
"""What ``sync_all`` copies, in Salt's order. Source: observed on Salt 3006.30."""

DIRECTORIES: Final = {"proxymodules": "proxy"}
"""Kinds whose directories have other names."""

Sync = Callable[..., list[str]]


def sync_all(
    ctx: RunnerContext,
    saltenv: str = "base",
    extmod_whitelist: Any = None,
    extmod_blacklist: Any = None,
) -> dict[str, list[str]]:
    """Copy custom code of every kind; the names of what was copied, by kind.

    extmod_whitelist, extmod_blacklist
        Names that are wanted and not wanted: a list for all kinds, or a map from kinds to lists.

    CLI Example:

        salt-run saltutil.sync_all
        salt-run saltutil.sync_all extmod_whitelist={'runners': ['custom_runner'], 'grains': []}
    """
    return {kind: _synced(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist) for kind in KINDS}


def _syncer(function: str, kind: str) -> Sync:
    def sync(
        ctx: RunnerContext,
        saltenv: str = "base",
        extmod_whitelist: Any = None,
        extmod_blacklist: Any = None,
    ) -> list[str]:
        return _synced(ctx, kind, saltenv, extmod_whitelist, extmod_blacklist)

    sync.__name__ = function
    source = f"salt://_{DIRECTORIES.get(kind, kind)}"
    sync.__doc__ = f"""Copy custom code from ``{source}`` to the master.

    CLI Example:

        salt-run saltutil.{function}
    """
    return sync


sync_cache = _syncer("sync_cache", "cache")
sync_clouds = _syncer("sync_clouds", "clouds")
sync_eauth_tokens = _syncer("sync_eauth_tokens", "tokens")
sync_engines = _syncer("sync_engines", "engines")
sync_executors = _syncer("sync_executors", "executors")
sync_fileserver = _syncer("sync_fileserver", "fileserver")
sync_grains = _syncer("sync_grains", "grains")
sync_modules = _syncer("sync_modules", "modules")
sync_output = _syncer("sync_output", "output")
sync_pillar = _syncer("sync_pillar", "pillar")
sync_proxymodules = _syncer("sync_proxymodules", "proxymodules")
sync_queues = _syncer("sync_queues", "queues")
sync_renderers = _syncer("sync_renderers", "renderers")
sync_returners = _syncer("sync_returners", "returners")
sync_roster = _syncer("sync_roster", "roster")
sync_runners = _syncer("sync_runners", "runners")
sync_sdb = _syncer("sync_sdb", "sdb")
sync_serializers = _syncer("sync_serializers", "serializers")
sync_states = _syncer("sync_states", "states")
sync_thorium = _syncer("sync_thorium", "thorium")
sync_tops = _syncer("sync_tops", "tops")
sync_utils = _syncer("sync_utils", "utils")
sync_wheel = _syncer("sync_wheel", "wheel")


def _synced(
    ctx: RunnerContext, kind: str, saltenv: str, whitelist: Any, blacklist: Any
) -> list[str]:
    from saltlite.loader.sync import Choice, sync_master

    choice = Choice(only=_of_kind(whitelist, kind), never=_of_kind(blacklist, kind))
    return sync_master(ctx.config, DIRECTORIES.get(kind, kind), saltenv, choice).names


def _of_kind(names: Any, kind: str) -> Sequence[str]:
    if isinstance(names, Mapping):
        names = names.get(kind)
    if isinstance(names, str):
        return [one.strip() for one in names.split(",")]
    return [str(one) for one in names or ()]
