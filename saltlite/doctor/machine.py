"""The machine as checks see it: files, disks, ports, names, processes. It is looked at, no more."""

from __future__ import annotations

import errno
import os
import pwd
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from saltlite.core.dataclasses import dataclass

CONNECT_S: Final = 3.0
_LISTENING: Final = "0A"


@dataclass(frozen=True, slots=True)
class Space:
    """What is free of a file system; ``inodes`` is 0 where it does not count them."""

    device: int
    bytes_all: int
    bytes_free: int
    inodes: int
    inodes_free: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Who a file belongs to, and what others may do with it."""

    path: str
    mode: int
    uid: int
    owner: str
    is_directory: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """What came of a name: its addresses, or why there are none; and how long that took."""

    addresses: tuple[str, ...]
    problem: str
    took_s: float


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """A process: its title, the kernel's letter for its state, how long it has run."""

    pid: int
    parent: int
    title: str
    state: str
    age_s: float


class Machine:
    """This machine."""

    def space(self, path: str) -> Space | None:
        """The file system that ``path`` is on, or would be; ``None`` where nothing can be said."""
        path = find_existing(path)
        try:
            found, device = os.statvfs(path), os.stat(path).st_dev
        except OSError:
            return None
        unit = found.f_frsize
        # root may use what is reserved; a daemon of another user may not, and neither is told of it
        return Space(
            device, found.f_blocks * unit, found.f_bavail * unit, found.f_files, found.f_favail
        )

    def file(self, path: str) -> FileFacts | None:
        """A file or directory, links followed; ``None`` if it is not there."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return FileFacts(
            path,
            stat.S_IMODE(found.st_mode),
            found.st_uid,
            name_user(found.st_uid),
            stat.S_ISDIR(found.st_mode),
        )

    def list_files(self, directory: str) -> list[str]:
        """The names in a directory, sorted; none if it cannot be read."""
        try:
            return sorted(os.listdir(directory))
        except OSError:
            return []

    def listens(self, port: int) -> bool:
        """Whether something here listens on a TCP port."""
        return any(_listening_sockets(port))

    def listener(self, port: int) -> ProcessFacts | None:
        """The process that listens on a TCP port; ``None`` for nobody, and where it is not told.

        The kernel tells it of one's own processes, and root of all.
        """
        links = {f"socket:[{inode}]" for inode in _listening_sockets(port)}
        return next((one for one in _all_processes() if links & _open_files(one.pid)), None)

    def connect(self, address: str, port: int) -> str:
        """Connect and close again; why that is not possible, ``""`` if it is."""
        try:
            socket.create_connection((address, port), timeout=CONNECT_S).close()
        except OSError as error:
            return describe_error(error)
        return ""

    def resolve(self, name: str) -> Lookup:
        """The addresses of a name."""
        began_s = time.monotonic()
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            text = getattr(error, "strerror", None) or str(error)
            return Lookup((), text, time.monotonic() - began_s)
        addresses = tuple(dict.fromkeys(str(one[4][0]) for one in found))
        return Lookup(addresses, "", time.monotonic() - began_s)

    def own_name(self) -> tuple[str, float]:
        """The full name of this machine, and how long it took to find."""
        began_s = time.monotonic()
        return socket.getfqdn(), time.monotonic() - began_s

    def lock_holder(self, path: str) -> int | None:
        """The process that holds a lock (``flock``) on a file; ``None`` for nobody.

        By the kernel's list: a lock that is tried would be in the way of a daemon that starts.
        """
        try:
            # By the inode alone: of files on overlays the device is another one there.
            ending = f":{os.stat(path).st_ino}"
            with open("/proc/locks", encoding="ascii") as lines:
                for line in lines:
                    words = line.split()
                    if "FLOCK" in words and words[-3].endswith(ending):
                        return int(words[-4])
        except (OSError, ValueError, IndexError):
            return None
        return None

    def processes_below(self, pid: int) -> list[ProcessFacts]:
        """The children of a process, and theirs."""
        found = {one.pid: one for one in _all_processes()}
        below = {pid}
        # Children have higher numbers as a rule, and not always: until nothing is added.
        while more := {one.pid for one in found.values() if one.parent in below} - below:
            below |= more
        return [found[one] for one in sorted(below - {pid}) if one in found]

    def file_limit(self, pid: int) -> int | None:
        """How many files a process may have open; ``None`` where that cannot be read."""
        try:
            with open(f"/proc/{pid}/limits", encoding="ascii") as lines:
                for line in lines:
                    if line.startswith("Max open files"):
                        soft = line.split()[3]
                        return None if soft == "unlimited" else int(soft)
        except (OSError, ValueError, IndexError):
            return None
        return None

    def mtime_s(self, path: str) -> float | None:
        """When something was last written (seconds since the epoch); ``None``: it is not there."""
        try:
            return os.stat(path).st_mtime
        except OSError:
            return None

    def size_bytes(self, path: str) -> int | None:
        """The size of a file; ``None``: it is not there."""
        try:
            return os.stat(path).st_size
        except OSError:
            return None

    def now_s(self) -> float:
        """This machine's clock, in seconds since the epoch."""
        return time.time()

    def is_clock_kept(self) -> bool | None:
        """Whether something keeps the clock right; ``None`` where the kernel does not say.

        Source: adjtimex(2), TIME_ERROR.
        """
        return _ask_clock()


def find_existing(path: str) -> str:
    """The path, or the nearest directory above it that is there."""
    while not os.path.exists(path):
        above = os.path.dirname(path.rstrip("/"))
        if above == path:
            break
        path = above or "/"
    return path


def name_user(uid: int) -> str:
    """The name of a user, or the number of one without a name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def describe_error(error: OSError) -> str:
    """Why a connection did not come about, in a few words."""
    if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT:
        return f"no answer within {CONNECT_S:g} s"
    return error.strerror or str(error)


def _listening_sockets(port: int) -> Iterator[str]:
    """Their inodes."""
    ending = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/net/{name}", encoding="ascii") as lines:
            for line in lines:
                if ending in line:
                    words = line.split(None, 10)
                    if words[3] == _LISTENING and words[1].endswith(ending):
                        yield words[9]


def _open_files(pid: int) -> set[str]:
    found: set[str] = set()
    directory = f"/proc/{pid}/fd"
    with suppress(OSError):
        for name in os.listdir(directory):
            with suppress(OSError):
                found.add(os.readlink(f"{directory}/{name}"))
    return found


def _all_processes() -> Iterator[ProcessFacts]:
    ticks = os.sysconf("SC_CLK_TCK")
    up_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{name}/cmdline", "rb") as file:
                title = (
                    file.read(256).rstrip(b"\0 ").replace(b"\0", b" ").decode("utf-8", "replace")
                )
            yield ProcessFacts(
                int(name), int(fields[1]), title, fields[0], up_s - int(fields[19]) / ticks
            )


def _ask_clock() -> bool | None:
    import ctypes

    # The struct is 208 bytes at most; all zeros ask and set nothing.
    buffer = ctypes.create_string_buffer(512)
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != 5
