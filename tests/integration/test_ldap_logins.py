"""Logins by a directory: Debian's slapd, in a directory of its own."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from authority import Authority
from ports import free_ports
from programs import need

from cluster import eventually
from saltlite.auth import ldap
from saltlite.config.master import AccessOptions, MasterConfig
from saltlite.errors import FunctionError
from saltlite.master.logincheck import check_login
from saltlite.providers.ldap import escape_filter, escape_name, first_value, name_faults
from saltlite.providers.login import AuthContext

pytest.importorskip("ldap3")

CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {home}/pid
TLSCertificateFile {cert}
TLSCertificateKeyFile {key}
objectclass ( 1.3.6.1.4.1.99999.1 NAME 'computer' SUP top STRUCTURAL MUST cn )
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

dn: ou=Webservers,dc=x
objectClass: organizationalUnit
ou: Webservers

dn: ou=Old,ou=Webservers,dc=x
objectClass: organizationalUnit
ou: Old

dn: cn=WEB1.corp.example,ou=Webservers,dc=x
objectClass: computer
cn: WEB1.corp.example

dn: cn=web2,ou=Old,ou=Webservers,dc=x
objectClass: computer
cn: web2

dn: cn=*,ou=Webservers,dc=x
objectClass: computer
cn: *

dn: cn=a\\,db1,ou=Webservers,dc=x
objectClass: computer
cn: a,db1

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


@dataclass(frozen=True)
class Slapd:
    """Where a directory answers, in clear and by TLS, and who has signed its certificate."""

    port: int
    tls_port: int
    authority: Authority


@contextlib.contextmanager
def running_slapd(home: Path, **certificate: Any) -> Iterator[Slapd]:
    authority = Authority(home)
    cert, key = authority.issue("slapd", **certificate)
    (home / "db").mkdir()
    (home / "slapd.conf").write_text(CONFIG.format(home=home, cert=cert, key=key))
    (home / "entries.ldif").write_text(ENTRIES.lstrip())
    words = ["-f", str(home / "slapd.conf")]
    slapadd, slapd = shutil.which("slapadd"), shutil.which("slapd")
    subprocess.run([str(slapadd), *words, "-l", str(home / "entries.ldif")], check=True)
    found = Slapd(*free_ports(2), authority)
    url = f"ldap://127.0.0.1:{found.port}"
    urls = f"{url} ldaps://127.0.0.1:{found.tls_port}"
    with subprocess.Popen([str(slapd), *words, "-h", urls, "-d", "0"]) as process:
        try:
            asked = {**SEARCHING, "uri": url}
            eventually(lambda: asks(asked, "anna", "pw1"), within_s=30, what="slapd answers")
            yield found
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: Any) -> Iterator[Slapd]:
    need("slapd", "slapadd")
    if not Path("/etc/ldap/schema/nis.schema").exists():
        pytest.skip("slapd's schemas are not there")
    with running_slapd(tmp_path_factory.mktemp("slapd")) as found:
        yield found


@pytest.fixture(scope="module")
def port(slapd: Slapd) -> int:
    return slapd.port


@pytest.fixture(autouse=True)
def _no_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine trusts is no part of a test."""
    monkeypatch.delenv("LDAPTLS_CACERT", raising=False)
    monkeypatch.setattr("saltlite.providers.ldap.CONFIGURATIONS", ())


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
    ("ANNA", "pw1", True),  # the same entry; what she may is decided by core/access.py
    (" anna", "pw1", True),
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


# --- TLS ---


def by_tls(slapd: Slapd, kind: str) -> dict[str, Any]:
    """The options of a login by LDAPS or by StartTLS."""
    port = slapd.tls_port if kind == "tls" else slapd.port
    return {**SEARCHING, "server": "127.0.0.1", "port": port, kind: True}


def refuses(options: dict[str, Any]) -> bool:
    with pytest.raises(FunctionError, match="does not answer"):
        ldap.auth(context(options), "anna", "pw1")
    return True


@pytest.mark.parametrize("kind", ["tls", "starttls"])
def test_a_certificate_is_verified(
    slapd: Slapd, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = by_tls(slapd, kind)
    assert refuses(options)
    assert ldap.auth(context({**options, "no_verify": True}), "anna", "pw1")
    monkeypatch.setenv("LDAPTLS_CACERT", str(slapd.authority.file))
    assert ldap.auth(context(options), "anna", "pw1")
    assert not ldap.auth(context(options), "anna", "pw2")
    monkeypatch.setenv("LDAPTLS_CACERT", str(Authority(tmp_path, "another").file))
    assert refuses(options)


def test_the_authority_of_openldaps_own_configuration_counts(
    slapd: Slapd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "ldap.conf"
    own.write_text(f"# TLS_CACERT /none\nBASE dc=x\ntls_cacert\t{slapd.authority.file} \n")
    missing = tmp_path / "missing.conf"
    monkeypatch.setattr("saltlite.providers.ldap.CONFIGURATIONS", (missing, own))
    assert ldap.auth(context(by_tls(slapd, "tls")), "anna", "pw1")
    own.write_text("TLS_CACERT /no/such/file\nTLS_CACERT\n")
    assert refuses(by_tls(slapd, "tls"))


@pytest.mark.parametrize(
    "certificate", [{"host": "ldap.example.org"}, {"age": datetime.timedelta(days=30)}]
)
def test_a_certificate_that_is_not_the_servers(
    slapd: Slapd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: dict[str, Any]
) -> None:
    """Another host's, or one that has expired, is none, whoever signed it."""
    with running_slapd(tmp_path, **certificate) as wrong:
        monkeypatch.setenv("LDAPTLS_CACERT", str(wrong.authority.file))
        assert refuses(by_tls(wrong, "tls"))
        assert refuses(by_tls(wrong, "starttls"))
        assert ldap.auth(context({**by_tls(wrong, "tls"), "no_verify": True}), "anna", "pw1")


# --- branches of the directory as targets ---

BRANCH = "ldap(ou=Webservers,dc=x)"
STRIP = {"minion_stripdomains": [".none", ".corp.example"]}
EXPANDED: list[tuple[Any, dict[str, Any], list[Any]]] = [
    ("test.*", {}, ["test.*"]),
    ({"db*": ["test.ping"]}, {}, [{"db*": ["test.ping"]}]),
    ({BRANCH: ["a.b"]}, {}, [{"L@web1.corp.example,web2": ["a.b"]}]),
    ({BRANCH: ["a.b"]}, STRIP, [{"L@web1,web2": ["a.b"]}]),
    ({"ldap(ou=Old,ou=Webservers,dc=x)": ["a.b"]}, {}, [{"L@web2": ["a.b"]}]),
    ({"ldap(ou=People,dc=x)": ["a.b"]}, {}, []),
    ({"ldap(ou=Nowhere,dc=x)": ["a.b"]}, {}, []),
]


@pytest.mark.parametrize(("entry", "more", "expected"), EXPANDED)
def test_a_branch_means_its_computers(
    port: int, entry: Any, more: dict[str, Any], expected: list[Any]
) -> None:
    """A name that is a pattern, or a list, is no minion's."""
    assert ldap.process_acl(context({**SEARCHING, **more}, port), [entry]) == expected


def test_a_branch_that_nobody_may_search(port: int) -> None:
    ldap._directories.clear()
    with pytest.raises(FunctionError, match="needed to find computers"):
        ldap.process_acl(context(NAMING, port), [{BRANCH: ["a.b"]}])


@pytest.mark.parametrize("binding", [SEARCHING, NAMING], ids=["searched", "named"])
def test_a_login_with_a_branch_by_the_master(port: int, binding: dict[str, Any]) -> None:
    """The computers of the login count, also for its token; other targets are today's."""
    place = {"uri": f"ldap://127.0.0.1:{port}", "groupou": "Groups", **binding, **STRIP}
    access = AccessOptions(
        external_auth={"ldap": {"ops%": [{BRANCH: ["test.ping"]}, "test.version"]}}
    )
    config = MasterConfig(
        access=access, extra={f"auth.ldap.{name}": one for name, one in place.items()}
    )
    proof = check_login(config, "ldap", "anna", "pw1")
    assert proof is not None
    assert proof.groups == ["ops"]
    assert proof.whole == [{"L@web1,web2": ["test.ping"]}, "test.version"]
    assert check_login(config, "ldap", "anna", "pw2") is None


def test_options_that_are_not_obeyed_are_named() -> None:
    opts = {"auth.ldap.basedn": "x", "auth.ldap.base_dn": "x", "auth.pam.service": "x",
            "auth.ldap.auth_by_group_membership_only": True}  # fmt: skip
    assert name_faults(opts) == [
        "auth.ldap.base_dn: there is no such option",
        "auth.ldap.auth_by_group_membership_only has no effect: a login needs its password",
    ]
    assert name_faults({"auth.ldap.auth_by_group_membership_only": False}) == []


def test_escapes() -> None:
    assert escape_filter("a*(b)\\\0") == "a\\2a\\28b\\29\\5c\\00"
    assert escape_name(' a,b+c"d\\e<f>g;h=i ') == '\\ a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\=i\\ '
    assert escape_name("#a") == "\\#a"
    assert escape_name(" ") == "\\ "
    assert first_value("cn=ops,ou=Groups,dc=x") == "ops"
    assert first_value("cn=a\\,b,dc=x") == "a\\,b"
