"""What the states of PostgreSQL share: roles, and things that are there or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Resource, Step, Verdict
from saltlite.modules import postgres
from saltlite.providers.postgres import passwords
from saltlite.providers.postgres.psql import literal
from saltlite.states._fact import Fact

_FLAGS = {
    "createdb": "can create databases",
    "inherit": "inherits privileges",
    "login": "can login",
    "createroles": "can create roles",
    "superuser": "superuser",
    "replication": "replication",
}
"""The flags of a role by the names of the arguments, and their names in ``user_list``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresConnection:
    """Where the server is and who asks, as the states call it."""

    user: str | None = None
    maintenance_db: str | None = None
    db_password: str | None = field(default=None, repr=False)
    db_host: str | None = None
    db_port: object = None
    db_user: str | None = None

    def as_arguments(self) -> dict[str, Any]:
        """The same as the functions of ``postgres`` call it."""
        return {
            "runas": self.user,
            "maintenance_db": self.maintenance_db,
            "user": self.db_user,
            "password": self.db_password,
            "host": self.db_host,
            "port": self.db_port,
        }

    def as_schema_arguments(self) -> dict[str, Any]:
        """The same as those for schemas call it, which know the database."""
        return {
            "user": self.user,
            "db_user": self.db_user,
            "db_password": self.db_password,
            "db_host": self.db_host,
            "db_port": self.db_port,
        }


def flags(arguments: Mapping[str, Any]) -> dict[str, bool | None]:
    """Of the arguments of a state, the attributes that a role has or has not."""
    return {name: arguments[name] for name in _FLAGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleStatus:
    """A role as it is; ``role`` is ``None`` without it. ``is_until``: it ends when it shall."""

    role: Mapping[str, Any] | None
    is_until: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Role(Resource[RoleStatus]):
    """A role with these attributes; what is ``None`` is as it may be. ``kind``: User or Group."""

    name: str
    kind: str
    flags: Mapping[str, bool | None]
    server: Mapping[str, Any] = field(repr=False)
    password: str | None = field(default=None, repr=False)
    first_password: str | None = field(default=None, repr=False)
    encrypted: Any = None
    refresh_password: bool = False
    valid_until: str | None = None
    groups: tuple[str, ...] = ()

    def read(self, ctx: MinionContext) -> RoleStatus:
        asks = self.password is not None and not self.refresh_password
        role = ctx.follow(postgres.role_get, self.name, return_password=asks, **self.server)
        if role is None or self.valid_until is None:
            return RoleStatus(role=role)
        ends = f"coalesce(rolvaliduntil = {literal(self.valid_until)}::timestamptz, false)"
        which = f"rolname = {literal(self.name)}"
        sql = f"SELECT {ends} AS same FROM pg_roles WHERE {which}"  # noqa: S608 - quoted
        rows = ctx.follow(postgres.psql_query, sql, **self.server)
        return RoleStatus(role=role, is_until=bool(rows) and rows[0]["same"] == "t")

    def plan(self, now: RoleStatus) -> list[Step]:
        if now.role is None:
            return [self._plan_creation()]
        wanted = self._find_wanted(now.role, is_until=now.is_until)
        if not wanted:
            return []
        shown = {**wanted, "password": True} if "password" in wanted else wanted
        step = Step(
            would=f"{self.kind} {self.name} is set to be updated",
            did=f"The {self.kind.lower()} {self.name} has been updated",
            changes={self.name: shown},
            run=partial(self._run_verb, verb="update", wanted=wanted),
        )
        return [step]

    def _plan_creation(self) -> Step:
        password = self.password if self.password is not None else self.first_password
        wanted = {
            **{name: value for name, value in self.flags.items() if value is not None},
            **({} if password is None else {"password": password}),
            **({} if self.valid_until is None else {"valid_until": self.valid_until}),
            **({"groups": list(self.groups)} if self.groups else {}),
        }
        return Step(
            would=f"{self.kind} {self.name} is set to be created",
            did=f"The {self.kind.lower()} {self.name} has been created",
            changes={self.name: "Present"},
            run=partial(self._run_verb, verb="create", wanted=wanted),
        )

    def _find_wanted(self, role: Mapping[str, Any], *, is_until: bool) -> dict[str, Any]:
        """The arguments that are to be changed."""
        wanted: dict[str, Any] = {
            name: value
            for name, value in self.flags.items()
            if value is not None and role[_FLAGS[name]] is not bool(value)
        }
        if self.password is not None and not self._has_password(role):
            wanted["password"] = self.password
        if not is_until:
            wanted["valid_until"] = self.valid_until
        missing = sorted(set(self.groups) - set(role["groups"]))
        if missing:
            wanted["groups"] = missing
        return wanted

    def _has_password(self, role: Mapping[str, Any]) -> bool:
        if self.refresh_password:
            return False
        kind = None if self.encrypted is None else postgres.hash_kind(self.encrypted)
        return passwords.fits(self.name, str(self.password), kind, role["password"])

    def _run_verb(self, ctx: MinionContext, verb: str, wanted: Mapping[str, object]) -> None:
        given = {**wanted, **self.server, "encrypted": self.encrypted}
        if "password" in wanted:
            given["rolepassword"] = wanted["password"]
        given["password"] = self.server.get("password")
        make = {"User": "USER", "Group": "GROUP"}[self.kind] if verb == "create" else None
        try:
            postgres.change_role(ctx, self.name, given, make=make)
        except FunctionError as error:
            raise FunctionError(
                f"Failed to {verb} {self.kind.lower()} {self.name}: {error}"
            ) from error

    def comment_unchanged(self, now: RoleStatus) -> str:
        return f"{self.kind} {self.name} is already present"


def role(*, groups: object, **attributes: Any) -> Role | Action:
    """A role; ``groups`` may be a list, or a text with commas between.

    One whose password is set each time does not converge: it is an action.
    """
    declared = Role(groups=tuple(postgres.group_names(groups)), **attributes)
    if not declared.refresh_password or declared.password is None:
        return declared

    def foreseen(ctx: MinionContext) -> Verdict:
        (step,) = declared.plan(declared.read(ctx))
        return Verdict(result=None, comment=step.would, changes=step.changes)

    def run(ctx: MinionContext) -> Verdict:
        (step,) = declared.plan(declared.read(ctx))
        try:
            step.run(ctx)
        except FunctionError as error:
            return Verdict(result=False, comment=str(error))
        return Verdict(result=True, comment=step.did, changes=step.changes)

    return Action(would="", run=run, foreseen=foreseen)


def absent_thing(
    *,
    name: str,
    what: str,
    look: Callable[[MinionContext], bool],
    act: Callable[[MinionContext], bool],
    place: str = "",
) -> Fact:
    """``what`` (``User joe``) that is not there; ``place`` is said after it."""
    was_from = place.replace(" in ", " from ", 1)
    return Fact(
        holds=lambda ctx: not look(ctx),
        make=act,
        intent=f"{what} is set to be removed{was_from}",
        report=f"{what} has been removed{was_from}",
        known=f"{what} is not present{place}, so it cannot be removed",
        told={name: "Absent"},
        failed=f"{what} failed to be removed{was_from}",
    )
