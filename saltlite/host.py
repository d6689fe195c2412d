"""The door to the machine: commands are run and files are read here, nowhere else.

Functions get a :class:`Host` in their context, grains get one as an argument; a test hands in one
that answers from recordings. A command is always a list of arguments. Where the user asked for a
shell, the list is ``[shell, "-c", command]`` and made here.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.errors import CommandError

if TYPE_CHECKING:
    import subprocess

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for when the environment has no PATH."""

DRAIN_S = 2.0
"""How long to wait for the output of a command that was killed; its children may hold the pipe."""

READ_LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that came to an end.

    ``exit_code`` is negative for a signal, as the operating system reports it. Undecodable bytes of
    the output are replaced. ``timed_out``: it was killed after ``timeout_s``.
    """

    pid: int
    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """A user as commands are run by it."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str


class Host:
    """This machine."""

    def run(
        self,
        command: Sequence[str] | str,
        *,
        shell: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        clean_env: bool = False,
        stdin: str | bytes | None = None,
        runas: str | None = None,
        group: str | None = None,
        umask: int | None = None,
        timeout_s: float | None = None,
        encoding: str = "utf-8",
        merge_stderr: bool = False,
    ) -> Completed:
        """Run a command to its end.

        ``command`` is text only together with ``shell``, the path of the shell that reads it.
        ``env`` lies on top of this process's environment, or is all of it with ``clean_env``. No
        ``stdin`` means an empty one. After ``timeout_s`` the command and its children are killed.

        Raises:
            CommandError: it could not be started (``exit_code`` is ``None``).
            LookupError: there is no such user, group or encoding.
        """
        import codecs
        import subprocess

        codecs.lookup(encoding)
        self.will_await()
        child = self._popen(
            command,
            shell=shell,
            cwd=cwd,
            env=env,
            clean_env=clean_env,
            runas=runas,
            group=group,
            umask=umask,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
        )
        given = stdin.encode() if isinstance(stdin, str) else stdin
        self.awaits(child.pid)
        try:
            out, err, timed_out = _communicate(child, given, timeout_s)
        finally:
            self.awaits_no_more(child.pid)
        return Completed(
            pid=child.pid,
            exit_code=child.returncode,
            stdout=(out or b"").decode(encoding, "replace"),
            stderr=(err or b"").decode(encoding, "replace"),
            timed_out=timed_out,
        )

    def will_await(self) -> None:
        """Called when :meth:`run` is about to start a command."""

    def awaits(self, pid: int) -> None:
        """Called when :meth:`run` has started a command, which leads a process group of its own."""

    def awaits_no_more(self, pid: int) -> None:
        """Called when that command has ended."""

    def close(self) -> None:
        """Nothing more is run by this process."""

    def start(
        self,
        command: Sequence[str] | str,
        *,
        shell: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        clean_env: bool = False,
        runas: str | None = None,
        group: str | None = None,
        umask: int | None = None,
    ) -> int:
        """Start a command that nobody waits for, without input or output; its process id.

        Raises: as :meth:`run`.
        """
        import subprocess

        child = self._popen(
            command,
            shell=shell,
            cwd=cwd,
            env=env,
            clean_env=clean_env,
            runas=runas,
            group=group,
            umask=umask,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        child.returncode = 0  # it is left alone; without this the interpreter complains
        return child.pid

    def which(self, name: str) -> str | None:
        """The path of a program, ``None`` if there is none."""
        if not name or "\0" in name:
            return None
        if os.path.isabs(name):
            return name if _is_program(name) else None
        for directory in self.search_path():
            path = os.path.join(directory, name)
            if _is_program(path):
                return path
        return None

    def search_path(self) -> list[str]:
        """The directories where programs are."""
        return [part for part in os.environ.get("PATH", SEARCH_PATH).split(":") if part]

    def read_bytes(self, path: str, *, limit_bytes: int = READ_LIMIT_BYTES) -> bytes | None:
        """The first ``limit_bytes`` of a file, ``None`` if it cannot be read."""
        try:
            with open(path, "rb", opener=_open_at_once) as file:
                return file.read(limit_bytes)
        except (OSError, ValueError):
            return None

    def read_text(self, path: str) -> str | None:
        """The text of a file, ``None`` if it cannot be read; wrong bytes are replaced."""
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def read_link(self, path: str) -> str | None:
        """Where a symbolic link points, ``None`` if it is none."""
        try:
            return os.readlink(path)
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether anything is there; links are followed."""
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        """Whether a directory is there; links are followed."""
        return os.path.isdir(path)

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; none if it cannot be read."""
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def write_device(self, path: str, data: bytes) -> bool:
        """Write to something that is there already; ``False`` if that cannot be done."""
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        with open(fd, "wb", buffering=0) as device:
            try:
                device.write(data)
            except OSError:
                return False
        return True

    @contextlib.contextmanager
    def private_file(
        self, data: bytes, *, owner: str | None = None, suffix: str = "", keep: bool = False
    ) -> Iterator[str]:
        """The path of a program file that only its owner can reach, and that is gone afterwards.

        The directory around it has a name that nobody can foretell and belongs to ``owner`` too.
        ``keep`` leaves it to the program to remove both, unless it could not be started.
        """
        import shutil
        import tempfile

        account = None if owner is None else self.account(owner)
        directory = tempfile.mkdtemp(prefix="salt-")
        path = os.path.join(directory, f"script{suffix}")
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o700)
            with open(fd, "wb") as file:
                file.write(data)
            if account is not None:
                os.chown(path, account.uid, account.gid)
                os.chown(directory, account.uid, account.gid)
            yield path
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                shutil.rmtree(directory, ignore_errors=True)

    def account(self, name: str) -> Account:
        """A user by name.

        Raises:
            LookupError: there is no such user.
        """
        import pwd

        entry = pwd.getpwnam(name)
        groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return Account(
            name=entry.pw_name,
            uid=entry.pw_uid,
            gid=entry.pw_gid,
            groups=groups,
            home=entry.pw_dir,
            shell=entry.pw_shell,
        )

    def _popen(
        self,
        command: Sequence[str] | str,
        *,
        shell: str | None,
        cwd: str | None,
        env: Mapping[str, str] | None,
        clean_env: bool,
        runas: str | None,
        group: str | None,
        umask: int | None,
        stdin: int,
        stdout: int,
        stderr: int,
    ) -> subprocess.Popen[bytes]:
        import subprocess

        argv = _argv(command, shell)
        try:
            return subprocess.Popen(
                argv,
                cwd=cwd,
                env=_environment(env, clean_env),
                umask=-1 if umask is None else umask,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                **self._identity(runas, group),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise CommandError(argv, None, str(error)) from error

    def _identity(self, runas: str | None, group: str | None) -> dict[str, Any]:
        """Who the child becomes; Popen changes groups, group and user in this order."""
        import grp

        identity: dict[str, Any] = {}
        if runas is not None:
            account = self.account(runas)
            identity = {
                "user": account.uid,
                "group": account.gid,
                "extra_groups": list(account.groups),
            }
        if group is not None:
            gid = grp.getgrnam(group).gr_gid
            identity["group"] = gid
            identity["extra_groups"] = [gid, *identity.get("extra_groups", [])]
        if identity and os.geteuid() != 0:
            identity.pop("extra_groups", None)  # only root may; the kernel checks the rest
        return identity


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for somebody at the other end of a FIFO."""
    return os.open(path, flags | os.O_NONBLOCK)


def _argv(command: Sequence[str] | str, shell: str | None) -> list[str]:
    if isinstance(command, str):
        if shell is None:
            raise TypeError("a command line as one text needs a shell")
        return [shell, "-c", command]
    return [str(part) for part in command]


def _environment(env: Mapping[str, str] | None, clean_env: bool) -> dict[str, str] | None:
    if clean_env:
        return dict(env or {})
    return {**os.environ, **env} if env else None


def _communicate(
    child: subprocess.Popen[bytes], stdin: bytes | None, timeout_s: float | None
) -> tuple[bytes | None, bytes | None, bool]:
    import subprocess

    try:
        out, err = child.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(child)
        return *_drain(child), True
    except BaseException:
        _kill(child)
        child.wait()
        raise
    return out, err, False


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a command and all that it started; it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        child.kill()


def _drain(child: subprocess.Popen[bytes]) -> tuple[bytes | None, bytes | None]:
    import subprocess

    try:
        return child.communicate(timeout=DRAIN_S)
    except subprocess.TimeoutExpired as late:
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
        child.wait()
        return late.stdout, late.stderr


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
