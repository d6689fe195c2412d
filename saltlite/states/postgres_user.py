"""Roles of PostgreSQL that log in."""

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
    replication: bool | None = None,
    inherit: bool | None = None,
    login: bool | None = None,
    password: str | None = None,
    default_password: str | None = None,
    refresh_password: bool | None = None,
    valid_until: str | None = None,
    groups: object = None,
    user: str | None = None,
    maintenance_db: str | None = None,
    db_password: str | None = None,
    db_host: str | None = None,
    db_port: object = None,
    db_user: str | None = None,
) -> Role | Action:
    """A role that may log in, with these attributes; what is not said is left as it is.

    ``password`` may be what the server keeps of it; the server never gets more than that.
    ``encrypted`` is ``md5`` (also ``True``), ``scram-sha-256``, or ``False``: the server decides.
    ``default_password`` is for a role that is new. ``refresh_password``: it is set each time, by
    one who may not read what the server keeps. ``groups`` are joined, and none is left.
    """
    server = connection(locals())
    return role(
        name=name,
        kind="User",
        flags=flags(locals()),
        server=server,
        password=password,
        first_password=default_password,
        encrypted=encrypted,
        refresh_password=bool(refresh_password),
        valid_until=valid_until,
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
        what=f"User {name}",
        look=partial(postgres.user_exists, name=name, **server),
        act=partial(postgres.user_remove, username=name, **server),
    )
