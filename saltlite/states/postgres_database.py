"""Databases of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import postgres
from saltlite.states._fact import Fact
from saltlite.states._postgres import PostgresConnection, absent_thing


@takes_options(PostgresConnection)
def present(
    options: PostgresConnection,
    /,
    name: str,
    tablespace: str | None = None,
    encoding: str | None = None,
    lc_collate: str | None = None,
    lc_ctype: str | None = None,
    owner: str | None = None,
    owner_recurse: bool = False,
    template: str | None = None,
) -> Database:
    """A database. Owner and tablespace of one that is there are changed, the rest cannot be.

    ``owner_recurse``: with the database, what is in it gets the new owner.
    """
    server = options.as_arguments()
    return Database(
        name=name,
        tablespace=tablespace,
        owner=owner,
        fixed={"encoding": encoding, "lc_collate": lc_collate, "lc_ctype": lc_ctype},
        owner_recurse=owner_recurse,
        template=template,
        server=server,
    )


@takes_options(PostgresConnection)
def absent(options: PostgresConnection, /, name: str) -> Fact:
    """No such database."""
    server = options.as_arguments()
    return absent_thing(
        name=name,
        what=f"Database {name}",
        look=partial(postgres.db_exists, name=name, **server),
        act=partial(postgres.db_remove, name=name, **server),
    )


_FIXED = {"encoding": "Encoding", "lc_collate": "Collate", "lc_ctype": "Ctype"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Database(Resource[Mapping[str, str] | None]):
    """A database; ``fixed`` is what it can only be made with."""

    name: str
    tablespace: str | None
    owner: str | None
    fixed: Mapping[str, str | None]
    owner_recurse: bool
    template: str | None
    server: Mapping[str, Any] = field(repr=False)

    def read(self, ctx: MinionContext) -> Mapping[str, str] | None:
        return ctx.follow(postgres.db_list, **self.server).get(self.name)

    def plan(self, now: Mapping[str, str] | None) -> list[Step] | Verdict:
        if now is None:
            step = Step(
                would=f"Database {self.name} is set to be created",
                did=f"The database {self.name} has been created",
                changes={self.name: "Present"},
                run=self._create_database,
            )
            return [step]
        if any(
            _plain_name(now[_FIXED[key]]) != _plain_name(value)
            for key, value in self._fixed_options()
        ):
            told = "has wrong parameters which couldn't be changed on fly."
            return Verdict(result=False, comment=f"Database {self.name} {told}")
        moved: dict[str, Any] = {
            "owner": self.owner if self.owner not in (None, now["Owner"]) else None,
            "tablespace": self.tablespace
            if self.tablespace not in (None, now["Tablespace"])
            else None,
        }
        if not any(moved.values()):
            return []
        step = Step(
            would=f"Database {self.name} exists, but parameters need to be changed",
            did=f"Parameters for database {self.name} have been changed",
            changes={self.name: "Parameters changed"},
            run=partial(self._alter_database, moved=moved),
        )
        return [step]

    def _fixed_options(self) -> list[tuple[str, str]]:
        return [(key, value) for key, value in self.fixed.items() if value]

    def _create_database(self, ctx: MinionContext) -> None:
        given = {"tablespace": self.tablespace, "owner": self.owner, "template": self.template}
        if not ctx.follow(postgres.db_create, self.name, **given, **self.fixed, **self.server):
            raise FunctionError(f"Failed to create database {self.name}")

    def _alter_database(self, ctx: MinionContext, moved: Mapping[str, Any]) -> None:
        recurse: dict[str, Any] = {"owner_recurse": self.owner_recurse}
        if not ctx.follow(postgres.db_alter, self.name, **moved, **recurse, **self.server):
            raise FunctionError(f"Failed to change parameters for database {self.name}")

    def comment_unchanged(self, now: Mapping[str, str] | None) -> str:
        return f"Database {self.name} is already present"


def _plain_name(value: str) -> str:
    """``utf-8`` and ``UTF8`` are one encoding, ``en_US.utf8`` and ``en_US.UTF-8`` one locale."""
    return str(value).lower().replace("-", "")
