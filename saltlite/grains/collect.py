"""Core grains of all topics, then what the user set.

Later wins: core, users' ``_grains``, the file ``grains`` beside the minion's configuration,
``grains:`` in it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from saltlite.config.minion import MinionConfig
from saltlite.core.hashers import hash_small
from saltlite.errors import ConfigError
from saltlite.grains import (
    cpu,
    disks,
    hardware,
    init,
    kernel,
    memory,
    names,
    network,
    os_release,
    process,
    virtual,
)
from saltlite.grains.custom import add_custom
from saltlite.grains.programs import KnownPrograms
from saltlite.host import Host

log = logging.getLogger(__name__)

OF_PROGRAMS: Final = frozenset({"osarch", "systemd", "virtual", "virtual_subtype"})
"""The grains that programs are asked for: these processes cost more than all others.

``osarch`` and ``virtual`` are always there.
"""


def collect(
    config: MinionConfig, host: Host, known: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """All grains; ``known`` are those of :func:`quick` if they have been collected already."""
    resolved = names.resolving(host, os.uname().nodename, reverse=config.grains.enable_fqdns_grains)
    found = dict(quick(config, host) if known is None else known)
    if not found.keys() & OF_PROGRAMS:
        found |= of_programs(config, host, found)
    found |= {**process.zmq_version(), **names.without_unused(resolved(), found)}
    return with_users(config, host, found)


def with_users(config: MinionConfig, host: Host, found: dict[str, Any]) -> dict[str, Any]:
    """``found`` with what the user set on top, and without what the user does not want."""
    known = add_custom(config, found)
    grains = {**known, **_from_file(config, host), **config.grains.grains}
    blacklist = config.grains.grains_blacklist
    if not blacklist:
        return grains
    return {
        name: value
        for name, value in grains.items()
        if not any(fnmatchcase(name, glob) for glob in blacklist)
    }


def quick(config: MinionConfig, host: Host) -> dict[str, Any]:
    """What the machine and this process say of themselves, without the resolver and programs."""
    uname = os.uname()
    return {
        "id": config.identity.id,
        "master": _master_name(config),
        "server_id": server_id(config.identity.id),
        **_machine_id(host),
        **kernel.read(host, uname),
        **os_release.read(host),
        **cpu.read(host),
        **memory.read(host),
        "nodename": uname.nodename,
        "localhost": uname.nodename,
        **network.read(host),
        **hardware.read(host, gpus=config.grains.enable_gpu_grains),
        **disks.read(host),
        **init.read(host),
        **process.read(),
    }


def of_programs(config: MinionConfig, host: Host, found: Mapping[str, Any]) -> dict[str, Any]:
    """The grains that programs are asked for; ``found`` are those of :func:`quick`."""
    # A host that stands for another machine has other programs at the same paths.
    is_ours = type(host) is Host
    programs = KnownPrograms(host, Path(config.paths.cachedir)) if is_ours else host
    return {
        "osarch": os_release.architecture(programs, found["os_family"], os.uname().machine),
        **virtual.read(host),
        **init.systemd(programs),
    }


def _master_name(config: MinionConfig) -> Any:
    master = config.network.master
    return master if isinstance(master, str) else list(master)


def server_id(minion_id: str) -> int:
    """A number that follows from the id. Source: observed on Salt 3006.30."""
    return int(hash_small(minion_id.encode()).hexdigest(), 16) % 2**31


def _machine_id(host: Host) -> dict[str, str]:
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        text = (host.read_text(path) or "").strip()
        if text:
            return {"machine_id": text}
    return {}


def _from_file(config: MinionConfig, host: Host) -> Mapping[str, Any]:
    """The grains that ``grains.setval`` keeps; a broken file is one line in the log."""
    path = os.path.join(os.path.dirname(config.paths.conf_file), "grains")
    text = host.read_text(path)
    if not text or not text.strip():
        return {}
    from saltlite.config.yaml import load as load_yaml

    try:
        grains = load_yaml(text, path)
    except ConfigError as error:
        log.error("%s", error)
        return {}
    if not isinstance(grains, Mapping):
        log.error("%s: found no map", path)
        return {}
    return {str(name): value for name, value in grains.items()}
