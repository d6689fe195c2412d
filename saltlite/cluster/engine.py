"""The connection of one process to the cluster's PostgreSQL.

It is opened when it is used and opened anew when it broke; a child that inherits one leaves it
alone. Every wait ends: after ``cluster_timeout`` the server counts as away, whatever it is at.
Until the next attempt is due (0.1 s doubling to 5 s) callers are told so at once.

Statements are PostgreSQL's with psycopg's placeholders; values are never put into their text.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import random
import select
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from saltlite.config.master import MasterConfig
from saltlite.databases.drain import Pauses
from saltlite.errors import ConfigError, RecordRefused, ServerAway
from saltlite.jobs.returner_context import options
from saltlite.master.job_mirror import Given

try:
    import psycopg
    from psycopg import conninfo, pq
    from psycopg.waiting import Ready, Wait
except ImportError as problem:
    raise ConfigError(
        "a cluster needs the driver psycopg: pip install 'saltlite[cluster]'", option="cluster_id"
    ) from problem

if TYPE_CHECKING:
    from psycopg.abc import PQGen

log = logging.getLogger(__name__)

LONGEST_PAUSE_S: Final = 5.0
"""Between two attempts to reach a server that is away."""

CONFLICTS_MOST: Final = 5
"""How often a transaction that another one kept from its end is tried again at once."""

SYSTEM_ROOTS: Final = 160000
"""The first libpq that knows the system's certificates as ``sslrootcert=system``."""

_FILLED_IN: Final = {
    "host": "host",
    "port": "port",
    "user": "user",
    "passwd": "password",
    "db": "dbname",
}
"""Options of ``returner.postgres``, and libpq's words for them."""

_T = TypeVar("_T")

Row: TypeAlias = tuple[Any, ...]

Transaction: TypeAlias = "psycopg.Connection[Row]"
"""What a transaction runs its statements on."""


def read_parameters(config: MasterConfig) -> dict[str, Any]:
    """What libpq is told; what is written nowhere is left to it.

    Raises:
        ConfigError: ``cluster_dsn`` cannot be read, or others may read its password file.
    """
    try:
        given: dict[str, Any] = dict(conninfo.conninfo_to_dict(config.cluster.cluster_dsn))
    except psycopg.ProgrammingError as error:
        # Not the text of the error: it may quote the password.
        raise ConfigError("not a connection string of libpq", option="cluster_dsn") from error
    known = options(Given(config), "returner.postgres", None, dict.fromkeys(_FILLED_IN))
    for name, word in _FILLED_IN.items():
        if known[name] is not None and word not in given:
            given[word] = str(known[name])
    _demand_encryption(given)
    _check_passfile(given.get("passfile"))
    return {
        # Of several hosts, and after a fail-over: a standby takes no rows.
        "target_session_attrs": "read-write",
        "application_name": f"saltlite {config.cluster.cluster_node or config.process.id}",
        "keepalives_idle": 30,
        "tcp_user_timeout": round(config.cluster.cluster_timeout * 2000),
        "connect_timeout": max(2, round(config.cluster.cluster_timeout)),
        **given,
    }


def _demand_encryption(given: dict[str, Any]) -> None:
    """Beyond this machine the server has to prove who it is, unless something else is written."""
    hosts = str(given.get("hostaddr") or given.get("host") or "").split(",")
    if all(_is_local(host.strip()) for host in hosts):
        return
    given.setdefault("sslmode", "verify-full")
    if given["sslmode"] == "verify-full" and pq.version() >= SYSTEM_ROOTS:
        given.setdefault("sslrootcert", "system")


def _is_local(host: str) -> bool:
    if not host or host[0] in "/@" or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_passfile(path: str | None) -> None:
    if path is None:
        return
    try:
        status = os.stat(path)
    except OSError as error:
        raise ConfigError(f"passfile {path}: {error.strerror}", option="cluster_dsn") from error
    if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
        # libpq would pass it over, and the server refuse us for want of a password.
        raise ConfigError(f"passfile {path}: wants mode 0600", option="cluster_dsn")


def describe_place(parameters: Mapping[str, Any]) -> str:
    """Where the server is, for people."""
    host = parameters.get("host") or parameters.get("hostaddr") or "local"
    return f"{host}:{parameters.get('port', 5432)}/{parameters.get('dbname', '')}"


class ClusterEngine:
    """A connection for one thread. ``timeout_s`` bounds each statement and each commit."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        timeout_s: float,
        jitter: Callable[[], float] = random.random,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parameters = parameters
        self._timeout_s = timeout_s
        self._steady_s = steady_s
        self._pauses = Pauses(jitter, longest_s=LONGEST_PAUSE_S)
        self._connection: _TimedConnection | None = None
        self.opened = 0
        """How many connections there have been: what belongs to one went with it."""
        self._pid = 0
        self._next_attempt_s = 0.0
        self._reason = ""

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Run one statement, a transaction of its own; its rows.

        Raises:
            ServerAway: the server is away, slow or full; it may have done it all the same.
            RecordRefused: it does not take these values, now or later.
        """
        return self._repeat_work(lambda connection: fetch(connection, statement, values))

    def transact(self, work: Callable[[Transaction], _T]) -> _T:
        """Run ``work`` as one transaction; again if another one came in its way.

        Raises:
            ServerAway: as :meth:`execute`.
            RecordRefused: nothing was done.
        """

        def whole(connection: Transaction) -> _T:
            with connection.transaction():
                return work(connection)

        return self._repeat_work(whole)

    @contextlib.contextmanager
    def begin(self) -> Iterator[Transaction]:
        """One transaction for a ``with`` block; what is raised in it undoes all of it.

        Raises:
            ServerAway: as :meth:`execute`; also if another transaction came in its way.
            RecordRefused: nothing was done.
        """
        try:
            with self._told_errors():
                connection = self._get_connection()
                with connection.transaction():
                    yield connection
        except _Conflict as error:
            raise ServerAway(_say_away("another transaction came in between")) from error

    def _repeat_work(self, work: Callable[[Transaction], _T]) -> _T:
        for _ in range(CONFLICTS_MOST):
            with contextlib.suppress(_Conflict):
                return self._run_work(work)
        raise ServerAway(_say_away("other transactions come in between again and again"))

    def fileno(self) -> int:
        """The descriptor on which the server speaks first; for who listens.

        Raises:
            ServerAway: there is no connection.
        """
        with self._told_errors():
            return self._get_connection().fileno()

    def take_notices(self) -> set[str]:
        """The channels on which something was said since the last look, without waiting.

        Raises:
            ServerAway: the connection broke.
        """
        with self._told_errors():
            return self._get_connection().take_heard()

    def close(self) -> None:
        """End the connection; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._pid != os.getpid():
            # It is the parent's: to end it would end the parent's session.
            _left_alone.append(connection)
            return
        with contextlib.suppress(psycopg.Error, OSError):
            connection.close()

    def _run_work(self, work: Callable[[Transaction], _T]) -> _T:
        with self._told_errors():
            return work(self._get_connection())

    @contextlib.contextmanager
    def _told_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._sort_error(error) from error
        except UnicodeEncodeError as error:
            raise RecordRefused(f"not text: {error.reason}") from error

    def _sort_error(self, error: psycopg.Error) -> Exception:
        """What is raised in place of an error of the driver."""
        state = error.sqlstate or ""
        if state in ("40001", "40P01"):
            return _Conflict(state)
        # 22 is wrong data, 23 a broken constraint, 54 a limit of the server.
        if isinstance(error, psycopg.DataError) or state[:2] in ("22", "23", "54"):
            return RecordRefused(_one_line(error))
        # All else may be another tomorrow, perhaps at another host: a full disk, a lost right.
        self.close()
        return self._note_failure(error)

    def _note_failure(self, error: Exception) -> ServerAway:
        self._reason = _one_line(error)
        self._next_attempt_s = self._steady_s() + self._pauses.next_s()
        return ServerAway(_say_away(self._reason))

    def _get_connection(self) -> _TimedConnection:
        connection = self._connection
        if connection is not None:
            if self._pid == os.getpid() and not connection.is_lost():
                return connection
            self.close()
        if self._steady_s() < self._next_attempt_s:
            raise ServerAway(_say_away(self._reason))
        opened = _TimedConnection.connect(**self._parameters, autocommit=True)
        assert isinstance(opened, _TimedConnection)  # noqa: S101 - for mypy
        opened.limit_s = self._timeout_s
        self._connection, self._pid = opened, os.getpid()
        self.opened += 1
        self._pauses.reset()
        return opened


_left_alone: list[object] = []
"""Connections of the parent, which are not to be collected in its child."""


class _Conflict(Exception):
    """A deadlock, or a transaction that could not be serialised: to be tried again."""


class _TimedConnection(psycopg.Connection[Row]):
    """A connection that waits for the server only so long."""

    limit_s: float = 5.0

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.heard: set[str] = set()
        # What comes while a statement runs.
        self.add_notify_handler(lambda notice: self.heard.add(notice.channel))

    def wait(self, gen: PQGen[_T], *_how: object, **_more: object) -> _T:
        """Drive what psycopg does until it is done; the driver's own way has no end."""
        end_s = time.monotonic() + self.limit_s
        poll, fd, asked = select.poll(), self.fileno(), -1
        try:
            wanted = next(gen)
            while True:
                if wanted != asked:
                    poll.register(fd, _poll_mask(wanted))
                    asked = wanted
                left_ms = round((end_s - time.monotonic()) * 1000)
                found = poll.poll(left_ms) if left_ms > 0 else []
                if not found:
                    gen.close()
                    raise psycopg.OperationalError(f"no answer within {self.limit_s:g} s")
                wanted = gen.send(_ready_of(found[0][1]))
        except StopIteration as end:
            value: _T = end.value
            return value

    def take_heard(self) -> set[str]:
        """The channels of all notices since the last call."""
        self.pgconn.consume_input()
        while (notice := self.pgconn.notifies()) is not None:
            self.heard.add(notice.relname.decode())
        heard, self.heard = self.heard, set()
        return heard

    def is_lost(self) -> bool:
        """Whether the other end has gone while nobody asked anything.

        Looked at before something is sent: afterwards nobody knows whether it was done.
        """
        if self.closed:
            return True
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        if not poll.poll(0):
            return False
        # A notice for who listens; anything else that comes unasked is a last word.
        try:
            heard = self.take_heard()
        except psycopg.Error:
            return True
        self.heard |= heard
        return not heard or self.pgconn.status != pq.ConnStatus.OK


def _poll_mask(wanted: int) -> int:
    mask = select.POLLIN if wanted & Wait.R else 0
    return mask | (select.POLLOUT if wanted & Wait.W else 0)


def _ready_of(events: int) -> Ready:
    writes = bool(events & select.POLLOUT)
    # A broken connection is for who reads.
    reads = bool(events & ~select.POLLOUT)
    if reads and writes:
        return Ready.RW
    return Ready.R if reads else Ready.W


def fetch(connection: Transaction, statement: str, values: Sequence[object] = ()) -> list[Row]:
    """The rows of one statement; none of one that has none."""
    cursor = connection.execute(statement.encode(), values)
    return cursor.fetchall() if cursor.description is not None else []


def lock_name(transaction: Transaction, space: int, name: str) -> None:
    """Wait until no other transaction holds ``name``, and hold it until this one ends.

    ``space`` keeps the names of one kind apart from those of others. Two names may share a lock.
    """
    # The function takes two numbers of 32 bits with a sign.
    number = zlib.crc32(name.encode()) - (1 << 31)
    fetch(transaction, "SELECT pg_advisory_xact_lock(%s, %s)", [space, number])


def clean_text(value: str) -> str:
    """A text as PostgreSQL takes it: without NUL and halves of surrogate pairs."""
    if value.isascii() and "\0" not in value:
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _say_away(reason: str) -> str:
    return f"cluster engine away: {reason}"


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
