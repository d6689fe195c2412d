"""Returns of runs of states become reports: bounded, whatever a minion sends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.core.state_reports import (
    CHANGES_LIMIT,
    CUT,
    ROWS_LIMIT,
    RUN_LIMIT,
    VALUE_LIMIT,
    PropertyChange,
    StateRun,
    list_changes,
    pack_changes,
    pack_counts,
    read_runs,
    unpack_changes,
    unpack_counts,
)

JID = "20260102030405000006"
AT_S = 1767323045.000006


def answer(**more: Any) -> dict[str, Any]:
    plain = {"result": True, "changes": {}, "comment": "ok", "duration": 1.5, "__sls__": "motd"}
    return {**plain, "__id__": "motd", "name": "/etc/motd", "__run_num__": 0, **more}


def read(ret: object, fun: Any = "state.apply", args: Any = ()) -> list[StateRun]:
    given = {"fun": fun, "fun_args": args, "return": ret}
    return list(read_runs(given, jid=JID, minion="m1", user="root", now_s=7.0))


TAG = "file_|-motd_|-/etc/motd_|-managed"


def test_a_change_is_told_with_all_that_is_known_of_it() -> None:
    changes = {"mode": {"old": "0600", "new": "0644"}}
    (run,) = read({TAG: answer(changes=changes)}, args=["motd", "saltenv=dev"])
    assert (run.at_s, run.jid, run.minion, run.user) == (AT_S, JID, "m1", "root")
    assert (run.fun, run.saltenv, run.test) == ("state.apply", "dev", False)
    assert (run.total, run.changed, run.failed, run.duration_ms) == (1, 1, 0, 1.5)
    assert run.sls == {"motd": 1}
    (row,) = run.rows
    assert row.resource == ("file.managed", "motd", "/etc/motd")
    assert (row.sls, row.result, row.duration_ms, row.comment) == ("motd", True, 1.5, "")
    assert row.changes == (PropertyChange("mode", "0600", "0644"),)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mode": {"old": "0600", "new": "0644"}}, [("mode", "0600", "0644")]),
        ({"old": "a", "new": "b"}, [("", "a", "b")]),
        ({"new": "b"}, [("", None, "b")]),
        ({"mode": "0644"}, [("mode", None, "0644")]),
        ({"diff": "--- \n+++ \n"}, [("diff", None, "--- \n+++ \n")]),
        ("New file", [("", None, "New file")]),
        ({"/etc/a": {"diff": "New file"}}, [("/etc/a:diff", None, "New file")]),
        (
            {"alice": {"old": {"uid": 1, "home": "/a"}, "new": {"uid": 2, "home": "/a"}}},
            [("alice:uid", "1", "2")],
        ),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, [("a:b:c", None, '{"d": {"e": 1}}')]),
        ({"groups": ["a", "b"], "n": 0, "no": None}, [
            ("groups", None, '["a", "b"]'), ("n", None, "0"), ("no", None, None),
        ]),
        ({"pkg": {"old": "", "new": "1.2"}}, [("pkg", "", "1.2")]),
        ({}, []),
        (None, []),
    ],
)  # fmt: skip
def test_changes_of_every_form(changes: object, told: list[Any]) -> None:
    assert [(one.property, one.old, one.new) for one in list_changes(changes)] == told


@pytest.mark.parametrize(
    ("changes", "before", "replaced", "told"),
    [
        (
            {"mode": "0644", "diff": "--- "},
            {"mode": "0600", "sha256": "aa", "size": 8},
            {"/etc/motd": "aa"},
            [("mode", "0600", "0644"), ("diff", None, "--- "), ("sha256", "aa", None)],
        ),
        ({"user": "bob"}, {"user": "root"}, None, [("user", "root", "bob")]),
        (
            {"/etc/a": {"mode": "0644"}, "/etc/b": {"diff": "New file"}},
            {"/etc/a": {"mode": "0600", "sha256": "aa"}},
            {"/etc/a": "aa", "/etc/c": "cc"},
            [
                ("/etc/a:mode", "0600", "0644"), ("/etc/b:diff", None, "New file"),
                ("/etc/a:sha256", "aa", None), ("/etc/c:sha256", "cc", None),
            ],
        ),
        # Both values of Salt's own form stay.
        ({"mode": {"old": "1", "new": "2"}}, {"mode": "3"}, None, [("mode", "1", "2")]),
        ({"removed": "/etc/a"}, None, {"/etc/a": "aa"}, [
            ("removed", None, "/etc/a"), ("/etc/a:sha256", "aa", None),
        ]),
        ({}, {"sha256": "aa"}, {"/etc/a": "aa"}, []),
        # Whatever a minion sends.
        ({"mode": "0644"}, {"mode": {"x": 1}}, [1], [("mode", None, "0644")]),
        ({"mode": "0644"}, "before", {"/etc/a": 7}, [("mode", None, "0644")]),
    ],
)  # fmt: skip
def test_old_values_stand_beside_the_changes(
    changes: object, before: object, replaced: object, told: list[Any]
) -> None:
    found = list_changes(changes, before, replaced)
    assert [(one.property, one.old, one.new) for one in found] == told


def test_old_values_of_a_return_are_read() -> None:
    given = answer(changes={"mode": "0644"}, before={"mode": "0600"}, replaced={"/etc/x": "aa"})
    (row,) = read({TAG: given})[0].rows
    assert row.changes == (
        PropertyChange("mode", "0600", "0644"),
        PropertyChange("/etc/x:sha256", "aa", None),
    )
    many = {f"/etc/{number}": "aa" for number in range(500)}
    assert len(list_changes({"mode": "0644"}, None, many)) == CHANGES_LIMIT


def test_a_long_value_is_cut_and_many_are_left_out() -> None:
    (change,) = list_changes({"diff": "x" * 5000})
    assert change.new is not None
    assert len(change.new) == VALUE_LIMIT
    assert change.new.endswith(CUT)
    assert len(list_changes({str(number): number for number in range(500)})) == CHANGES_LIMIT


def test_what_is_in_order_is_counted_and_the_slowest_are_kept() -> None:
    states = {
        f"test_|-{number}_|-{number}_|-nop": answer(duration=float(number), __id__=number)
        for number in range(40)
    }
    (run,) = read(states)
    assert (run.total, run.changed, run.failed) == (40, 0, 0)
    assert [row.ident for row in run.rows] == ["35", "36", "37", "38", "39"]
    assert run.sls == {"motd": 40}


def test_what_failed_says_why() -> None:
    (run,) = read({TAG: answer(result=False, comment=["no such", "user"])})
    assert run.failed == 1
    assert run.rows[0].comment == "no such\nuser"


@pytest.mark.parametrize(
    ("fun", "args", "is_test"),
    [
        ("state.apply", ["motd", "test=True"], True),
        ("state.apply", [{"__kwarg__": True, "test": True}], True),
        ("state.apply", ["test=False"], False),
        ("state.test", [], True),
        ("state.audit", [], True),
        ("state.sls", [], False),
    ],
)
def test_tests_are_told_from_real_runs(fun: str, args: Any, is_test: bool) -> None:
    assert [run.test for run in read({TAG: answer()}, fun, args)] == [is_test]


def test_several_functions_in_one_job() -> None:
    ret = {"state.sls": {TAG: answer()}, "test.ping": True, "state.single": {TAG: answer()}}
    runs = read(ret, ["state.sls", "test.ping", "state.single"], [["a", "saltenv=x"], [], []])
    assert [(run.fun, run.place, run.saltenv) for run in runs] == [
        ("state.sls", 0, "x"),
        ("state.single", 2, "base"),
    ]
    assert len(read([{TAG: answer()}, True], ["state.sls", "test.ping"])) == 1


@pytest.mark.parametrize(
    ("fun", "ret"),
    [
        ("test.ping", {TAG: answer()}),
        ("state.show_sls", {"motd": {"file": ["managed"]}}),
        ("state.apply", ["Rendering SLS failed"]),
        ("state.apply", "text"),
        ("state.apply", None),
        (None, None),
        (["test.ping"], {"test.ping": True}),
    ],
)
def test_what_is_no_run_leaves_nothing(fun: Any, ret: Any) -> None:
    assert read(ret, fun) == []


def test_a_jid_that_is_no_time_counts_as_now() -> None:
    runs = read_runs(
        {"fun": "state.sls", "return": {TAG: answer()}}, jid="mine", minion="m", user="", now_s=7.0
    )
    assert next(runs).at_s == 7.0


def test_one_return_has_bounds() -> None:
    states = {
        f"file_|-{number}_|-/{number}_|-managed": answer(
            changes={"diff": "x" * 900, "other": {"old": "y" * 900, "new": "z" * 900}}
        )
        for number in range(ROWS_LIMIT * 2)
    }
    (run,) = read(states)
    assert run.total == run.changed == ROWS_LIMIT * 2
    assert len(run.rows) + run.left_out == ROWS_LIMIT * 2
    assert sum(len(pack_changes(row.changes)) for row in run.rows) < RUN_LIMIT * 2


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["old", "new", "changes"]), inner, max_size=3)
    ),
    max_leaves=10,
)
FIELDS = st.sampled_from(["result", "changes", "comment", "duration", "__sls__", "__id__", "name"])
ANSWERS = st.dictionaries(FIELDS, PLAIN) | PLAIN
TAGS = st.just(TAG) | st.lists(st.text(), min_size=4, max_size=5).map("_|-".join) | st.text()


@given(
    ret=st.dictionaries(TAGS, ANSWERS, max_size=4) | PLAIN,
    fun=st.sampled_from(["state.apply", ["state.sls", "state.top"]]) | PLAIN,
    args=PLAIN,
)
def test_whatever_a_minion_sends_is_text_that_can_be_kept(ret: Any, fun: Any, args: Any) -> None:
    for run in read(ret, fun, args):
        assert 0 <= run.duration_ms < 1e13
        for row in run.rows:
            texts = [row.ident, row.name, row.sls, row.comment, row.function]
            texts += [one.property for one in row.changes]
            for text in texts:
                text.encode()
                assert "\0" not in text
            assert unpack_changes(pack_changes(row.changes)) == tuple(row.changes)
        assert unpack_counts(pack_counts(run.sls)) == run.sls


@pytest.mark.parametrize("text", ["", "{", "[1]", '[["a"]]', "null"])
def test_a_damaged_text_is_nothing(text: str) -> None:
    assert unpack_changes(text) == ()
    assert unpack_counts(text) == {}


def test_of_what_went_well_only_services_keep_their_comment() -> None:
    (run,) = read({"service_|-a_|-nginx_|-running": answer(comment="Service restarted")})
    assert run.rows[0].comment == "Service restarted"
    assert read({TAG: answer()})[0].rows[0].comment == ""
