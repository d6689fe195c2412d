"""Package managers: what they can do, and which one this machine has.

A provider asks and changes one package manager: commands through the host, pure parsers for their
output. What every one can do is :class:`Packages`; the other protocols are features that some have
(``isinstance`` asks for them). Called by ``modules/pkg`` and by the states of packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from saltlite.errors import FunctionUnavailable
from saltlite.providers.pkg.protocol import Packages

if TYPE_CHECKING:
    from saltlite.context import MinionContext

PROVIDERS: Mapping[str, str] = {
    "aptpkg": "apt",
    "yumpkg": "dnf",
    "zypperpkg": "zypper",
    "pacmanpkg": "pacman",
    "apkpkg": "apk",
}
"""Salt's name of each back end (option ``providers``), and the file here."""

OF_FAMILY: Mapping[str, str] = {
    "Debian": "aptpkg",
    "RedHat": "yumpkg",
    "Suse": "zypperpkg",
    "Arch": "pacmanpkg",
    "Alpine": "apkpkg",
}
"""The back end of each ``os_family``."""


def provider(ctx: MinionContext) -> Packages:
    """The package manager of this machine, or the one that the option ``providers`` names.

    Raises:
        FunctionUnavailable: there is none for this system.
    """
    return _make_provider(salt_file(ctx), ctx)


def salt_file(ctx: MinionContext) -> str:
    """The name of the file in Salt that has the package manager here, ``""`` for none."""
    family = str(ctx.grains.get("os_family", ""))
    return str(ctx.config.modules.providers.get("pkg") or OF_FAMILY.get(family, ""))


DATABASES: Mapping[str, Sequence[str]] = {
    "aptpkg": (
        "/var/lib/dpkg/status",
        "/var/lib/apt/lists",
        "/etc/apt/sources.list",
        "/etc/apt/sources.list.d",
        "/etc/apt/preferences",
        "/etc/apt/preferences.d",
    ),
}
"""Where it is kept what is installed and offered: nothing of it changes unless these do."""


def database_stamps(ctx: MinionContext) -> dict[str, int] | None:
    """When the packages last changed, by file; ``None`` where that is not known."""
    paths = DATABASES.get(salt_file(ctx))
    if paths is None:
        return None
    return {path: stamp for path in paths if (stamp := ctx.host.mtime_ns(path)) is not None}


def _make_provider(chosen: str, ctx: MinionContext) -> Packages:
    file = PROVIDERS.get(chosen)
    if file == "apt":
        from saltlite.providers.pkg.apt import Apt

        return Apt(ctx)
    if file == "dnf":
        from saltlite.providers.pkg.dnf import Dnf

        return Dnf(ctx)
    if file == "zypper":
        from saltlite.providers.pkg.zypper import Zypper

        return Zypper(ctx)
    if file == "pacman":
        from saltlite.providers.pkg.pacman import Pacman

        return Pacman(ctx)
    if file == "apk":
        from saltlite.providers.pkg.apk import Apk

        return Apk(ctx)
    raise FunctionUnavailable("pkg", "no package manager is known for this system")
