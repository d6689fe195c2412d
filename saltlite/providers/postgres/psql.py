"""Statements for ``psql``: on its standard input, so that no list of processes shows them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import CommandError, FunctionError, UsageError

ACCOUNT = "postgres"
"""Who runs ``psql`` where the server is on this machine and nobody else is named."""

_ALWAYS = (
    "--no-psqlrc",
    "--no-password",
    "--quiet",
    "--csv",
    "--set=ON_ERROR_STOP=1",
    "--set=VERBOSITY=terse",  # no line of a statement in an error: it may hold a password
)
_NAMES = ("user", "host", "port", "maintenance_db", "password", "runas")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """Where the server is and who asks. ``None`` is what ``psql`` takes without it.

    ``user`` is the role, ``runas`` the account of this machine that runs the program.
    """

    user: str | None = None
    host: str | None = None
    port: Any = None
    maintenance_db: str | None = None
    password: str | None = None
    runas: str | None = None

    @classmethod
    def of(cls, ctx: MinionContext, given: Mapping[str, Any]) -> PostgresServer:
        """From the arguments of a function; what is missing is in the options ``postgres.*``."""
        wrong = [name for name in given if name not in _NAMES and not name.startswith("__")]
        if wrong:
            raise UsageError(f"{wrong[0]!r} is none of the arguments {', '.join(_NAMES)}")
        values = {name: given.get(name) or _read_option(ctx, name) for name in _NAMES}
        host = values["host"]
        if values["runas"] is None and (not host or str(host).startswith("/")):
            values["runas"] = ACCOUNT
        return cls(**values)

    def argv(self) -> list[str]:
        """The program and its options, without statements."""
        options = [
            ("--username", self.user or self.runas),
            ("--host", self.host),
            ("--port", self.port),
            ("--dbname", self.maintenance_db or "postgres"),
        ]
        return ["psql", *_ALWAYS, *(f"{name}={value}" for name, value in options if value)]


def _read_option(ctx: MinionContext, name: str) -> Any:
    return ctx.functions.call("config.option", f"postgres.{name}") or None


def query(ctx: MinionContext, server: PostgresServer, sql: str) -> list[dict[str, str]]:
    """The rows of an answer by column; what is NULL is empty.

    Raises:
        FunctionError: the server is out of reach or refuses; with its words, without the statement.
    """
    try:
        done = ctx.host.run(
            server.argv(),
            cwd="/",
            env=_build_environment(ctx, server),
            stdin=f"{sql}\n;\n",
            runas=server.runas,
        )
    except CommandError as error:
        raise FunctionError(f"psql cannot be run: {error.stderr}") from error
    except LookupError as error:
        raise FunctionError(f"psql cannot be run: there is no user {server.runas}") from error
    if done.exit_code != 0:
        raise FunctionError(_find_reason(done.stderr) or f"psql ended with {done.exit_code}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def _build_environment(ctx: MinionContext, server: PostgresServer) -> dict[str, str]:
    env = {"LC_ALL": "C", "PGCLIENTENCODING": "UTF8"}
    if server.runas is not None:
        env["HOME"] = ctx.host.account(server.runas).home
    return {**env, "PGPASSWORD": server.password} if server.password else env


def _find_reason(stderr: str) -> str:
    lines = (line.removeprefix("psql:<stdin>:") for line in stderr.splitlines())
    told = [line.strip() for line in lines if line.strip()]
    errors = [line[line.index("ERROR:") :] for line in told if "ERROR:" in line]
    return " ".join(errors or told)


def ident(given: object) -> str:
    """A name as SQL has it."""
    return '"' + _check_value(given).replace('"', '""') + '"'


def literal(value: object) -> str:
    """A text as SQL has it."""
    plain = _check_value(value).replace("'", "''")
    if "\\" in plain:
        return " E'" + plain.replace("\\", "\\\\") + "'"
    return f"'{plain}'"


def _check_value(value: object) -> str:
    plain = str(value)
    if "\0" in plain:
        raise FunctionError("a name or text for PostgreSQL has no NUL in it")
    return plain
