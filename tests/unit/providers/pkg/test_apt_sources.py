"""Lines and stanzas of the sources of apt."""

from __future__ import annotations

from saltlite.providers.pkg import apt_sources

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
