"""What is believed of declarations that other minions exported: nothing that was not asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from saltlite.core.exported import (
    DECLARATIONS,
    BadCollect,
    BadExport,
    Collected,
    ExportedState,
    check_export,
    read_collect,
    take,
)
from saltlite.highstate.requisites import OWN

GOOD: Mapping[str, Any] = {
    "v": 1, "tag": "web", "fun": "file.managed", "name": "/srv/backends/web1", "id": "me",
    "sls": "web", "args": {"contents": "server web1"},
}  # fmt: skip
ENTRY: Mapping[str, Any] = {
    "tag": "web",
    "accept": {"file.managed": {"arguments": ["contents"], "names": "/srv/backends/*"}},
}


def taken(found: object, **entry: Any) -> list[Collected | BadExport]:
    return list(take(read_collect({**ENTRY, **entry}, OWN), "web1", found))


def test_a_good_one_is_taken() -> None:
    assert taken([GOOD]) == [
        Collected(
            "exported:web1:web:file.managed:me:/srv/backends/web1",
            "file.managed",
            {"name": "/srv/backends/web1", "contents": "server web1"},
        )
    ]
    assert taken([{**GOOD, "tag": "other"}]) == []


ATTACKS = {
    "another function": {"fun": "file.absent"},
    "a command": {"fun": "cmd.run", "name": "reboot"},
    "no function": {"fun": "file.managed; x"},
    "a further argument": {"args": {"contents": "x", "mode": "4755"}},
    "a template": {"args": {"contents": "{{ 1 }}", "template": "jinja"}},
    "a source": {"args": {"source": "http://elsewhere/x"}},
    "a requisite": {"args": {"contents": "x", "require_in": [{"pkg": "sudo"}]}},
    "a condition": {"args": {"contents": "x", "onlyif": "touch /tmp/x"}},
    "the order": {"args": {"contents": "x", "order": 1}},
    "names": {"args": {"names": ["/etc/shadow"]}},
    "a name among the arguments": {"args": {"name": "/etc/shadow"}},
    "an id among the arguments": {"args": {"__id__": "other"}},
    "a slot": {"args": {"contents": "__slot__:salt:cmd.run(id)"}},
    "a slot within": {"args": {"contents": [{"a": ["x __slot__:salt:cmd.run(id)"]}]}},
    "a key that is none": {"args": {"contents": {"__x": 1}}},
    "a number for a key": {"args": {"contents": {1: 1}}},
    "an object": {"args": {"contents": b"bytes"}},
    "a path outside": {"name": "/etc/shadow"},
    "a path that leads outside": {"name": "/srv/backends/../../etc/shadow"},
    "a name with a line feed": {"name": "/srv/backends/x\ny"},
    "an id with a line feed": {"id": "x\ny"},
    "an endless name": {"name": "/srv/backends/" + "x" * 5000},
    "too much": {"args": {"contents": "x" * 70000}},
    "too deep": {"args": {"contents": [[[[[[[[[[1]]]]]]]]]]}},
    "another version": {"v": 2},
    "no texts": {"id": ["x"]},
    "no tag": {"tag": "a/b"},
    "no map of arguments": {"args": ["contents"]},
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_and_the_others_are_taken(attack: str) -> None:
    bad, good = taken([{**GOOD, **ATTACKS[attack]}, GOOD])
    assert isinstance(bad, BadExport), bad
    assert isinstance(good, Collected)


@pytest.mark.parametrize(
    "value, fits",
    [
        ("server web1 10.0.0.1:80 check", True),
        (["server a 10.0.0.1:80 check", "server b 10.0.0.2:80 check"], True),
        ("server web1 10.0.0.1:80 check\n  stats admin if TRUE #:80 check", False),
        ("stats admin if TRUE", False),
        (["server a 10.0.0.1:80 check", 7], False),
        ({"server a 10.0.0.1:80 check": 1}, False),
        (None, False),
    ],
)
def test_values_that_have_to_fit(value: object, fits: bool) -> None:
    accept = {"file.managed": {"arguments": {"contents": "server * 10.*:80 check"}, "names": "*"}}
    (one,) = taken([{**GOOD, "args": {"contents": value}}], accept=accept)
    assert isinstance(one, Collected) is fits


@pytest.mark.parametrize("found", [None, "text", {"a": 1}, 7, [GOOD] * (DECLARATIONS + 1)])
def test_what_is_no_list_is_refused(found: object) -> None:
    (bad,) = taken(found)
    assert isinstance(bad, BadExport)


@pytest.mark.parametrize("each", [None, "text", [], 7, {}])
def test_what_is_no_declaration_is_refused(each: object) -> None:
    bad, good = taken([each, GOOD])
    assert (type(bad), type(good)) == (BadExport, Collected)


def test_settings_win_and_know_the_exporter() -> None:
    (one,) = taken([GOOD], set={"name": "/x/{exporter}-{id}", "contents": "mine", "mode": "0644"})
    assert isinstance(one, Collected)
    assert one.arguments == {"name": "/x/web1-me", "contents": "mine", "mode": "0644"}


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    (one,) = taken([{**GOOD, "id": "{exporter}{name}"}], set={"comment": "{id} {exporter}"})
    assert isinstance(one, Collected)
    assert one.arguments["comment"] == "{exporter}{name} web1"


@pytest.mark.parametrize("ident", ["../../etc/cron.d/x", ".hidden", "a/b"])
def test_an_id_that_becomes_a_path_is_a_word(ident: str) -> None:
    (bad,) = taken([{**GOOD, "id": ident}], set={"name": "/x/{id}"})
    assert isinstance(bad, BadExport)


def test_a_name_that_is_filled_in_has_to_fit() -> None:
    (bad,) = taken([{**GOOD, "name": "../x"}], set={"name": "/srv/{name}"})
    assert isinstance(bad, BadExport)


@pytest.mark.parametrize(
    "entry, words",
    [
        ("web", "an entry is no map with tag and accept"),
        ({**ENTRY, "tags": 1}, "there is no tags"),
        ({**ENTRY, "tag": "a b"}, "tag: 'a b' is no tag"),
        ({"tag": "web"}, "accept: is no map of functions"),
        ({**ENTRY, "accept": ["file.managed"]}, "accept: is no map of functions"),
        ({**ENTRY, "accept": {"file.managed": {}}}, "say which names are taken"),
        (
            {"tag": "web", "accept": {"file.managed": {}}, "set": {"name": "/a/{name}"}},
            "say which names are taken",
        ),
        ({**ENTRY, "accept": {"cmd.run": {"names": "*"}}}, "cmd.run runs what it is given"),
        ({**ENTRY, "set": ["x"]}, "set: is no map"),
        ({**ENTRY, "set": {"template": "jinja"}}, "never rendered"),
        (
            {
                **ENTRY,
                "accept": {"file.managed": {"arguments": ["source", "onlyif"], "names": "*"}},
            },
            "onlyif, source: is never taken of others",
        ),
        ({**ENTRY, "accept": {"file.managed": {"names": 7}}}, "names: is no list of texts"),
        ({**ENTRY, "accept": {"file.managed": "all"}}, "is no map with arguments and names"),
    ],
)
def test_mistakes_of_an_entry(entry: object, words: str) -> None:
    with pytest.raises(BadCollect, match=words):
        read_collect(entry, OWN)


def test_commands_are_taken_where_it_is_said() -> None:
    accept = {"cmd.run": {"names": "echo *"}}
    (one,) = taken(
        [{**GOOD, "fun": "cmd.run", "name": "echo a", "args": {}}], accept=accept, commands=True
    )
    assert isinstance(one, Collected)


def test_what_is_exported_is_checked_before() -> None:
    declared = ExportedState(
        tag="web", function="file.managed", name="a", ident="b", sls="c", arguments={"x": 1}
    )
    check_export(declared)
    assert ExportedState.from_wire(declared.to_wire()) == declared
