"""Privileges of users of MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Step
from saltlite.modules import mysql
from saltlite.providers.mysql import grants
from saltlite.states._mysql import MysqlResource, Unseen, require_success, step


def present(
    name: str,
    grant: object = None,
    database: str | None = None,
    user: str | None = None,
    host: str = "localhost",
    grant_option: bool = False,
    escape: bool = True,
    revoke_first: bool = False,
    ssl_option: object = False,
    **connection_args: Any,
) -> Grant:
    """Privileges (``select,insert``) of a user on ``database`` (``shop.*``, ``shop.orders``).

    ``escape``: ``_`` and ``%`` in the name mean themselves. ``revoke_first``: others on the same
    are taken away before. ``ssl_option`` is a list of maps: ``SSL: true``, ``CIPHER: ...``.
    """
    return Grant(
        place=_find_place(name, grant, database, user, host, grant_option, escape, connection_args),
        revoke_first=revoke_first,
        ssl_option=ssl_option,
    )


def absent(
    name: str,
    grant: object = None,
    database: str | None = None,
    user: str | None = None,
    host: str = "localhost",
    grant_option: bool = False,
    escape: bool = True,
    **connection_args: Any,
) -> NoGrant:
    """None of these privileges of a user; the arguments are those of ``present``."""
    return NoGrant(
        place=_find_place(name, grant, database, user, host, grant_option, escape, connection_args)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantScope:
    """Whose privileges on what; the arguments of the functions of ``mysql``."""

    name: str
    grant: str
    database: str
    user: str
    host: str
    grant_option: bool
    escape: bool
    server: Mapping[str, Any] = field(repr=False)

    def arguments(self) -> dict[str, Any]:
        """As the functions take them."""
        return {
            "grant": self.grant,
            "database": self.database,
            "user": self.user,
            "host": self.host,
            "grant_option": self.grant_option,
            "escape": self.escape,
            **self.server,
        }

    def describe(self) -> str:
        """``Grant select on shop.* to joe@localhost``."""
        return f"Grant {self.grant} on {self.database} to {self.user}@{self.host}"

    def lines(self, ctx: MinionContext) -> list[str]:
        """What the server shows of the user's privileges."""
        return mysql.query_grants(ctx, self.user, self.host, **self.server)


def _find_place(
    name: str,
    grant: object,
    database: str | None,
    user: str | None,
    host: str,
    grant_option: bool,
    escape: bool,
    server: Mapping[str, object],
) -> GrantScope:
    if not grant or not database or not user:
        raise FunctionError(f"The grant {name} needs grant, database and user")
    text = ",".join(map(str, grant)) if isinstance(grant, (list, tuple)) else str(grant)
    return GrantScope(
        name=str(name),
        grant=text,
        database=str(database),
        user=str(user),
        host=str(host),
        grant_option=grant_option,
        escape=escape,
        server=server,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(MysqlResource[bool]):
    """Privileges that a user has."""

    place: GrantScope
    revoke_first: bool
    ssl_option: Any

    def look(self, ctx: MinionContext) -> bool:
        return ctx.follow(mysql.grant_exists, **self.place.arguments())

    def steps(self, now: bool) -> list[Step]:
        if now:
            return []
        would = f"MySQL grant {self.place.name} is set to be created"
        did = f"{self.place.describe()} has been added"
        return step(would, did, {self.place.name: "Present"}, self._add_grant)

    def _add_grant(self, ctx: MinionContext) -> None:
        at = self.place
        if self.revoke_first:
            lines = at.lines(ctx)
            on = grants.target(at.database, escape=at.escape)
            if any(found.target == on for found in map(grants.parse_shown, lines) if found):
                ctx.follow(mysql.grant_revoke, **{**at.arguments(), "grant": "ALL PRIVILEGES"})
        added = ctx.follow(mysql.grant_add, ssl_option=self.ssl_option, **at.arguments())
        statement = f'"GRANT {at.grant} ON {at.database} TO {at.user}@{at.host}"'
        require_success(ctx, added, f"Failed to execute: {statement}")

    def comment_unchanged(self, now: bool | Unseen) -> str:
        return f"{self.place.describe()} is already present"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoGrant(MysqlResource[bool]):
    """Privileges that a user does not have."""

    place: GrantScope

    def look(self, ctx: MinionContext) -> bool:
        at = self.place
        on = grants.target(at.database, escape=at.escape)
        return grants.holds(at.lines(ctx), at.grant, on, one=True)

    def unseen(self, reason: str) -> str:
        at = self.place
        what = f"grant {at.grant} on {at.database} for {at.user}@{at.host}"
        return f"Unable to determine if {what} exists ({reason})"

    def steps(self, now: bool) -> list[Step]:
        if not now:
            return []
        at = self.place
        would = f"MySQL grant {at.name} is set to be revoked"
        did = f"Grant {at.grant} on {at.database} for {at.user}@{at.host} has been revoked"
        return step(would, did, {at.name: "Absent"}, self._revoke_grant)

    def _revoke_grant(self, ctx: MinionContext) -> None:
        at = self.place
        revoked = ctx.follow(mysql.grant_revoke, **at.arguments())
        what = f"Grant {at.grant} on {at.database} for {at.user}@{at.host}"
        require_success(ctx, revoked, f"Unable to revoke {what[0].lower()}{what[1:]}")

    def comment_unchanged(self, now: bool | Unseen) -> str:
        return f"{self.place.describe()} is not present, so it cannot be revoked"
