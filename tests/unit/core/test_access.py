"""Who may call what: 226 rows that a real Salt master was asked, and the forms of access lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from repository import DATA

from saltlite.core.access import (
    Call,
    allows_all,
    allows_run,
    find_fault,
    list_permissions,
    name_key,
    user_entries,
    valid_login_name,
)
from saltlite.core.targets import MinionFacts, Target, find_expected
from saltlite.master.acl import read_call, split_calls

CASES = json.loads((DATA / "access" / "rows.json").read_text())
FACTS = [
    MinionFacts(minion, grains={"id": minion, **grains}, pillar={})
    for minion, grains in CASES["minions"].items()
]


def matching(tgt: Any, kind: str, *, greedy: bool) -> set[str]:
    found = find_expected(Target(tgt, kind), FACTS, greedy=greedy, nodegroups=CASES["nodegroups"])
    return set(found.minions)


def words(row: dict[str, Any]) -> str:
    return " ".join(str(row[name]) for name in ("user", "groups", "cmd", "fun", "arg"))


@pytest.mark.parametrize("row", CASES["rows"], ids=words)
def test_who_may_do_what(row: dict[str, Any]) -> None:
    entries = user_entries(CASES["block"], row["user"], row["groups"])
    if row["cmd"] == "publish":
        several = isinstance(row["fun"], list)
        if "," in row["fun"]:
            assert row["allowed"] is False  # refused before anybody's list is looked at
            return
        calls = split_calls(*(row["fun"], row["arg"]) if several else ([row["fun"]], [row["arg"]]))
        minions = matching(row["tgt"], row["tgt_type"], greedy=True)
        found = allows_all(
            entries, calls, minions, lambda one: matching(one, "compound", greedy=False)
        )
    else:
        found = allows_run(entries, row["cmd"], read_call(row["fun"], row["arg"], row["kwarg"]))
    assert found is row["allowed"]


def test_every_departure_from_salt_has_a_reason() -> None:
    assert len(CASES["rows"]) > 200
    assert all(("why" in row) is (row["allowed"] is not row["salt"]) for row in CASES["rows"])


def test_a_star_counts_for_all_where_that_is_wanted() -> None:
    block = {"anna": ["test.ping"], "*": ["status.uptime"]}
    assert user_entries(block, "anna") == ["test.ping"]
    assert user_entries(block, "zed") == ["status.uptime"]
    assert user_entries(block, "anna", permissive=True) == ["test.ping", "status.uptime"]
    assert user_entries(block, "*") == ["status.uptime"]


SPELLINGS = ("Anna", "ANNA", " anna", "anna ", "\N{FULLWIDTH LATIN SMALL LETTER A}nna")


@pytest.mark.parametrize("name", SPELLINGS)
def test_nobody_chooses_his_rights_by_a_spelling(name: str) -> None:
    """A directory lets in Anna as anna: then she must not have the rights of everybody else."""
    block = {"anna": ["test.ping"], "*": ["cmd.run"], "ops%": ["test.version"]}
    assert user_entries(block, name) == []
    assert user_entries(block, name, ["ops"]) == ["test.version"]
    assert user_entries(block, name, permissive=True) == ["cmd.run"]
    assert user_entries({"*": ["cmd.run"]}, name) == ["cmd.run"]
    assert user_entries({name: ["a.b"], **block}, name) == ["a.b"]
    assert name_key(name) == name_key("anna") != name_key("ann a")


def test_settings_and_groups_are_no_users() -> None:
    block = {"^filename": "/etc/x", "ops%": ["test.ping"], "^list": ["cmd.run"]}
    assert user_entries(block, "^list") == []
    assert user_entries(block, "ops%") == []
    assert user_entries(block, "ops") == []
    assert user_entries(block, "x", ["ops"]) == ["test.ping"]


FAULTS: list[tuple[Any, str]] = [
    ({}, ""),
    ({"anna": []}, ""),
    ({"anna": ["test.ping", {"web*": ["x"]}, "@runner", {"@jobs": "list_jobs"}]}, ""),
    ({"anna": [{"*": [{"f": {"args": [None], "kwargs": {"a": "b"}}}]}]}, ""),
    ({"anna": [{"*": [{"f": [{"args": ["a"]}, {}]}]}]}, ""),
    ({"anna": [{"@publish": ["metadata", {"ret": ["mysql"]}]}]}, ""),
    ({"^filename": 5, "anna": ["*"]}, ""),
    (None, "found None (NoneType), allowed: map of users"),
    (["anna"], "found ['anna'] (list), allowed: map of users"),
    ({5: ["x"]}, "5: found 5 (int), allowed: the name of a user in quotes"),
    ({"anna": ".*"}, "anna: found '.*' (str), allowed: list"),
    ({"anna": None}, "anna: found None (NoneType), allowed: list"),
    ({"anna": [5]}, "anna: found 5, allowed: text, or map of one target"),
    ({"anna": [{}]}, "anna: found {}, allowed: text, or map of one target"),
    ({"anna": [{"a": [], "b": []}]},
     "anna: found {'a': [], 'b': []}, allowed: text, or map of one target"),
    ({"anna": [{5: ["x"]}]}, "anna: found 5, allowed: target in quotes"),
    ({"anna": [{"w": [5]}]}, "anna: w: found 5, allowed: function, or map of one"),
    ({"anna": [{"w": [{"f": {"arg": []}}]}]},
     "anna: w: f: found {'arg': []}, allowed: map of args and kwargs"),
    ({"anna": [{"w": [{"f": {"args": "a"}}]}]},
     "anna: w: f: found {'args': 'a'}, allowed: map of args and kwargs"),
    ({"anna": ["(test"]}, "anna: not a regular expression: '(test': missing ), unterminated "
     "subpattern at position 0"),
]  # fmt: skip


@pytest.mark.parametrize(("block", "fault"), FAULTS)
def test_a_fault_is_named_and_gives_nobody_anything(block: Any, fault: str) -> None:
    assert find_fault(block) == fault
    if fault:
        assert user_entries(block, "anna", ["anna"]) == []


def test_what_a_login_is_told() -> None:
    """As salt-api of 3006.30 shows it, but for rights that are not granted."""
    config = {
        "auto": {
            "anna": [".*", "@runner", "@wheel", "@jobs"],
            "ben": ["test.*", {"G@os:Debian": ["grains.items"]}, {"m1": [{"cmd.run": {}}]},
                    {"@runner": ["jobs.list_jobs"]}, {"@wheel": ["key.list_all"]}, "test.*"],
            "ops%": ["test.ping"],
            "*": ["status.uptime"],
        }
    }  # fmt: skip
    assert list_permissions(config, "auto", "anna") == [".*", "@jobs", "@runner", "@wheel"]
    assert list_permissions(config, "auto", "ben") == [
        "test.*", {"@runner": ["jobs.list_jobs"]}, {"@wheel": ["key.list_all"]},
        {"G@os:Debian": ["grains.items"]}, {"m1": [{"cmd.run": {}}]},
    ]  # fmt: skip
    assert list_permissions(config, "auto", "zed", ["ops"]) == ["status.uptime", "test.ping"]
    assert list_permissions(config, "auto", "zed", [], ["x"]) == ["status.uptime", "x"]
    assert list_permissions(config, "pam", "anna") == {}


def test_an_expression_that_another_reading_would_widen() -> None:
    """``[^r]`` leaves out r in an expression, and is r or ^ in a glob."""
    assert not allows_all(["cmd.[^r]*"], [Call("cmd.run")], ["m"], lambda _one: {"m"})
    assert allows_all(["cmd.[^r]*"], [Call("cmd.exe")], ["m"], lambda _one: {"m"})
    assert allows_all(["cmd.*"], [Call("cmd.run")], ["m"], lambda _one: {"m"})


@pytest.mark.parametrize(
    "name", ["", None, 5, ["a"], "a\nb", "a\0", "a" * 257, "a\u202eb", "\udcff"]
)
def test_what_is_no_name(name: Any) -> None:
    assert not valid_login_name(name)
