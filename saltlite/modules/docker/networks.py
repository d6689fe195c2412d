"""docker: networks, volumes, and the engine itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.numbers import is_digits
from saltlite.modules import config
from saltlite.providers.docker import options
from saltlite.providers.docker.engine import SOCKET, TIMEOUT_S, Engine, segment

INTERNAL = ("connect", "engine")
"""Functions for other files; nobody calls them by name."""


def engine(ctx: MinionContext, timeout_s: float = TIMEOUT_S) -> Engine:
    """Return the engine that is meant."""
    address = config.get(ctx, "docker.url") or os.environ.get("DOCKER_HOST") or SOCKET
    return Engine(str(address), timeout_s)


def version(ctx: MinionContext) -> dict[str, Any]:
    """Return the versions of the engine and its API.

    CLI Example:

        salt '*' docker.version
    """
    found: dict[str, Any] = engine(ctx).get("/version")
    for name in ("Version", "ApiVersion"):
        parts = str(found.get(name, "")).split(".")
        found[f"{name}Info"] = [int(part) if is_digits(part) else part for part in parts]
    return found


def info(ctx: MinionContext) -> dict[str, Any]:
    """Return what the engine tells about itself and its machine.

    CLI Example:

        salt '*' docker.info
    """
    found: dict[str, Any] = engine(ctx).get("/info")
    return found


def networks(ctx: MinionContext, names: object = None, ids: object = None) -> list[dict[str, Any]]:
    """Return the networks, all or those whose names or ids have the given texts in them.

    CLI Example:

        salt '*' docker.networks names="front,back"
    """
    filters = {
        key: [str(one) for one in options.to_list(value)]
        for key, value in (("name", names), ("id", ids))
        if value
    }
    asked = engine(ctx)
    found = asked.get("/networks", filters=filters or None)
    return [asked.get(f"/networks/{segment(each['Id'])}") for each in found]


def inspect_network(ctx: MinionContext, network_id: str) -> dict[str, Any]:
    """Return what there is to know about a network.

    CLI Example:

        salt '*' docker.inspect_network front
    """
    found: dict[str, Any] = engine(ctx).get(f"/networks/{segment(network_id)}")
    return found


def create_network(
    ctx: MinionContext,
    name: str,
    skip_translate: object = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    client_timeout: int = 60,
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a network: ``driver``, ``subnet``, ``gateway``, ``labels``, ``internal`` ...

    CLI Example:

        salt '*' docker.create_network front subnet=10.5.0.0/24
    """
    options.refuse_raw(skip_translate)
    known = options.network(name, kwargs, validate_ip_addrs=bool(validate_ip_addrs))
    body = {**known, "CheckDuplicate": True}
    found: dict[str, Any] = engine(ctx, client_timeout).post("/networks/create", body)
    return found


def remove_network(ctx: MinionContext, network_id: str) -> bool:
    """Remove a network to which no container is attached.

    CLI Example:

        salt '*' docker.remove_network front
    """
    engine(ctx).delete(f"/networks/{segment(network_id)}")
    return True


def connected(ctx: MinionContext, name: str, verbose: bool = False) -> Any:
    """Return the names of the containers of a network; with ``verbose`` how they are attached.

    CLI Example:

        salt '*' docker.connected front
    """
    there: Mapping[str, Any] = inspect_network(ctx, name).get("Containers") or {}
    if verbose:
        return dict(there)
    return [str(each["Name"]) for each in there.values()]


def connect_container_to_network(
    ctx: MinionContext, container: str, net_id: str, **kwargs: Any
) -> bool:
    """Attach a container to a network: ``ipv4_address``, ``ipv6_address``, ``aliases``, ``links``.

    CLI Example:

        salt '*' docker.connect_container_to_network web front ipv4_address=10.5.0.9
    """
    connect(ctx, container, net_id, options.endpoint(kwargs))
    return True


def connect(
    ctx: MinionContext, container: str, network: str, endpoint: Mapping[str, object]
) -> None:
    """Attach a container to a network as the engine's words for it say."""
    body: dict[str, Any] = {"Container": container}
    body.update({"EndpointConfig": dict(endpoint)} if endpoint else {})
    engine(ctx).post(f"/networks/{segment(network)}/connect", body)


def disconnect_container_from_network(ctx: MinionContext, container: str, network_id: str) -> bool:
    """Detach a container from a network.

    CLI Example:

        salt '*' docker.disconnect_container_from_network web front
    """
    engine(ctx).post(f"/networks/{segment(network_id)}/disconnect", {"Container": container})
    return True


def disconnect_all_containers_from_network(ctx: MinionContext, network_id: str) -> list[str]:
    """Detach all containers from a network; their names.

    CLI Example:

        salt '*' docker.disconnect_all_containers_from_network front
    """
    names = list(connected(ctx, network_id))
    for name in names:
        disconnect_container_from_network(ctx, name, network_id)
    return names


def volumes(ctx: MinionContext, filters: Any = None) -> dict[str, Any]:
    """Return the volumes, all or those of ``filters``: ``{"name": ...}``, ``{"dangling": True}``.

    CLI Example:

        salt '*' docker.volumes filters='{"dangling": True}'
    """
    wanted = {
        str(name): [_format_filter(one) for one in options.to_list(value)]
        for name, value in dict(filters or {}).items()
    }
    found: dict[str, Any] = engine(ctx).get("/volumes", filters=wanted or None)
    return found


def _format_filter(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def inspect_volume(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Return what there is to know about a volume.

    CLI Example:

        salt '*' docker.inspect_volume data
    """
    found: dict[str, Any] = engine(ctx).get(f"/volumes/{segment(name)}")
    return found


def create_volume(
    ctx: MinionContext, name: str, driver: str | None = None, driver_opts: object = None
) -> dict[str, Any]:
    """Make a volume; one that is there stays as it is.

    CLI Example:

        salt '*' docker.create_volume data driver=local
    """
    body: dict[str, Any] = {"Name": name}
    body.update({"Driver": driver} if driver else {})
    body.update({"DriverOpts": options.to_map(driver_opts)} if driver_opts else {})
    found: dict[str, Any] = engine(ctx).post("/volumes/create", body)
    return found


def remove_volume(ctx: MinionContext, name: str) -> bool:
    """Remove a volume that no container uses.

    CLI Example:

        salt '*' docker.remove_volume data
    """
    engine(ctx).delete(f"/volumes/{segment(name)}")
    return True
