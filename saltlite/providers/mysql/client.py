"""Statements for ``mariadb`` or ``mysql``.

They go to its standard input, and who asks is in a file for this one call: no list of processes
shows a password. Passwords of users are hashed here where the server takes the hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError, FunctionError, UsageError
from saltlite.host import Host

PROGRAMS = ("mariadb", "mysql")
NATIVE = "mysql_native_password"

_OPTIONS = {
    "host": "host",
    "user": "user",
    "pass": "password",
    "port": "port",
    "unix_socket": "socket",
    "charset": "default-character-set",
    "db": "database",
}
"""Names behind ``connection_`` in arguments and ``mysql.`` in options, and those of the program."""

_ERROR = regex(r"ERROR (\d+) \([^)]*\)(?: at line \d+)?: (.*)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlServer:
    """Where the server is and who asks, as lines of an option file."""

    options: Mapping[str, str] = field(repr=False)
    default_file: str | None = None

    @classmethod
    def of(cls, ctx: MinionContext, given: Mapping[str, object]) -> MysqlServer:
        """From ``connection_*`` arguments; what is missing is in the options ``mysql.*``."""
        known = {f"connection_{name}" for name in (*_OPTIONS, "default_file")}
        wrong = [name for name in given if name not in known and not name.startswith("__")]
        if wrong:
            raise UsageError(f"{wrong[0]!r} is none of {', '.join(sorted(known))}")

        def value(name: str) -> Any:
            own = given.get(f"connection_{name}")
            return own or ctx.functions.call("config.option", f"mysql.{name}")

        found = {option: value(name) for name, option in _OPTIONS.items()}
        options = {option: str(each) for option, each in found.items() if each}
        return cls(options=options, default_file=value("default_file") or None)

    def file(self) -> bytes:
        """The option file."""
        lines = [f"!include {self.default_file}"] if self.default_file else []
        lines.append("[client]")
        lines += [f"{name}={_option_line(value)}" for name, value in self.options.items()]
        return "\n".join([*lines, ""]).encode()


def _option_line(value: str) -> str:
    if "\n" in value or "\0" in value:
        raise FunctionError("an option for the database has no end of line in it")
    return '"' + value.replace("\\", "\\\\") + '"'


def query(
    host: Host, server: MysqlServer, sql: str, *, secrets: Sequence[str] = ()
) -> list[dict[str, str | None]]:
    """The rows of an answer by column.

    Raises:
        FunctionError: ``MySQL Error <number>: <text>``; ``secrets`` do not get into it.
    """
    program = next((name for name in PROGRAMS if host.which(name)), None)
    if program is None:
        raise FunctionError("There is neither mariadb nor mysql on this machine")
    with host.private_file(server.file(), suffix=".cnf") as path:
        try:
            done = host.run(
                [program, f"--defaults-file={path}", "--batch"],
                stdin=f"{sql}\n;\n",
                env={"LC_ALL": "C"},
                cwd="/",
            )
        except CommandError as error:
            raise FunctionError(f"{program} cannot be run: {error.stderr}") from error
    if done.exit_code != 0:
        raise FunctionError(_find_reason(done.stderr, secrets))
    names, *rows = [line.split("\t") for line in done.stdout.splitlines()] or [[]]
    return [
        {name: _parse_value(text) for name, text in zip(names, row, strict=False)}
        for row in rows
        if row
    ]


def _find_reason(stderr: str, secrets: Sequence[str]) -> str:
    found = _ERROR.search(stderr)
    told = f"MySQL Error {found[1]}: {found[2].strip()}" if found else stderr.strip()
    for secret in filter(None, secrets):
        told = told.replace(secret, "XXXXX")
    return told


def _parse_value(text: str) -> str | None:
    if text == "NULL":
        return None
    return re.sub(r"\\([nt0\\])", lambda match: _ESCAPED[match[1]], text)


def native_hash(password: str) -> str:
    """What the server keeps of a password for ``mysql_native_password``."""
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()


def ident(name: object) -> str:
    """A name as SQL has it."""
    return "`" + str(name).replace("`", "``") + "`"


def literal(value: object) -> str:
    """A text as SQL has it."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"
