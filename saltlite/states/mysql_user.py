"""Users of MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Step, Verdict
from saltlite.modules import mysql
from saltlite.states._mysql import MysqlResource, Unseen, require_success, step

_NO_PASSWORD = (
    "Either password or password_hash must be specified, unless allow_passwordless is True"  # noqa: S105
)


def present(
    name: str,
    host: str = "localhost",
    password: str | None = None,
    password_hash: str | None = None,
    allow_passwordless: bool = False,
    unix_socket: bool = False,
    password_column: str | None = None,
    auth_plugin: str = "mysql_native_password",
    **connection_args: Any,
) -> Declared:
    """A user with this password, or what the server keeps of it; or with none.

    ``unix_socket``: the server asks the operating system who it is. ``connection_*`` say where the
    server is and who asks; ``password_column`` is for servers of long ago, and has no effect.
    """
    if not password and not password_hash and not allow_passwordless:
        return Verdict(result=False, comment=_NO_PASSWORD)
    return MysqlUser(
        name=str(name),
        host=str(host),
        password=None if not password else str(password),
        password_hash=None if not password_hash else str(password_hash),
        unix_socket=unix_socket,
        auth_plugin=auth_plugin,
        server=connection_args,
    )


def absent(name: str, host: str = "localhost", **connection_args: Any) -> NoUser:
    """No such user from this host."""
    return NoUser(name=str(name), host=str(host), server=connection_args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Whether a user is there, and has the password; ``None`` if that cannot be seen."""

    is_there: bool
    fits: bool | None = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlUser(MysqlResource[Login]):
    """A user; neither password nor hash means that none is asked for."""

    name: str
    host: str
    password: str | None = field(repr=False)
    password_hash: str | None = field(repr=False)
    unix_socket: bool
    auth_plugin: str
    server: Mapping[str, Any] = field(repr=False)

    def look(self, ctx: MinionContext) -> Login:
        found = ctx.follow(mysql.user_info, self.name, self.host, **self.server)
        if not found:
            return Login(is_there=False)
        return Login(
            is_there=True,
            fits=mysql.has_password(
                found, self.password, self.password_hash, unix_socket=bool(self.unix_socket)
            ),
        )

    def steps(self, now: Login) -> list[Step]:
        if not now.is_there:
            how = " with passwordless login" if self._is_open() else ""
            how += " using unix_socket" if self._is_open() and self.unix_socket else ""
            would = f"User {self._user_at_host()} is set to be added{how}"
            did = f"The user {self._user_at_host()} has been added{how}"
            run = partial(
                self._set_password,
                verb="CREATE",
                failed=f"Failed to create user {self._user_at_host()}",
            )
            return step(would, did, {self.name: "Present"}, run)
        if now.fits is not False:
            return []
        verb, past = ("clear", "cleared") if self._is_open() else ("change", "changed")
        what = f"Password for user {self._user_at_host()}"
        failed = f"Failed to {verb} password for user {self._user_at_host()}"
        run = partial(self._set_password, verb="ALTER", failed=failed)
        return step(
            f"{what} is set to be {past}",
            f"{what} has been {past}",
            {self.name: "Updated"},
            run,
        )

    def _set_password(self, ctx: MinionContext, verb: str, failed: str) -> None:
        given = {
            "password": self.password,
            "password_hash": self.password_hash,
            "allow_passwordless": True,
            "unix_socket": self.unix_socket,
            "auth_plugin": self.auth_plugin,
            **self.server,
        }
        try:
            mysql.set_user(ctx, verb, self.name, self.host, given)
        except FunctionError as error:
            raise FunctionError(f"{failed} ({error})") from error

    def _user_at_host(self) -> str:
        return f"{self.name}@{self.host}"

    def _is_open(self) -> bool:
        return self.password is None and self.password_hash is None

    def comment_unchanged(self, now: Login | Unseen) -> str:
        told = f"User {self._user_at_host()} is already present"
        if isinstance(now, Login) and now.fits is None:
            return f"{told}. Unable to verify password."
        if self._is_open():
            return f"{told} with passwordless login"
        return f"{told} with the desired password{' hash' if self.password_hash else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoUser(MysqlResource[bool]):
    """A user that is not there."""

    name: str
    host: str
    server: Mapping[str, Any] = field(repr=False)

    def look(self, ctx: MinionContext) -> bool:
        return bool(ctx.follow(mysql.user_info, self.name, self.host, **self.server))

    def steps(self, now: bool) -> list[Step]:
        if not now:
            return []
        what = f"User {self.name}@{self.host}"
        return step(
            f"{what} is set to be removed",
            f"{what} has been removed",
            {self.name: "Absent"},
            self._remove_user,
        )

    def _remove_user(self, ctx: MinionContext) -> None:
        removed = ctx.follow(mysql.user_remove, self.name, self.host, **self.server)
        require_success(ctx, removed, f"User {self.name}@{self.host} failed to be removed")

    def comment_unchanged(self, now: bool | Unseen) -> str:
        return f"User {self.name}@{self.host} is not present, so it cannot be removed"
