"""The machine as a whole: stop and restart it, its clock, its name."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, StoreError, UsageError
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions

REBOOT_WITNESS = "/var/volatile/tmp/salt/reboot_witnessed"
MACHINE_INFO = "/etc/machine-info"

_TIMES = ("%I:%M:%S %p", "%I:%M %p", "%H:%M:%S", "%H:%M")
_DATES = ("%Y-%m-%d", "%m-%d-%Y", "%m-%d-%y", "%m/%d/%Y", "%m/%d/%y", "%Y/%m/%d")
_PRETTY = regex(r"""\s*PRETTY_HOSTNAME=["']?(.*?)["']?\s*$""")


def halt(ctx: MinionContext) -> str:
    """Halt the machine.

    CLI Example:

        salt '*' system.halt
    """
    return _read_output(ctx, ["halt"])


def poweroff(ctx: MinionContext) -> str:
    """Switch the machine off.

    CLI Example:

        salt '*' system.poweroff
    """
    return _read_output(ctx, ["poweroff"])


def reboot(ctx: MinionContext, at_time: object = None) -> str:
    """Restart the machine; ``at_time`` in minutes, or ``hh:mm``.

    CLI Example:

        salt '*' system.reboot
    """
    return _read_output(ctx, ["shutdown", "-r", str(at_time or "now")])


def shutdown(ctx: MinionContext, at_time: object = None) -> str:
    """Shut the machine down; ``at_time`` in minutes, or ``hh:mm``.

    CLI Example:

        salt '*' system.shutdown 5
    """
    return _read_output(ctx, ["shutdown", "-h", str(at_time or "now")])


def init(ctx: MinionContext, runlevel: object) -> str:
    """Change the run level.

    CLI Example:

        salt '*' system.init 3
    """
    return _read_output(ctx, ["init", str(runlevel)])


def get_system_date(ctx: MinionContext, utc_offset: str | None = None) -> str:
    """The date, as ``Sat 11/21/2026``; of the machine, or ``+0200`` from UTC.

    CLI Example:

        salt '*' system.get_system_date
    """
    return _current_time(utc_offset).strftime("%a %m/%d/%Y")


def get_system_time(ctx: MinionContext, utc_offset: str | None = None) -> str:
    """The time, as ``02:08:54 AM``.

    CLI Example:

        salt '*' system.get_system_time
    """
    return _current_time(utc_offset).strftime("%I:%M:%S %p")


def get_system_date_time(ctx: MinionContext, utc_offset: str | None = None) -> str:
    """Date and time, as ``2026-11-21 02:08:54``.

    CLI Example:

        salt '*' system.get_system_date_time "'-0500'"
    """
    return _current_time(utc_offset).strftime("%Y-%m-%d %H:%M:%S")


def _current_time(utc_offset: str | None) -> datetime:
    now = datetime.now(timezone.utc)
    return now.astimezone() if utc_offset is None else now.astimezone(_parse_zone(utc_offset))


def _parse_zone(utc_offset: str) -> timezone:
    match = re.fullmatch(r"([+-])(\d{2})(\d{2})", str(utc_offset))
    if not match:
        raise UsageError("Invalid UTC offset")
    sign, hours, minutes = match.groups()
    apart = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-apart if sign == "-" else apart)


def set_system_date(ctx: MinionContext, newdate: str, utc_offset: str | None = None) -> bool:
    """Set the date: ``2015-05-29``, ``05/29/2015`` and the like.

    CLI Example:

        salt '*' system.set_system_date '03-28-13'
    """
    given = _parse_time(newdate, _DATES)
    if given is None:
        raise UsageError("Invalid date format")
    return set_system_date_time(
        ctx, years=given.year, months=given.month, days=given.day, utc_offset=utc_offset
    )


def set_system_time(ctx: MinionContext, newtime: str, utc_offset: str | None = None) -> bool:
    """Set the time: ``11:59:00 PM``, ``23:59`` and the like. ``False`` for another form.

    CLI Example:

        salt '*' system.set_system_time "11:20"
    """
    given = _parse_time(newtime, _TIMES)
    if given is None:
        return False
    return set_system_date_time(
        ctx, hours=given.hour, minutes=given.minute, seconds=given.second, utc_offset=utc_offset
    )


def _parse_time(text: str, forms: tuple[str, ...]) -> datetime | None:
    for form in forms:
        found = _parse_time_as(text, form)
        if found is not None:
            return found
    return None


def _parse_time_as(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(str(text), form).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def set_system_date_time(
    ctx: MinionContext,
    years: int | None = None,
    months: int | None = None,
    days: int | None = None,
    hours: int | None = None,
    minutes: int | None = None,
    seconds: int | None = None,
    utc_offset: str | None = None,
) -> bool:
    """Set the clock; what is not given stays. The hardware clock follows where there is one.

    CLI Example:

        salt '*' system.set_system_date_time 2015 5 12 11 37 53 "'-0500'"
    """
    now = _current_time(utc_offset)
    given = (years, months, days, hours, minutes, seconds)
    present = (now.year, now.month, now.day, now.hour, now.minute, now.second)
    try:
        year, month, day, hour, minute, second = (
            old if new is None else int(new) for new, old in zip(given, present, strict=True)
        )
        moment = datetime(year, month, day, hour, minute, second, tzinfo=now.tzinfo)
    except (ValueError, TypeError) as error:
        raise FunctionError(str(error)) from error
    argv = ["date"]
    if utc_offset is not None:
        moment = moment.astimezone(timezone.utc)
        argv.append("-u")
    argv.append(moment.strftime("%m%d%H%M%Y.%S"))
    if command.run(ctx, argv, CommandOptions(python_shell=False)).retcode != 0:
        return False
    if has_settable_hwclock(ctx):
        options = CommandOptions(python_shell=False)
        return command.run(ctx, ["hwclock", "--systohc"], options).retcode == 0
    return True


def has_settable_hwclock(ctx: MinionContext) -> bool:
    """Whether there is a hardware clock that can be set.

    CLI Example:

        salt '*' system.has_settable_hwclock
    """
    if ctx.host.which("hwclock") is None:
        return False
    options = CommandOptions(python_shell=False, ignore_retcode=True)
    return command.run(ctx, ["hwclock", "--test", "--systohc"], options).retcode == 0


def get_computer_name() -> str:
    """The machine's name.

    CLI Example:

        salt '*' system.get_computer_name
    """
    import socket

    return socket.gethostname()


def set_computer_name(ctx: MinionContext, hostname: str) -> bool:
    """Give the machine another name.

    CLI Example:

        salt '*' system.set_computer_name master.saltstack.com
    """
    from saltlite.modules import network

    return network.mod_hostname(ctx, hostname)


def get_computer_desc(ctx: MinionContext) -> str:
    """What people call the machine; ``False`` if nobody has said.

    CLI Example:

        salt '*' system.get_computer_desc
    """
    if ctx.host.which("hostnamectl") is not None:
        return _read_output(ctx, ["hostnamectl", "status", "--pretty"])
    text = textfile.load(ctx.host, MACHINE_INFO) or ""
    found = [match.group(1) for line in text.splitlines() if (match := _PRETTY.match(line))]
    return found[-1].replace('\\"', '"') if found else ""


def set_computer_desc(ctx: MinionContext, desc: str) -> bool:
    """Say what people call the machine.

    CLI Example:

        salt '*' system.set_computer_desc "Michael's laptop"
    """
    if ctx.host.which("hostnamectl") is not None:
        argv = ["hostnamectl", "set-hostname", "--pretty", str(desc)]
        return command.run(ctx, argv, CommandOptions(python_shell=False)).retcode == 0
    quoted = str(desc).replace("\n", " ").replace('"', '\\"')
    with textfile.hold(ctx, MACHINE_INFO):
        lines = (textfile.load(ctx.host, MACHINE_INFO) or "").splitlines()
        kept = [line for line in lines if not _PRETTY.match(line)]
        textfile.save(MACHINE_INFO, "\n".join([*kept, f'PRETTY_HOSTNAME="{quoted}"']) + "\n")
    return True


def get_reboot_required_witnessed(ctx: MinionContext) -> bool:
    """Whether somebody noted since the last start that a restart is needed.

    CLI Example:

        salt '*' system.get_reboot_required_witnessed
    """
    return ctx.host.exists(REBOOT_WITNESS)


def set_reboot_required_witnessed(ctx: MinionContext) -> bool:
    """Note that a restart is needed.

    CLI Example:

        salt '*' system.set_reboot_required_witnessed
    """
    try:
        disk.make_dir(Path(os.path.dirname(REBOOT_WITNESS)), 0o755)
        disk.write_file(Path(REBOOT_WITNESS), b"", mode=0o644)
    except StoreError as error:
        raise FunctionError(str(error)) from error
    return True


def _read_output(ctx: MinionContext, argv: list[str]) -> str:
    return command.run(ctx, argv, CommandOptions(python_shell=False, redirect_stderr=True)).stdout
