"""The grammars of names that peers choose."""

from __future__ import annotations

import pytest

from saltlite.core.ids import valid_function, valid_jid, valid_minion_id


@pytest.mark.parametrize(
    "minion_id",
    ["a", "web1", "web-1.example.com", "_x", "10.0.0.1", "fe80::1", "a@b", "a+b", "A" * 253, "7"],
)
def test_minion_ids(minion_id):
    assert valid_minion_id(minion_id)


@pytest.mark.parametrize(
    "minion_id",
    [
        "..",
        ".",
        "",
        "../../master.pem",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a\0b",
        "a\nINFO accepted",
        "a\r",
        "a\n",
        "*",
        "[a]",
        ".hidden",
        "-rf",
        "~root",
        "a b",
        "a,b",
        "a\u202eb",
        "a\udcff",
        "é",
        "e\u0301",
        "a" * 254,
        "a" * 65_536,
        5,
        ["a"],
        {},
        None,
        True,
        b"a",
    ],
    ids=lambda value: repr(value)[:20],
)
def test_no_minion_ids(minion_id):
    assert not valid_minion_id(minion_id)


@pytest.mark.parametrize("jid", ["2" * 20, "2" * 20 + "_1", "2" * 20 + "_12345"])
def test_jids(jid):
    assert valid_jid(jid)


@pytest.mark.parametrize(
    "jid",
    [
        "",
        "req",
        "2" * 19,
        "2" * 21,
        "2" * 20 + "_",
        "2" * 20 + "_x",
        "2" * 20 + "\n",
        "٢" * 20,
        "../x",
        "2" * 20 + "/../x",
        "*",
        5,
        20240102030405000678,
        None,
        ["2" * 20],
        b"2" * 20,
    ],
    ids=lambda value: repr(value)[:24],
)
def test_no_jids(jid):
    assert not valid_jid(jid)


@pytest.mark.parametrize("name", ["test.ping", "a.b", "my_Mod.doIt", "x1.y2", "a" * 126 + ".b"])
def test_functions(name):
    assert valid_function(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "test",
        "test.",
        ".ping",
        "test..ping",
        "a.b.c",
        "test.ping\n",
        "test ping",
        "a/b.c",
        "x" * 1000000,
        "a" * 127 + ".b",
        "té.st",
        5,
        None,
        ["test.ping"],
        b"test.ping",
    ],
    ids=lambda value: repr(value)[:24],
)
def test_no_functions(name):
    assert not valid_function(name)
