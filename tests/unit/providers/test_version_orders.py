"""The order of versions: dpkg's, rpm's and apk's rules."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltlite.providers.pkg import apk, apt_sources, dpkg, ini_repos, names, rpm
from saltlite.providers.pkg.apt import newest_first

DEBIAN = [
    ("1.0", "1.0-1", -1), ("1:1.0", "1.0", 1), ("1.0~rc1", "1.0", -1), ("1.10", "1.9", 1),
    ("2.0a", "2.0", 1), ("1.0+dfsg", "1.0", 1), ("0:1", "1", 0), ("1.0~~", "1.0~", -1),
    ("a", "b", -1), ("", "1", -1), ("", "", 0), ("1.0 x", "1.0", None), ("1.0-", "1.0", None),
    ("a:1", "1", None), ("1-1-1", "1-1-2", -1), ("1.01", "1.1", 0),
    ("5.2.15-2+b8", "5.2.15-2+b13", -1),
]  # fmt: skip
RPM = [
    ("1.0-1", "1.0-2", -1), ("1:1.0-1", "2.0-1", 1), ("1.0~rc1-1", "1.0-1", -1),
    ("1.0^git1-1", "1.0-1", 1), ("1.0^git1-1", "1.0.1-1", -1), ("1.0", "1.0-7", 0),
    ("2.50", "2.5", 1), ("1.0a", "1.0", 1), ("1.0.a", "1.0.1", -1), ("10", "9", 1),
    ("1.0_1", "1.0.1", 0), ("4.18.0-513.el8", "4.18.0-513.5.1.el8_9", -1),
]  # fmt: skip
ALPINE = [
    ("1.0-r0", "1.0-r1", -1), ("1.10-r0", "1.9-r0", 1), ("1.0_rc1-r0", "1.0-r0", -1),
    ("1.0_p1-r0", "1.0-r0", 1), ("1.0a-r0", "1.0-r0", 1), ("1.2.4_git20230717-r4", "1.2.4-r9", 1),
    ("x", "1.0-r0", None),
]  # fmt: skip

VERSIONS = st.text("0123456789abz.+~-:", min_size=1, max_size=12)


@pytest.mark.parametrize(("first", "second", "order"), DEBIAN)
def test_debian(first, second, order):
    assert dpkg.compare(first, second) == order
    assert dpkg.compare(second, first) == (None if order is None else -order)


@pytest.mark.parametrize(("first", "second", "order"), RPM)
def test_rpm(first, second, order):
    assert rpm.compare(first, second) == order
    assert rpm.compare(second, first) == -order


@pytest.mark.parametrize(("first", "second", "order"), ALPINE)
def test_alpine(first, second, order):
    assert apk.compare(first, second) == order


@given(VERSIONS, VERSIONS)
def test_debian_is_an_order(first, second):
    there, back = dpkg.compare(first, second), dpkg.compare(second, first)
    assert there == (None if back is None else -back)


@given(VERSIONS, VERSIONS, VERSIONS)
def test_rpm_is_an_order(first, second, third):
    assert rpm.compare(first, second) == -rpm.compare(second, first)
    if rpm.compare_parts(first, second) <= 0 and rpm.compare_parts(second, third) <= 0:
        assert rpm.compare_parts(first, third) <= 0


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="no dpkg to compare with")
@settings(max_examples=60, deadline=None)
@given(VERSIONS, VERSIONS)
def test_dpkg_agrees(first, second):
    def asks(operator: str) -> int:
        argv = ["dpkg", "--compare-versions", "--", first, operator, second]
        return subprocess.run(argv, capture_output=True).returncode

    order = dpkg.compare(first, second)
    if order is None:
        assert asks("eq") == 2
    else:
        assert asks({-1: "lt", 0: "eq", 1: "gt"}[order]) == 0


def test_the_newest_is_first():
    assert newest_first(["1.0", "1.0~rc1", "1:0.1", "1.10"]) == ["1:0.1", "1.10", "1.0", "1.0~rc1"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [(">=1.5", "2.0"), ("<2", "1.6"), (">1.0,<1.6", "1.5"), ("1.*", "1.6"), ("!=2.0", "1.6"),
     ("==1.5", "1.5"), (">9", None), ("1.[05]", "1.5")],
)  # fmt: skip
def test_conditions_on_versions(condition, found):
    assert names.satisfying(condition, ["2.0", "1.6", "1.5"], dpkg.compare) == found


LIST = """\
# a comment
deb http://deb.debian.org/debian bookworm main contrib
deb [arch=amd64 signed-by=/x.gpg] https://apt.example.com/x stable main # hi there
# deb-src http://deb.debian.org/debian bookworm main
deb http://flat.example.com/repo ./
nonsense
"""


def test_lines_of_sources():
    found = apt_sources.parse_list(LIST, "/f")
    assert [(one.kind, one.uri, one.dist, one.components, one.disabled) for one in found] == [
        ("deb", "http://deb.debian.org/debian", "bookworm", ("main", "contrib"), False),
        ("deb", "https://apt.example.com/x", "stable", ("main",), False),
        ("deb-src", "http://deb.debian.org/debian", "bookworm", ("main",), True),
        ("deb", "http://flat.example.com/repo", "./", (), False),
    ]
    assert found[1].architectures == ["amd64"]
    assert found[1].key_file == "/x.gpg"
    assert found[1].as_map()["line"] == LIST.splitlines()[2]


def test_other_lines_keep_every_byte():
    changed = apt_sources.change_list(LIST, {1: None})
    assert changed == LIST.replace(LIST.splitlines()[1] + "\n", "")
    assert apt_sources.change_list(LIST, {}) == LIST


def test_a_comment_is_no_line():
    entry = apt_sources.AptSource(
        "deb", "http://h", "sid", ("main",), comment="x\ndeb http://evil /"
    )
    assert entry.line() == "deb http://h sid main #x deb http://evil /"


STANZAS = """\
# c1
Types: deb deb-src
URIs: https://x.example.com/apt https://y.example.com/apt
Suites: stable testing
Components: main contrib
Architectures: amd64 arm64
Signed-By: /x.gpg
Enabled: no

Types: deb
URIs: file:/srv
Suites: ./
"""


def test_stanzas_of_sources():
    found = apt_sources.parse_stanzas(STANZAS, "/f")
    assert len(found) == 9
    first, last = found[0], found[-1]
    assert first.line() == (
        "# deb [arch=amd64,arm64 signed-by=/x.gpg] https://x.example.com/apt stable main contrib"
    )
    assert (last.uri, last.dist, last.at, last.disabled) == ("file:/srv", "./", 1, False)


def test_a_stanza_is_changed_alone():
    changed = apt_sources.change_stanza(STANZAS, 0, {"Enabled": "yes", "Trusted": "yes"})
    assert changed == STANZAS.replace("Enabled: no\n", "Enabled: yes\nTrusted: yes\n")
    assert (
        apt_sources.change_stanza(STANZAS, 1, None) == STANZAS.partition("Types: deb\nURIs: f")[0]
    )


REPO = "# top\n[a]\nname=A\ngpgkey=one\n  two\nenabled=1\n\n[b]\nenabled=0\n"


def test_repo_files_are_changed_in_place():
    changed = ini_repos.change(REPO, "a", {"gpgkey": "x", "enabled": "0", "priority": "9"})
    assert changed == "# top\n[a]\nname=A\ngpgkey=x\nenabled=0\npriority=9\n\n[b]\nenabled=0\n"
    assert ini_repos.change(REPO, "b", {"enabled": None}) == REPO.replace("enabled=0\n", "")
    assert ini_repos.parse(ini_repos.change(REPO, "c", {"name": "C"}))["c"] == {"name": "C"}
    assert ini_repos.without(REPO, "a") == "# top\n[b]\nenabled=0\n"
