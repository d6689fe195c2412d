"""PostgreSQL's provider without a server: hashes, names in statements, words of privileges."""

from __future__ import annotations

import pytest

from saltlite.errors import FunctionError, UsageError
from saltlite.providers.postgres import passwords
from saltlite.providers.postgres.grants import Privileges
from saltlite.providers.postgres.psql import PostgresServer, ident, literal

MD5_OF_SECRET2 = passwords.hash_password("u2", "secret2", passwords.MD5)


def test_a_password_goes_to_the_server_as_a_hash() -> None:
    for kind in (passwords.MD5, passwords.SCRAM):
        kept = passwords.hash_password("joe", "secret", kind)
        assert "secret" not in kept
        assert passwords.is_hash(kept)
        assert passwords.fits("joe", "secret", kind, kept)
        assert passwords.fits("joe", "secret", None, kept)
        assert not passwords.fits("joe", "other", kind, kept)


def test_known_hashes() -> None:
    # made by a server: CREATE ROLE u2 PASSWORD 'secret3', password_encryption md5
    assert passwords.fits("u2", "secret3", None, "md538e0d1cad9c8f6b3f3afd8924e0df6a4")
    # made by Salt 3006.30 for u4 and 'pw2'
    kept = (
        "SCRAM-SHA-256$4096:IzLBbK6P36med4RfZ96ppA==$8EiAqIfNhpTy3QXKQhMfSmswj8hBPynW8KUT+ke/8/k="
        ":Jn5fxzrk/QjqjLE1eyA+GChydi/KuGOJFUcrDX0K74Y="
    )
    assert passwords.fits("u4", "pw2", passwords.SCRAM, kept)
    assert not passwords.fits("u4", "pw", passwords.SCRAM, kept)


def test_the_kind_of_a_hash_counts_where_one_is_wanted() -> None:
    assert not passwords.fits("u2", "secret2", passwords.SCRAM, MD5_OF_SECRET2)
    scram = passwords.hash_password("u2", "secret2", passwords.SCRAM)
    assert not passwords.fits("u2", "secret2", passwords.MD5, scram)


def test_a_hash_is_handed_on_as_it_is() -> None:
    assert passwords.hash_password("u3", MD5_OF_SECRET2, passwords.SCRAM) == MD5_OF_SECRET2
    assert passwords.fits("u3", MD5_OF_SECRET2, passwords.SCRAM, MD5_OF_SECRET2)


def test_names_and_texts_cannot_leave_their_quotes() -> None:
    assert ident('we"ird') == '"we""ird"'
    assert literal("it's") == "'it''s'"
    assert literal("a\\'b").strip() == "E'a\\\\''b'"
    with pytest.raises(FunctionError):
        ident("a\0b")


def test_no_password_on_the_command_line() -> None:
    server = PostgresServer(user="joe", host="/run/db", port=5433, password="hush")
    argv = server.argv()
    assert "--username=joe" in argv
    assert "--host=/run/db" in argv
    assert "--port=5433" in argv
    assert not [word for word in argv if "hush" in word]


@pytest.mark.parametrize(
    ("arguments", "statement"),
    [
        (
            ("joe", "orders", "table", ["SELECT", "INSERT"], "sales"),
            'SELECT, INSERT ON TABLE "sales"."orders" TO "joe"',
        ),
        (
            ("joe", "ALL", "table", "SELECT", "sales"),
            'SELECT ON ALL TABLES IN SCHEMA "sales" TO "joe"',
        ),
        (("joe", "shop", "database", ["ALL"], None), 'ALL ON DATABASE "shop" TO "joe"'),
        (("joe", "devs", "group", None, None), '"devs" TO "joe"'),
        (
            ("joe", "f(integer)", "function", ["EXECUTE"], "public"),
            'EXECUTE ON FUNCTION "public"."f"(integer) TO "joe"',
        ),
    ],
)
def test_statements(arguments: tuple[str, str, str, object, str], statement: str) -> None:
    assert Privileges.of(*arguments).grant(passed_on=False) == f"GRANT {statement}"


@pytest.mark.parametrize(
    ("kind", "privileges", "told"),
    [
        ("bogus", ["SELECT"], "Invalid object_type: bogus"),
        ("table", ["BOGUS"], "Invalid privilege\\(s\\): BOGUS provided for object table"),
        ("table", None, "Invalid privilege\\(s\\):  provided for object table"),
    ],
)
def test_wrong_privileges(kind: str, privileges: list[str] | None, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Privileges.of("joe", "orders", kind, privileges, "public")


def test_all_of_a_schema_has_to_have_them() -> None:
    wanted = Privileges.of("joe", "ALL", "table", ["SELECT"], "public")
    row = {"object": "a", "grantee": "joe", "privilege": "SELECT", "passed_on": "f"}
    other = {**row, "object": "b", "grantee": "eve"}
    assert wanted.holds([row])
    assert not wanted.holds([row, other])
    assert wanted.holds_any([row, other])
    assert not wanted.holds([row], passed_on=True)
