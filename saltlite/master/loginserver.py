"""Logins of external authentication, checked away from whoever answers requests.

A worker that meets a name and a password hands the request to ``LoginServer`` and is free. Each
check is done by a child of its own, two at once and one more for owners of tokens, ten seconds each
at the most; a module that hangs or crashes harms nobody else. When the login is right, ReqServer
gets the request again, with a proof in place of the password, for any worker to act on; when it is
wrong, the caller gets the refusal that the worker prepared, at a time that tells nothing
(:mod:`saltlite.master.loginline`).

``LoginServer`` owns no ZeroMQ, so that it can fork; what goes to ReqServer goes through a child
that does.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import zmq

from saltlite import process
from saltlite.core.access import find_fault
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.rare_lines import RareLine
from saltlite.errors import LoginUnchecked, WireError
from saltlite.loader.auth import module_names
from saltlite.master import logincheck
from saltlite.master.child import Life
from saltlite.master.deferred_replies import AGAIN
from saltlite.master.handover import FULL, HAND_OVER_S, TAKEN, accept, listen, receive
from saltlite.master.loginline import AT_ONCE, RECHECKS_AT_ONCE, Login, LoginLine
from saltlite.master.loginproof import FIELD, LIFE_S, LoginProof, seal_proof
from saltlite.master.logins import LOAD_LIMIT_BYTES
from saltlite.master.refusals import printable
from saltlite.providers.pam import may_check_others
from saltlite.transport.addresses import ipc
from saltlite.transport.codec import pack, pack_bin, unpack_bin

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.master.context import Shared

log = logging.getLogger(__name__)

CHECK_LIMIT_S: Final = 10.0
RESULT_LIMIT_BYTES: Final = 4 * 1024 * 1024
REQUEST_LIMIT_BYTES: Final = LOAD_LIMIT_BYTES + 64 * 1024
ACCEPTED_AT_ONCE: Final = 32

FAULT: Final = "fault"
"""What a child says of a module that failed, in place of what the login proves."""

EXPANDED: Final = "auth.enable_expanded_auth_matching"

END_S: Final = 2.0
"""How long replies that are on their way may take when the process ends."""

_HEAD = struct.Struct(">16sI")
_ENDING = (signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class _Check:
    """A child that checks a login; ``data`` is what it has said so far."""

    login: Login
    pid: int
    until_s: float
    data: bytearray = field(default_factory=bytearray)


class LoginServer:
    """The process that has logins checked. ``run`` is its whole life."""

    def __init__(self, shared: Shared, *, chance: Callable[[], float] = random.random) -> None:
        self._shared = shared
        self._line = LoginLine(chance)
        self._checks: dict[int, _Check] = {}  # the descriptor that a child writes to
        self._faults: dict[str, RareLine] = {}  # by module, of those that can be used

    def run(self, life: Life) -> None:
        """Take logins until told to stop."""
        self._life = life
        warn_of_faults(self._shared.config)
        self._poller = zmq.Poller()
        # Each login is a fork of this process.
        process.prepare_to_fork()
        self._replies = _Replies(self._shared.sockets.late, self._leave_parents, self._poller)
        self._listener = listen(self._shared.sockets.logins)
        # The peer may have gone before accept is called, which must not block then.
        self._listener.setblocking(False)
        self._poller.register(self._listener.fileno(), zmq.POLLIN)
        life.register(self._poller)
        life.ready()
        try:
            while not life.stopping:
                self._turn()
        finally:
            self._listener.close()
            for fd in list(self._checks):
                self._end(fd)
            self._replies.close()

    def _turn(self) -> None:
        for found, _events in self._life.poll(self._poller, self._wait_s()):
            if found == self._listener.fileno():
                self._accept()
            elif found in self._checks:
                self._read(found)
            elif found == self._replies.handle:
                self._replies.reap()
        # After reading: a check whose result has just come is not late.
        now_s = time.monotonic()
        for fd in [fd for fd, check in self._checks.items() if check.until_s <= now_s]:
            eauth = self._checks[fd].login.eauth
            self._tell_fault(eauth, f"A login by {eauth} took too long")
            self._finish(fd, None)
        while self._may_recheck() and (login := self._line.take_recheck(now_s)) is not None:
            self._start(login)
        while self._may_check() and (login := self._line.take(now_s)) is not None:
            self._start(login)
        for login in self._line.due(now_s):
            self._replies.send(login.ticket, login.refused)

    def _wait_s(self) -> float:
        now_s = time.monotonic()
        ends = [max(0.0, check.until_s - now_s) for check in self._checks.values()]
        next_s = self._line.next_s(
            now_s, may_check=self._may_check(), may_recheck=self._may_recheck()
        )
        return min([next_s, *ends])

    def _may_check(self) -> bool:
        return sum(not check.login.token for check in self._checks.values()) < AT_ONCE

    def _may_recheck(self) -> bool:
        return sum(bool(check.login.token) for check in self._checks.values()) < RECHECKS_AT_ONCE

    # --- taking --------------------------------------------------------------------------

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            connection = accept(self._listener)
            if connection is None:
                return
            with connection:
                self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        connection.settimeout(HAND_OVER_S)
        try:
            login = Login(**receive(connection, REQUEST_LIMIT_BYTES))
            has_room = self._line.has_room_for(login)
            # Before it is added: a worker that gets no answer tells its caller to try again.
            connection.sendall(TAKEN if has_room else FULL)
        except (OSError, WireError, TypeError) as error:
            log.warning("A login was not understood: %s", type(error).__name__)
            return
        if has_room:
            self._line.add(login, time.monotonic())

    # --- checking ------------------------------------------------------------------------

    def _start(self, login: Login) -> None:
        """Fork a child that checks the login; one that no module can check has failed."""
        # No child, but the refusal comes as late as that of a wrong password.
        if not logincheck.is_usable(self._shared.config, login.eauth):
            self._line.fail(login, time.monotonic())
            return
        try:
            mine, pid = self._fork_check(login)
        except OSError as error:  # there can be no more processes or open files now
            self._tell_fault(login.eauth, f"A login cannot be checked: {error.strerror}")
            self._line.fail(login, time.monotonic())
            return
        self._poller.register(mine, zmq.POLLIN)
        self._checks[mine] = _Check(login, pid, time.monotonic() + CHECK_LIMIT_S)

    def _fork_check(self, login: Login) -> tuple[int, int]:
        """The pipe from a child that checks the login, and its process id. Raises OSError."""
        mine, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        parent = os.getpid()
        # A signal right after the fork would run the parent's handler in the child.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            pid = os.fork()
            if not pid:
                # A child may wait for a full pipe; the parent never waits for a child.
                os.set_blocking(theirs, True)
                self._be_check(login, parent, theirs)
        except OSError:
            os.close(mine)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(theirs)
        return mine, pid

    def _be_check(self, login: Login, parent: int, fd: int) -> NoReturn:
        """The child's whole life."""
        try:
            self._leave_parents(parent, "Login")
            # Copies of the parent's: LoginReplies sees the end of its input when all are closed.
            self._listener.close()
            self._replies.let_go()
            found = self._check(login)
            # Nothing written means wrong, so a child that crashes or is killed lets nobody in.
            if found is not None:
                fields = {"groups": found.groups, "entries": found.entries, "whole": found.whole}
                _write_all(fd, pack_bin(fields))
        except LoginUnchecked as error:
            # The parent says it: only it knows how often that was said just now.
            _write_all(fd, pack_bin({FAULT: str(error)}))
        except BaseException as error:  # noqa: BLE001 - the child ends here
            why = f"A login by {login.eauth}: {type(error).__name__}"
            _write_all(fd, pack_bin({FAULT: why}))
        finally:
            logging.shutdown()
            os._exit(0)

    def _check(self, login: Login) -> LoginProof | None:
        config = self._shared.config
        if not login.token:
            return logincheck.check_login(config, login.eauth, login.username, login.password)
        good = logincheck.recheck_login(config, login.eauth, login.username)
        return LoginProof(login.username, login.eauth) if good else None

    def _leave_parents(self, parent: int, title: str) -> None:
        """In a child: let go of what is the parent's, and end with it."""
        # The pipe is the parent's: signals of this child would wake the parent's loop.
        signal.set_wakeup_fd(-1)
        for number in _ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        process.die_with_parent(parent, signal.SIGKILL)
        self._life.let_go()
        process.set_title(f"salt-master {title}")

    def _read(self, fd: int) -> None:
        check = self._checks[fd]
        try:
            part = os.read(fd, 1 << 16)
        except BlockingIOError:
            return
        check.data += part
        if len(check.data) > RESULT_LIMIT_BYTES:
            eauth = check.login.eauth
            self._tell_fault(eauth, f"eauth {eauth} has too much to say")
            self._finish(fd, None)
        elif not part:
            self._finish(fd, bytes(check.data))

    def _finish(self, fd: int, data: bytes | None) -> None:
        """A check is over; ``data`` is what it found, empty or ``None`` if the login is wrong."""
        # It may still be running: a module can leave threads behind.
        check = self._checks[fd]
        self._end(fd)
        proof = self._read_proof(check.login, data) if data else None
        if proof is None:
            self._line.fail(check.login, time.monotonic())
            return
        self._line.succeed(check.login)
        load = {**check.login.load, FIELD: seal_proof(self._shared.login_secret, proof)}
        frame = pack({"enc": "clear", "load": load, "version": 3})
        self._replies.send(check.login.ticket, AGAIN + frame)

    def _read_proof(self, login: Login, data: bytes) -> LoginProof | None:
        try:
            found: Any = unpack_bin(data)
        except WireError as error:
            self._tell_fault(login.eauth, f"eauth {login.eauth}: {error}")
            return None
        if FAULT in found:
            self._tell_fault(login.eauth, printable(str(found[FAULT])))
            return None
        # Name, module and token come from the request: the child has run a module's code.
        return LoginProof(
            login.username,
            login.eauth,
            found["groups"],
            found["entries"],
            found["whole"],
            token=login.token,
            until=time.monotonic() + LIFE_S,
        )

    def _tell_fault(self, eauth: str, line: str) -> None:
        """One line now and then for each module: while a server is away each login meets that."""
        more = self._faults.setdefault(eauth, RareLine()).count(time.monotonic())
        if more is not None:
            log.error("%s%s", line, more)

    def _end(self, fd: int) -> None:
        """The child is not needed any more."""
        check = self._checks.pop(fd)
        # Before it is closed, since the next check may get the same number.
        self._poller.unregister(fd)
        os.close(fd)
        with contextlib.suppress(ProcessLookupError):
            # Not waited for yet, so the number is still this child's.
            os.kill(check.pid, signal.SIGKILL)
        os.waitpid(check.pid, 0)


class _Replies:
    """The child with ZeroMQ that brings replies to ReqServer, and the way to it.

    ``poller`` wakes when the child has ended; then :meth:`reap` it. The next reply starts another.
    """

    def __init__(
        self, path: Path, leave_parents: Callable[[int, str], None], poller: zmq.Poller
    ) -> None:
        self._path = path
        self._leave_parents = leave_parents
        self._poller = poller
        self._pid = 0
        self.handle = -1
        self._open()

    def send(self, ticket: bytes, reply: bytes) -> None:
        """Have a reply brought; one that is lost costs its caller the wait."""
        message = _HEAD.pack(ticket, len(reply)) + reply
        if self._try_to_send(message):
            return
        # Part of the message may have been sent; nothing after it would be understood.
        self._kill()
        self._try_to_send(message)

    def _try_to_send(self, message: bytes) -> bool:
        try:
            if self.handle < 0:
                self._open()
            self._socket.sendall(message)
        except OSError as error:
            log.error("A reply to a login was not brought: %s", error)
            return False
        return True

    def let_go(self) -> None:
        """In another child: this is not its own."""
        if self.handle >= 0:
            self._socket.close()
            os.close(self.handle)

    def close(self) -> None:
        """End the child; what it was given is on its way, and has a moment to arrive."""
        if self.handle < 0:
            return
        self._socket.close()
        # Its input has ended: it pushes what it has, and ends by itself.
        ended = zmq.Poller()
        ended.register(self.handle, zmq.POLLIN)
        if not ended.poll(round(END_S * 1000)):
            log.warning("Replies to logins were not brought in time")
        self._kill()

    def _kill(self) -> None:
        """End the child at once, whatever it does."""
        if self.handle >= 0:
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            self.reap()

    def reap(self) -> None:
        """Let go of a child that has ended."""
        self._poller.unregister(self.handle)
        os.close(self.handle)
        self.handle = -1
        self._socket.close()
        _pid, status = os.waitpid(self._pid, 0)
        if status:
            log.error("LoginReplies ended with %s", os.waitstatus_to_exitcode(status))

    def _open(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            parent = os.getpid()
            self._pid = os.fork()
            if not self._pid:
                self._be(parent, theirs)
        self.handle = os.pidfd_open(self._pid)
        self._poller.register(self.handle, zmq.POLLIN)
        self._socket.settimeout(HAND_OVER_S)

    def _be(self, parent: int, theirs: socket.socket) -> NoReturn:
        code = 1
        try:
            self._leave_parents(parent, "LoginReplies")
            self._socket.close()
            bring_replies(theirs, self._path)
            code = 0
        except BaseException:
            log.exception("Replies to logins are not brought")
        finally:
            logging.shutdown()
            os._exit(code)


def bring_replies(source: socket.socket, path: Path) -> None:
    """Push each reply that comes from ``source`` to ReqServer, until there are no more."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    push = context.socket(zmq.PUSH)
    push.setsockopt(zmq.RECONNECT_IVL, 50)
    push.connect(ipc(path))
    with source, source.makefile("rb") as stream:
        while len(head := stream.read(_HEAD.size)) == _HEAD.size:
            ticket, size = _HEAD.unpack(head)
            push.send_multipart((ticket, stream.read(size)))
    # Less than END_S, after which the child is killed.
    context.destroy(linger=1000)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _faults_of_options(config: MasterConfig) -> list[str]:
    """Options of Salt for logins that have no effect here."""
    found = []
    if config.extra.get(EXPANDED):
        found.append(f"{EXPANDED} has no effect: a list's targets are those of the moment")
    if "ldap" in config.access.external_auth:
        from saltlite.providers.ldap import name_faults

        found += name_faults(config.extra)
    return found


def warn_of_faults(config: MasterConfig) -> None:
    """Say at the start what of ``external_auth`` has no effect, and what lets everybody in."""
    known = module_names(config)
    for name, block in config.access.external_auth.items():
        fault = find_fault(block)
        if name not in known:
            names = ", ".join(known)
            log.error("external_auth: there is no module %s; those there are: %s", name, names)
        elif fault:
            log.error("external_auth: nobody may use %s: %s", name, fault)
    source = config.access.eauth_acl_module
    if source and source not in known:
        log.error("eauth_acl_module: there is no module %s, so external_auth decides", source)
    if "pam" in config.access.external_auth and not may_check_others():
        log.warning("pam can check nobody: the master is neither root nor in the group shadow")
    for line in _faults_of_options(config):
        log.warning("%s", line)
    if "auto" in config.access.external_auth:
        log.warning("external_auth has auto: everybody is let in, with whatever password")
