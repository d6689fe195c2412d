"""Privileges of roles of PostgreSQL."""

from __future__ import annotations

from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.modules import postgres
from saltlite.providers.postgres.grants import Privileges
from saltlite.states._fact import Fact
from saltlite.states._postgres import PostgresConnection


@takes_options(PostgresConnection)
def present(
    options: PostgresConnection,
    /,
    name: str,
    object_name: str,
    object_type: str,
    privileges: object = None,
    grant_option: bool | None = None,
    prepend: str = "public",
) -> Fact:
    """Privileges that the role ``name`` has on an object.

    ``object_type`` is ``table``, ``sequence``, ``schema``, ``database``, ``tablespace``,
    ``language``, ``function`` or ``group``; ``object_name`` may be ``ALL`` for the first two and
    functions of the schema ``prepend``. ``grant_option``: they may be passed on.
    """
    server = options.as_arguments()
    wanted = Privileges.of(name, object_name, object_type, privileges, prepend)
    place = _place_of(name, object_name, object_type, privileges, prepend)
    passed_on: dict[str, Any] = {"grant_option": grant_option}
    what = f"The privilege(s): {wanted.show_privileges()}"
    return Fact(
        holds=partial(postgres.has_privileges, **place, **passed_on, **server),
        make=partial(postgres.privileges_grant, **place, **passed_on, **server),
        intent=f"{what} are set to be granted to {name}",
        report=f"{what} have been granted to {name}",
        known="The requested privilege(s) are already set",
        told={name: "Present"},
        failed=f"Failed to grant privilege(s): {wanted.show_privileges()} to {name}",
    )


@takes_options(PostgresConnection)
def absent(
    options: PostgresConnection,
    /,
    name: str,
    object_name: str,
    object_type: str,
    privileges: object = None,
    prepend: str = "public",
) -> Fact:
    """Privileges that the role ``name`` does not have; the arguments are those of ``present``."""
    server = options.as_arguments()
    wanted = Privileges.of(name, object_name, object_type, privileges, prepend)
    place = _place_of(name, object_name, object_type, privileges, prepend)
    what = f"The privilege(s): {wanted.show_privileges()}"

    def holds(ctx: MinionContext) -> bool:
        return not wanted.holds_any(ctx.follow(postgres.psql_query, wanted.query(), **server))

    return Fact(
        holds=holds,
        make=partial(postgres.privileges_revoke, **place, **server),
        intent=f"{what} are set to be revoked from {name}",
        report=f"{what} have been revoked from {name}",
        known="The requested privilege(s) are not set so cannot be revoked",
        told={name: "Absent"},
        failed=f"Failed to revoke privilege(s): {wanted.show_privileges()} from {name}",
    )


def _place_of(
    name: str, object_name: str, object_type: str, privileges: object, prepend: str
) -> dict[str, Any]:
    return {
        "name": name,
        "object_name": object_name,
        "object_type": object_type,
        "privileges": privileges,
        "prepend": prepend,
    }
