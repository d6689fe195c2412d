"""Differences between what is declared of containers and networks, and what an engine has.

Pure: what the engine tells goes in, maps of ``old`` and ``new`` come out, in the form of Salt's
``changes``. Rules observed on Salt 3006.30.
"""

from __future__ import annotations

import ipaddress
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from saltlite.providers.docker.container import Container

Facts = Mapping[str, Any]
Changes = dict[str, dict[str, Any]]

_OWN_CONFIG = ("Hostname", "Domainname", "MacAddress", "NetworkDisabled")
"""What the engine chooses itself where it is not declared."""

_FLAGS = ("AttachStdin", "OpenStdin", "StdinOnce", "Tty")
_OF_THE_IMAGE = ("ExposedPorts", "Labels", "Volumes")
_OR_THE_IMAGE = ("StopSignal", "User", "WorkingDir")

UNDECLARED: Mapping[str, Any] = {
    "AutoRemove": False,
    "Binds": None,
    "CapAdd": None,
    "CapDrop": None,
    "CpuShares": 0,
    "CpusetCpus": "",
    "CpusetMems": "",
    "Devices": [],
    "Dns": [],
    "DnsOptions": [],
    "DnsSearch": [],
    "ExtraHosts": None,
    "GroupAdd": None,
    "Links": None,
    "Memory": 0,
    "NetworkMode": "default",
    "PidMode": "",
    "PortBindings": {},
    "Privileged": False,
    "ReadonlyRootfs": False,
    "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
    "Sysctls": None,
    "Tmpfs": None,
    "UsernsMode": "",
    "VolumesFrom": None,
}
"""What a container has without an option. What depends on the engine's settings is not here: its
log driver, the size of /dev/shm, limits, the mode of IPC."""


def expect_config(body: Facts, image: Facts) -> dict[str, Any]:
    """Return what an engine makes of the body of a request and what its image brings."""
    of_image = image.get("Config") or {}
    found: dict[str, Any] = {name: body[name] for name in _OWN_CONFIG if name in body}
    found.update({name: bool(body.get(name)) for name in _FLAGS})
    found["StopTimeout"] = body.get("StopTimeout")
    for name in _OF_THE_IMAGE:
        joined = {**(of_image.get(name) or {}), **(body.get(name) or {})}
        found[name] = joined if joined or name == "Labels" else None
    for name in _OR_THE_IMAGE:
        found[name] = body.get(name) or of_image.get(name) or ""
    found["Env"] = sorted(_merge_environment(body.get("Env") or [], of_image.get("Env") or []))
    started = body.get("Entrypoint") or of_image.get("Entrypoint")
    inherited = None if body.get("Entrypoint") else of_image.get("Cmd")
    return {**found, "Entrypoint": started, "Cmd": body.get("Cmd") or inherited}


def _merge_environment(own: Sequence[str], image: Sequence[str]) -> list[str]:
    names = {entry.partition("=")[0] for entry in own}
    return [*own, *(entry for entry in image if entry.partition("=")[0] not in names)]


def expect_host_config(body: Facts) -> dict[str, Any]:
    """Return what an engine makes of the machine's side of a request."""
    own: Facts = body["HostConfig"]
    swap = {} if "Memory" in own else {"MemorySwap": 0}
    return {**UNDECLARED, **swap, **own}


def compare_declared(container: Container, body: Facts, image: Facts) -> Changes:
    """Return how a container differs from the body of a request that would make it."""
    parts = (
        ("Config", container.config, expect_config(body, image)),
        ("HostConfig", container.host_config, expect_host_config(body)),
    )
    found: Changes = {}
    for part, there, wanted in parts:
        found[part] = {
            key: {"old": show_value(key, there.get(key)), "new": value}
            for key, value in wanted.items()
            if _plain_form(key, there.get(key)) != _plain_form(key, value)
        }
    return {part: changed for part, changed in found.items() if changed}


def compare_containers(first: Container, second: Container, ignore: Iterable[str] = ()) -> Changes:
    """Return how two containers differ, but for the keys of ``ignore``; images by their ids."""
    left_out = set(ignore)
    found: Changes = {}
    for part, pair in (
        ("Config", [_with_image(each.config, each.image) for each in (first, second)]),
        ("HostConfig", [_with_image(each.host_config, each.image) for each in (first, second)]),
    ):
        names = [name for name in {**pair[0], **pair[1]} if name not in left_out]
        found[part] = {
            name: {
                "old": show_value(name, pair[0].get(name)),
                "new": show_value(name, pair[1].get(name)),
            }
            for name in names
            if _plain_form(name, pair[0].get(name)) != _plain_form(name, pair[1].get(name))
        }
    return {part: changed for part, changed in found.items() if changed}


def _with_image(own: Facts, image: str) -> Facts:
    return {**own, "Image": image} if "Image" in own else own


def show_value(key: str, value: Any) -> Any:
    """Return a value as changes tell it."""
    return sorted(value) if key == "Env" and value else value


def _plain_form(key: str, value: object) -> Any:
    """Return a value so that equal ones of different spelling are equal."""
    if key == "StopTimeout":
        return value
    return _FORMS[key](value) if key in _FORMS and value else (value or None)


def _plain_capabilities(value: Sequence[str]) -> list[str]:
    return [str(each).upper().removeprefix("CAP_") for each in value]


def _plain_links(value: Sequence[str]) -> list[str]:
    """Return links as ``target:alias``; an engine tells ``/target:/container/alias``."""
    found = []
    for each in value:
        target, _, alias = str(each).partition(":")
        target = target.removeprefix("/")
        found.append(f"{target}:{alias.rpartition('/')[2] or target}")
    return sorted(found)


def _network_mode(value: str) -> str:
    return "default" if value == "bridge" else value


def _plain_restart(value: Facts) -> tuple[str, int]:
    return str(value.get("Name") or "no"), int(value.get("MaximumRetryCount") or 0)


def _plain_bindings(value: Facts) -> dict[str, list[tuple[str, str]]]:
    return {
        port: [(str(one.get("HostIp") or ""), str(one.get("HostPort") or "")) for one in each or []]
        for port, each in value.items()
    }


def _plain_log(value: Facts) -> tuple[Any, Any]:
    return value.get("Type"), value.get("Config") or {}


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "CapAdd": _plain_capabilities,
    "CapDrop": _plain_capabilities,
    "Env": sorted,
    "Links": _plain_links,
    "LogConfig": _plain_log,
    "NetworkMode": _network_mode,
    "PortBindings": _plain_bindings,
    "RestartPolicy": _plain_restart,
    "WorkingDir": posixpath.normpath,
}


def compare_endpoints(first: Facts, second: Facts, own_names: Iterable[str] = ()) -> Changes:
    """Return how two containers differ in the networks they are attached to.

    ``own_names`` are aliases that an engine gives itself: the short ids of the containers.
    """
    drop = set(own_names)
    found = {
        name: _compare_endpoint(first.get(name), second.get(name), drop)
        for name in sorted({**first, **second})
    }
    return {name: changed for name, changed in found.items() if changed}


def _compare_endpoint(old: Facts | None, new: Facts | None, drop: set[str]) -> dict[str, Any]:
    found = {}
    for key in ("Aliases", "Links"):
        pair = [sorted(set((each or {}).get(key) or ()) - drop) or None for each in (old, new)]
        found.update({key: _change_of(*pair)} if pair[0] != pair[1] else {})
    fixed = [_fixed_addresses(old), _fixed_addresses(new)]
    if fixed[0] != fixed[1]:
        found["IPAMConfig"] = _change_of(*fixed)
    gone = old is None or new is None
    if (gone and not any(fixed)) or (not gone and bool(fixed[0]) != bool(fixed[1])):
        found["IPConfiguration"] = _change_of(_kind_of(old), _kind_of(new))
    return found


def _change_of(old: object, new: object) -> dict[str, Any]:
    return {"old": old, "new": new}


def _fixed_addresses(endpoint: Facts | None) -> dict[str, Any] | None:
    given = (endpoint or {}).get("IPAMConfig") or {}
    return {key: value for key, value in given.items() if value} or None


def _kind_of(endpoint: Facts | None) -> str:
    if endpoint is None:
        return "not connected"
    return "static" if _fixed_addresses(endpoint) else "automatic"


def compare_networks(first: Facts, second: Facts, ignore: Iterable[str]) -> dict[str, Any]:
    """Return how two networks differ, but for the keys of ``ignore``."""
    left_out = set(ignore)
    found: dict[str, Any] = {}
    for name in {**first, **second}:
        old, new = first.get(name), second.get(name)
        if name in left_out or _network_form(name, old) == _network_form(name, new):
            continue
        nested = name in ("IPAM", "Options") and isinstance(old or {}, Mapping)
        found[name] = _compare_maps(old or {}, new or {}) if nested else _change_of(old, new)
    return found


def _compare_maps(first: Facts, second: Facts) -> Changes:
    return {
        key: _change_of(first.get(key), second.get(key))
        for key in {**first, **second}
        if _network_form(key, first.get(key)) != _network_form(key, second.get(key))
    }


def _network_form(name: str, value: Any) -> Any:
    if name == "IPAM":
        return {key: form for key in value or {} if (form := _network_form(key, value[key]))}
    if name == "Config":
        return sorted(value or [], key=lambda pool: str(pool.get("Subnet")))
    return value or None


def compare_declared_network(network: Facts, body: Facts) -> dict[str, Any]:
    """Return how a network differs from the body of a request that would make it.

    Its address pools count only where pools are declared.
    """
    ipam = body.get("IPAM") or {}
    wanted = {
        "Driver": body.get("Driver"),
        "Internal": bool(body.get("Internal")),
        "Attachable": bool(body.get("Attachable")),
        "EnableIPv6": bool(body.get("EnableIPv6")),
        "Labels": body.get("Labels") or {},
        "Options": body.get("Options") or {},
    }
    there = {name: network.get(name) for name in wanted}
    found = compare_networks(there, wanted, ())
    addressing = _compare_addressing(network.get("IPAM") or {}, ipam)
    return {**found, "IPAM": addressing} if addressing else found


def _compare_addressing(there: Facts, ipam: Facts) -> dict[str, Any]:
    found = _compare_maps(
        {"Driver": there.get("Driver") or "default", "Options": there.get("Options")},
        {"Driver": ipam.get("Driver") or "default", "Options": ipam.get("Options")},
    )
    pools = ipam.get("Config") or []
    existing = there.get("Config") or []
    return (
        {**found, "Config": _change_of(existing, pools)} if _other_pools(existing, pools) else found
    )


def _other_pools(existing: Sequence[Facts], pools: Sequence[Facts]) -> bool:
    """Whether declared pools are not there, or others of the same kinds are."""
    left = list(existing)
    for pool in pools:
        same = next((each for each in left if _same_pool(each, pool)), None)
        if same is None:
            return True
        left.remove(same)
    kinds = {_ip_version(pool) for pool in pools}
    return any(_ip_version(each) in kinds for each in left)


def _same_pool(existing: Facts, pool: Facts) -> bool:
    """Whether a pool is as declared; an engine may choose the gateway."""
    return {"Gateway": existing.get("Gateway"), **pool} == {"Gateway": None, **existing}


def _ip_version(pool: Facts) -> int:
    try:
        return ipaddress.ip_network(pool.get("Subnet") or "", strict=False).version
    except ValueError:
        return 0
