"""What goes up together."""

from __future__ import annotations

import pytest

from saltlite.core.messages import SyndicReturn
from saltlite.syndic.parts import LowerReturn, goes_up, guess_load, join_returns

JID, OTHER = "20260102030405000006", "20260102030405000007"
JOB = {"fun": "test.ping", "tgt": "*"}


def returned(jid: str, minion: str, **fields: object) -> LowerReturn:
    return LowerReturn(jid, minion, {"return": 1, "retcode": 0, "secret": 5, **fields}, JOB)


def test_one_part_for_each_job_and_its_load_once() -> None:
    parts = join_returns("syn", [returned(JID, "a"), returned(OTHER, "a"), returned(JID, "b")])
    assert parts == [
        SyndicReturn(
            JID,
            {"a": {"return": 1, "retcode": 0}, "b": {"return": 1, "retcode": 0}},
            "syn",
            "test.ping",
            JOB,
        ),
        SyndicReturn(OTHER, {"a": {"return": 1, "retcode": 0}}, "syn", "test.ping", JOB),
    ]


def test_returns_with_another_outputter_are_apart() -> None:
    parts = join_returns(
        "syn", [returned(JID, "a", out="highstate"), returned(JID, "b", fun="x.y")]
    )
    assert [(one.out, one.fun, one.load) for one in parts] == [
        ("highstate", "test.ping", JOB),
        (None, "x.y", {}),
    ]


def test_nothing_is_nothing() -> None:
    assert join_returns("syn", []) == []


@pytest.mark.parametrize(
    ("tag", "data", "with_one_master", "with_several"),
    [
        (JID, {"minions": ["a"]}, True, True),
        (f"salt/job/{JID}/new", {"minions": ["a"]}, True, True),
        (f"syndic/low/{JID}", {"minions": ["a"]}, True, True),
        (f"salt/job/{JID}/ret/a", {"return": 1}, False, False),
        (f"salt/job/{JID}/prog/a/1", {"id": "a"}, True, False),
        ("myco/x", {"minions": ["a"]}, True, False),
        ("salt/auth", {"id": "a"}, True, False),
        ("x", {"retcode": 0}, False, False),
    ],
)
def test_which_events_go_up(
    tag: str, data: dict[str, object], with_one_master: bool, with_several: bool
) -> None:
    assert goes_up(tag, data, everything=True) is with_one_master
    assert goes_up(tag, data, everything=False) is with_several


def test_a_job_that_nobody_told_of_is_what_its_return_says() -> None:
    returned = {"fun": "test.echo", "fun_args": ["x"], "return": "x", "user": "anna"}
    assert guess_load(returned, "m1") == {
        "fun": "test.echo", "arg": ["x"], "tgt": ["m1"], "tgt_type": "list", "user": "anna",
    }  # fmt: skip
    assert guess_load({"fun": "test.ping", "fun_args": None, "user": 5}, "m1") == {
        "fun": "test.ping", "arg": [], "tgt": ["m1"], "tgt_type": "list", "user": "",
    }  # fmt: skip
    assert guess_load({"return": True}, "m1") == {}
