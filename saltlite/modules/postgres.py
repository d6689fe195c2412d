"""PostgreSQL: roles, databases, schemas, extensions and privileges, by ``psql``.

All functions take ``user``, ``host``, ``port``, ``maintenance_db``, ``password`` and ``runas``, the
account that runs ``psql``; what is not given is taken from the options ``postgres.user`` ... A
password goes neither on a command line nor into a log.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, fields
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.providers.postgres import grants, passwords
from saltlite.providers.postgres.psql import PostgresServer, ident, literal, query

INTERNAL = ("change_role", "group_names", "hash_kind")
"""Functions for states; nobody calls them by name."""

log = logging.getLogger(__name__)

_ROLES = """
SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin,
 r.rolreplication, r.rolconnlimit, r.rolvaliduntil::text AS rolvaliduntil,
 array_to_string(r.rolconfig, E'\\n') AS rolconfig, {password},
 array_to_string(array(SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
  WHERE m.member = r.oid ORDER BY 1), E'\\n') AS groups
FROM pg_roles r {where} ORDER BY r.oid
"""
_KEPT = "(SELECT a.rolpassword FROM pg_authid a WHERE a.oid = r.oid) AS rolpassword"
_DATABASES = """
SELECT datname, pg_get_userbyid(datdba) AS owner, pg_encoding_to_char(encoding) AS encoding,
 datcollate, datctype, array_to_string(datacl, ',') AS acl, spcname
FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace ORDER BY d.oid
"""
_SCHEMAS = """
SELECT nspname, pg_get_userbyid(nspowner) AS owner, nspacl::text AS acl FROM pg_namespace ORDER BY 1
"""
_INSTALLED = """
SELECT e.*, n.nspname AS schema_name
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace ORDER BY e.extname
"""


@dataclass(frozen=True, slots=True)
class RoleRow:
    """A row of the query for roles; flags are ``t`` and ``f``."""

    rolname: str
    rolsuper: str
    rolinherit: str
    rolcreaterole: str
    rolcreatedb: str
    rolcanlogin: str
    rolreplication: str
    rolconnlimit: str
    rolvaliduntil: str
    rolconfig: str
    rolpassword: str
    groups: str


@dataclass(frozen=True, slots=True)
class DatabaseRow:
    """A row of the query for databases."""

    datname: str
    owner: str
    encoding: str
    datcollate: str
    datctype: str
    acl: str
    spcname: str


@dataclass(frozen=True, slots=True)
class RoleChange:
    """What is set of a role besides flags."""

    connlimit: Any = None
    valid_until: Any = None
    rolepassword: Any = None
    encrypted: Any = None
    groups: Any = None


_CHANGED: Final = frozenset(one.name for one in fields(RoleChange))


def version(ctx: MinionContext, **connection: Any) -> str:
    """The version of the server.

    CLI Example:

        salt '*' postgres.version
    """
    rows = query(
        ctx, PostgresServer.of(ctx, connection), "SELECT current_setting('server_version') AS v"
    )
    return rows[0]["v"]


def psql_query(ctx: MinionContext, query: str, **connection: Any) -> list[dict[str, str]]:
    """The rows of an answer.

    CLI Example:

        salt '*' postgres.psql_query 'select * from pg_stat_activity'
    """
    connection.pop("write", None)
    return _run_query(ctx, query, connection)


def user_list(
    ctx: MinionContext, return_password: bool = False, **connection: Any
) -> dict[str, dict[str, Any]]:
    """The roles with their attributes; ``return_password`` adds what the server keeps of it.

    CLI Example:

        salt '*' postgres.user_list
    """
    return _list_roles(ctx, connection, return_password=return_password)


def role_get(
    ctx: MinionContext, name: str, return_password: bool = False, **connection: Any
) -> dict[str, Any] | None:
    """The attributes of a role, ``None`` without the role.

    CLI Example:

        salt '*' postgres.role_get joe
    """
    return _list_roles(ctx, connection, return_password=return_password, name=name).get(name)


def _list_roles(
    ctx: MinionContext, connection: Any, *, return_password: bool, name: str | None = None
) -> dict[str, dict[str, Any]]:
    sql = _ROLES.format(
        password=_KEPT if return_password else "'' AS rolpassword",
        where="" if name is None else f"WHERE r.rolname = {literal(name)}",
    )
    rows = [read_fields(RoleRow, row) for row in _run_query(ctx, sql, connection)]
    return {row.rolname: _describe_role(row, with_password=return_password) for row in rows}


def _describe_role(row: RoleRow, *, with_password: bool) -> dict[str, Any]:
    limit = int(row.rolconnlimit)
    role: dict[str, Any] = {
        "superuser": row.rolsuper == "t",
        "inherits privileges": row.rolinherit == "t",
        "can create roles": row.rolcreaterole == "t",
        "can create databases": row.rolcreatedb == "t",
        "can update system catalogs": None,
        "can login": row.rolcanlogin == "t",
        "replication": row.rolreplication == "t",
        "connections": None if limit < 0 else limit,
        "expiry time": row.rolvaliduntil or None,
        "defaults variables": row.rolconfig,
        "groups": row.groups.splitlines(),
    }
    return {**role, "password": row.rolpassword} if with_password else role


def user_exists(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Whether there is such a role.

    CLI Example:

        salt '*' postgres.user_exists joe
    """
    return role_get(ctx, name, **connection) is not None


_FLAGS = {
    "createdb": "CREATEDB",
    "createroles": "CREATEROLE",
    "superuser": "SUPERUSER",
    "inherit": "INHERIT",
    "login": "LOGIN",
    "replication": "REPLICATION",
}


def user_create(ctx: MinionContext, username: str, **kwargs: Any) -> bool:
    """Make a role that may log in; whether that was done.

    ``createdb``, ``createroles``, ``superuser``, ``inherit``, ``login``, ``replication``,
    ``connlimit``, ``rolepassword``, ``encrypted`` (``True``, ``md5``, ``scram-sha-256``),
    ``valid_until``, ``groups`` say what it is like.

    CLI Example:

        salt '*' postgres.user_create joe createdb=True
    """
    return _try_action(lambda: change_role(ctx, username, kwargs, make="USER"))


def user_update(ctx: MinionContext, username: str, **kwargs: Any) -> bool:
    """Change a role; whether that was done. The arguments are those of ``user_create``.

    CLI Example:

        salt '*' postgres.user_update joe createdb=True
    """
    return _try_action(lambda: change_role(ctx, username, kwargs))


def user_remove(ctx: MinionContext, username: str, **connection: Any) -> bool:
    """Remove a role; whether that was done.

    CLI Example:

        salt '*' postgres.user_remove joe
    """
    return _try_action(lambda: _run_query(ctx, f"DROP ROLE {ident(username)}", connection))


def group_create(ctx: MinionContext, groupname: str, **kwargs: Any) -> bool:
    """Make a role for others to be members of. The arguments are those of ``user_create``.

    CLI Example:

        salt '*' postgres.group_create devs
    """
    return _try_action(lambda: change_role(ctx, groupname, kwargs, make="GROUP"))


def group_update(ctx: MinionContext, groupname: str, **kwargs: Any) -> bool:
    """Change a role; as ``user_update``.

    CLI Example:

        salt '*' postgres.group_update devs createdb=True
    """
    return user_update(ctx, groupname, **kwargs)


def group_remove(ctx: MinionContext, groupname: str, **connection: Any) -> bool:
    """Remove a role; as ``user_remove``.

    CLI Example:

        salt '*' postgres.group_remove devs
    """
    return user_remove(ctx, groupname, **connection)


def change_role(
    ctx: MinionContext, role: str, kwargs: dict[str, Any], *, make: str | None = None
) -> None:
    """Make (``make`` is ``USER`` or ``GROUP``) or alter a role. Raises FunctionError."""
    given = dict(kwargs)
    options = [
        word if value else f"NO{word}"
        for name, word in _FLAGS.items()
        if (value := given.pop(name, None)) is not None
    ]
    change = read_fields(RoleChange, given)
    connection = {key: value for key, value in given.items() if key not in _CHANGED}
    if change.connlimit is not None:
        options.append(f"CONNECTION LIMIT {int(change.connlimit)}")
    if change.valid_until is not None:
        options.append(f"VALID UNTIL {literal(change.valid_until)}")
    if change.rolepassword is not None:
        kept = passwords.hash_password(role, str(change.rolepassword), hash_kind(change.encrypted))
        options.append(f"PASSWORD {literal(kept)}" if kept else "PASSWORD NULL")
    verb = f"CREATE {make}" if make else "ALTER ROLE"
    statements = [f"{verb} {ident(role)} WITH {' '.join(options)}"] if options or make else []
    if make and not options:
        statements = [f"{verb} {ident(role)}"]
    statements += [f"GRANT {ident(group)} TO {ident(role)}" for group in group_names(change.groups)]
    if statements:
        _run_query(ctx, "BEGIN;\n" + ";\n".join(statements) + ";\nCOMMIT", connection)


def group_names(groups: Any) -> list[str]:
    """The names in a list, or in a text with commas between."""
    names = groups.split(",") if isinstance(groups, str) else groups or ()
    return [str(name).strip() for name in names if str(name).strip()]


def hash_kind(encrypted: object) -> str | None:
    """The kind of hash that ``encrypted`` means; ``None`` leaves it to the server."""
    if encrypted is False:
        return None
    return passwords.SCRAM if encrypted == passwords.SCRAM else passwords.MD5


def db_list(ctx: MinionContext, **connection: Any) -> dict[str, dict[str, str]]:
    """The databases and what they are like.

    CLI Example:

        salt '*' postgres.db_list
    """
    return {
        row.datname: {
            "Owner": row.owner,
            "Encoding": row.encoding,
            "Collate": row.datcollate,
            "Ctype": row.datctype,
            "Access privileges": f"{{{row.acl}}}" if row.acl else "",
            "Tablespace": row.spcname,
        }
        for row in (
            read_fields(DatabaseRow, one) for one in _run_query(ctx, _DATABASES, connection)
        )
    }


def db_exists(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Whether there is such a database.

    CLI Example:

        salt '*' postgres.db_exists shop
    """
    return name in db_list(ctx, **connection)


def db_create(
    ctx: MinionContext,
    name: str,
    *,
    tablespace: str | None = None,
    encoding: str | None = None,
    lc_collate: str | None = None,
    lc_ctype: str | None = None,
    owner: str | None = None,
    template: str | None = None,
    **connection: Any,
) -> bool:
    """Make a database; whether that was done.

    CLI Example:

        salt '*' postgres.db_create shop
    """
    names = {"TABLESPACE": tablespace, "OWNER": owner, "TEMPLATE": template}
    texts = {"ENCODING": encoding, "LC_COLLATE": lc_collate, "LC_CTYPE": lc_ctype}
    options = [f"{key} = {ident(value)}" for key, value in names.items() if value]
    options += [f"{key} = {literal(value)}" for key, value in texts.items() if value]
    return _try_action(
        lambda: _run_query(ctx, f"CREATE DATABASE {ident(name)} {' '.join(options)}", connection)
    )


def db_alter(
    ctx: MinionContext,
    name: str,
    *,
    tablespace: str | None = None,
    owner: str | None = None,
    owner_recurse: bool = False,
    **connection: Any,
) -> bool:
    """Give a database another owner or place; whether that was done.

    ``owner_recurse``: what is in it gets the owner too.

    CLI Example:

        salt '*' postgres.db_alter shop owner=joe
    """

    def alter() -> None:
        if owner:
            _run_query(ctx, f"ALTER DATABASE {ident(name)} OWNER TO {ident(owner)}", connection)
            if owner_recurse:
                owner_to(ctx, name, owner, **connection)
        if tablespace:
            place = ident(tablespace)
            _run_query(ctx, f"ALTER DATABASE {ident(name)} SET TABLESPACE {place}", connection)

    return _try_action(alter)


def owner_to(ctx: MinionContext, dbname: str, ownername: str, **connection: Any) -> None:
    """Give all schemas, functions, tables, views and sequences of a database an owner.

    CLI Example:

        salt '*' postgres.owner_to shop joe
    """
    inside = {**connection, "maintenance_db": dbname}
    rows = _run_query(ctx, grants.OWNED, inside)
    owner = ident(ownername)
    statements = [f"ALTER {row['kind']} {row['name']} OWNER TO {owner}" for row in rows]
    if statements:
        _run_query(ctx, "BEGIN;\n" + ";\n".join(statements) + ";\nCOMMIT", inside)


def db_remove(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Remove a database; whether that was done.

    CLI Example:

        salt '*' postgres.db_remove shop
    """
    return _try_action(lambda: _run_query(ctx, f"DROP DATABASE {ident(name)}", connection))


def schema_list(ctx: MinionContext, dbname: str, **db: Any) -> dict[str, dict[str, str]]:
    """The schemas of a database; with ``db_user``, ``db_password``, ``db_host``, ``db_port``.

    CLI Example:

        salt '*' postgres.schema_list shop
    """
    rows = _run_query(ctx, _SCHEMAS, _schema_options(dbname, db))
    return {row["nspname"]: {"owner": row["owner"], "acl": row["acl"]} for row in rows}


def schema_get(ctx: MinionContext, dbname: str, name: str, **db: Any) -> dict[str, str] | None:
    """A schema, ``None`` if there is none.

    CLI Example:

        salt '*' postgres.schema_get shop sales
    """
    return schema_list(ctx, dbname, **db).get(name)


def schema_exists(ctx: MinionContext, dbname: str, name: str, **db: Any) -> bool:
    """Whether a database has a schema.

    CLI Example:

        salt '*' postgres.schema_exists shop sales
    """
    return name in schema_list(ctx, dbname, **db)


def schema_create(
    ctx: MinionContext, dbname: str, name: str, owner: str | None = None, **db: Any
) -> bool:
    """Make a schema; whether that was done.

    CLI Example:

        salt '*' postgres.schema_create shop sales owner=joe
    """
    owned = f" AUTHORIZATION {ident(owner)}" if owner else ""
    sql = f"CREATE SCHEMA {ident(name)}{owned}"
    return _try_action(lambda: _run_query(ctx, sql, _schema_options(dbname, db)))


def schema_remove(ctx: MinionContext, dbname: str, name: str, **db: Any) -> bool:
    """Remove an empty schema; whether that was done.

    CLI Example:

        salt '*' postgres.schema_remove shop sales
    """
    return _try_action(
        lambda: _run_query(ctx, f"DROP SCHEMA {ident(name)}", _schema_options(dbname, db))
    )


def _schema_options(dbname: str, db: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the functions for schemas by the names of all others."""
    names = {"db_user": "user", "db_password": "password", "db_host": "host", "db_port": "port"}
    plain = {names.get(name, name): value for name, value in db.items() if name != "user"}
    return {**plain, "runas": db.get("user"), "maintenance_db": dbname}


def installed_extensions(ctx: MinionContext, **connection: Any) -> dict[str, dict[str, str]]:
    """The extensions that a database has.

    CLI Example:

        salt '*' postgres.installed_extensions
    """
    return {row["extname"]: row for row in _run_query(ctx, _INSTALLED, connection)}


def get_installed_extension(ctx: MinionContext, name: str, **connection: Any) -> dict[str, str]:
    """An extension that a database has; empty if it has it not.

    CLI Example:

        salt '*' postgres.get_installed_extension hstore
    """
    return installed_extensions(ctx, **connection).get(name, {})


def is_installed_extension(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Whether a database has an extension.

    CLI Example:

        salt '*' postgres.is_installed_extension hstore
    """
    return name in installed_extensions(ctx, **connection)


def available_extensions(ctx: MinionContext, **connection: Any) -> dict[str, dict[str, str]]:
    """The extensions that a database could have.

    CLI Example:

        salt '*' postgres.available_extensions
    """
    sql = "SELECT name, default_version, comment FROM pg_available_extensions ORDER BY name"
    return {row["name"]: row for row in _run_query(ctx, sql, connection)}


def get_available_extension(ctx: MinionContext, name: str, **connection: Any) -> dict[str, str]:
    """An extension that a database could have; empty without it.

    CLI Example:

        salt '*' postgres.get_available_extension hstore
    """
    return available_extensions(ctx, **connection).get(name, {})


def is_available_extension(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Whether a database could have an extension.

    CLI Example:

        salt '*' postgres.is_available_extension hstore
    """
    return name in available_extensions(ctx, **connection)


def create_extension(
    ctx: MinionContext,
    name: str,
    if_not_exists: bool | None = None,
    schema: str | None = None,
    ext_version: str | None = None,
    from_version: str | None = None,
    **connection: Any,
) -> bool:
    """Give a database an extension, or bring the one it has to a schema and version.

    CLI Example:

        salt '*' postgres.create_extension hstore
    """
    there = get_installed_extension(ctx, name, **connection)
    if not there:
        missing = "IF NOT EXISTS " if if_not_exists is not False else ""
        options = [f" SCHEMA {ident(schema)}"] if schema else []
        options += [f" VERSION {literal(ext_version)}"] if ext_version else []
        options += [f" FROM {literal(from_version)}"] if from_version else []
        sql = f"CREATE EXTENSION {missing}{ident(name)}{''.join(options)}"
        return _try_action(lambda: _run_query(ctx, sql, connection))
    statements = []
    if schema and there["schema_name"] != schema:
        statements.append(f"ALTER EXTENSION {ident(name)} SET SCHEMA {ident(schema)}")
    if ext_version and there["extversion"] != str(ext_version):
        statements.append(f"ALTER EXTENSION {ident(name)} UPDATE TO {literal(ext_version)}")
    return (
        _try_action(lambda: _run_query(ctx, ";\n".join(statements), connection))
        if statements
        else True
    )


def drop_extension(
    ctx: MinionContext,
    name: str,
    if_exists: bool | None = None,
    restrict: bool | None = None,
    cascade: bool | None = None,
    **connection: Any,
) -> bool:
    """Take an extension from a database; whether that was done.

    CLI Example:

        salt '*' postgres.drop_extension hstore
    """
    there = "IF EXISTS " if if_exists is not False else ""
    how = " CASCADE" if cascade else " RESTRICT" if restrict else ""
    return _try_action(
        lambda: _run_query(ctx, f"DROP EXTENSION {there}{ident(name)}{how}", connection)
    )


def privileges_list(
    ctx: MinionContext, name: str, object_type: str, prepend: str = "public", **connection: Any
) -> dict[str, Any]:
    """Who may what with an object, and whether it may be passed on; the members of a ``group``.

    CLI Example:

        salt '*' postgres.privileges_list orders table maintenance_db=shop
    """
    wanted = grants.Privileges.of("", name, object_type, None, prepend)
    rows = _run_query(ctx, wanted.query(), connection)
    if wanted.kind == "group":
        return {row["grantee"]: row["passed_on"] == "t" for row in rows}
    return grants.by_role(rows)


def has_privileges(
    ctx: MinionContext,
    name: str,
    object_name: str,
    object_type: str,
    privileges: object = None,
    grant_option: bool | None = None,
    prepend: str = "public",
    **connection: Any,
) -> bool:
    """Whether a role was granted these privileges on an object.

    CLI Example:

        salt '*' postgres.has_privileges joe orders table SELECT,INSERT maintenance_db=shop
    """
    wanted = grants.Privileges.of(name, object_name, object_type, privileges, prepend)
    return wanted.holds(_run_query(ctx, wanted.query(), connection), passed_on=bool(grant_option))


def privileges_grant(
    ctx: MinionContext,
    name: str,
    object_name: str,
    object_type: str,
    privileges: object = None,
    grant_option: bool | None = None,
    prepend: str = "public",
    **connection: Any,
) -> bool:
    """Grant privileges on an object to a role; whether that was done.

    CLI Example:

        salt '*' postgres.privileges_grant joe orders table SELECT,INSERT maintenance_db=shop
    """
    wanted = grants.Privileges.of(name, object_name, object_type, privileges, prepend)
    return _try_action(
        lambda: _run_query(ctx, wanted.grant(passed_on=bool(grant_option)), connection)
    )


def privileges_revoke(
    ctx: MinionContext,
    name: str,
    object_name: str,
    object_type: str,
    privileges: object = None,
    prepend: str = "public",
    **connection: Any,
) -> bool:
    """Take privileges on an object from a role; whether that was done.

    CLI Example:

        salt '*' postgres.privileges_revoke joe orders table SELECT,INSERT maintenance_db=shop
    """
    wanted = grants.Privileges.of(name, object_name, object_type, privileges, prepend)
    return _try_action(lambda: _run_query(ctx, wanted.revoke(), connection))


def _run_query(ctx: MinionContext, sql: str, connection: dict[str, Any]) -> list[dict[str, str]]:
    return query(ctx, PostgresServer.of(ctx, connection), sql)


def _try_action(act: Any) -> bool:
    """Whether it was done; the reason why not is in the log."""
    try:
        act()
    except FunctionError as error:
        log.error("%s", error)
        return False
    return True
