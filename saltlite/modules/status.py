"""How the machine is doing."""

from __future__ import annotations

import fnmatch
import os
import re
import socket
from datetime import datetime, timedelta, timezone
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import command
from saltlite.providers.command import CommandOptions
from saltlite.providers.mount import active as mounted
from saltlite.providers.network import sockets
from saltlite.providers.status import proc, processes

MASTER_TIMEOUT_S = 5.0


def all_status(ctx: MinionContext) -> dict[str, Any]:
    """Everything that the other functions tell of the machine as a whole.

    CLI Example:

        salt '*' status.all_status
    """
    return {
        "cpuinfo": cpuinfo(ctx),
        "cpustats": cpustats(ctx),
        "diskstats": diskstats(ctx),
        "diskusage": diskusage(ctx),
        "loadavg": loadavg(ctx),
        "meminfo": meminfo(ctx),
        "netdev": netdev(ctx),
        "netstats": netstats(ctx),
        "uptime": uptime(ctx),
        "vmstats": vmstats(ctx),
        "w": w(ctx),
    }


def custom(ctx: MinionContext) -> dict[str, Any]:
    """What the option ``status.<function>.custom`` asks for: lists of names for each function.

    CLI Example:

        salt '*' status.custom
    """
    found: dict[str, Any] = {}
    for option, names in ctx.config.extra.items():
        match = re.fullmatch(r"status\.(\w+)\.custom", str(option))
        if not match or not isinstance(names, (list, tuple)):
            continue
        values = ctx.functions.call(f"status.{match.group(1)}")
        for name in names:
            found[str(name)] = values[name]
    return found


def cpuinfo(ctx: MinionContext) -> dict[str, Any]:
    """The processor.

    CLI Example:

        salt '*' status.cpuinfo
    """
    return proc.parse_cpuinfo(_read_file(ctx.host, "/proc/cpuinfo"))


def cpustats(ctx: MinionContext) -> dict[str, Any]:
    """What the processors spent their time on, in ticks.

    CLI Example:

        salt '*' status.cpustats
    """
    return proc.parse_stat(_read_file(ctx.host, "/proc/stat"))


def meminfo(ctx: MinionContext) -> dict[str, dict[str, str]]:
    """Memory.

    CLI Example:

        salt '*' status.meminfo
    """
    return proc.parse_meminfo(_read_file(ctx.host, "/proc/meminfo"))


def diskstats(ctx: MinionContext) -> dict[str, dict[str, Any]]:
    """What was read from disks and written to them.

    CLI Example:

        salt '*' status.diskstats
    """
    return proc.parse_diskstats(_read_file(ctx.host, "/proc/diskstats"))


def diskusage(ctx: MinionContext, *args: str) -> dict[str, dict[str, int]]:
    """Size and free room of file systems, in bytes; all, or those named by path or kind.

    CLI Example:

        salt '*' status.diskusage
        salt '*' status.diskusage / /tmp ext?
    """
    mounts = mounted.parse_mounts(_read_file(ctx.host, mounted.MOUNTS))
    wanted = [path for path in args if path.startswith("/")]
    kinds = [kind for kind in args if not kind.startswith("/")]
    for path, mount in mounts.items():
        if not args or any(fnmatch.fnmatch(str(mount["fstype"]), kind) for kind in kinds):
            wanted.append(path)
    return {
        path: _disk_room(path) for path in dict.fromkeys(wanted) if args or os.path.exists(path)
    }


def _disk_room(path: str) -> dict[str, int]:
    try:
        found = os.statvfs(path)
    except OSError as error:
        raise FunctionError(f"{path}: {error.strerror}") from error
    return {
        "available": found.f_bavail * found.f_frsize,
        "total": found.f_blocks * found.f_frsize,
    }


def loadavg(ctx: MinionContext) -> dict[str, float]:
    """How many processes wanted to run, on average.

    CLI Example:

        salt '*' status.loadavg
    """
    return dict(zip(("1-min", "5-min", "15-min"), os.getloadavg(), strict=True))


def netdev(ctx: MinionContext) -> dict[str, dict[str, Any]]:
    """What went through the interfaces.

    CLI Example:

        salt '*' status.netdev
    """
    return proc.parse_netdev(_read_file(ctx.host, "/proc/net/dev"))


def netstats(ctx: MinionContext) -> dict[str, dict[str, int]]:
    """The kernel's counters of the network.

    CLI Example:

        salt '*' status.netstats
    """
    return proc.parse_netstat(_read_file(ctx.host, "/proc/net/netstat"))


def nproc() -> int:
    """How many processors there are to run on.

    CLI Example:

        salt '*' status.nproc
    """
    return len(os.sched_getaffinity(0))


def vmstats(ctx: MinionContext) -> dict[str, int | float]:
    """The kernel's counters of memory.

    CLI Example:

        salt '*' status.vmstats
    """
    return proc.parse_vmstat(_read_file(ctx.host, "/proc/vmstat"))


def version(ctx: MinionContext) -> str:
    """The kernel's version.

    CLI Example:

        salt '*' status.version
    """
    return _read_file(ctx.host, "/proc/version").strip()


def uptime(ctx: MinionContext) -> dict[str, Any]:
    """For how long the machine has been running, and how many are logged in.

    ``since_iso`` is in UTC.

    CLI Example:

        salt '*' status.uptime
    """
    seconds = int(float(_read_file(ctx.host, "/proc/uptime").split()[0]))
    since = datetime.now(timezone.utc) - timedelta(seconds=seconds)
    minutes = seconds % 86400 // 60
    return {
        "seconds": seconds,
        "since_iso": since.replace(tzinfo=None).isoformat(),
        "since_t": int(since.timestamp()),
        "days": seconds // 86400,
        "time": f"{minutes // 60}:{minutes % 60:02d}",
        "users": len(_read_output(ctx, ["who", "-s"]).split("\n")),
    }


def w(ctx: MinionContext) -> list[dict[str, str]]:
    """Who is logged in, and what they do.

    CLI Example:

        salt '*' status.w
    """
    return proc.parse_w(_read_output(ctx, ["w", "-fh"]))


def procs(ctx: MinionContext) -> dict[str, dict[str, str]]:
    """The processes: user and command by process id.

    CLI Example:

        salt '*' status.procs
    """
    found: dict[str, dict[str, str]] = {}
    if ctx.host.which("ps") is not None:
        found = proc.parse_ps(_read_output(ctx, ["ps", "-efHww"]))
    return found or processes.read(ctx.host)


def pid(ctx: MinionContext, sig: str) -> str:
    """The ids of processes whose user, id and command match, one per line.

    CLI Example:

        salt '*' status.pid <sig>
    """
    try:
        pattern = re.compile(str(sig))
    except re.error as error:
        raise FunctionError(f"{sig} is not a pattern: {error}") from error
    own = str(os.getpid())
    return "\n".join(
        number
        for number, each in procs(ctx).items()
        if number != own and pattern.search(f"{each['user']} {number} {each['cmd']}")
    )


def time(format: str = "%A, %d. %B %Y %I:%M%p") -> str:
    """The time of the machine.

    CLI Example:

        salt '*' status.time
        salt '*' status.time '%s'
    """
    return datetime.now(timezone.utc).astimezone().strftime(format)


def ping_master(ctx: MinionContext, master: str) -> bool:
    """Whether a master can be reached.

    CLI Example:

        salt '*' status.ping_master localhost
    """
    port = int(ctx.config.network.publish_port)
    try:
        socket.create_connection((_host_of(str(master)), port), timeout=MASTER_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def master(ctx: MinionContext, master: str | None = None, connected: bool = True) -> bool | None:
    """Whether the minion is connected to its master; ``None`` if there is none to connect to.

    If that is not what ``connected`` says, an event tells the minion.

    CLI Example:

        salt '*' status.master
    """
    if master is None and ctx.master is None:
        return None
    named = ctx.config.network.master
    name = master or (named if isinstance(named, str) else next(iter(named), ""))
    try:
        found = socket.getaddrinfo(_host_of(str(name)), None)
    except (OSError, UnicodeError):
        return None
    addresses = {str(each[4][0]) for each in found}
    port = int(ctx.config.network.publish_port)
    status = any(
        each.remote in addresses and each.remote_port == port and sockets.is_established(each)
        for kind in ("tcp", "tcp6")
        for each in sockets.parse(_read_file(ctx.host, f"/proc/net/{kind}"), kind)
    )
    if status is not connected:
        tag = "__master_connected" if status else "__master_disconnected"
        ctx.events.fire(tag, {"master": str(name)})
    return status


def _host_of(master: str) -> str:
    """A master's name without a port behind it."""
    bracketed = re.fullmatch(r"\[([^]]*)\](?::\d+)?", master)
    if bracketed:
        return bracketed.group(1)
    return master.partition(":")[0] if master.count(":") == 1 else master


def proxy_reconnect(proxy_name: str, opts: object = None) -> bool:
    """Connect a proxy minion again: there are none here.

    CLI Example:

        salt '*' status.proxy_reconnect rest_sample
    """
    return False


def _read_file(host: Host, path: str) -> str:
    text = host.read_text(path)
    if text is None:
        raise FunctionError(f"{path} cannot be read")
    return text


def _read_output(ctx: MinionContext, argv: list[str]) -> str:
    return command.run(ctx, argv, CommandOptions(python_shell=False, ignore_retcode=True)).stdout
