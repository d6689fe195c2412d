"""Privileges of PostgreSQL: statements that grant them, and the ones that tell them. All pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass
from saltlite.errors import UsageError
from saltlite.providers.postgres.psql import ident, literal

PRIVILEGES: Mapping[str, tuple[str, ...]] = {
    "table": ("INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"),
    "sequence": ("USAGE", "SELECT", "UPDATE"),
    "schema": ("CREATE", "USAGE"),
    "tablespace": ("CREATE",),
    "language": ("USAGE",),
    "database": ("CREATE", "CONNECT", "TEMPORARY"),
    "function": ("EXECUTE",),
    "group": (),
}
"""What can be granted on each kind of object."""

_OBJECTS = {
    "table": "pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace "
    "WHERE o.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname = {schema}",
    "sequence": "pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace "
    "WHERE o.relkind = 'S' AND n.nspname = {schema}",
    "function": "pg_proc o JOIN pg_namespace n ON n.oid = o.pronamespace "
    "WHERE n.nspname = {schema}",
    "schema": "pg_namespace o WHERE true",
    "tablespace": "pg_tablespace o WHERE true",
    "language": "pg_language o WHERE true",
    "database": "pg_database o WHERE true",
}
_COLUMNS = {
    "table": ("relname", "relacl", "relowner", "r"),
    "sequence": ("relname", "relacl", "relowner", "s"),
    "function": (
        "proname || '(' || pg_get_function_identity_arguments(o.oid) || ')'",
        "proacl",
        "proowner",
        "f",
    ),
    "schema": ("nspname", "nspacl", "nspowner", "n"),
    "tablespace": ("spcname", "spcacl", "spcowner", "t"),
    "language": ("lanname", "lanacl", "lanowner", "l"),
    "database": ("datname", "datacl", "datdba", "d"),
}
_MEMBERS = (
    "SELECT g.rolname AS object, r.rolname AS grantee, '' AS privilege, "
    "m.admin_option AS passed_on FROM pg_auth_members m "
    "JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles r ON r.oid = m.member"
)
_GRANTED = (
    "SELECT {column} AS object, CASE a.grantee WHEN 0 THEN 'public' "
    "ELSE pg_get_userbyid(a.grantee) END AS grantee, a.privilege_type AS privilege, "
    "a.is_grantable AS passed_on FROM {table} LEFT JOIN LATERAL "
    "aclexplode(coalesce(o.{acl}, acldefault('{letter}', o.{owner}))) a ON true "
    "WHERE {condition}"
)
_IN_SCHEMA = ("table", "sequence", "function")

OWNED = """
SELECT 'SCHEMA' AS kind, format('%I', nspname) AS name FROM pg_namespace
 WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
UNION ALL SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
  WHEN 'S' THEN 'SEQUENCE' WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END, c.oid::regclass::text
 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname !~ '^pg_'
  AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT FROM pg_depend d
   WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i', 'e'))
UNION ALL SELECT 'ROUTINE', p.oid::regprocedure::text
 FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND NOT EXISTS (SELECT
  FROM pg_depend d WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
"""
"""What in a database has an owner of its own, as ``ALTER kind name`` takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Privileges:
    """Privileges of a role on an object; ``ALL`` as object is all of that kind in a schema."""

    role: str
    object_name: str
    kind: str
    privileges: tuple[str, ...]
    is_all: bool
    schema: str

    @classmethod
    def of(
        cls, role: str, object_name: str, kind: str, privileges: Any, prepend: str | None
    ) -> Privileges:
        """From the arguments of Salt's functions.

        Raises:
            UsageError: there is no such kind of object or privilege.
        """
        kind = str(kind).lower()
        if kind not in PRIVILEGES:
            allowed = ", ".join(PRIVILEGES)
            raise UsageError(f"Invalid object_type: {kind} provided; it is one of {allowed}")
        given = privileges.split(",") if isinstance(privileges, str) else privileges or ()
        names = [str(each).strip().upper() for each in given if str(each).strip()]
        names = ["TEMPORARY" if name == "TEMP" else name for name in names]
        wrong = [name for name in names if name not in (*PRIVILEGES[kind], "ALL")]
        if kind != "group" and (wrong or (role and not names)):
            told = " ".join(wrong)
            raise UsageError(f"Invalid privilege(s): {told} provided for object {kind}")
        is_all = "ALL" in names
        return cls(
            role=str(role),
            object_name=str(object_name),
            kind=kind,
            privileges=PRIVILEGES[kind] if is_all else tuple(dict.fromkeys(names)),
            is_all=is_all,
            schema=str(prepend or "public"),
        )

    def query(self) -> str:
        """A statement for all objects that are meant, and all privileges on them.

        Rows have ``object``, ``grantee``, ``privilege`` and ``passed_on`` (``t`` or ``f``); an
        object without privileges has one row without grantee.
        """
        if self.kind == "group":
            named = literal(self.object_name)
            return f"{_MEMBERS} WHERE g.rolname = {named}"
        name, acl, owner, letter = _COLUMNS[self.kind]
        of_all = self.kind in _IN_SCHEMA and self.object_name.upper() == "ALL"
        column = name if "(" in name else f"o.{name}"
        only = "" if of_all else f" AND {column} = {literal(self.object_name)}"
        where = _OBJECTS[self.kind].format(schema=literal(self.schema)) + only
        table, _, condition = where.partition(" WHERE ")
        return _GRANTED.format(
            column=column, acl=acl, letter=letter, owner=owner, table=table, condition=condition
        )

    def holds(self, rows: Iterable[Mapping[str, str]], *, passed_on: bool = False) -> bool:
        """Whether the role has all these privileges on all the objects of an answer."""
        objects, held = self._find_held(rows, passed_on=passed_on)
        if self.kind == "group":
            return self.object_name in held
        whole = set(self.privileges)
        if not objects:
            return self.object_name.upper() == "ALL"
        return all(whole <= held.get(each, set()) for each in objects)

    def holds_any(self, rows: Iterable[Mapping[str, str]]) -> bool:
        """Whether the role has one of these privileges on one of the objects."""
        _, held = self._find_held(rows, passed_on=False)
        if self.kind == "group":
            return self.object_name in held
        return any(set(self.privileges) & found for found in held.values())

    def _find_held(
        self, rows: Iterable[Mapping[str, str]], *, passed_on: bool
    ) -> tuple[set[str], dict[str, set[str]]]:
        objects: set[str] = set()
        held: dict[str, set[str]] = {}
        for row in rows:
            objects.add(row["object"])
            is_mine = row["grantee"] == self.role
            if is_mine and (row["passed_on"] == "t" or not passed_on):
                held.setdefault(row["object"], set()).add(row["privilege"])
        return objects, held

    def show_privileges(self) -> str:
        """The privileges as a comment has them."""
        if self.kind == "group":
            return self.object_name
        return "ALL" if self.is_all else ",".join(self.privileges)

    def grant(self, *, passed_on: bool) -> str:
        """The statement that grants them."""
        option = "ADMIN" if self.kind == "group" else "GRANT"
        tail = f" WITH {option} OPTION" if passed_on else ""
        return f"GRANT {self._privilege_words()} TO {self._grantee_words()}{tail}"

    def revoke(self) -> str:
        """The statement that takes them away."""
        return f"REVOKE {self._privilege_words()} FROM {self._grantee_words()}"

    def _grantee_words(self) -> str:
        return "PUBLIC" if self.role.lower() == "public" else ident(self.role)

    def _privilege_words(self) -> str:
        if self.kind == "group":
            return ident(self.object_name)
        names = "ALL" if self.is_all else ", ".join(self.privileges)
        if self.kind in _IN_SCHEMA and self.object_name.upper() == "ALL":
            return f"{names} ON ALL {self.kind.upper()}S IN SCHEMA {ident(self.schema)}"
        return f"{names} ON {self.kind.upper()} {self._object_words()}"

    def _object_words(self) -> str:
        if self.kind == "function":
            name, _, arguments = self.object_name.partition("(")
            return f"{ident(self.schema)}.{ident(name)}({arguments.rstrip(')')})"
        own = ident(self.object_name)
        return f"{ident(self.schema)}.{own}" if self.kind in _IN_SCHEMA else own


def by_role(rows: Iterable[Mapping[str, str]]) -> dict[str, dict[str, bool]]:
    """The rows of an answer as Salt gives them: privileges by role, and if passed on."""
    found: dict[str, dict[str, bool]] = {}
    for row in rows:
        if row["grantee"]:
            found.setdefault(row["grantee"], {})[row["privilege"]] = row["passed_on"] == "t"
    return found
