"""Roles of PostgreSQL that others are members of."""

from __future__ import annotations

from functools import partial

from saltlite.highstate.resource import Action
from saltlite.modules import postgres
from saltlite.states._postgres import Role, Thing, absent_thing, connection, flags, role


def present(
    name: str,
    createdb: bool | None = None,
    createroles: bool | None = None,
    encrypted: object = None,
    superuser: bool | None = None,
    inherit: bool | None = None,
    login: bool | None = None,
    replication: bool | None = None,
    password: str | None = None,
    refresh_password: bool | None = None,
    groups: object = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: object = None,
    db_user: str | None = None,
) -> Role | Action:
    """A role for others to be members of; the arguments are those of ``postgres_user.present``."""
    server = connection(locals())
    return role(
        name=name,
        kind="Group",
        flags=flags(locals()),
        server=server,
        password=password,
        encrypted=encrypted,
        refresh_password=bool(refresh_password),
        groups=groups,
    )


def absent(
    name: str,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: object = None,
    db_user: str | None = None,
) -> Thing:
    """No such role."""
    server = connection(locals())
    return absent_thing(
        name=name,
        what=f"Group {name}",
        look=partial(postgres.user_exists, name=name, **server),
        act=partial(postgres.group_remove, groupname=name, **server),
    )
