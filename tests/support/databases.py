"""Database servers of their own for tests: in a temporary directory, on a Unix socket."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ports import free_port

DEADLINE_S = 30.0
ACCOUNT = "nobody"
KEEP_NOTHING = ("--databases", "1000", "--save", "", "--appendonly", "no")


def postgres_programs() -> Path | None:
    """The directory of the server's programs; the newest if there are several."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@dataclass(frozen=True)
class Postgres:
    """A server: the directory of its socket, and how it is stopped and started."""

    place: str
    control: list[str]
    options: str

    def start(self) -> None:
        _run([*self.control, "-o", self.options, "-l", f"{self.place}/log", "start"])

    def promote(self) -> None:
        """Make a standby the one that takes rows."""
        _run([*self.control, "promote"])

    def stop(self, *, mode: str = "immediate") -> None:
        """``immediate`` is what a crash does."""
        _run([*self.control, "-m", mode, "stop"])

    def runs(self) -> bool:
        """Whether its first process is there."""
        argv = [*_as_account(), *self.control, "status"]
        return subprocess.run(argv, cwd="/", capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The directory of the socket of a server whose role ``postgres`` needs no password."""
    with postgres_server() as server:
        yield server.place


@contextlib.contextmanager
def postgres_server(*, fsync: bool = False) -> Iterator[Postgres]:
    """The same, to be stopped and started; it runs at the end as at the beginning.

    With ``fsync`` it waits for the disk, as servers do.
    """
    with directory() as place:
        server = make_postgres(place, f"-c fsync={'on' if fsync else 'off'}")
        server.start()
        try:
            yield server
        finally:
            server.stop()


def make_postgres(place: str, options: str, *, listen: str = "", segment_mib: int = 16) -> Postgres:
    """A server in an empty directory of its own, not started yet; ``listen`` are addresses."""
    programs = postgres_programs()
    assert programs is not None
    data = f"{place}/data"
    _run([f"{programs}/initdb", "-D", data, *["-U", "postgres", "-A", "trust", "--no-sync"],
          *["-E", "UTF8", "--locale", "C.UTF-8", f"--wal-segsize={segment_mib}"]])  # fmt: skip
    return _describe(programs, place, options, listen)


def copy_postgres(primary: Postgres, place: str, options: str, *, listen: str = "") -> Postgres:
    """A standby in an empty directory of its own, not started yet."""
    programs = postgres_programs()
    assert programs is not None
    _run([f"{programs}/pg_basebackup", "-h", primary.place, "-U", "postgres", "-D",
          f"{place}/data", "-R", "-X", "stream", "--checkpoint=fast"])  # fmt: skip
    return _describe(programs, place, options, listen)


def _describe(programs: Path, place: str, options: str, listen: str) -> Postgres:
    control = [f"{programs}/pg_ctl", "-w", "-D", f"{place}/data"]
    return Postgres(place, control, f"-k {place} -c listen_addresses={listen} {options}")


@contextlib.contextmanager
def standby_of(primary: Postgres) -> Iterator[Postgres]:
    """A copy of a server without which that one commits nothing, until it is promoted."""
    with directory() as place:
        standby = copy_postgres(primary, place, "-c synchronous_standby_names=")
        standby.start()
        wait_for_standby(primary)
        try:
            yield standby
        finally:
            standby.stop()


def wait_for_standby(primary: Postgres) -> None:
    """Have a server commit nothing any more that its standby does not have."""
    ask_postgres(primary.place, "ALTER SYSTEM SET synchronous_standby_names = '*'")
    ask_postgres(primary.place, "SELECT pg_reload_conf()")


_PGBOUNCER = """
[databases]
{database} = host={server} dbname={database} user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {place}
listen_port = 6432
auth_type = any
pool_mode = {mode}
default_pool_size = 60
ignore_startup_parameters = extra_float_digits
"""


@contextlib.contextmanager
def pgbouncer(server: Postgres, database: str, mode: str) -> Iterator[str]:
    """The directory of the socket (port 6432) of a pool before a database."""
    with directory() as place:
        path = Path(place) / "pgbouncer.ini"
        path.write_text(
            _PGBOUNCER.format(database=database, server=server.place, place=place, mode=mode)
        )
        path.chmod(0o644)
        argv = [*_as_account(), "pgbouncer", "-q", str(path)]
        process = subprocess.Popen(argv, cwd="/", stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + DEADLINE_S
            while not Path(place, ".s.PGSQL.6432").exists():
                assert time.monotonic() < end, "the pool does not listen"
                time.sleep(0.05)
            yield place
        finally:
            process.kill()
            process.wait(DEADLINE_S)


def ask_postgres(place: str, statement: str) -> None:
    """Run one statement as the server's administrator."""
    import psycopg

    with psycopg.connect(f"host={place} user=postgres dbname=postgres", autocommit=True) as admin:
        admin.execute(statement.encode())


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """The socket of a server whose user ``root`` needs no password."""
    with mariadb_server() as server:
        yield server.socket


@dataclass
class MariaDB:
    """A server: its socket, its port if it listens on one, and how it is killed and started."""

    socket: str
    argv: list[str]
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*_as_account(), *self.argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _wait_for(self.socket)

    def kill(self) -> None:
        """An orderly end takes seconds, and what is on disk stays."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(DEADLINE_S)


@contextlib.contextmanager
def mariadb_server(*, listens: bool = False) -> Iterator[MariaDB]:
    """The same, to be killed and started; ``listens`` on a port of 127.0.0.1 as well."""
    with directory() as place:
        data, socket = f"{place}/data", f"{place}/s"
        _run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
              "--auth-root-authentication-method=normal"])  # fmt: skip
        port = free_port() if listens else 0
        network = [f"--port={port}", "--bind-address=127.0.0.1"] if port else ["--skip-networking"]
        argv = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}",
                "--innodb-flush-log-at-trx-commit=2", *network]  # fmt: skip
        server = MariaDB(socket, argv, port)
        server.start()
        try:
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def redis(*, place: str | None = None) -> Iterator[str]:
    """The socket of a server that keeps nothing on disk."""
    with directory() as fresh:
        socket = f"{place or fresh}/s"
        argv = ["redis-server", "--port", "0", "--unixsocket", socket, "--unixsocketperm", "777"]
        server = subprocess.Popen(
            [
                *_as_account(),
                *argv,
                "--databases",
                "1000",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                fresh,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            end = time.monotonic() + DEADLINE_S
            while (
                subprocess.run(
                    ["redis-cli", "-s", socket, "ping"], capture_output=True, check=False
                ).stdout
                != b"PONG\n"
            ):
                assert time.monotonic() < end, "the server does not answer"
                time.sleep(0.05)
            yield socket
        finally:
            server.kill()
            server.wait(DEADLINE_S)


@contextlib.contextmanager
def directory() -> Iterator[str]:
    """A directory with a short name: a socket's path has at most 107 bytes."""
    place = tempfile.mkdtemp(prefix="db-", dir="/tmp")
    if os.geteuid() == 0:
        shutil.chown(place, ACCOUNT)
    os.chmod(place, 0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _as_account() -> list[str]:
    """These servers do not run as root."""
    return ["setpriv", f"--reuid={ACCOUNT}", "--clear-groups"] if os.geteuid() == 0 else []


def _run(argv: list[str]) -> None:
    with tempfile.TemporaryFile() as told:
        done = subprocess.run(
            [*_as_account(), *argv], stdout=told, stderr=told, cwd="/", check=False
        )
        told.seek(0)
        assert done.returncode == 0, told.read().decode(errors="replace")


def _wait_for(socket: str) -> None:
    end = time.monotonic() + DEADLINE_S
    probe = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--execute=select 1"]
    while subprocess.run(probe, capture_output=True, check=False).returncode:
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.05)


@contextlib.contextmanager
def database_of(place: str, name: str) -> Iterator[str]:
    """A database of its own on the server of :func:`postgres`; a connection string."""
    import psycopg

    admin = f"host={place} user=postgres dbname=postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    try:
        yield f"host={place} user=postgres dbname={name}"
    finally:  # another connection: the server may have been stopped and started
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
