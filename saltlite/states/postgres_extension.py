"""Extensions of databases of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import postgres
from saltlite.states._fact import Fact
from saltlite.states._postgres import PostgresConnection, absent_thing


@takes_options(PostgresConnection)
def present(
    options: PostgresConnection,
    /,
    name: str,
    if_not_exists: bool | None = None,
    schema: str | None = None,
    ext_version: str | None = None,
    from_version: str | None = None,
) -> Extension:
    """An extension of the database ``maintenance_db``, in this schema and version."""
    server = options.as_arguments()
    return Extension(
        name=name,
        schema=schema,
        version=None if ext_version is None else str(ext_version),
        options={"if_not_exists": if_not_exists, "from_version": from_version},
        server=server,
    )


@takes_options(PostgresConnection)
def absent(
    options: PostgresConnection,
    /,
    name: str,
    if_exists: bool | None = None,
    restrict: bool | None = None,
    cascade: bool | None = None,
) -> Fact:
    """No such extension in the database ``maintenance_db``."""
    server = options.as_arguments()
    how: dict[str, Any] = {"if_exists": if_exists, "restrict": restrict, "cascade": cascade}
    return absent_thing(
        name=name,
        what=f"Extension {name}",
        look=partial(postgres.is_installed_extension, name=name, **server),
        act=partial(postgres.drop_extension, name=name, **how, **server),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(Resource[dict[str, str]]):
    """An extension; read is what the database says of it, empty without it."""

    name: str
    schema: str | None
    version: str | None
    options: Mapping[str, Any]
    server: Mapping[str, Any] = field(repr=False)

    def read(self, ctx: MinionContext) -> dict[str, str]:
        return ctx.follow(postgres.get_installed_extension, self.name, **self.server)

    def plan(self, now: dict[str, str]) -> list[Step]:
        if now and self._fits_now(now):
            return []
        verb, change = ("upgrade", "Upgraded") if now else ("install", "Installed")
        done = change.lower()
        step = Step(
            would=f"Extension {self.name} is set to be {done}",
            did=f"The extension {self.name} has been {done}",
            changes={self.name: change},
            run=partial(self._run_verb, verb=verb),
        )
        return [step]

    def _fits_now(self, now: dict[str, str]) -> bool:
        in_schema = self.schema in (None, now["schema_name"])
        return in_schema and self.version in (None, now["extversion"])

    def _run_verb(self, ctx: MinionContext, verb: str) -> None:
        given = {"schema": self.schema, "ext_version": self.version, **self.options}
        if not ctx.follow(postgres.create_extension, self.name, **given, **self.server):
            raise FunctionError(f"Failed to {verb} extension {self.name}")

    def comment_unchanged(self, now: dict[str, str]) -> str:
        return f"Extension {self.name} is already present"
