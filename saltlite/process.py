"""What a daemon asks of the operating system about its own process.

Used by both daemons and by job processes: titles, the user to run as, pid files, the background,
the word to systemd, and who lives on when a parent dies. Knows nothing of Salt.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from saltlite.core.numbers import is_digits
from saltlite.disk import write_file
from saltlite.errors import ConfigError, NoSuchUser, StoreError

if TYPE_CHECKING:
    import ctypes

_PR_SET_PDEATHSIG = 1
_MADV_DONTNEED: Final = 4
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
LARGE_BYTES: Final = 128 * 1024
"""From here on memory is the system's own, and goes back to it when it is freed."""
_REUSED_MOST_BYTES: Final = 4 * 1024 * 1024

REST_AFTER_S: Final = 2.0
REST_EVERY_S: Final = 10.0
"""A daemon's process calls :func:`rest` after so long without work, and no more often than this."""

PUBLIC_FILE = 0o644
TITLE_LIMIT = 200


def set_title(title: str) -> None:
    """Name this process in the process list; without effect where that is not possible.

    A job's title holds a name that came from a peer: it is cut, and what does not print gives way.
    """
    try:
        import setproctitle
    except ImportError:
        return
    shown = "".join(c if c.isprintable() else "?" for c in title[:TITLE_LIMIT])
    setproctitle.setproctitle(shown)


@functools.cache
def _libc() -> ctypes.CDLL:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def prepare_to_fork() -> None:
    """Make what is in memory now stay shared with every child.

    The garbage collector leaves alone what is there now, since a look changes the pages.
    """
    gc.collect()
    gc.freeze()


def prepare_many_forks() -> None:
    """:func:`prepare_to_fork`, for one whose children are many and live long.

    What was freed goes back to the system. What Python keeps for small objects is filled up: each
    child would put its own objects there, and so get a copy of what lies beside them.
    """
    gc.collect()
    release_memory()
    _fillers.extend(_fill_pools())
    gc.freeze()


_fillers: list[bytes] = []
"""What is in the way of new objects; costs nothing, since the pages are in use anyway."""

_POOL_BYTES = 16 * 1024
_POOL_HEAD_BYTES = 48
_LARGEST_SMALL_BYTES = 512
"""Python's allocator puts objects of one size, up to the largest, into pools of so many bytes."""

_FILLERS_MOST_BYTES = 64 * 1024
"""Of one size; a master's have 10 KiB. With another allocator it is 2 MiB of all sizes."""


def _fill_pools() -> Iterator[bytes]:
    """Objects of each size until the pools in use are full, which the start of another one shows.

    Source: CPython, Objects/obmalloc.c.
    """
    overhead = b"".__sizeof__()
    for size in range(-(-overhead // 16) * 16, _LARGEST_SMALL_BYTES + 1, 16):
        for _ in range(_FILLERS_MOST_BYTES // size):
            filler = bytes(size - overhead)
            if id(filler) % _POOL_BYTES == _POOL_HEAD_BYTES:
                break
            yield filler


def prepare_to_die_with_parent() -> None:
    """Load once, before the forks, what :func:`die_with_parent` asks the C library for."""
    with contextlib.suppress(OSError, AttributeError):
        _ = _libc().prctl


def die_with_parent(parent_pid: int, number: int = signal.SIGTERM) -> None:
    """Have the kernel send signal ``number`` when the parent ends, and end now if it has ended.

    Source: prctl(2), PR_SET_PDEATHSIG.
    """
    with contextlib.suppress(OSError, AttributeError):
        _libc().prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), number)


def limit_heap() -> None:
    """Keep what is large out of the heap, and threads to one heap; call it before there are any.

    Left to itself the C library takes each large buffer that is freed as a reason to keep the next
    ones in the heap, where small ones that live on keep their pages; and each thread gets a heap of
    its own. Without effect where the C library has no ``mallopt``. Source: mallopt(3).
    """
    with contextlib.suppress(OSError, AttributeError):
        for option, value in (
            (_M_MMAP_THRESHOLD, LARGE_BYTES),
            (_M_TRIM_THRESHOLD, LARGE_BYTES),
            (_M_ARENA_MAX, 1),
        ):
            _libc().mallopt(option, value)


def keep_large_buffers() -> None:
    """Use the memory of buffers of up to 4 MiB again, until :func:`release_memory`.

    A fresh one costs more than to encrypt what it holds: the system empties each page of it first.
    For processes that pass pieces of files on. Without effect where the C library has no
    ``mallopt``. Source: mallopt(3).
    """
    with contextlib.suppress(OSError, AttributeError):
        _libc().mallopt(_M_MMAP_THRESHOLD, _REUSED_MOST_BYTES)
        _libc().mallopt(_M_TRIM_THRESHOLD, 4 * _REUSED_MOST_BYTES)


def release_memory() -> None:
    """Give the system back what was freed; the C library keeps it where it can be used again.

    Without effect where the C library has no ``malloc_trim``.
    """
    with contextlib.suppress(OSError, AttributeError):
        _libc().malloc_trim(0)


def rest() -> None:
    """Give back the memory that a process can have again when it has work."""
    release_files()
    release_memory()


def release_files() -> None:
    """Let go of the pages of programs and libraries, which come back from their files when used.

    What a start has touched of them is several times what a process needs that only waits. Nothing
    is lost: a mapping that has been written to, as by a debugger, is left alone.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        for start, end in list(_find_clean_files()):
            _libc().madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)


def _find_clean_files() -> Iterator[tuple[int, int]]:
    """Where files are mapped for reading alone, and no page is this process's own.

    Source: proc(5), ``smaps``.
    """
    bounds: tuple[int, int] | None = None
    with open("/proc/self/smaps") as file:
        for line in file:
            name, _, value = line.partition(" ")
            if not name.endswith(":"):
                start, _, end = name.partition("-")
                is_file = value.startswith(("r-xp", "r--p")) and "/" in value
                bounds = (int(start, 16), int(end, 16)) if is_file else None
            elif name == "Anonymous:" and bounds is not None and value.split()[0] == "0":
                yield bounds


def raise_file_limit(wanted: int) -> int:
    """Allow as many open files as we may, up to ``wanted``; how many there may be then."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            return most
    return wanted if soft == resource.RLIM_INFINITY else soft


def notify(state: str) -> None:
    """Tell systemd, e.g. ``READY=1``; without effect outside a service of type notify.

    Source: sd_notify(3).
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        sock.connect("\0" + address[1:] if address.startswith("@") else address)
        sock.send(state.encode())


def go_background() -> None:
    """Leave the terminal and the caller behind; returns in the daemon only.

    Standard input, output and error become ``/dev/null``. Source: daemon(7).
    """
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    close_standard_streams()


def close_standard_streams() -> None:
    """Point standard input, output and error to ``/dev/null``."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)


def become_user(name: str) -> None:
    """Give up root for user ``name``, groups first, for good. Nothing to do if we are that user.

    Raises:
        ConfigError: there is no such user, or we are not root and may not become it.
    """
    import pwd

    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise NoSuchUser(name) from None
    if os.geteuid() == user.pw_uid:
        return
    if os.geteuid() != 0:
        raise ConfigError(f"only root can become {name}", option="user")
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    os.environ.update(HOME=user.pw_dir, USER=name, LOGNAME=name)
    with contextlib.suppress(PermissionError):
        os.setuid(0)
        raise ConfigError(f"could go back to root from {name}", option="user")


def write_pid_file(path: Path) -> None:
    """Write this process's id where others look for it.

    Raises:
        StoreError: it cannot be written.
    """
    text = f"{os.getpid()}\n".encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.access(path.parent, os.W_OK):
            write_file(path, text, mode=PUBLIC_FILE, flush=False)
        else:
            _write_in_place(path, text)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _write_in_place(path: Path, text: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def prepare_pid_file(path: Path, owner: tuple[int, int]) -> None:
    """As root, make the file for the user (and group) that is going to write it.

    Its directory, ``/var/run`` for one, is not that user's. A file that is there is left alone.
    """
    with contextlib.suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PUBLIC_FILE)
        os.fchown(fd, *owner)
        os.fchmod(fd, PUBLIC_FILE)
        os.close(fd)


def remove_pid_file(path: Path) -> None:
    """Remove the pid file if it is still ours."""
    with contextlib.suppress(OSError, ValueError, StoreError):
        if int(path.read_text()) != os.getpid():
            return
        if os.access(path.parent, os.W_OK):
            path.unlink()
        else:
            _write_in_place(path, b"")


def start_ticks(pid: int) -> int:
    """When process ``pid`` started, in clock ticks since boot; 0 if it is gone or a zombie.

    A process id with this number names one process for ever. Source: proc(5), ``stat`` field 22.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("ascii", "replace")
    except OSError:
        return 0
    state, *rest = text.rpartition(")")[2].split()
    return 0 if state in ("Z", "X") else int(rest[18])


def descendants(pid: int) -> list[int]:
    """All processes that ``pid`` has started, and those that they have, children first.

    Source: proc(5), ``stat`` field 4.
    """
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if is_digits(entry):
            children.setdefault(_parent_of(int(entry)), []).append(int(entry))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parent_of(pid: int) -> int:
    """The parent's id; 0 for a process that has gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return 0


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; ``signal 99`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def read_title(pid: int) -> str:
    """What another process has named itself with :func:`set_title`; empty if it has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""
