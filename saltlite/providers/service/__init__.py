"""Service managers: what they can do, and which one this machine has.

A provider asks and changes one service manager: commands through the host, pure parsers for their
output. Called by ``modules/service.py`` and by the states of services.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from saltlite.errors import FunctionUnavailable

if TYPE_CHECKING:
    from saltlite.context import MinionContext


class Services(Protocol):
    """What every service manager can do. ``options`` are Salt's keyword arguments."""

    def list_names(self, kind: str, root: str | None) -> Any:
        """The names of services: ``all``, ``enabled``, ``disabled``, ``running`` or ``static``."""

    def exists(self, name: str) -> bool:
        """Whether there is such a service."""

    def running(self, name: str) -> bool:
        """Whether it runs."""

    def act(self, name: str, action: str, options: Mapping[str, object]) -> bool:
        """Do ``start``, ``stop``, ``restart``, ``reload`` or ``force_reload``; whether it did."""

    def switch(self, name: str, on: bool, options: Mapping[str, object]) -> bool:
        """Start it with the machine, or not; whether that succeeded."""

    def is_enabled(self, name: str, options: Mapping[str, object]) -> bool:
        """Whether it starts with the machine."""


@runtime_checkable
class Units(Protocol):
    """What systemd can do besides."""

    def mask(self, name: str, runtime: bool, root: str | None) -> bool:
        """Make it impossible to start; ``runtime``: until the next start of the machine."""

    def unmask(self, name: str, runtime: bool, root: str | None) -> bool:
        """Make it possible again."""

    def is_masked(self, name: str, runtime: bool, root: str | None) -> bool:
        """Whether it is impossible to start."""

    def show(self, name: str, root: str | None) -> dict[str, Any]:
        """The properties of a unit."""

    def read_again(self) -> bool:
        """Have changed unit files read."""


PROVIDERS: Mapping[str, str] = {
    "systemd": "systemd",
    "systemd_service": "systemd",
    "openrc": "openrc",
    "gentoo_service": "openrc",
    "debian_service": "sysv",
    "rh_service": "sysv",
    "service": "sysv",
    "linux_service": "sysv",
    "alpine_service": "openrc",
}
"""Salt's name of each back end (option ``providers``), and the file here."""

OF_INIT: Mapping[str, str] = {
    "systemd": "systemd",
    "openrc": "openrc",
    "openrc-init": "openrc",
    "sysvinit": "service",
    "upstart": "service",
}
"""The back end of each ``init``."""

SALT_FILES: Mapping[tuple[str, str], str] = {
    ("systemd", ""): "systemd_service",
    ("openrc", ""): "gentoo_service",
    ("openrc", "Alpine"): "alpine_service",
    ("service", "Debian"): "debian_service",
    ("service", "RedHat"): "rh_service",
}
"""Salt's file of a back end, by ``os_family`` where that matters."""

OF_FAMILY: Mapping[str, str] = {"Alpine": "openrc", "Gentoo": "openrc"}
"""Families whose ``init`` is a small program that openrc makes use of."""


def provider(ctx: MinionContext) -> Services:
    """The service manager of this machine, or the one that the option ``providers`` names.

    Raises:
        FunctionUnavailable: the option names none.
    """
    chosen = _provider_name(ctx)
    file = PROVIDERS.get(chosen)
    if file == "systemd":
        from saltlite.providers.service.systemd import Systemd

        return Systemd(ctx)
    if file == "openrc":
        from saltlite.providers.service.openrc import OpenRc

        return OpenRc(ctx)
    if file == "sysv":
        from saltlite.providers.service.sysv import SysV

        return SysV(ctx)
    raise FunctionUnavailable("service", f"no service manager is called {chosen}")


def salt_file(ctx: MinionContext) -> str:
    """The name of the file in Salt that has the service manager of this machine."""
    chosen = _provider_name(ctx)
    family = str(ctx.grains.get("os_family", ""))
    return SALT_FILES.get((chosen, family)) or SALT_FILES.get((chosen, ""), chosen)


def _provider_name(ctx: MinionContext) -> str:
    return str(ctx.config.modules.providers.get("service") or _of_grains(ctx))


def _of_grains(ctx: MinionContext) -> str:
    family = OF_FAMILY.get(str(ctx.grains.get("os_family", "")))
    init = OF_INIT.get(str(ctx.grains.get("init", "")))
    if init == "systemd" or family is None:
        return init or "service"
    return family


def units(ctx: MinionContext, function: str) -> Units:
    """What knows units: systemd, also where ``systemctl`` is but does not run the machine.

    Raises:
        FunctionUnavailable: there is none.
    """
    found = provider(ctx)
    if isinstance(found, Units):
        return found
    if ctx.host.which("systemctl") is None:
        raise FunctionUnavailable(f"service.{function}")
    from saltlite.providers.service.systemd import Systemd

    return Systemd(ctx)
