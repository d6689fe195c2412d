"""Schemas of databases of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from saltlite.modules import postgres
from saltlite.states._postgres import Thing, Words, absent_thing

_SERVER = ("user", "db_user", "db_password", "db_host", "db_port")


def present(
    dbname: str,
    name: str,
    owner: str | None = None,
    user: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: object = None,
) -> Thing:
    """A schema of the database ``dbname``; ``owner`` is for one that is new."""
    server = _server_of(locals())
    where = f"in database {dbname}"
    return Thing(
        name=name,
        wanted=True,
        change="Present",
        look=partial(postgres.schema_exists, dbname=dbname, name=name, **server),
        act=partial(postgres.schema_create, dbname=dbname, name=name, owner=owner, **server),
        words=Words(
            would=f"Schema {name} is set to be created {where}.",
            did=f"Schema {name} has been created {where}",
            settled=f"Schema {name} already exists {where}",
            failed=f"Failed to create schema {name} {where}",
        ),
    )


def absent(
    dbname: str,
    name: str,
    user: str | None = None,
    db_user: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: object = None,
) -> Thing:
    """No such schema in the database ``dbname``; one that is not empty stays."""
    server = _server_of(locals())
    return absent_thing(
        name=name,
        what=f"Schema {name}",
        place=f" in database {dbname}",
        look=partial(postgres.schema_exists, dbname=dbname, name=name, **server),
        act=partial(postgres.schema_remove, dbname=dbname, name=name, **server),
    )


def _server_of(arguments: Mapping[str, object]) -> dict[str, Any]:
    """Where the server is and who asks, as the functions of schemas take it."""
    return {name: value for name, value in arguments.items() if name in _SERVER}
