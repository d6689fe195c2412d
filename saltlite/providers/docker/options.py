"""Options of containers and networks as Salt names them, in the words of the Engine API.

What is not in the tables is refused. Source: Docker Engine API v1.43, ContainerCreate and
NetworkCreate; forms of values observed on Salt 3006.30.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.errors import UsageError

Convert = Callable[[Any], Any]

_SIZE = regex(r"(\d+(?:\.\d+)?)\s*([bkmgt]?)b?", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def _to_text(value: object) -> str:
    return str(value)


def _to_words(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else [str(one) for one in value]


def to_list(value: object) -> list[Any]:
    """A list, or text with commas, as a list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _to_texts(value: object) -> list[str]:
    return [str(one) for one in to_list(value)]


def _to_value(value: object) -> str:
    return "" if value is None else str(value)


def to_map(value: object) -> dict[str, str]:
    """Names and values from a map, a list of maps or of ``name=value``, or text with commas."""
    if isinstance(value, Mapping):
        return {str(name): _to_value(one) for name, one in value.items()}
    found: dict[str, str] = {}
    for one in to_list(value):
        name, _, text = str(one).partition("=")
        found.update(to_map(one) if isinstance(one, Mapping) else {name: text})
    return found


def _to_environment(value: object) -> list[str]:
    return [f"{name}={text}" for name, text in to_map(value).items()]


def _to_hosts(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{name}:{address}" for name, address in value.items()]
    found: list[str] = []
    for one in to_list(value):
        found += _to_hosts(one) if isinstance(one, Mapping) else [str(one)]
    return found


def _parse_size(value: object) -> int:
    match = _SIZE.fullmatch(str(value).strip())
    if str(value).strip() == "-1":
        return -1
    if match is None:
        raise UsageError(f"{value!r} is no size: a number, and perhaps k, m, g or t")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def port(value: object) -> str:
    """A port as the API names it: ``80/tcp``."""
    number, _, protocol = str(value).partition("/")
    if not number.isascii() or not number.isdigit() or not 0 < int(number) < 65536:
        raise UsageError(f"{value!r} is no port")
    if protocol not in ("", "tcp", "udp", "sctp"):
        raise UsageError(f"{value!r} is no port: its protocol is none of tcp, udp, sctp")
    return f"{number}/{protocol or 'tcp'}"


def _to_exposed(value: object) -> dict[str, dict[str, Any]]:
    return {port(one): {} for one in to_list(value)}


def _to_bindings(value: object) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for one in to_list(value):
        text, _, protocol = str(one).partition("/")
        host, _, inner = text.rpartition(":")
        address, _, outer = host.rpartition(":")
        name = port(f"{inner}/{protocol}" if protocol else inner)
        found.setdefault(name, []).append({"HostIp": address.strip("[]"), "HostPort": outer})
    return found


def _to_volumes(value: object) -> dict[str, dict[str, Any]]:
    return {path: {} for path in _to_texts(value)}


def _to_restart(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    name, _, count = str(value).partition(":")
    if count and not is_digits(count):
        raise UsageError(f"restart_policy: {value!r} has no number after the colon")
    return {"Name": name, "MaximumRetryCount": int(count or 0)}


def _to_devices(value: object) -> list[dict[str, str]]:
    found = []
    for one in _to_texts(value):
        outer, _, rest = one.partition(":")
        inner, _, rights = rest.partition(":")
        found.append(
            {
                "PathOnHost": outer,
                "PathInContainer": inner or outer,
                "CgroupPermissions": rights or "rwm",
            }
        )
    return found


def _to_ulimits(value: object) -> list[dict[str, Any]]:
    found = []
    for one in _to_texts(value):
        name, _, limits = one.partition("=")
        soft, _, hard = limits.partition(":")
        try:
            found.append({"Name": name, "Soft": int(soft), "Hard": int(hard or soft)})
        except ValueError as error:
            raise UsageError(f"ulimits: {one!r} is not of the form name=soft:hard") from error
    return found


def _to_rates(value: object) -> list[dict[str, Any]]:
    return [{"Path": path, "Rate": _parse_size(rate)} for path, rate in _to_pairs(value)]


def _to_weights(value: object) -> list[dict[str, Any]]:
    return [{"Path": path, "Weight": int(weight)} for path, weight in _to_pairs(value)]


def _to_pairs(value: object) -> list[tuple[str, str]]:
    found = []
    for one in _to_texts(value):
        path, _, amount = one.rpartition(":")
        if not path or not amount:
            raise UsageError(f"{one!r} is not of the form path:number")
        found.append((path, amount))
    return found


CONFIG: Mapping[str, tuple[str, Convert]] = {
    "command": ("Cmd", _to_words),
    "domainname": ("Domainname", _to_text),
    "entrypoint": ("Entrypoint", _to_words),
    "environment": ("Env", _to_environment),
    "hostname": ("Hostname", _to_text),
    "interactive": ("OpenStdin", bool),
    "labels": ("Labels", to_map),
    "mac_address": ("MacAddress", _to_text),
    "network_disabled": ("NetworkDisabled", bool),
    "ports": ("ExposedPorts", _to_exposed),
    "stop_signal": ("StopSignal", _to_text),
    "stop_timeout": ("StopTimeout", int),
    "tty": ("Tty", bool),
    "user": ("User", _to_text),
    "volumes": ("Volumes", _to_volumes),
    "working_dir": ("WorkingDir", _to_text),
}
"""Options of a container itself."""

HOST_CONFIG: Mapping[str, tuple[str, Convert]] = {
    "auto_remove": ("AutoRemove", bool),
    "binds": ("Binds", _to_texts),
    "blkio_weight": ("BlkioWeight", int),
    "blkio_weight_device": ("BlkioWeightDevice", _to_weights),
    "cap_add": ("CapAdd", _to_texts),
    "cap_drop": ("CapDrop", _to_texts),
    "cpu_period": ("CpuPeriod", int),
    "cpu_shares": ("CpuShares", int),
    "cpuset_cpus": ("CpusetCpus", _to_text),
    "cpuset_mems": ("CpusetMems", _to_text),
    "device_read_bps": ("BlkioDeviceReadBps", _to_rates),
    "device_read_iops": ("BlkioDeviceReadIOps", _to_rates),
    "device_write_bps": ("BlkioDeviceWriteBps", _to_rates),
    "device_write_iops": ("BlkioDeviceWriteIOps", _to_rates),
    "devices": ("Devices", _to_devices),
    "dns": ("Dns", _to_texts),
    "dns_opt": ("DnsOptions", _to_texts),
    "dns_search": ("DnsSearch", _to_texts),
    "extra_hosts": ("ExtraHosts", _to_hosts),
    "group_add": ("GroupAdd", _to_texts),
    "init": ("Init", bool),
    "ipc_mode": ("IpcMode", _to_text),
    "links": ("Links", _to_hosts),
    "isolation": ("Isolation", _to_text),
    "mem_limit": ("Memory", _parse_size),
    "mem_swappiness": ("MemorySwappiness", int),
    "memswap_limit": ("MemorySwap", _parse_size),
    "network_mode": ("NetworkMode", _to_text),
    "oom_kill_disable": ("OomKillDisable", bool),
    "oom_score_adj": ("OomScoreAdj", int),
    "pid_mode": ("PidMode", _to_text),
    "pids_limit": ("PidsLimit", int),
    "port_bindings": ("PortBindings", _to_bindings),
    "privileged": ("Privileged", bool),
    "publish_all_ports": ("PublishAllPorts", bool),
    "read_only": ("ReadonlyRootfs", bool),
    "restart_policy": ("RestartPolicy", _to_restart),
    "security_opt": ("SecurityOpt", _to_texts),
    "shm_size": ("ShmSize", _parse_size),
    "storage_opt": ("StorageOpt", to_map),
    "sysctls": ("Sysctls", to_map),
    "tmpfs": ("Tmpfs", to_map),
    "ulimits": ("Ulimits", _to_ulimits),
    "userns_mode": ("UsernsMode", _to_text),
    "volume_driver": ("VolumeDriver", _to_text),
    "volumes_from": ("VolumesFrom", _to_texts),
}
"""Options of what the machine gives to a container."""

ALIASES: Mapping[str, str] = {
    "add_host": "extra_hosts",
    "bind": "binds",
    "cmd": "command",
    "cpuset": "cpuset_cpus",
    "device": "devices",
    "env": "environment",
    "expose": "ports",
    "ipc": "ipc_mode",
    "label": "labels",
    "link": "links",
    "memory": "mem_limit",
    "memory_swap": "memswap_limit",
    "pid": "pid_mode",
    "publish": "port_bindings",
    "restart": "restart_policy",
    "rm": "auto_remove",
    "stdin_open": "interactive",
    "sysctl": "sysctls",
    "ulimit": "ulimits",
    "userns": "userns_mode",
    "workdir": "working_dir",
}
"""Further names."""

IGNORED = ("detach",)
"""What says how a client waits, not what a container is."""

_GATEWAY = "host-gateway"
"""A word of the engine for the address of its own machine."""


def container(
    image: str,
    options: Mapping[str, object],
    *,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
) -> dict[str, Any]:
    """Return the body that makes a container; raises UsageError for what is not understood.

    With ``ignore_collisions`` an option's own name wins over its further ones.
    """
    config: dict[str, Any] = {}
    host: dict[str, Any] = {}
    given = _name_options(options, ignore_collisions)
    log = {"Type": given.pop("log_driver", None), "Config": given.pop("log_opt", None)}
    for name, value in given.items():
        table, part = (CONFIG, config) if name in CONFIG else (HOST_CONFIG, host)
        if name not in table:
            raise UsageError(f"{name} is no option of containers that is known here")
        key, convert = table[name]
        part[key] = _convert_option(name, convert, value)
    if any(value is not None for value in log.values()):
        host["LogConfig"] = {
            "Type": log["Type"] or "json-file",
            "Config": to_map(log["Config"] or {}),
        }
    _expose_ports(config, host)
    if validate_ip_addrs:
        _check_addresses(host)
    config.update(AttachStdout=True, AttachStderr=True)
    if config.get("OpenStdin"):
        config.update(AttachStdin=True, StdinOnce=True)
    return {"Image": image, **config, "HostConfig": host}


def refuse_raw(skip_translate: object) -> None:
    """Refuse values in the form of docker-py; raises UsageError."""
    if skip_translate:
        raise UsageError("skip_translate: values in the form of docker-py are not taken here")


def _name_options(options: Mapping[str, object], ignore_collisions: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for given, value in options.items():
        name = ALIASES.get(given, given)
        if value is None or given.startswith("__") or name in IGNORED:
            continue
        if name in found and not ignore_collisions:
            raise UsageError(f"{name} and {given} are one option: only one of them")
        if name not in found or given == name:
            found[name] = value
    return found


def _check_addresses(host: Mapping[str, Any]) -> None:
    bound = [one["HostIp"] for each in host.get("PortBindings", {}).values() for one in each]
    named = [entry.partition(":")[2] for entry in host.get("ExtraHosts", [])]
    for option, addresses in (
        ("dns", host.get("Dns", [])),
        ("extra_hosts", [each for each in named if each != _GATEWAY]),
        ("port_bindings", [each for each in bound if each]),
    ):
        for address in addresses:
            _check_address(option, address)


def _check_address(option: str, address: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError as error:
        raise UsageError(f"{option}: '{address}' is not a valid IP address") from error


def _check_subnet(option: str, subnet: str) -> None:
    try:
        ipaddress.ip_network(subnet, strict=False)
    except ValueError as error:
        raise UsageError(f"{option}: '{subnet}' is not a valid subnet") from error


def _convert_option(name: str, convert: Convert, value: object) -> Any:
    try:
        return convert(value)
    except (ValueError, TypeError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{name}: {value!r} is not understood: {error}") from error


def _expose_ports(config: dict[str, Any], host: Mapping[str, Any]) -> None:
    """Bound ports are exposed, and what is mounted is a volume, as Salt has it."""
    ports = {
        **config.get("ExposedPorts", {}),
        **{name: {} for name in host.get("PortBindings", {})},
    }
    paths: dict[str, Any] = {
        bind.split(":")[1]: {} for bind in host.get("Binds", []) if ":" in bind
    }
    volumes = {**config.get("Volumes", {}), **paths}
    config.update({"ExposedPorts": ports} if ports else {})
    config.update({"Volumes": volumes} if volumes else {})


_NETWORK = ("driver", "driver_opts", "labels", "internal", "attachable", "enable_ipv6",
            "check_duplicate", "ipam_driver", "ipam_opts", "ipam_pools", "subnet", "gateway",
            "iprange", "aux_addresses")  # fmt: skip
_POOL = {"subnet": "Subnet", "gateway": "Gateway", "iprange": "IPRange"}


def network(
    name: str, options: Mapping[str, object], *, validate_ip_addrs: bool = True
) -> dict[str, Any]:
    """Return the body that makes a network; raises UsageError for what is not understood."""
    given = {
        key: value
        for key, value in options.items()
        if value is not None and not key.startswith("__")
    }
    unknown = sorted(set(given) - set(_NETWORK))
    if unknown:
        raise UsageError(f"{', '.join(unknown)}: no option of networks that is known here")
    pools = [_build_pool(pool) for pool in to_list(given.get("ipam_pools") or [])]
    if set(given) & {*_POOL, "aux_addresses"}:
        pools.insert(0, _build_pool(given))
    for pool in pools if validate_ip_addrs else []:
        _check_pool(pool)
    body: dict[str, Any] = {"Name": name, "Driver": given.get("driver") or "bridge"}
    for key, word in (("driver_opts", "Options"), ("labels", "Labels")):
        body.update({word: to_map(given[key])} if key in given else {})
    for key, word in (("internal", "Internal"), ("attachable", "Attachable")):
        body.update({word: bool(given[key])} if key in given else {})
    body.update({"EnableIPv6": bool(given["enable_ipv6"])} if "enable_ipv6" in given else {})
    ipam = {
        **({"Driver": str(given["ipam_driver"])} if "ipam_driver" in given else {}),
        **({"Options": to_map(given["ipam_opts"])} if "ipam_opts" in given else {}),
        **({"Config": pools} if pools else {}),
    }
    return {**body, "IPAM": ipam} if ipam else body


def _check_pool(pool: Mapping[str, Any]) -> None:
    for option in ("Subnet", "IPRange"):
        if option in pool:
            _check_subnet(option.lower(), pool[option])
    if "Gateway" in pool:
        _check_address("gateway", pool["Gateway"])


def _build_pool(given: Mapping[str, object]) -> dict[str, Any]:
    pool: dict[str, Any] = {
        word: str(given[key]) for key, word in _POOL.items() if given.get(key) is not None
    }
    if "Subnet" not in pool:
        raise UsageError("a subnet is needed for gateway, iprange and aux_addresses")
    if given.get("aux_addresses"):
        pool["AuxiliaryAddresses"] = to_map(given["aux_addresses"])
    return pool


def endpoints(networks: object) -> dict[str, dict[str, Any]]:
    """Return by names how a container is attached to networks; raises UsageError."""
    return {name: endpoint(given) for name, given in parse_networks(networks).items()}


def parse_networks(networks: object) -> dict[str, dict[str, Any]]:
    """Return names and options of networks; raises UsageError.

    Accepts names with commas, a list of names and of maps, or a map.
    """
    if isinstance(networks, Mapping):
        return {str(name): _join_maps(given) for name, given in networks.items()}
    found: dict[str, dict[str, Any]] = {}
    for one in to_list(networks):
        found.update(parse_networks(one) if isinstance(one, Mapping) else {str(one): {}})
    return found


def _join_maps(given: Any) -> dict[str, Any]:
    """Return a map, or a list of maps, as one map."""
    parts = list(given) if isinstance(given, (list, tuple)) else [given or {}]
    if not all(isinstance(part, Mapping) for part in parts):
        raise UsageError(f"networks: {given!r} is no map of options")
    return {str(key): value for part in parts for key, value in part.items()}


def endpoint(options: Mapping[str, object]) -> dict[str, Any]:
    """Return how a container is attached to a network; raises UsageError."""
    given = {key: value for key, value in options.items() if not key.startswith("__")}
    unknown = sorted(set(given) - {"ipv4_address", "ipv6_address", "aliases", "links"})
    if unknown:
        raise UsageError(f"{', '.join(unknown)}: no option of a network's container known here")
    addresses = {
        word: str(given[key])
        for key, word in (("ipv4_address", "IPv4Address"), ("ipv6_address", "IPv6Address"))
        if given.get(key)
    }
    found: dict[str, Any] = {"IPAMConfig": addresses} if addresses else {}
    if given.get("aliases"):
        found["Aliases"] = _to_texts(given["aliases"])
    if given.get("links"):
        found["Links"] = _to_hosts(given["links"])
    return found
