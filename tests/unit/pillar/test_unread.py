"""Keys that are read nowhere, and those that are one letter apart from one that is."""

from __future__ import annotations

import pytest

from saltlite.pillar.reading import Readings, read_states
from saltlite.pillar.unread import Unread, find_unread

STATES = "{{ pillar.web.port }}\n{{ pillar.get('users', {}) | json }}\n{{ pillar.listen }}\n"


def keys(pillar: dict[str, object], text: str = STATES) -> dict[str, str]:
    """The keys that are told, each with the one that was meant."""
    found = Readings()
    read_states(found, text, "x.sls")
    told: list[Unread] = list(find_unread(pillar, found, frozenset(("schedule",))))
    return {":".join(each.path): ":".join(each.meant.path) if each.meant else "" for each in told}


@pytest.mark.parametrize(
    ("pillar", "told"),
    [
        ({"web": {"port": 1}, "users": {"ann": {"uid": 1}}}, {}),
        ({"web": {"prot": 1}}, {"web:prot": "web:port"}),
        ({"web": {"ports": 1}}, {"web:ports": "web:port"}),
        ({"web": {"porr": 1}}, {"web:porr": "web:port"}),
        ({"web": {"prot": 1, "port": 1}}, {"web:prot": ""}),
        ({"web": {"old": 1}}, {"web:old": ""}),
        ({"web": {"old": {"x": {"y": 1}}}}, {"web:old": ""}),
        ({"old": {"x": 1}}, {"old": ""}),
        ({"listne": 1}, {"listne": "listen"}),
        ({"schedule": {}, "mysql.host": "x", 7: 1, "a:b": 1}, {}),
        ({"web": {"port": "old:key"}, "old": {"key": 1}}, {"old": ""}),
        ({"web": {"port": "old"}, "old": 1}, {}),
        ({"web": ["a"]}, {}),
    ],
)
def test_what_is_told(pillar: dict[str, object], told: dict[str, str]) -> None:
    assert keys(pillar) == told


@pytest.mark.parametrize(
    ("text", "pillar", "told"),
    [
        ("{{ pillar.web.port }}{{ pillar }}", {"web": {"prot": 1}}, {"web:prot": "web:port"}),
        ("{{ pillar.web.port }}{{ pillar }}", {"web": {"old": 1}}, {}),
        ("{% set w = pillar.web %}{{ w.port }}", {"web": {"prot": 1}}, {"web:prot": "web:port"}),
        ("{% set w = pillar.web %}{{ w.port }}", {"web": {"old": 1}}, {}),
        ("{{ pillar.web.port }}{% if x.prot %}{% endif %}", {"web": {"prot": 1}}, {"web:prot": ""}),
        ("{{ pillar.hosts.web1 }}", {"hosts": {"web2": 1}}, {"hosts:web2": ""}),
        ("{{ pillar.user.uid }}", {"user": {"gid": 1}}, {"user:gid": ""}),
    ],
)
def test_what_is_told_where_it_is_not_all_known(
    text: str, pillar: dict[str, object], told: dict[str, str]
) -> None:
    assert keys(pillar, text) == told


def test_nothing_is_unused_while_files_were_left_out() -> None:
    found = Readings()
    found.doubt("files of git are not looked at")
    read_states(found, STATES + "{{ pillar }}", "x.sls")
    assert list(find_unread({"old": 1}, found)) == []
    assert found.unknown == "files of git are not looked at"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (STATES, ""),
        (STATES + "{{ pillar | json }}", "x.sls:4"),
        (STATES + "{% for key in pillar.keys() %}{% endfor %}", "x.sls:4"),
        ("\n{{ salt['pillar.get'](name) }}", "x.sls:2"),
        ("a: pillar[key]", "x.sls"),
    ],
)
def test_which_file_may_read_any_key(text: str, place: str) -> None:
    found = Readings()
    read_states(found, text, "x.sls")
    assert found.unknown == (place and f"{place} may read any key")
