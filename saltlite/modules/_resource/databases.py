"""Databases of PostgreSQL and MySQL, and who may log in to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.modules import mysql, postgres
from saltlite.modules._resource.listed import (
    Ask,
    Found,
    LeftOut,
    ListedType,
    StateDeclaration,
    declare_each,
    pick_names,
)
from saltlite.providers.mysql.client import NATIVE

_TEMPLATES = frozenset({"template0", "template1"})
_OF_MYSQL = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_OF_MARIADB = frozenset({"mariadb.sys"})
_FLAGS = {
    "createdb": "can create databases",
    "createroles": "can create roles",
    "superuser": "superuser",
    "inherit": "inherits privileges",
    "replication": "replication",
}
_HASH = re.compile(r"\*[0-9A-Fa-f]{40}")

Look = Callable[[MinionContext], Iterable[str]]


def _build_type(look: Look, declare: Callable[[MinionContext, Ask], Iterator[Found]]) -> ListedType:
    return ListedType(lambda ctx, pattern: pick_names(look(ctx), pattern), declare)


# --- PostgreSQL -----------------------------------------------------------------------------------


def _list_postgres_databases(ctx: MinionContext) -> list[str]:
    return [name for name in ctx.follow(postgres.db_list) if name not in _TEMPLATES]


def _declare_postgres_databases(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {
        name: {
            "owner": row["Owner"],
            "encoding": row["Encoding"],
            "lc_collate": row["Collate"],
            "lc_ctype": row["Ctype"],
            "tablespace": row["Tablespace"],
        }
        for name, row in ctx.follow(postgres.db_list).items()
    }
    yield from declare_each("postgres_database.present", ask, there)


def _find_roles(
    ctx: MinionContext, *, may_login: bool, secrets: bool = False
) -> dict[str, Mapping[str, Any]]:
    """Roles that somebody made, or the first one; PostgreSQL's own have a name of ``pg_``."""
    roles = ctx.follow(postgres.user_list, return_password=secrets)
    return {
        name: role
        for name, role in roles.items()
        if role["can login"] is may_login and not name.startswith("pg_")
    }


def _build_role_type(fun: str, *, may_login: bool) -> ListedType:
    def look(ctx: MinionContext) -> Iterable[str]:
        return _find_roles(ctx, may_login=may_login)

    def declare(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
        roles = _find_roles(ctx, may_login=may_login, secrets=ask.secrets)
        there = {name: _describe_role(role) for name, role in roles.items()}
        yield from declare_each(fun, ask, there)

    return _build_type(look, declare)


def _describe_role(role: Mapping[str, Any]) -> dict[str, Any]:
    said = {argument: role[name] for argument, name in _FLAGS.items()}
    further = {
        "groups": role["groups"],
        "valid_until": role["expiry time"] if role["can login"] else None,
        "password": role.get("password"),
    }
    return {**said, **{name: value for name, value in further.items() if value}}


# --- MySQL ----------------------------------------------------------------------------------------


def _list_mysql_databases(ctx: MinionContext) -> list[str]:
    return [name for name in ctx.follow(mysql.db_list) if name.lower() not in _OF_MYSQL]


def _declare_mysql_databases(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    there = {name: ctx.follow(mysql.db_get, name) for name in ask.names}
    yield from declare_each(
        "mysql_database.present", ask, {name: like for name, like in there.items() if like}
    )


def _list_mysql_users(ctx: MinionContext) -> list[str]:
    rows = ctx.follow(mysql.user_list)
    return [
        f"{row['User']}@{row['Host']}"
        for row in rows
        # Users without a name, and those that the server has for itself.
        if row["User"] and row["User"] not in _OF_MARIADB and not row["User"].startswith("mysql.")
    ]


def _declare_mysql_users(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for name in ask.names:
        user, _, host = name.rpartition("@")
        found = ctx.follow(mysql.user_info, user, host)
        if not found:
            continue
        said = _describe_login(found, secrets=ask.secrets)
        if isinstance(said, str):
            yield LeftOut(name, said)
        else:
            yield StateDeclaration(
                of=name,
                fun="mysql_user.present",
                name=user,
                arguments={"host": host, **said},
                ident=f"mysql_user {name}",
            )


def _describe_login(found: Mapping[str, Any], *, secrets: bool) -> dict[str, Any] | str:
    """The arguments that say how a user logs in, or why there are none."""
    plugin = found.get("plugin") or NATIVE
    kept = found.get("authentication_string") or found.get("Password") or ""
    if plugin in mysql.SOCKETS:
        return {"allow_passwordless": True, "unix_socket": True}
    if not kept:
        return {"allow_passwordless": True}
    if plugin != NATIVE or not _HASH.fullmatch(kept):
        return f"the state cannot say how it logs in ({plugin})"
    return {"password_hash": kept} if secrets else "its password is shown only with secrets=True"


TYPES = {
    "mysql_database": _build_type(_list_mysql_databases, _declare_mysql_databases),
    "mysql_user": _build_type(_list_mysql_users, _declare_mysql_users),
    "postgres_database": _build_type(_list_postgres_databases, _declare_postgres_databases),
    "postgres_group": _build_role_type("postgres_group.present", may_login=False),
    "postgres_user": _build_role_type("postgres_user.present", may_login=True),
}
