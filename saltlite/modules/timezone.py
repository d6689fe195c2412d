"""The time zone of the machine, and what its hardware clock shows."""

from __future__ import annotations

import logging
import os
from datetime import datetime, timezone

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Host
from saltlite.providers import command, textfile
from saltlite.providers import timezone as zones
from saltlite.providers.command import CommandOptions

log = logging.getLogger(__name__)


def get_zone(ctx: MinionContext) -> str:
    """The name of the zone, as ``America/Denver``.

    CLI Example:

        salt '*' timezone.get_zone
    """
    found = zones.current(ctx.host)
    if found is None:
        raise FunctionError(f"Unable to get timezone from {zones.LOCALTIME}")
    return found


def get_zonecode(ctx: MinionContext) -> str:
    """The short name of the zone as it is now, as ``MST``.

    CLI Example:

        salt '*' timezone.get_zonecode
    """
    return _current_time(ctx.host).strftime("%Z")


def get_offset(ctx: MinionContext) -> str:
    """How far the zone is from UTC, as ``-0700``.

    CLI Example:

        salt '*' timezone.get_offset
    """
    return _current_time(ctx.host).strftime("%z")


def _current_time(host: Host) -> datetime:
    """Now, by the file of the machine and not by what this process took for its zone."""
    import io
    from zoneinfo import ZoneInfo

    data = host.read_bytes(zones.LOCALTIME)
    if not data:
        return datetime.now(timezone.utc)
    return datetime.now(ZoneInfo.from_file(io.BytesIO(data)))


def zone_compare(ctx: MinionContext, timezone: str) -> bool:
    """Whether the machine is in this zone; zones with the same rules count as one.

    CLI Example:

        salt '*' timezone.zone_compare America/Denver
    """
    wanted = ctx.host.read_bytes(zones.zone_file(timezone))
    if wanted is None or not _is_zone(timezone):
        raise UsageError(f'Can\'t find a local timezone "{timezone}"')
    return ctx.host.read_bytes(zones.LOCALTIME) == wanted


def set_zone(ctx: MinionContext, timezone: str) -> bool | str:
    """Move the machine to a zone; a text says what is wrong with the name.

    CLI Example:

        salt '*' timezone.set_zone America/Denver
    """
    path = zones.zone_file(timezone)
    if not _is_zone(timezone) or not ctx.host.exists(path):
        return f"Zone does not exist: {path}"
    if _has_timedatectl(ctx.host):
        argv = ["timedatectl", "set-timezone", timezone]
        if (
            command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True)).retcode
            == 0
        ):
            return True
        log.warning("timedatectl did not set the zone; %s is changed instead", zones.LOCALTIME)
    _replace_link(path)
    if ctx.grains.get("os_family") == "Debian" or ctx.host.exists(zones.TIMEZONE):
        textfile.save(zones.TIMEZONE, f"{timezone}\n")
    return True


def _is_zone(name: str) -> bool:
    return bool(name) and not name.startswith("/") and ".." not in name.split("/")


def _replace_link(path: str) -> None:
    """Put the new link in the place of the old one at once."""
    temporary = f"{zones.LOCALTIME}.{os.getpid()}.tmp"
    try:
        os.symlink(path, temporary)
        os.rename(temporary, zones.LOCALTIME)
    except OSError as error:
        raise FunctionError(f"Unable to link {zones.LOCALTIME}: {error.strerror}") from error


def get_hwclock(ctx: MinionContext) -> str:
    """What the hardware clock shows: ``UTC`` or ``localtime``.

    CLI Example:

        salt '*' timezone.get_hwclock
    """
    return zones.parse_adjtime(ctx.host.read_text(zones.ADJTIME) or "") or "UTC"


def set_hwclock(ctx: MinionContext, clock: str) -> bool:
    """Say what the hardware clock shows: ``UTC`` or ``localtime``.

    CLI Example:

        salt '*' timezone.set_hwclock UTC
    """
    if ctx.host.which("timedatectl") is not None:
        local = "true" if clock == "localtime" else "false"
        argv = ["timedatectl", "set-local-rtc", local]
    elif clock in ("UTC", "localtime"):
        argv = ["hwclock", "--systohc", f"--{clock.lower()}"]
    else:
        raise FunctionError(f"localtime and UTC are the only permitted values, not {clock}")
    return command.run(ctx, argv, CommandOptions(python_shell=False)).retcode == 0


def _has_timedatectl(host: Host) -> bool:
    booted = host.is_dir(zones.BOOTED_WITH_SYSTEMD)
    return booted and host.which("timedatectl") is not None
