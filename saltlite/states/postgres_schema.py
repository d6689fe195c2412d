"""Schemas of databases of PostgreSQL."""

from __future__ import annotations

from functools import partial

from saltlite.core.arguments import takes_options
from saltlite.modules import postgres
from saltlite.states._fact import Fact
from saltlite.states._postgres import PostgresConnection, absent_thing

_ARGUMENTS = "user db_user db_password db_host db_port"


@takes_options(PostgresConnection, _ARGUMENTS)
def present(
    options: PostgresConnection, /, dbname: str, name: str, owner: str | None = None
) -> Fact:
    """A schema of the database ``dbname``; ``owner`` is for one that is new."""
    server = options.as_schema_arguments()
    where = f"in database {dbname}"
    return Fact(
        holds=partial(postgres.schema_exists, dbname=dbname, name=name, **server),
        make=partial(postgres.schema_create, dbname=dbname, name=name, owner=owner, **server),
        intent=f"Schema {name} is set to be created {where}.",
        report=f"Schema {name} has been created {where}",
        known=f"Schema {name} already exists {where}",
        told={name: "Present"},
        failed=f"Failed to create schema {name} {where}",
    )


@takes_options(PostgresConnection, _ARGUMENTS)
def absent(options: PostgresConnection, /, dbname: str, name: str) -> Fact:
    """No such schema in the database ``dbname``; one that is not empty stays."""
    server = options.as_schema_arguments()
    return absent_thing(
        name=name,
        what=f"Schema {name}",
        place=f" in database {dbname}",
        look=partial(postgres.schema_exists, dbname=dbname, name=name, **server),
        act=partial(postgres.schema_remove, dbname=dbname, name=name, **server),
    )
