"""The door to the machine: commands are run and files are read here, nowhere else.

Functions get a :class:`Host` in their context, grains get one as an argument; a test hands in one
that answers from recordings. A command is always a list of arguments. Where the user asked for a
shell, the list is ``[shell, "-c", command]`` and made here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import CommandError

if TYPE_CHECKING:
    import _socket
    import io
    import subprocess

    from saltlite.core.netlink import Link

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for when the environment has no PATH."""

DRAIN_S = 2.0
"""How long to wait for the output of a command that was killed; its children may hold the pipe."""

LINGER_S = 1.0
"""How long after a command's end its outputs are read; what it has started may hold them open."""

LOOK_S = 0.05
PIECE_BYTES = 65536
PIPE_BYTES = 4096
"""So much can be written to a pipe that says it takes something (PIPE_BUF), without waiting."""

REST_PIECES = 16
"""So many pieces are in a pipe of the largest size that everybody may have."""

READ_LIMIT_BYTES = 64 * 1024 * 1024

KERNEL_ANSWER_S = 5.0
DATAGRAM_BYTES = 65536
"""The kernel's answers about interfaces come in pieces of half that size."""

LINK_TRIES = 5
"""So often interfaces are asked for anew if something changes meanwhile."""


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
        tell: Callable[[str], None] | None = None,
    ) -> Completed:
        """Run a command to its end.

        ``command`` is text only together with ``shell``, the path of the shell that reads it.
        ``env`` lies on top of this process's environment, or is all of it with ``clean_env``. No
        ``stdin`` means an empty one. After ``timeout_s`` the command and its children are killed.
        ``tell`` is given what it prints, both outputs as they come; ends of lines are line feeds.

        Raises:
            CommandError: it could not be started (``exit_code`` is ``None``).
            LookupError: there is no such user, group or encoding.
        """
        import codecs
        import subprocess

        codecs.lookup(encoding)
        self.will_await()
        child = self._start_child(
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
            out, err, timed_out = _exchange_with(
                child, given, timeout_s, tell and _Teller(tell, encoding)
            )
        finally:
            self.awaits_no_more(child.pid)
        return Completed(
            pid=child.pid,
            exit_code=child.returncode,
            stdout=out.decode(encoding, "replace"),
            stderr=err.decode(encoding, "replace"),
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

        child = self._start_child(
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

    def mtime_ns(self, path: str) -> int | None:
        """When something was last written, in nanoseconds; ``None`` if it is not there."""
        try:
            return os.stat(path).st_mtime_ns
        except OSError:
            return None

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

    def links(self) -> list[Link]:
        """The interfaces of this machine with their addresses, as ``ip addr show`` lists them.

        Raises:
            OSError: the kernel does not tell.
        """
        import _socket  # what socket adds costs more than the answer

        from saltlite.core import netlink

        with contextlib.closing(
            _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, 0)
        ) as kernel:
            kernel.settimeout(KERNEL_ANSWER_S)
            for _try in range(LINK_TRIES):
                with contextlib.suppress(netlink.Interrupted):
                    return netlink.links(
                        _ask_kernel(kernel, netlink.LINKS), _ask_kernel(kernel, netlink.ADDRESSES)
                    )
        raise OSError("the interfaces change all the time")

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

    def _start_child(
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

        argv = _build_argv(command, shell)
        try:
            return subprocess.Popen(
                argv,
                cwd=cwd,
                env=_build_environment(env, clean_env),
                umask=-1 if umask is None else umask,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                **self._child_identity(runas, group),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise CommandError(argv, None, str(error)) from error

    def _child_identity(self, runas: str | None, group: str | None) -> dict[str, Any]:
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


def _build_argv(command: Sequence[str] | str, shell: str | None) -> list[str]:
    if isinstance(command, str):
        if shell is None:
            raise TypeError("a command line as one text needs a shell")
        return [shell, "-c", command]
    return [str(part) for part in command]


def _build_environment(env: Mapping[str, str] | None, clean_env: bool) -> dict[str, str] | None:
    if clean_env:
        return dict(env or {})
    return {**os.environ, **env} if env else None


def _exchange_with(
    child: subprocess.Popen[bytes],
    stdin: bytes | None,
    timeout_s: float | None,
    teller: _Teller | None,
) -> tuple[bytes, bytes, bool]:
    """What a command wrote on its two outputs, and whether it was killed for its time."""
    talk = _Conversation(child, stdin or b"", teller)
    try:
        timed_out = not talk.go_on(timeout_s)
        if timed_out:
            _kill_group(child)
            talk.go_on(DRAIN_S)
            child.wait()
        return talk.output_of(child.stdout), talk.output_of(child.stderr), timed_out
    except BaseException:
        _kill_group(child)
        child.wait()
        raise
    finally:
        talk.close()


def _ask_kernel(kernel: _socket.socket, kind: int) -> list[bytes]:
    """All datagrams of the answer."""
    from saltlite.core import netlink

    kernel.sendto(netlink.request(kind), (0, 0))
    found = [kernel.recv(DATAGRAM_BYTES)]
    while not netlink.is_last(found[-1]):
        found.append(kernel.recv(DATAGRAM_BYTES))
    return found


class _Teller:
    """Gives on what comes of several outputs as text; a character may come in two pieces."""

    def __init__(self, tell: Callable[[str], None], encoding: str) -> None:
        self._tell = tell
        self._encoding = encoding
        self._decoders: dict[int, io.IncrementalNewlineDecoder] = {}

    def take(self, fd: int, piece: bytes) -> None:
        """Take what was read of an output; nothing means that it has ended."""
        if fd not in self._decoders:
            self._decoders[fd] = self._make_decoder()
        text = self._decoders[fd].decode(piece, final=not piece)
        if text:
            self._tell(text)

    def _make_decoder(self) -> io.IncrementalNewlineDecoder:
        import codecs
        import io

        decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        return io.IncrementalNewlineDecoder(decoder, translate=True)


class _Conversation:
    """A command's input and outputs, until it has ended.

    Its outputs end with it, at most ``LINGER_S`` later: something that it has started may hold them
    for ever. ``Popen.communicate`` would wait for that.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], stdin: bytes, teller: _Teller | None
    ) -> None:
        import selectors

        self._child = child
        self._teller = teller
        self._unwritten = memoryview(stdin)
        self._got: dict[int, bytearray] = {}
        self._ended_s: float | None = None
        self._selector = selectors.DefaultSelector()
        for pipe in filter(None, (child.stdout, child.stderr)):
            self._got[pipe.fileno()] = bytearray()
            self._watch_fd(pipe.fileno(), selectors.EVENT_READ)
        if child.stdin is not None:
            self._watch_fd(child.stdin.fileno(), selectors.EVENT_WRITE)
        self._exit = _open_exit_watch(child.pid)
        if self._exit is not None:
            self._selector.register(self._exit, selectors.EVENT_READ)

    def _watch_fd(self, fd: int, event: int) -> None:
        os.set_blocking(fd, False)
        self._selector.register(fd, event)

    def output_of(self, pipe: Any) -> bytes:
        """All that was read of an output."""
        return b"" if pipe is None else bytes(self._got[pipe.fileno()])

    def go_on(self, timeout_s: float | None) -> bool:
        """Read and write until the command has ended; ``False`` if it has not in time."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._is_over():
            wait_s = self._patience_s(until_s)
            if wait_s is not None and wait_s <= 0:
                self._read_rest()
                return self._ended_s is not None
            for key, _ in self._selector.select(wait_s):
                self._serve_fd(key.fd)
        return True

    def _is_over(self) -> bool:
        if self._ended_s is None and self._child.poll() is not None:
            self._ended_s = time.monotonic()
        watched = self._selector.get_map()
        return self._ended_s is not None and not any(fd in watched for fd in self._got)

    def _patience_s(self, until_s: float | None) -> float | None:
        """How long nothing may happen; ``None`` for ever, nothing left: 0 or less."""
        now_s = time.monotonic()
        if self._ended_s is not None:
            return self._ended_s + LINGER_S - now_s
        if self._exit is not None:
            return None if until_s is None else until_s - now_s
        # this kernel does not tell of the end: look from time to time
        return LOOK_S if until_s is None else min(LOOK_S, until_s - now_s)

    def _serve_fd(self, fd: int) -> None:
        if fd == self._exit:
            self._selector.unregister(fd)
        elif fd in self._got:
            self._read_once(fd)
        else:
            self._write_once(fd)

    def _read_once(self, fd: int) -> bool:
        """Read once; whether there was anything."""
        try:
            piece = os.read(fd, PIECE_BYTES)
        except BlockingIOError:
            return False
        self._got[fd] += piece
        if self._teller is not None:
            self._teller.take(fd, piece)
        if not piece:
            self._selector.unregister(fd)
        return bool(piece)

    def _write_once(self, fd: int) -> None:
        try:
            self._unwritten = self._unwritten[os.write(fd, self._unwritten[:PIPE_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want more
            self._unwritten = self._unwritten[:0]
        if not self._unwritten and self._child.stdin is not None:
            self._selector.unregister(fd)
            self._child.stdin.close()

    def _read_rest(self) -> None:
        """Read what is in the pipes now, and no more: whoever holds them may write for ever."""
        watched = self._selector.get_map()
        for fd in [fd for fd in self._got if fd in watched]:
            for _ in range(REST_PIECES):
                if not self._read_once(fd):
                    break

    def close(self) -> None:
        """Close all that was open for it."""
        self._selector.close()
        if self._exit is not None:
            os.close(self._exit)
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()


def _open_exit_watch(pid: int) -> int | None:
    """A descriptor that can be read when the process has ended; ``None`` before Linux 5.3."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a command and all that it started; it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        child.kill()


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
