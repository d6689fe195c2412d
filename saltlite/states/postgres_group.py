"""Roles of PostgreSQL that others are members of."""

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
    inherit: bool | None = None,
    login: bool | None = None,
    replication: bool | None = None,
    password: str | None = None,
    refresh_password: bool | None = None,
    groups: object = None,
) -> Role | Action:
    """A role for others to be members of; the arguments are those of ``postgres_user.present``."""
    server = options.as_arguments()
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


@takes_options(PostgresConnection)
def absent(options: PostgresConnection, /, name: str) -> Fact:
    """No such role."""
    server = options.as_arguments()
    return absent_thing(
        name=name,
        what=f"Group {name}",
        look=partial(postgres.user_exists, name=name, **server),
        act=partial(postgres.group_remove, groupname=name, **server),
    )
