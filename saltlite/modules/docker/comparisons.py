"""docker: how containers, and how networks, differ."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.modules.docker.containers import look_at
from saltlite.modules.docker.networks import inspect_network
from saltlite.providers.docker import comparison, options


def compare_containers(
    ctx: MinionContext, first: str, second: str, ignore: object = None
) -> dict[str, Any]:
    """Return the differences of two containers, but for the keys of ``ignore``.

    CLI Example:

        salt '*' docker.compare_containers web old_web ignore=Hostname
    """
    pair = [look_at(ctx, name) for name in (first, second)]
    return comparison.compare_containers(pair[0], pair[1], _list_ignored(ignore))


def compare_container(
    ctx: MinionContext, first: str, second: str, ignore: object = None
) -> dict[str, Any]:
    """Return the differences of two containers: :py:func:`compare_containers`.

    CLI Example:

        salt '*' docker.compare_container web old_web
    """
    return compare_containers(ctx, first, second, ignore)


def compare_container_networks(ctx: MinionContext, first: str, second: str) -> dict[str, Any]:
    """Return how the networks of two containers differ.

    CLI Example:

        salt '*' docker.compare_container_networks web old_web
    """
    pair = [look_at(ctx, name) for name in (first, second)]
    return comparison.compare_endpoints(
        pair[0].networks, pair[1].networks, [each.short_id for each in pair]
    )


def compare_networks(
    ctx: MinionContext,
    first: str,
    second: str,
    ignore: object = "Name,Id,Created,Containers,Status",
) -> dict[str, Any]:
    """Return how two networks differ, but for the keys of ``ignore``.

    CLI Example:

        salt '*' docker.compare_networks front back
    """
    pair = [inspect_network(ctx, name) for name in (first, second)]
    return comparison.compare_networks(pair[0], pair[1], _list_ignored(ignore))


def _list_ignored(ignore: object) -> list[str]:
    return [str(key) for key in options.to_list(ignore or [])]
