"""The modules of external authentication, each by itself: files, hashes, a web server, PAM."""

from __future__ import annotations

import datetime
import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pytest
from authority import Authority
from isolated import unshare
from programs import need

from saltlite.auth import auto, file, rest, sharedsecret
from saltlite.errors import FunctionError, SaltliteError
from saltlite.providers.accounts.hashes import hash_password
from saltlite.providers.htpasswd import fits_htpasswd, hash_apr1
from saltlite.providers.login import AuthContext
from saltlite.providers.web import WebError


def settings(**values: Any) -> AuthContext:
    return AuthContext({}, values)


def test_auto_and_sharedsecret() -> None:
    assert auto.auth(settings(), "anybody", "") is True
    for secret in (None, "", 5, ["x"]):
        assert sharedsecret.auth(AuthContext({"sharedsecret": secret}), "a", "") is False
    known = AuthContext({"sharedsecret": "wört"})
    assert sharedsecret.auth(known, "a", "wört") is True
    assert sharedsecret.auth(known, "a", "wort") is False


# --- file ----------------------------------------------------------------------------------------

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


def openssl(*words: str) -> str:
    need("openssl")
    return subprocess.run(
        ["openssl", "passwd", *words], capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize("password", ["x", "sesame", "a" * 15, "a" * 16, "a" * 17, "wört " * 12])
@pytest.mark.parametrize("kind", ["-apr1", "-5", "-6"])
def test_hashes_of_htpasswd(kind: str, password: str) -> None:
    known = openssl(kind, password)
    assert fits_htpasswd(password, known)
    assert not fits_htpasswd(password + "x", known)
    assert not fits_htpasswd("", known)


def test_bcrypt_and_sha1() -> None:
    known = hash_password("sesame", "04$abcdefghijklmnopqrstuu", "blowfish")
    assert known.startswith("$2b$")
    for prefix in ("$2y$", "$2b$"):
        assert fits_htpasswd("sesame", prefix + known[4:])
        assert not fits_htpasswd("sesam", prefix + known[4:])
    assert fits_htpasswd("password", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=")
    assert not fits_htpasswd("passwort", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=")


@pytest.mark.parametrize(
    "known",
    ["", "sesame", "*0", "*1", "$6$", "$2y$", "$2y$04$short", "abQ9KY.KfrYrc", "$1$a$b", "{SSHA}x"],
)
def test_what_is_no_hash_fits_nothing(known: str) -> None:
    for password in ("sesame", "", known):
        assert not fits_htpasswd(password, known)


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


# --- rest ----------------------------------------------------------------------------------------


class Server(BaseHTTPRequestHandler):
    """Lets in anna; answers as its path says."""

    asked: ClassVar[list[tuple[str, dict[str, list[str]]]]] = []

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append((self.path, form))
        if self.path == "/slow":
            time.sleep(8)
        status, body = 200 if form == {"username": ["anna"], "password": ["p&w"]} else 401, b""
        if self.path == "/list":
            body = json.dumps(["test.ping", {"@runner": ["jobs.active"]}]).encode()
        if self.path == "/elsewhere":
            status = 307
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "/list")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Server.asked.clear()
    one = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=one.serve_forever)
    thread.start()
    rest._ask.cache_clear()
    yield f"http://127.0.0.1:{one.server_port}"
    one.shutdown()
    thread.join()
    one.server_close()


def test_a_server_lets_in(server: str) -> None:
    known = settings(url=f"{server}/list")
    assert rest.auth(known, "anna", "p&w")
    assert rest.acl(known, "anna", "p&w") == ["test.ping", {"@runner": ["jobs.active"]}]
    assert len(Server.asked) == 1
    assert not rest.auth(known, "anna", "pw")
    assert rest.acl(settings(url=f"{server}/other"), "anna", "p&w") is None


def test_a_redirection_is_not_followed(server: str) -> None:
    assert not rest.auth(settings(url=f"{server}/elsewhere"), "anna", "p&w")
    assert [path for path, _form in Server.asked] == ["/elsewhere"]


def test_a_slow_server_lets_in_nobody(server: str) -> None:
    begun = time.monotonic()
    with pytest.raises(WebError):
        rest.auth(settings(url=f"{server}/slow"), "anna", "p&w")
    assert time.monotonic() - begun < 7


CERTIFICATES = [
    ("good", {}, True),
    ("other-host", {"host": "ldap.example.org"}, False),
    ("expired", {"age": datetime.timedelta(days=30)}, False),
]


@pytest.mark.parametrize(("label", "how", "right"), CERTIFICATES)
def test_a_certificate_is_verified(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: str,
    label: str,
    how: dict[str, Any],
    right: bool,
) -> None:
    """By the authorities of the system; a password goes to nobody else."""
    authority = Authority(tmp_path)
    secure = HTTPServer(("127.0.0.1", 0), Server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue(label, **how))
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    thread = threading.Thread(target=secure.serve_forever)
    thread.start()
    known = settings(url=f"https://127.0.0.1:{secure.server_port}/list")
    try:
        with pytest.raises(WebError, match="CERTIFICATE_VERIFY_FAILED"):
            rest.auth(known, "anna", "p&w")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        if right:
            assert rest.auth(known, "anna", "p&w")
        else:
            with pytest.raises(WebError, match="CERTIFICATE_VERIFY_FAILED"):
                rest.auth(known, "anna", "p&w")
        assert len(Server.asked) == int(right)
    finally:
        secure.shutdown()
        thread.join()
        secure.server_close()


@pytest.mark.parametrize("url", [None, "", 5, "file:///etc/passwd", "ftp://x/y", "x"])
def test_an_address_that_is_none(url: Any) -> None:
    with pytest.raises(FunctionError, match="allowed: address with http"):
        rest.auth(settings(url=url), "anna", "pw")


# --- pam -----------------------------------------------------------------------------------------

ACCOUNTS = """
set -e
groupadd saltgrp
for one in saltdev grpuser lockedu expired; do useradd -M $one; done
usermod -aG saltgrp grpuser
printf 'saltdev:sesame\\ngrpuser:sesame2\\nlockedu:sesame3\\nexpired:sesame4\\n' | chpasswd
usermod -L -e 1 lockedu
usermod -e 1 expired
exec "$@"
"""

ASK = """
import json, sys
from saltlite.auth import pam
from saltlite.providers.login import AuthContext
ctx = AuthContext({})
logins = [("saltdev", "sesame"), ("saltdev", "no"), ("saltdev", ""), ("grpuser", "sesame2"),
          ("lockedu", "sesame3"), ("expired", "sesame4"), ("nobodyhere", "x"), ("root", "")]
found = {"auth": [pam.auth(ctx, *one) for one in logins],
         "groups": [pam.groups(ctx, one) for one in ("grpuser", "nobodyhere")],
         "valid": [pam.is_valid(ctx, one)
                   for one in ("saltdev", "lockedu", "expired", "nobodyhere")]}
print(json.dumps(found))
"""


def test_pam(tmp_path: Path) -> None:
    """Accounts of a copy of /etc; locked and expired ones are not let in (CVE-2022-22967)."""
    need("useradd", "chpasswd", "usermod", "groupadd")
    if not Path("/etc/pam.d/login").exists():
        pytest.skip("there is no service login of PAM")
    from isolated import SETUP

    tmp_path.chmod(0o755)
    argv = [*unshare(), "sh", "-c", SETUP, "sh", str(tmp_path), "/nonexistent"]
    done = subprocess.run(
        [*argv, "sh", "-c", ACCOUNTS, "sh", sys.executable, "-c", ASK],
        capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["auth"] == [True, False, False, True, False, False, False, False]
    assert found["groups"] == [["grpuser", "saltgrp"], []]
    assert found["valid"] == [True, False, False, False]
