"""Databases of MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.resource import Step
from saltlite.modules import mysql
from saltlite.providers.mysql.client import literal
from saltlite.states._mysql import MysqlResource, Unseen, require_success, step


def present(
    name: str, character_set: str | None = None, collate: str | None = None, **connection_args: Any
) -> Database:
    """A database with this character set and collation; ``connection_*`` say where and who asks."""
    return Database(
        name=str(name), character_set=character_set, collate=collate, server=connection_args
    )


def absent(name: str, **connection_args: Any) -> NoDatabase:
    """No such database."""
    return NoDatabase(name=str(name), server=connection_args)


_COLLATIONS = (
    "SELECT character_set_name AS c, collation_name AS o FROM information_schema.collations"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """Character set and collation of a database as they are and shall be; none of one not there."""

    now: Mapping[str, str]
    wanted: Mapping[str, str]

    def differing(self) -> list[str]:
        """``character_set``, ``collate``: what is not as wanted."""
        return [
            key
            for key, value in self.wanted.items()
            if _plain_charset(self.now[key]) != _plain_charset(value)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database(MysqlResource[Charset]):
    """A database."""

    name: str
    character_set: str | None
    collate: str | None
    server: Mapping[str, Any] = field(repr=False)

    def look(self, ctx: MinionContext) -> Charset:
        now = ctx.follow(mysql.db_get, self.name, **self.server)
        return Charset(now=now, wanted=self._wanted_properties(ctx) if now else {})

    def _wanted_properties(self, ctx: MinionContext) -> dict[str, str]:
        """Both, where one is said: the other one follows from it."""
        named = {"character_set": self.character_set, "collate": self.collate}
        wanted = {key: str(value) for key, value in named.items() if value}
        if len(wanted) != 1:
            return wanted
        (key,) = wanted
        column = "character_set_name" if key == "character_set" else "collation_name"
        only = " AND is_default = 'Yes'" if key == "character_set" else ""
        sql = f"{_COLLATIONS} WHERE {column} = {literal(wanted[key])}{only}"
        found = ctx.follow(mysql.query, "information_schema", sql, **self.server)["results"]
        return {"character_set": found[0][0], "collate": found[0][1]} if found else wanted

    def steps(self, now: Charset) -> list[Step]:
        if not now.now:
            would = f"Database {self.name} is not present and needs to be created"
            did = f"The database {self.name} has been created"
            return step(would, did, {self.name: "Present"}, self._create_database)
        differing = now.differing()
        if not differing:
            return []
        changes = {key: {"before": now.now[key], "now": now.wanted[key]} for key in differing}
        told = self._show_properties(now)
        return step(told, told, changes, self._alter_database)

    def _show_properties(self, now: Charset) -> str:
        names = {"character_set": "character set", "collate": "collate"}
        lines = [
            f"Database {names[key]} {now.wanted[key]} != {now.now[key]} needs to be updated"
            for key in now.differing()
        ]
        first = [] if "character_set" in now.differing() else [self._say_present()]
        return "\n".join([*first, *lines])

    def _create_database(self, ctx: MinionContext) -> None:
        made = ctx.follow(
            mysql.db_create, self.name, self.character_set, self.collate, **self.server
        )
        require_success(ctx, made, f"Failed to create database {self.name}")

    def _alter_database(self, ctx: MinionContext) -> None:
        altered = ctx.follow(
            mysql.alter_db, self.name, self.character_set, self.collate, **self.server
        )
        require_success(ctx, altered, f"Failed to alter database {self.name}")

    def _say_present(self) -> str:
        return f"Database {self.name} is already present"

    def comment_unchanged(self, now: Charset | Unseen) -> str:
        return self._say_present()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoDatabase(MysqlResource[bool]):
    """A database that is not there."""

    name: str
    server: Mapping[str, Any] = field(repr=False)

    def look(self, ctx: MinionContext) -> bool:
        return ctx.follow(mysql.db_exists, self.name, **self.server)

    def steps(self, now: bool) -> list[Step]:
        if not now:
            return []
        would = f"Database {self.name} is present and needs to be removed"
        did = f"Database {self.name} has been removed"
        return step(would, did, {self.name: "Absent"}, self._remove_database)

    def _remove_database(self, ctx: MinionContext) -> None:
        removed = ctx.follow(mysql.db_remove, self.name, **self.server)
        require_success(ctx, removed, f"Unable to remove database {self.name}")

    def comment_unchanged(self, now: bool | Unseen) -> str:
        return f"Database {self.name} is not present, so it cannot be removed"


def _plain_charset(name: str) -> str:
    """``utf8`` is told as ``utf8mb3`` by newer servers."""
    name = name.lower()
    return name.replace("utf8mb3", "utf8", 1) if name.startswith("utf8mb3") else name
