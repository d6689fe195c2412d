"""Logins by a directory: Debian's slapd, in a directory of its own."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from programs import need

from cluster import eventually, free_ports
from saltlite.auth import ldap
from saltlite.errors import FunctionError
from saltlite.providers.ldap import escape_filter, escape_name, first_value
from saltlite.providers.login import AuthContext

pytest.importorskip("ldap3")

CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {home}/pid
database mdb
suffix "dc=x"
rootdn "cn=admin,dc=x"
rootpw top-secret
directory {home}/db
"""

ENTRIES = """
dn: dc=x
objectClass: dcObject
objectClass: organization
o: x
dc: x

dn: ou=Groups,dc=x
objectClass: organizationalUnit
ou: Groups

dn: ou=People,dc=x
objectClass: organizationalUnit
ou: People

dn: uid=anna,ou=People,dc=x
objectClass: account
objectClass: simpleSecurityObject
uid: anna
userPassword: pw1

dn: uid=a*b\\,c,ou=People,dc=x
objectClass: account
objectClass: simpleSecurityObject
uid: a*b,c
userPassword: pw2

dn: cn=ops,ou=Groups,dc=x
objectClass: posixGroup
cn: ops
gidNumber: 1
memberUid: anna

dn: cn=others,ou=Groups,dc=x
objectClass: posixGroup
cn: others
gidNumber: 2
memberUid: ben

dn: cn=directors,ou=Groups,dc=x
objectClass: groupOfNames
cn: directors
member: uid=anna,ou=People,dc=x
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory: Any) -> Iterator[int]:
    need("slapd", "slapadd")
    if not Path("/etc/ldap/schema/nis.schema").exists():
        pytest.skip("slapd's schemas are not there")
    home = tmp_path_factory.mktemp("slapd")
    (home / "db").mkdir()
    (home / "slapd.conf").write_text(CONFIG.format(home=home))
    (home / "entries.ldif").write_text(ENTRIES.lstrip())
    words = ["-f", str(home / "slapd.conf")]
    slapadd, slapd = shutil.which("slapadd"), shutil.which("slapd")
    subprocess.run([str(slapadd), *words, "-l", str(home / "entries.ldif")], check=True)
    (number,) = free_ports(1)
    url = f"ldap://127.0.0.1:{number}"
    with subprocess.Popen([str(slapd), *words, "-h", url, "-d", "0"]) as process:
        try:
            asked = {**SEARCHING, "uri": url}
            eventually(lambda: asks(asked, "anna", "pw1"), within_s=30, what="slapd answers")
            yield number
        finally:
            process.terminate()


SEARCHING: dict[str, Any] = {
    "basedn": "dc=x", "binddn": "cn=admin,dc=x", "bindpw": "top-secret",
    "filter": "(&(uid={{ username }})(objectClass=account))",
}  # fmt: skip
NAMING: dict[str, Any] = {"basedn": "dc=x", "binddn": "uid={{username}},ou=People,dc=x"}


def context(options: dict[str, Any], port: int = 0) -> AuthContext:
    place = {"uri": f"ldap://127.0.0.1:{port}"} if port else {}
    return AuthContext({f"auth.ldap.{name}": one for name, one in {**place, **options}.items()})


def asks(options: dict[str, Any], username: str, password: str) -> bool:
    try:
        return ldap.auth(context(options), username, password)
    except FunctionError:
        return False


LOGINS = [
    ("anna", "pw1", True),
    ("anna", "pw2", False),
    ("anna", "", False),  # the directory would let it in as nobody
    ("nobody", "pw1", False),
    ("a*b,c", "pw2", True),
    ("a*", "pw2", False),
    ("*", "pw1", False),
    ("anna)(uid=*", "pw1", False),
    ("anna,ou=People", "pw1", False),
    ("", "pw1", False),
]


@pytest.mark.parametrize(("username", "password", "right"), LOGINS)
@pytest.mark.parametrize("options", [SEARCHING, NAMING], ids=["searched", "named"])
def test_who_gets_in(
    port: int, options: dict[str, Any], username: str, password: str, right: bool
) -> None:
    assert ldap.auth(context(options, port), username, password) is right


def test_server_and_port_make_an_address(port: int) -> None:
    options = {**SEARCHING, "server": "127.0.0.1", "port": port}
    assert ldap.auth(context(options), "anna", "pw1")


def test_more_than_one_entry_is_nobody(port: int) -> None:
    options = {**SEARCHING, "filter": "(objectClass=account)"}
    assert not ldap.auth(context(options, port), "anna", "pw1")


def test_groups(port: int) -> None:
    assert ldap.auth(context(SEARCHING, port), "anna", "pw1")
    assert ldap.groups(context(SEARCHING, port), "anna") == ["ops"]
    assert ldap.groups(context(SEARCHING, port), "*") == []
    named = context({**NAMING, "groupou": "Groups"}, port)
    assert ldap.auth(named, "anna", "pw1")
    assert ldap.groups(named, "anna") == ["ops"]
    active = {**SEARCHING, "activedirectory": True, "accountattributename": "uid",
              "persontype": "account", "groupclass": "groupOfNames"}  # fmt: skip
    assert ldap.auth(context(active, port), "anna", "pw1")
    assert ldap.groups(context(active, port), "anna") == ["directors"]
    free = {**SEARCHING, "freeipa": True, "group_basedn": "ou=Groups,dc=x",
            "group_filter": "(&(memberUid={{ username }})(objectClass=posixGroup))"}  # fmt: skip
    assert ldap.auth(context(free, port), "anna", "pw1")
    assert ldap.groups(context(free, port), "anna") == ["ops"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"starttls": True, "tls": True}, "exclude each other"),
    ({"filter": ""}, "filter is needed"),
    ({"bindpw": "wrong"}, "refuses auth.ldap.binddn"),
    ({"scope": 5}, "allowed: 0, 1 or 2"),
    ({"uri": "ldap://127.0.0.1:1"}, "does not answer"),
    ({"starttls": True}, "StartTLS|does not answer"),
]


@pytest.mark.parametrize(("more", "words"), WRONG)
def test_what_is_wrong_is_said(port: int, more: dict[str, Any], words: str) -> None:
    begun = time.monotonic()
    with pytest.raises(FunctionError, match=words):
        ldap.auth(context({**SEARCHING, **more}, port), "anna", "pw1")
    assert time.monotonic() - begun < 10


def test_escapes() -> None:
    assert escape_filter("a*(b)\\\0") == "a\\2a\\28b\\29\\5c\\00"
    assert escape_name(' a,b+c"d\\e<f>g;h=i ') == '\\ a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\=i\\ '
    assert escape_name("#a") == "\\#a"
    assert escape_name(" ") == "\\ "
    assert first_value("cn=ops,ou=Groups,dc=x") == "ops"
    assert first_value("cn=a\\,b,dc=x") == "a\\,b"
