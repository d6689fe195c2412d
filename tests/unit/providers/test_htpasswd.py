"""Hashes of htpasswd files, beside what openssl makes."""

from __future__ import annotations

import subprocess

import pytest
from programs import need

from saltlite.providers.accounts.hashes import hash_password
from saltlite.providers.htpasswd import fits_htpasswd


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
