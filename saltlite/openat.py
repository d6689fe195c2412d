"""Reach files in directories that other users may write to, without being led elsewhere.

States run as root in home and application directories. Their users may put a link, another name of
root's file, or another directory in the place of what a state is about, at any moment. Whoever
changes files therefore calls :func:`reach`: it opens the directory that a path is in, and all that
is done goes through that descriptor, to one name in it, which is never followed.

A link on the way is followed if root (or we) made it, or if nobody else can make links where it is.
A link of the user that a state declares is followed only to where that user is at home: a directory
or a file of his own. All others are refused. Source: Linux, ``protected_symlinks``.

Who replaces or removes what is there shows it with :func:`keep_replaced` before; who runs a state
says with :func:`keep_with` what hears of it. Mostly that is nobody.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Final

from saltlite.errors import UntrustedPath

LINKS_LIMIT: Final = 40
"""How many links one path may have, as for the kernel."""

OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
SPECIAL_BITS: Final = stat.S_ISUID | stat.S_ISGID

SHARED: Final = "the file has other names (hard links), and other users may write to its directory"

_FOLDER: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ANYTHING: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def trusted_users() -> frozenset[int]:
    """Root, ourselves, and whoever owns the root directory (root, seen from a user namespace)."""
    return _list_trusted_users(os.geteuid())


@functools.lru_cache(maxsize=4)
def _list_trusted_users(own: int) -> frozenset[int]:
    return frozenset({0, own, os.stat("/").st_uid})


def is_closed(folder: os.stat_result) -> bool:
    """Whether nobody but root (or we) can put anything into a directory."""
    return folder.st_uid in trusted_users() and not folder.st_mode & OTHERS_WRITE


def is_closed_path(path: str) -> bool:
    """Whether nobody but root (or we) can put anything into a directory, or another in its place.

    ``False`` where there is none.
    """
    folder = os.path.realpath(path)
    try:
        while is_closed(os.stat(folder)):
            if folder == "/":
                return True
            folder = os.path.dirname(folder)
    except OSError:
        pass
    return False


class Spot:
    """A name in an open directory; what is there now, or nothing. Closed by ``with``.

    ``path`` is for messages and for looking only.
    """

    __slots__ = ("_closed_to_others", "fd", "name", "path")

    def __init__(self, fd: int, name: str, path: str) -> None:
        self.fd, self.name, self.path = fd, name, path
        self._closed_to_others: bool | None = None

    def __enter__(self) -> Spot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory."""
        os.close(self.fd)

    @property
    def folder(self) -> str:
        """The directory, as the working directory of a command that is run meanwhile."""
        return f"/proc/self/fd/{self.fd}"

    @property
    def is_trusted(self) -> bool:
        """Whether nobody but root (or we) can change what the name stands for."""
        if self._closed_to_others is None:
            self._closed_to_others = is_closed(os.fstat(self.fd))
        return self._closed_to_others

    def lstat(self) -> os.stat_result | None:
        """The status of what is there, of a link its own; ``None`` for nothing."""
        try:
            return os.stat(self.name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, flags: int, mode: int = 0o600) -> int:
        """Open it, without waiting for anybody; a link is refused."""
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        return os.open(self.name, flags, mode, dir_fd=self.fd)

    def open_regular(self, flags: int) -> tuple[int, os.stat_result]:
        """A descriptor of a regular file and its status; raises OSError for anything else."""
        fd = self.open(flags)
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
                raise OSError(number, os.strerror(number), self.path)
        except BaseException:
            os.close(fd)
            raise
        return fd, status

    def hold(self) -> Held:
        """What is there now, whatever the name comes to stand for; raises FileNotFoundError."""
        fd = os.open(self.name, _ANYTHING, dir_fd=self.fd)
        return Held(self, fd)

    def unlink(self) -> None:
        """Remove the name."""
        os.unlink(self.name, dir_fd=self.fd)

    def rename(self, other: Spot) -> None:
        """Give it the name ``other``, in place of what is there."""
        os.rename(self.name, other.name, src_dir_fd=self.fd, dst_dir_fd=other.fd)

    def remove(self) -> None:
        """Remove what is there, a directory with all that is in it; links are not followed."""
        if self.name == ".":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), self.path)
        found = self.lstat()
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        if stat.S_ISDIR(found.st_mode):
            remove_tree(self.fd, self.name)
        else:
            self.unlink()

    def is_foreign(self, status: os.stat_result) -> bool:
        """Whether a file has other names, and may have been put here by somebody not its owner."""
        if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2 or self.is_trusted:
            return False
        folder = os.fstat(self.fd)
        return status.st_uid != folder.st_uid or bool(folder.st_mode & OTHERS_WRITE)


Keeper = Callable[[Spot], None]
"""Is shown a place before what is there goes, and never raises."""

# Of the context, not the process: jobs in threads do not keep one another's files.
_KEEPER: ContextVar[Keeper | None] = ContextVar("keeper of replaced files", default=None)


@contextlib.contextmanager
def keep_with(keeper: Keeper | None) -> Iterator[None]:
    """Have a keeper hear of all that is replaced meanwhile; ``None`` for nobody."""
    token = _KEEPER.set(keeper)
    try:
        yield
    finally:
        _KEEPER.reset(token)


def keep_replaced(spot: Spot) -> None:
    """Show the keeper what is there, before it is replaced, changed in place or removed."""
    keeper = _KEEPER.get()
    if keeper is not None:
        keeper(spot)


def keep_replaced_path(path: str, *, follow: bool = True) -> None:
    """As :func:`keep_replaced`, for a program that is about to change a file."""
    if _KEEPER.get() is None:
        return
    with contextlib.suppress(OSError), reach(path, follow=follow) as spot:
        keep_replaced(spot)


class Held:
    """A file of any kind by its descriptor: owner and mode go to it and nothing else."""

    __slots__ = ("_first", "fd", "spot")

    def __init__(self, spot: Spot, fd: int) -> None:
        self.spot, self.fd = spot, fd
        self._first = os.fstat(fd)

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.fd)

    @property
    def path(self) -> str:
        """A path that stands for this file as long as it is held, in this process."""
        return f"/proc/self/fd/{self.fd}"

    @property
    def shared_path(self) -> str:
        """The same for a program that is run meanwhile; without ``/proc`` the path itself."""
        return f"/proc/{os.getpid()}/fd/{self.fd}" if has_proc() else self.spot.path

    def status(self) -> os.stat_result:
        """As it is now."""
        return os.fstat(self.fd)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self._first.st_mode)

    def chown(self, uid: int, gid: int) -> None:
        """Give it away; -1 leaves a part as it is."""
        self._refuse_foreign()
        if self.is_link or not has_proc():
            self._refuse_other()
            os.chown(self.spot.name, uid, gid, dir_fd=self.spot.fd, follow_symlinks=False)
        else:
            os.chown(self.path, uid, gid)

    def chmod(self, mode: int) -> None:
        """Set the mode; not of a link, which has none."""
        self._refuse_foreign()
        self._refuse_gift(mode)
        if has_proc():
            os.chmod(self.path, mode)
            return
        fd = self.spot.open(os.O_RDONLY)
        try:
            if not os.path.samestat(os.fstat(fd), self._first):
                raise UntrustedPath(self.spot.path, "it was replaced meanwhile")
            os.fchmod(fd, mode)
        finally:
            os.close(fd)

    def _refuse_foreign(self) -> None:
        if self.spot.is_foreign(self._first):
            raise UntrustedPath(self.spot.path, SHARED)

    def _refuse_other(self) -> None:
        """The name still has to stand for what is held."""
        now = self.spot.lstat()
        if now is None or not os.path.samestat(now, self._first):
            raise UntrustedPath(self.spot.path, "it was replaced meanwhile")

    def _refuse_gift(self, mode: int) -> None:
        """What a user wrote is not run with the rights of the one that it was just given to."""
        first = self._first
        if not mode & SPECIAL_BITS or not stat.S_ISREG(first.st_mode) or self.spot.is_trusted:
            return
        now = self.status()
        if (first.st_uid, first.st_gid) == (now.st_uid, now.st_gid):
            return
        if first.st_uid not in trusted_users():
            raise UntrustedPath(
                self.spot.path,
                f"mode {mode:04o} is not set on a file that user {first.st_uid} made",
            )


@functools.lru_cache(maxsize=1)
def has_proc() -> bool:
    """Whether a descriptor has a path, as long as it is open."""
    return os.path.exists("/proc/self/fd")


def reach(path: str, *, follow: bool = False, user: int | None = None) -> Spot:
    """Open the directory that a path is in.

    ``follow``: of a link at the path, where it leads. ``user`` is the id of the user that the file
    is declared to have, if any.

    Raises:
        UntrustedPath: a link on the way is not to be followed.
        OSError: there is no such directory.
    """
    if not path.startswith("/"):
        path = os.path.join(os.getcwd(), path)
    folder, _, name = path.rstrip("/").rpartition("/")
    if name not in ("", ".", ".."):
        fd = _open_without_links(folder or "/")
        if fd is not None:
            if not follow or not _is_link(fd, name):
                return Spot(fd, name, path)
            os.close(fd)
    return _PathWalk(path, user).to_spot(follow=follow)


def reach_folder(path: str, *, user: int | None = None) -> Spot:
    """Open a directory itself, links followed as by :func:`reach`; its name is ``.``."""
    spot = reach(os.path.join(path, "_"), user=user)
    spot.name, spot.path = ".", path
    return spot


def refuse_misleading(path: str, cwd: str | None = None) -> None:
    """Look at a path before root has a program work on it, which has no descriptor to go by.

    What is not there yet counts as far as its directories are. What is swapped after the look is
    not seen.

    Raises:
        UntrustedPath: a link of another user leads there.
    """
    path = os.path.join(cwd or os.getcwd(), path)
    while not os.path.lexists(path) and path != "/":
        path = os.path.dirname(path.rstrip("/")) or "/"
    reach(path, follow=True).close()


def _open_without_links(folder: str) -> int | None:
    """A directory that has no link in its path; ``None`` if it has, or cannot be opened.

    The kernel tells under which path it lies. If that is the path that was asked for, no link led
    there, or none that its owner could not have done without.
    """
    try:
        fd = os.open(folder, _FOLDER)
    except OSError:
        return None
    try:
        if os.readlink(f"/proc/self/fd/{fd}") == folder:
            return fd
    except OSError:
        pass  # without /proc every component is looked at
    os.close(fd)
    return None


def _is_link(fd: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


class _PathWalk:
    """The way along a path, component by component."""

    def __init__(self, path: str, user: int | None) -> None:
        self.path, self.user = path, user
        self.fd = os.open("/", _FOLDER)
        self.todo = deque(path.split("/"))
        self.links = 0
        self.led_by_user = False

    def to_spot(self, *, follow: bool) -> Spot:
        """The last name; raises OSError and leaves nothing open."""
        name = "."
        try:
            while self.todo:
                part = self.todo.popleft()
                if part in ("", "."):
                    continue
                if part == ".." or any(more not in ("", ".") for more in self.todo):
                    name = "."
                    self._enter_part(part)
                elif not (follow and self._follow_link(part)):
                    name = part
            spot = Spot(self.fd, name, self.path)
            self._refuse_elsewhere(spot)
        except BaseException:
            os.close(self.fd)
            raise
        return spot

    def _enter_part(self, part: str) -> None:
        try:
            below = os.open(part, _FOLDER, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP) and self._follow_link(part):
                return
            raise OSError(error.errno, error.strerror, self.path) from None
        os.close(self.fd)
        self.fd = below

    def _follow_link(self, part: str) -> bool:
        """Go where a link leads; ``False`` if it is none."""
        try:
            link = os.open(part, _ANYTHING, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        try:
            status = os.fstat(link)
            if not stat.S_ISLNK(status.st_mode):
                return False
            self._check_link(status)
            target = os.readlink("", dir_fd=link)
        finally:
            os.close(link)
        if target.startswith("/"):
            os.close(self.fd)
            self.fd = os.open("/", _FOLDER)
        self.todo.extendleft(reversed(target.split("/")))
        return True

    def _check_link(self, link: os.stat_result) -> None:
        self.links += 1
        if self.links > LINKS_LIMIT:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.path)
        if link.st_uid in trusted_users() or is_closed(os.fstat(self.fd)):
            return
        if link.st_uid != self.user:
            raise UntrustedPath(self.path, f"a link that user {link.st_uid} owns is not followed")
        self.led_by_user = True

    def _refuse_elsewhere(self, spot: Spot) -> None:
        """Where a user's own link leads has to be his own."""
        if not self.led_by_user or os.fstat(self.fd).st_uid == self.user:
            return
        found = spot.lstat()
        if found is not None and found.st_uid == self.user and not spot.is_foreign(found):
            return
        raise UntrustedPath(
            self.path, f"a link of user {self.user} leads to what does not belong to that user"
        )


def remove_tree(fd: int, name: str) -> None:
    """Remove a directory in the directory ``fd`` and all below it; links are not followed.

    Raises:
        OSError: something could not be removed, and stays with what it is in.
    """
    stack = [_Emptied(fd, name)]
    try:
        while stack:
            folder = stack[-1].empty_files()
            if folder is not None:
                stack.append(_Emptied(stack[-1].fd, folder))
                continue
            done = stack.pop()
            done.close()
            os.rmdir(done.name, dir_fd=done.parent)
    finally:
        for one in stack:
            one.close()


class _Emptied:
    """A directory that is being emptied."""

    def __init__(self, parent: int, name: str) -> None:
        self.parent, self.name = parent, name
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self.fd = os.open(name, flags, dir_fd=parent)
        try:
            self.names: Iterator[str] = iter(os.listdir(self.fd))
        except BaseException:
            os.close(self.fd)
            raise

    def close(self) -> None:
        os.close(self.fd)

    def empty_files(self) -> str | None:
        """Remove what is no directory up to the first that is one; its name."""
        for name in self.names:
            status = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                return name
            os.unlink(name, dir_fd=self.fd)
        return None
