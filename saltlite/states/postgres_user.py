"""Roles of PostgreSQL that log in."""

from __future__ import annotations

from functools import partial

from saltlite.core.arguments import takes_options
from saltlite.highstate.resource import Action
from saltlite.modules import postgres
from saltlite.states._fact import Fact
from saltlite.states._postgres import PostgresConnection, Role, absent_thing, flags, role


@takes_options(PostgresConnection)
def present(
    options: PostgresConnection,
    /,
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
) -> Role | Action:
    """A role that may log in, with these attributes; what is not said is left as it is.

    ``password`` may be what the server keeps of it; the server never gets more than that.
    ``encrypted`` is ``md5`` (also ``True``), ``scram-sha-256``, or ``False``: the server decides.
    ``default_password`` is for a role that is new. ``refresh_password``: it is set each time, by
    one who may not read what the server keeps. ``groups`` are joined, and none is left.
    """
    server = options.as_arguments()
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


@takes_options(PostgresConnection)
def absent(options: PostgresConnection, /, name: str) -> Fact:
    """No such role."""
    server = options.as_arguments()
    return absent_thing(
        name=name,
        what=f"User {name}",
        look=partial(postgres.user_exists, name=name, **server),
        act=partial(postgres.user_remove, username=name, **server),
    )
