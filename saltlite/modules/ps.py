"""Processes and load, by way of psutil.

psutil is asked for when a function is called: a minion without it lacks this module alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable, ProgramMissing
from saltlite.providers import command
from saltlite.providers.command import CommandOptions

if TYPE_CHECKING:
    import psutil


def top(num_processes: int = 5, interval: float = 3) -> list[dict[str, Any]]:
    """The processes that used the processors most within ``interval`` seconds.

    CLI Example:

        salt '*' ps.top
        salt '*' ps.top 5 10
    """
    import time

    before = {process: _cpu_time_s(process) for process in _import_psutil().process_iter()}
    time.sleep(float(interval))
    used = [
        (_cpu_time_s(process) - spent, process)
        for process, spent in before.items()
        if process.is_running()
    ]
    used.sort(key=lambda pair: pair[0], reverse=True)
    shown = (_describe_process(process) for _, process in used)
    found = [each for each in shown if each is not None]
    return found[: int(num_processes)]


def _cpu_time_s(process: psutil.Process) -> float:
    import psutil

    try:
        times = process.cpu_times()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0.0
    return float(times.user + times.system)


def _describe_process(process: psutil.Process) -> dict[str, Any] | None:
    import psutil

    try:
        with process.oneshot():
            line = process.cmdline()
            return {
                "cmd": line or process.name(),
                "user": process.username(),
                "status": process.status(),
                "pid": process.pid,
                "create_time": process.create_time(),
                "cpu": process.cpu_times()._asdict(),
                "mem": process.memory_info()._asdict(),
            }
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def get_pid_list() -> list[int]:
    """The ids of all processes.

    CLI Example:

        salt '*' ps.get_pid_list
    """
    return list(_import_psutil().pids())


def proc_info(pid: int, attrs: list[str] | None = None) -> dict[str, Any]:
    """What is known of a process, or the values named.

    CLI Example:

        salt '*' ps.proc_info 2322
        salt '*' ps.proc_info 2322 attrs='["pid", "name"]'
    """
    util = _import_psutil()
    try:
        found: dict[str, Any] = util.Process(pid).as_dict(attrs)
    except util.Error as error:
        raise FunctionError(str(error)) from error
    return {name: _as_plain(value) for name, value in found.items()}


def _as_plain(value: object) -> Any:
    """Named tuples as maps, also within others."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _as_plain(each) for name, each in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [_as_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _as_plain(each) for name, each in value.items()}
    return value


def kill_pid(pid: int, signal: int = 15) -> bool:
    """Send a signal to a process; ``False`` if there is none of that id.

    CLI Example:

        salt '*' ps.kill_pid 2000
    """
    util = _import_psutil()
    try:
        util.Process(pid).send_signal(signal)
    except (util.NoSuchProcess, OverflowError):
        return False
    return True


def pkill(
    pattern: str, user: str | None = None, signal: int = 15, full: bool = False
) -> dict[str, list[int]] | None:
    """Send a signal to the processes whose name has a text in it; ``full`` looks at the line.

    CLI Example:

        salt '*' ps.pkill pattern=httpd signal=9
    """
    killed = [
        process.pid
        for process in _find_processes(pattern, user, full=full)
        if _send_signal(process, signal)
    ]
    return {"killed": killed} if killed else None


def _send_signal(process: psutil.Process, signal: int) -> bool:
    import psutil

    try:
        process.send_signal(signal)
    except psutil.NoSuchProcess:
        return False
    return True


def pgrep(
    pattern: str, user: str | None = None, full: bool = False, pattern_is_regex: bool = False
) -> list[int] | None:
    """The ids of the processes whose name has a text in it, ``None`` if none has.

    ``full`` looks at the whole line, ``pattern_is_regex`` takes the text as a pattern.

    CLI Example:

        salt '*' ps.pgrep pattern=httpd
    """
    text = pattern if pattern_is_regex else re.escape(str(pattern))
    found = [process.pid for process in _find_processes(text, user, full=full, regex=True)]
    return found or None


def _find_processes(
    pattern: str, user: str | None, *, full: bool, regex: bool = False
) -> Iterator[psutil.Process]:
    wanted = re.compile(pattern if regex else re.escape(str(pattern)))
    for process in _import_psutil().process_iter():
        told = _describe_match(process, full=full)
        if told is not None and wanted.search(told[0]) and user in (None, told[1]):
            yield process


def _describe_match(process: psutil.Process, *, full: bool) -> tuple[str, str] | None:
    """Name or line, and user."""
    import psutil

    try:
        name = " ".join(process.cmdline()) if full else process.name()
        return name, process.username()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None


def status(status: str) -> list[dict[str, Any]]:
    """The processes in a state: ``running``, ``sleeping``, ``zombie`` ...

    CLI Example:

        salt '*' ps.status STATUS
    """
    if not status:
        raise FunctionError("Filter is required for ps.status.")
    processes = _import_psutil().process_iter(["pid", "name", "status"])
    return [
        {"pid": process.info["pid"], "name": process.info["name"]}
        for process in processes
        if process.info["status"] == status
    ]


def cpu_percent(interval: float = 0.1, per_cpu: bool = False) -> float | list[float]:
    """How busy the processors were within ``interval`` seconds, in percent.

    CLI Example:

        salt '*' ps.cpu_percent
    """
    found: float | list[float] = _import_psutil().cpu_percent(interval, per_cpu)
    return found


def cpu_times(per_cpu: bool = False) -> Any:
    """What the processors spent their time on, in seconds.

    CLI Example:

        salt '*' ps.cpu_times
    """
    return _as_plain(_import_psutil().cpu_times(per_cpu))


def num_cpus() -> int | None:
    """How many processors there are.

    CLI Example:

        salt '*' ps.num_cpus
    """
    count: int | None = _import_psutil().cpu_count()
    return count


def virtual_memory() -> dict[str, Any]:
    """Memory, in bytes.

    CLI Example:

        salt '*' ps.virtual_memory
    """
    return dict(_import_psutil().virtual_memory()._asdict())


def swap_memory() -> dict[str, Any]:
    """What is swapped, in bytes.

    CLI Example:

        salt '*' ps.swap_memory
    """
    return dict(_import_psutil().swap_memory()._asdict())


def total_physical_memory() -> int:
    """All memory of the machine, in bytes.

    CLI Example:

        salt '*' ps.total_physical_memory
    """
    return int(_import_psutil().virtual_memory().total)


def disk_partitions(all: bool = False) -> list[dict[str, Any]]:
    """What is mounted; ``all`` also tells what is on no device.

    CLI Example:

        salt '*' ps.disk_partitions
    """
    return [_describe_partition(each) for each in _import_psutil().disk_partitions(all)]


def _describe_partition(entry: Any) -> dict[str, Any]:
    return {
        "device": entry.device,
        "mountpoint": entry.mountpoint,
        "fstype": entry.fstype,
        "opts": entry.opts,
    }


def disk_usage(path: str) -> dict[str, Any]:
    """The room on the file system that a path is on, in bytes.

    CLI Example:

        salt '*' ps.disk_usage /home
    """
    try:
        return dict(_import_psutil().disk_usage(path)._asdict())
    except OSError as error:
        raise FunctionError(f"{path}: {error.strerror}") from error


def disk_partition_usage(all: bool = False) -> list[dict[str, Any]]:
    """What is mounted, and the room there.

    CLI Example:

        salt '*' ps.disk_partition_usage
    """
    return [each | disk_usage(each["mountpoint"]) for each in disk_partitions(all)]


def disk_io_counters(device: str | None = None) -> Any:
    """What was read from disks and written to them; of all, or of one. ``False``: no such disk.

    CLI Example:

        salt '*' ps.disk_io_counters device=sda1
    """
    if not device:
        return _as_plain(_import_psutil().disk_io_counters())
    return _as_plain(_import_psutil().disk_io_counters(perdisk=True).get(device, False))


def network_io_counters(interface: str | None = None) -> Any:
    """What went through interfaces; all, or one. ``False``: no such interface.

    CLI Example:

        salt '*' ps.network_io_counters interface=eth0
    """
    if not interface:
        return _as_plain(_import_psutil().net_io_counters())
    return _as_plain(_import_psutil().net_io_counters(pernic=True).get(interface, False))


def boot_time(time_format: str | None = None) -> int | str:
    """When the machine started: seconds since 1970, or as ``time_format`` says.

    CLI Example:

        salt '*' ps.boot_time
    """
    from datetime import datetime, timezone

    seconds = int(_import_psutil().boot_time())
    if not time_format:
        return seconds
    return datetime.fromtimestamp(seconds, timezone.utc).astimezone().strftime(time_format)


def get_users() -> list[dict[str, Any]]:
    """Who is logged in.

    CLI Example:

        salt '*' ps.get_users
    """
    return [dict(each._asdict()) for each in _import_psutil().users()]


def lsof(ctx: MinionContext, name: str) -> list[str]:
    """The open files of a command, as ``lsof`` tells them.

    CLI Example:

        salt '*' ps.lsof apache2
    """
    return [str(name), _read_output(ctx, ["lsof", "-c", str(name)])]


def netstat(ctx: MinionContext, name: str) -> list[Any]:
    """The lines of ``netstat`` that have a text in them.

    CLI Example:

        salt '*' ps.netstat apache2
    """
    return [
        str(name),
        _matching_lines(_read_output(ctx, ["netstat", "-nap"], rstrip=False), str(name)),
    ]


def ss(ctx: MinionContext, name: str) -> list[Any]:
    """The lines of ``ss`` that have a text in them.

    CLI Example:

        salt '*' ps.ss apache2
    """
    return [str(name), _matching_lines(_read_output(ctx, ["ss", "-neap"], rstrip=False), str(name))]


def psaux(ctx: MinionContext, name: str) -> list[Any]:
    """The lines of ``ps aux`` that have a text in them, and how many these are.

    CLI Example:

        salt '*' ps.psaux www-data.+apache2
    """
    try:
        pattern = re.compile(str(name))
    except re.error as error:
        raise FunctionError(f"{name} is not a pattern: {error}") from error
    own = str(os.getpid())
    found = [
        line
        for line in _read_output(ctx, ["ps", "aux"]).splitlines()
        if pattern.search(line) and line.split()[1:2] != [own]
    ]
    return [str(name), found, f"{len(found)} occurrence(s)."]


def _matching_lines(text: str, name: str) -> list[str]:
    return [line for line in text.split("\n") if name in line]


def _read_output(ctx: MinionContext, argv: list[str], *, rstrip: bool = True) -> str:
    if ctx.host.which(argv[0]) is None:
        raise ProgramMissing(argv[0])
    options = CommandOptions(python_shell=False, ignore_retcode=True, rstrip=rstrip)
    return command.run(ctx, argv, options).stdout


def _import_psutil() -> Any:
    try:
        import psutil
    except ImportError:
        raise FunctionUnavailable(
            "ps",
            "'ps' __virtual__ returned False: The ps module cannot be loaded: "
            "python module psutil not installed.",
        ) from None
    return psutil
