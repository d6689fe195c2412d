"""MySQL and MariaDB: databases, users and privileges, by ``mariadb`` or ``mysql``.

All functions take ``connection_host``, ``connection_user``, ``connection_pass``,
``connection_port``, ``connection_unix_socket``, ``connection_default_file``, ``connection_charset``
and ``connection_db``; what is not given is taken from the options ``mysql.host`` ... A password
goes neither on a command line nor into a log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.providers.mysql import client, grants
from saltlite.providers.mysql.client import NATIVE, MysqlServer, ident, literal

INTERNAL = ("has_password", "set_user", "query_grants")
"""Functions for states; nobody calls them by name."""

log = logging.getLogger(__name__)

ERROR = "mysql.error"
"""Where in the context the reason of the last failure is."""

_CHARSETS = (
    "SELECT default_character_set_name AS c, default_collation_name AS o "
    "FROM information_schema.schemata"
)
_NO_SUCH_GRANT = "MySQL Error 1141:"
Row = dict[str, str | None]


def query(ctx: MinionContext, database: str, query: str, **connection: Any) -> dict[str, Any]:
    """Run a statement: ``columns``, ``results`` and how many ``rows returned``.

    CLI Example:

        salt '*' mysql.query shop 'SELECT id, name FROM users'
    """
    rows = _run_query(ctx, query, {**connection, "connection_db": database})
    columns = list(rows[0]) if rows else []
    results = [list(row.values()) for row in rows]
    return {"columns": columns, "results": results, "rows returned": len(rows)}


def version(ctx: MinionContext, **connection: Any) -> str:
    """The version of the server.

    CLI Example:

        salt '*' mysql.version
    """
    return str(_run_query(ctx, "SELECT VERSION() AS v", connection)[0]["v"])


def processlist(ctx: MinionContext, **connection: Any) -> list[Row]:
    """The connections of the server and what they do.

    CLI Example:

        salt '*' mysql.processlist
    """
    return _run_query(ctx, "SHOW FULL PROCESSLIST", connection)


def quote_identifier(identifier: str, for_grants: bool = False) -> str:
    """A name as SQL has it; ``for_grants`` lets ``_`` and ``%`` mean themselves.

    CLI Example:

        salt '*' mysql.quote_identifier 'foo`bar'
    """
    if for_grants:
        identifier = identifier.replace("_", "\\_").replace("%", "\\%")
    return ident(identifier)


def db_list(ctx: MinionContext, **connection: Any) -> list[str]:
    """The databases.

    CLI Example:

        salt '*' mysql.db_list
    """
    return [str(row["Database"]) for row in _run_query(ctx, "SHOW DATABASES", connection)]


def db_tables(ctx: MinionContext, name: str, **connection: Any) -> list[str]:
    """The tables of a database.

    CLI Example:

        salt '*' mysql.db_tables shop
    """
    rows = _run_query(ctx, f"SHOW TABLES IN {ident(name)}", connection)
    return [str(next(iter(row.values()))) for row in rows]


def db_get(ctx: MinionContext, name: str, **connection: Any) -> dict[str, str]:
    """Character set and collation of a database; empty without it.

    CLI Example:

        salt '*' mysql.db_get shop
    """
    rows = _run_query(ctx, f"{_CHARSETS} WHERE schema_name = {literal(name)}", connection)
    return {"character_set": str(rows[0]["c"]), "collate": str(rows[0]["o"])} if rows else {}


def db_exists(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Whether there is such a database.

    CLI Example:

        salt '*' mysql.db_exists shop
    """
    return bool(db_get(ctx, name, **connection))


def db_create(
    ctx: MinionContext,
    name: str,
    character_set: str | None = None,
    collate: str | None = None,
    **connection: Any,
) -> bool:
    """Make a database; whether that was done.

    CLI Example:

        salt '*' mysql.db_create shop utf8mb4 utf8mb4_bin
    """
    sql = f"CREATE DATABASE {ident(name)}{_charset_clause(character_set, collate)}"
    return _try_action(ctx, lambda: _run_query(ctx, sql, connection))


def alter_db(
    ctx: MinionContext,
    name: str,
    character_set: str | None = None,
    collate: str | None = None,
    **connection: Any,
) -> bool:
    """Give a database a character set or collation; whether that was done.

    CLI Example:

        salt '*' mysql.alter_db shop utf8mb4
    """
    sql = f"ALTER DATABASE {ident(name)}{_charset_clause(character_set, collate)}"
    return _try_action(ctx, lambda: _run_query(ctx, sql, connection))


def _charset_clause(character_set: str | None, collate: str | None) -> str:
    named = {"CHARACTER SET": character_set, "COLLATE": collate}
    return "".join(f" {key} = {literal(value)}" for key, value in named.items() if value)


def db_remove(ctx: MinionContext, name: str, **connection: Any) -> bool:
    """Remove a database; whether that was done.

    CLI Example:

        salt '*' mysql.db_remove shop
    """
    if name in ("mysql", "information_schema"):
        return False
    return _try_action(ctx, lambda: _run_query(ctx, f"DROP DATABASE {ident(name)}", connection))


def user_list(ctx: MinionContext, **connection: Any) -> list[Row]:
    """The users and where they come from.

    CLI Example:

        salt '*' mysql.user_list
    """
    return _run_query(ctx, "SELECT User, Host FROM mysql.user ORDER BY Host, User", connection)


def user_info(ctx: MinionContext, user: str, host: str = "localhost", **connection: Any) -> Row:
    """All that the server keeps of a user; empty without it.

    CLI Example:

        salt '*' mysql.user_info joe
    """
    which = f"User = {literal(user)} AND Host = {literal(host)}"
    rows = _run_query(ctx, f"SELECT * FROM mysql.user WHERE {which}", connection)  # noqa: S608 - quoted
    return rows[0] if rows else {}


def user_exists(
    ctx: MinionContext,
    user: str,
    host: str = "localhost",
    password: str | None = None,
    password_hash: str | None = None,
    passwordless: bool = False,
    unix_socket: bool = False,
    **connection: Any,
) -> bool:
    """Whether there is such a user, with this password if one is given.

    CLI Example:

        salt '*' mysql.user_exists joe localhost
    """
    found = user_info(ctx, user, host, **_drop_obsolete(connection))
    if not found:
        return False
    if passwordless or password or password_hash:
        return has_password(found, password, password_hash, unix_socket=unix_socket) is not False
    return True


SOCKETS = ("unix_socket", "auth_socket")
"""Plugins with which the server asks the operating system who somebody is."""


def has_password(
    found: Row, password: str | None, password_hash: str | None, *, unix_socket: bool = False
) -> bool | None:
    """Whether a user has this password, or none; ``None`` if that cannot be seen.

    ``found`` is what ``user_info`` gives. ``unix_socket``: without a password, the server shall ask
    the operating system who it is.
    """
    kept = found.get("authentication_string") or found.get("Password") or ""
    plugin = found.get("plugin") or NATIVE
    if not password and not password_hash:
        return plugin in SOCKETS or (not kept and not unix_socket)
    if password_hash:
        return kept.upper() == password_hash.upper()
    if plugin == NATIVE:
        return kept.upper() == client.native_hash(str(password))
    return False if plugin in SOCKETS else None


def user_create(ctx: MinionContext, user: str, host: str = "localhost", **kwargs: Any) -> bool:
    """Make a user; whether that was done.

    ``password``, ``password_hash``, ``allow_passwordless``, ``unix_socket`` and ``auth_plugin`` say
    how it logs in.

    CLI Example:

        salt '*' mysql.user_create joe localhost password=...
    """
    return _try_action(ctx, lambda: set_user(ctx, "CREATE", user, host, kwargs))


def user_chpass(ctx: MinionContext, user: str, host: str = "localhost", **kwargs: Any) -> bool:
    """Give a user another password; whether that was done. Arguments as for ``user_create``.

    CLI Example:

        salt '*' mysql.user_chpass joe localhost password=...
    """
    return _try_action(ctx, lambda: set_user(ctx, "ALTER", user, host, kwargs))


def set_user(ctx: MinionContext, verb: str, user: str, host: str, kwargs: dict[str, Any]) -> None:
    """``CREATE`` or ``ALTER`` a user. Raises FunctionError."""
    given = _drop_obsolete(kwargs)
    password, kept = given.pop("password", None), given.pop("password_hash", None)
    passwordless = given.pop("allow_passwordless", False)
    socket, plugin = given.pop("unix_socket", False), given.pop("auth_plugin", None) or NATIVE
    if not (password or kept or passwordless):
        raise UsageError("password or password_hash must be specified, unless allow_passwordless")
    if not password and not kept and socket:
        how = "WITH unix_socket"
    elif kept or not password or plugin == NATIVE:
        stored = kept or (client.native_hash(str(password)) if password else "")
        how = f"WITH {ident(plugin)} AS {literal(stored)}"
    elif "mariadb" in version(ctx, **given).lower():
        how = f"VIA {ident(plugin)} USING PASSWORD({literal(password)})"
    else:
        how = f"WITH {ident(plugin)} BY {literal(password)}"
    sql = f"{verb} USER {_quote_account(user, host)} IDENTIFIED {how}"
    _run_query(ctx, sql, given, secrets=[str(password or ""), str(kept or "")])


def user_remove(ctx: MinionContext, user: str, host: str = "localhost", **connection: Any) -> bool:
    """Remove a user; whether that was done.

    CLI Example:

        salt '*' mysql.user_remove joe localhost
    """
    return _try_action(
        ctx, lambda: _run_query(ctx, f"DROP USER {_quote_account(user, host)}", connection)
    )


def user_grants(
    ctx: MinionContext, user: str, host: str = "localhost", **connection: Any
) -> list[str] | bool:
    """The privileges of a user as statements, without passwords; ``False`` without the user.

    CLI Example:

        salt '*' mysql.user_grants joe localhost
    """
    lines = query_grants(ctx, user, host, **connection)
    return [line.split(" IDENTIFIED BY")[0] for line in lines] or False


def query_grants(ctx: MinionContext, user: str, host: str, **connection: Any) -> list[str]:
    """What ``SHOW GRANTS`` tells, nothing without the user."""
    try:
        rows = _run_query(ctx, f"SHOW GRANTS FOR {_quote_account(user, host)}", connection)
    except FunctionError as error:
        if str(error).startswith(_NO_SUCH_GRANT):
            return []
        raise
    return [str(next(iter(row.values()))) for row in rows]


def grant_exists(
    ctx: MinionContext,
    grant: str,
    database: str,
    user: str,
    host: str = "localhost",
    grant_option: bool = False,
    escape: bool = True,
    **connection: Any,
) -> bool:
    """Whether a user has these privileges.

    CLI Example:

        salt '*' mysql.grant_exists SELECT,INSERT shop.* joe localhost
    """
    lines = query_grants(ctx, user, host, **connection)
    return grants.holds(
        lines, grant, grants.target(database, escape=escape), passed_on=grant_option
    )


def grant_add(
    ctx: MinionContext,
    grant: str,
    database: str,
    user: str,
    host: str = "localhost",
    grant_option: bool = False,
    escape: bool = True,
    ssl_option: object = False,
    **connection: Any,
) -> bool:
    """Grant privileges; whether that was done.

    CLI Example:

        salt '*' mysql.grant_add SELECT,INSERT shop.* joe localhost
    """
    on = grants.target(database, escape=escape)
    option = " WITH GRANT OPTION" if grant_option else ""
    sql = f"GRANT {grants.words(grant)} ON {on} TO {_quote_account(user, host)}"
    return _try_action(
        ctx, lambda: _run_query(ctx, f"{sql}{_encryption_clause(ssl_option)}{option}", connection)
    )


def _encryption_clause(options: Any) -> str:
    """``REQUIRE SSL``, ``REQUIRE CIPHER '...' AND ...`` from a list of maps."""
    parts = []
    for option in options or ():
        for key, value in option.items():
            word = str(key).upper()
            if word not in ("SSL", "X509", "CIPHER", "ISSUER", "SUBJECT"):
                raise UsageError(
                    f"ssl_option {key!r} is none of SSL, X509, CIPHER, ISSUER, SUBJECT"
                )
            parts.append(word if word in ("SSL", "X509") else f"{word} {literal(value)}")
    return f" REQUIRE {' AND '.join(parts)}" if parts else ""


def grant_revoke(
    ctx: MinionContext,
    grant: str,
    database: str,
    user: str,
    host: str = "localhost",
    grant_option: bool = False,
    escape: bool = True,
    **connection: Any,
) -> bool:
    """Take privileges from a user; whether that was done.

    CLI Example:

        salt '*' mysql.grant_revoke SELECT,INSERT shop.* joe localhost
    """
    words = grants.words(grant) + (", GRANT OPTION" if grant_option else "")
    on = grants.target(database, escape=escape)
    sql = f"REVOKE {words} ON {on} FROM {_quote_account(user, host)}"
    return _try_action(ctx, lambda: _run_query(ctx, sql, connection))


def _quote_account(user: str, host: str) -> str:
    return f"{literal(user)}@{literal(host)}"


def _drop_obsolete(given: dict[str, Any]) -> dict[str, Any]:
    """Without what only very old servers needed."""
    return {name: value for name, value in given.items() if name != "password_column"}


def _run_query(
    ctx: MinionContext, sql: str, connection: dict[str, Any], *, secrets: list[str] | None = None
) -> list[Row]:
    return client.query(ctx.host, MysqlServer.of(ctx, connection), sql, secrets=secrets or ())


def _try_action(ctx: MinionContext, act: Callable[[], object]) -> bool:
    """Whether it was done; the reason why not is in the log and, as in Salt, in ``__context__``."""
    ctx.state.pop(ERROR, None)
    try:
        act()
    except FunctionError as error:
        ctx.state[ERROR] = str(error)
        log.error("%s", error)
        return False
    return True
