"""Whether packages could be upgraded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.providers import pkg
from saltlite.providers.pkg.protocol import NO_OPTIONS
from saltlite.providers.watch import settings

STAMPS: Final = "stamps"
KNOWN: Final = "known"


@dataclass(frozen=True, slots=True)
class PkgOptions:
    """The configuration of this beacon."""

    pkgs: Any = None
    refresh: Any = False


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    if "pkgs" not in config:
        return False, "Configuration for pkg beacon requires list of pkgs."
    names = read_fields(PkgOptions, config).pkgs
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        return False, "Configuration for pkg beacon requires pkgs to be a list of names."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tell of every package that is not as at the last look: upgradable, installed, not there.

    ``refresh`` gets the lists of packages anew at each look.
    """
    options = read_fields(PkgOptions, config)
    manager = pkg.provider(ctx.minion)
    stamps = pkg.database_stamps(ctx.minion)
    if stamps is not None and stamps == ctx.kept.get(STAMPS) and not options.refresh:
        return []
    ctx.kept[STAMPS] = stamps
    if options.refresh:
        manager.refresh(NO_OPTIONS)
    names = [str(name) for name in options.pkgs]
    installed = manager.list_installed()
    available = manager.available(names, NO_OPTIONS)
    known: dict[str, str] = ctx.kept.setdefault(KNOWN, {})
    found = []
    for name in names:
        status, version = _status_of(installed.get(name, []), available.get(name, ""))
        before = known.get(name, status)
        known[name] = status
        if status != before:
            found.append({"pkg": name, "version": version, "status": status})
    return found


def _status_of(installed: list[str], offered: str) -> tuple[str, str | None]:
    """What a package is, and the version that tells so: the newest, or the one that is there."""
    if installed and offered:
        return "upgrade", offered
    return ("installed", installed[-1]) if installed else ("not-installed", None)
