"""What the option ``mine_functions`` may look like."""

from __future__ import annotations

from saltlite.core.mine import entries

OPTION = {
    "test.echo": ["hi"],
    "named": [{"mine_function": "test.echo"}, {"text": "x"}, {"allow_tgt": "db1"}],
    "test.fail": [],
    "test.nosuch": [],
}


def test_the_option_is_read():
    found = {entry.name: entry for entry in entries(OPTION)}
    assert (found["named"].fun, found["named"].kwarg) == ("test.echo", {"text": "x"})
    assert found["named"].storage_form(1) == {
        "__data__": 1,
        "__saltmine_acl__": 1,
        "allow_tgt": "db1",
    }
    assert [entry.name for entry in entries(["a.b", 5])] == ["a.b"]
    assert entries("nonsense") == []
