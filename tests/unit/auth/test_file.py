"""External authentication by files: text, htpasswd and htdigest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.auth import file
from saltlite.errors import SaltliteError
from saltlite.providers.htpasswd import hash_apr1
from saltlite.providers.login import AuthContext


def settings(**values: Any) -> AuthContext:
    return AuthContext({}, values)


TEXT = "# users\nanna:pw:x\nshort\nanna:other\n:empty\nben:\nzoë:pä\n#gone:pw\n  dora:pw \n"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("username", "password", "right"),
    [
        ("anna", "pw", True),
        ("anna", "other", False),  # the first line decides
        ("anna", "", False),
        ("ben", "", False),  # no password is none
        ("short", "", False),
        ("zoë", "pä", True),
        ("ANNA", "pw", False),
        ("# users", "", False),
        ("#gone", "pw", False),  # real Salt lets him in, by that name
        ("gone", "pw", False),
        ("dora", "pw", True),
        ("  dora", "pw", False),
    ],
)
def test_a_text(users: Path, username: str, password: str, right: bool) -> None:
    assert file.auth(settings(filename=str(users)), username, password) is right


def test_a_line_with_too_few_fields_is_named(users: Path, caplog: Any) -> None:
    assert file.auth(settings(filename=str(users)), "zoë", "pä")
    assert [one.message for one in caplog.records] == [
        f"{users}, line 3: too few fields, passed over"
    ]


def test_fields_of_ones_own(users: Path) -> None:
    users.write_text("x;5f4dcc3b5aa765d61d8327deb882cf99;anna\n")
    known = settings(
        filename=str(users), field_separator=";", username_field=3, password_field=2, hashtype="md5"
    )
    assert file.auth(known, "anna", "password")
    assert not file.auth(known, "anna", "passwort")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "filename is needed"),
    ({"filename": "/nonexistent/users"}, "nonexistent"),
    ({"filetype": "shadow"}, "'shadow' is none of text, htpasswd, htdigest"),
    ({"filetype": "htdigest"}, "htdigest needs one"),
    ({"username_field": 0}, "found 0, allowed: whole number, 1 or more"),
    ({"password_field": "2"}, "found '2', allowed: whole number"),
    ({"field_separator": ""}, "field_separator: it cannot be empty"),
]


@pytest.mark.parametrize(("more", "words"), WRONG)
def test_a_setting_that_is_wrong(users: Path, more: dict[str, Any], words: str) -> None:
    whole = {"filename": str(users), **more} if more else {}
    with pytest.raises((SaltliteError, OSError), match=words):
        file.auth(settings(**whole), "anna", "pw")


def test_a_file_that_others_may_write_is_refused(users: Path) -> None:
    users.chmod(0o666)
    with pytest.raises(PermissionError):
        file.auth(settings(filename=str(users)), "anna", "pw")


def test_htpasswd_and_htdigest(users: Path) -> None:
    users.write_text(f"anna:{hash_apr1('pw', 'abcdefgh')}:more\nben:plain\n")
    known = settings(filename=str(users), filetype="htpasswd")
    assert file.auth(known, "anna", "pw")
    assert not file.auth(known, "anna", "pw2")
    assert not file.auth(known, "ben", "plain")
    users.write_text(f"#anna:{hash_apr1('pw', 'abcdefgh')}\n")
    assert not file.auth(known, "#anna", "pw")
    import hashlib

    digest = hashlib.md5(b"anna:salt:pw").hexdigest()
    users.write_text(f"anna:other:00\nanna:salt:{digest}\n")
    known = settings(filename=str(users), filetype="htdigest", realm="salt")
    assert file.auth(known, "anna", "pw")
    assert not file.auth(known, "anna", "pw2")
    assert not file.auth(
        settings(filename=str(users), filetype="htdigest", realm="x"), "anna", "pw"
    )
