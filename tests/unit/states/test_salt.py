"""``salt.*`` states. Results, changes and comments are those of Salt 3006.30."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from orchestra import JID, Bus, Minions, orchestra

from saltlite.context import MinionContext
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.run import run_chunk
from saltlite.masterside.context import execution_context
from saltlite.transport.bus import Event

FINE = {"test_|-fine_|-fine_|-nop": {"result": True, "changes": {}, "comment": "Success!"}}
CHANGED = {"test_|-c_|-c_|-nop": {"result": True, "changes": {"a": 1}, "comment": ""}}
BAD = {"test_|-b_|-b_|-nop": {"result": False, "changes": {}, "comment": "Failure!"}}
DIFFERS = {"test_|-c_|-c_|-nop": {"result": None, "changes": {"a": 1}, "comment": ""}}
SILENT = {"out": "no_return", "ret": "Minion did not return. [No response]"}


@pytest.fixture
def side(tmp_path: Path) -> tuple[MinionContext, Minions, Bus]:
    ctx, minions, bus = orchestra(tmp_path)
    return execution_context(ctx), minions, bus


def run(ctx: MinionContext, function: str, *, test: bool = False, **given: Any) -> dict[str, Any]:
    chunk = {"state": "salt", "fun": function, "__id__": "x", "__sls__": "s", "name": "x", **given}
    low = {**chunk, "__env__": "base"}
    return run_chunk(ctx, Chunk.from_low(low), test=test).to_return()


def full(**returns: Any) -> dict[str, Any]:
    return {minion: {"ret": ret} for minion, ret in returns.items()}


@pytest.mark.parametrize(
    ("returns", "given", "result", "shown", "comment"),
    [
        (full(m1=CHANGED), {}, True, ["m1"], "States ran successfully. Updating m1."),
        (full(m1=FINE), {}, True, [], "States ran successfully. No changes made to m1."),
        (
            full(m1=CHANGED, m2=FINE), {}, True, ["m1"],
            "States ran successfully. Updating m1. No changes made to m2.",
        ),
        (full(m1=CHANGED, m2=BAD), {}, False, ["m1", "m2"], "Run failed on minions: m2"),
        (
            full(m1=CHANGED, m2=BAD), {"allow_fail": 1}, True, ["m1", "m2"],
            "States ran successfully. Updating m1, m2.",
        ),
        (
            full(m1=BAD, m2=BAD), {"allow_fail": 1}, False, ["m1", "m2"],
            "Run failed on minions: m1, m2",
        ),
        (
            full(m1=BAD, m2=BAD), {"fail_minions": "m1"}, False, ["m1", "m2"],
            "Run failed on minions: m2",
        ),
        (
            full(m1=BAD, m2=BAD), {"fail_minions": ["m1", "m2"]}, True, ["m1", "m2"],
            "States ran successfully. Updating m1, m2.",
        ),
        (
            full(m1=["No matching sls found for 'x' in env 'base'", "two"]), {}, False, ["m1"],
            "Run failed on minions: m1\n"
            "Minion m1 returned errors: No matching sls found for 'x' in env 'base'; two",
        ),
        (
            {**full(m1=FINE), "m2": SILENT}, {}, False, ["m2"],
            "Run failed on minions: m2\nMinion m2 did not return a state result.",
        ),
        ({"m1": {"ret": FINE, "retcode": 2}}, {}, False, ["m1"], "Run failed on minions: m1"),
        ({}, {}, False, [], "No minions returned"),
    ],
)  # fmt: skip
def test_states_on_minions(
    side: tuple[MinionContext, Minions, Bus],
    returns: dict[str, Any],
    given: dict[str, Any],
    result: bool,
    shown: list[str],
    comment: str,
) -> None:
    ctx, minions, _ = side
    minions.answers["state.sls"] = returns
    answer = run(ctx, "state", tgt="*", sls=["a", "b.c"], **given)
    assert (answer["result"], answer["comment"]) == (result, comment)
    wanted = {"out": "highstate", "ret": {one: returns[one]["ret"] for one in shown}}
    if "m2" in shown and returns["m2"] is SILENT:
        wanted["ret"]["m2"] = False
    assert answer["changes"] == (wanted if shown else {})
    assert answer.get("__jid__") == (JID if returns else None)
    assert minions.asked[0][2] == ["a,b.c"]


def test_who_is_not_expected_is_not_missed(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, minions, _ = side
    minions.answers["state.sls"] = {**full(m1=FINE), "m2": SILENT}
    assert run(ctx, "state", tgt="*", sls="a", expect_minions=False)["result"] is True
    named = run(ctx, "state", tgt="m1,m2", tgt_type="list", sls="a", expect_minions=False)
    assert named["changes"]["ret"] == {"m2": False}


def test_nobody_may_be_there_if_nobody_is_expected(
    side: tuple[MinionContext, Minions, Bus],
) -> None:
    ctx, minions, _ = side
    minions.answers["state.sls"] = {}
    answer = run(ctx, "state", tgt="none*", sls="a", expect_minions=False)
    assert (answer["result"], answer["comment"]) == (True, "States ran successfully.")


def test_keywords_and_returners_may_be_lists(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, minions, _ = side
    minions.answers["test.kwarg"] = full(m1={})
    given = {"kwarg": [{"a": 1}, {"b": 2}], "ret": ["local", "other"]}
    run(ctx, "function", tgt="m1", **{**given, "name": "test.kwarg"})
    assert (minions.asked[0][3]["kwarg"], minions.asked[0][3]["ret"]) == (
        {"a": 1, "b": 2},
        "local,other",
    )
    refused = run(ctx, "function", tgt="m1", name="test.kwarg", kwarg="a=1")
    assert (refused["result"], len(minions.asked)) == (False, 1)


def test_a_test_run_warns_as_the_real_one(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, _, _ = side
    answer = run(ctx, "function", test=True, tgt="m1", name="test.ping", arg="word")
    assert (answer["result"], len(answer["warnings"])) == (None, 1)


def test_a_test_run_is_one_on_the_minions_whatever_the_state_says(
    side: tuple[MinionContext, Minions, Bus],
) -> None:
    ctx, minions, _ = side
    minions.answers["state.sls"] = lambda _tgt, _arg, kwarg: full(
        m1=DIFFERS if kwarg.get("test") else CHANGED
    )
    for given in ({}, {"test": False}, {"test": True}):
        answer = run(ctx, "state", tgt="*", sls="a", **given)
        assert answer["result"] is (None if given.get("test") else True)
        chunk = {
            "state": "salt",
            "fun": "state",
            "__id__": "x",
            "name": "x",
            "tgt": "*",
            "sls": "a",
        }
        dry = run_chunk(ctx, Chunk.from_low({**chunk, **given}), test=True).to_return()
        assert (dry["result"], dry["changes"]["ret"]) == (None, {"m1": DIFFERS})


def test_what_is_asked_is_told_on_the_bus(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, minions, bus = side
    run(
        ctx, "state", tgt="m*", highstate=True, saltenv="dev", pillar={"a": 1}, queue=True,
        timeout=9, batch=1, failhard=True, ret="rawfile_json", ret_config="c", ret_kwargs={"k": 1},
    )  # fmt: skip
    kwarg = {"pillar": {"a": 1}, "saltenv": "dev", "queue": True, "concurrent": False}
    asked = {
        "arg": [], "kwarg": kwarg, "ret": "rawfile_json", "timeout": 9, "ret_config": "c",
        "ret_kwargs": {"k": 1}, "tgt_type": "glob", "ssh": False, "expect_minions": True,
        "failhard": True, "batch": "1",
    }  # fmt: skip
    told = {"type": "state", "tgt": "m*", "name": "x", "args": asked}
    assert bus.fired == [(f"salt/run/{JID}/args", told)]
    tgt, fun, arg, options = minions.asked[0]
    assert (tgt, fun, arg, options["kwarg"]) == ("m*", "state.highstate", [], kwarg)
    assert (options["batch"], options["failhard"], options["ret_config"]) == ("1", True, "c")


@pytest.mark.parametrize(
    ("given", "comment"),
    [
        ({"tgt": "*"}, "No highstate or sls specified, no execution made"),
        ({"tgt": "*", "sls": "a", "ssh": True}, "salt-ssh is not there; leave out 'ssh'"),
        (
            {"tgt": "*", "sls": "a", "allow_fail": "x"},
            "Passed invalid value for 'allow_fail', must be an int",
        ),
        ({"sls": "a"}, "Missing parameter tgt for state salt.state\n"),
    ],
)  # fmt: skip
def test_states_that_cannot_be_meant(
    side: tuple[MinionContext, Minions, Bus], given: dict[str, Any], comment: str
) -> None:
    ctx, minions, _ = side
    answer = run(ctx, "state", **given)
    assert (answer["result"], answer["changes"], answer["comment"]) == (False, {}, comment)
    assert not minions.asked


@pytest.mark.parametrize(
    ("returns", "given", "result", "comment"),
    [
        (full(m1=True, m2=3), {}, True, "Function ran successfully. Function f.g ran on m1, m2."),
        (full(m1=""), {}, True, "Function ran successfully. Function f.g ran on m1."),
        (
            full(m1=False), {}, False,
            "Running function f.g failed on minions: m1 Function f.g ran on m1.",
        ),
        (
            {"m1": {"ret": True}, "m2": {"ret": True, "retcode": 3}}, {"fail_minions": "m2"}, True,
            "Running function f.g failed on minions: m2 Function f.g ran on m1, m2.",
        ),
        (
            full(m1=0), {"fail_function": "test.echo"}, False,
            "Running function f.g failed on minions: m1 Function f.g ran on m1.",
        ),
        (
            full(m1=7), {"fail_function": "test.echo"}, True,
            "Function ran successfully. Function f.g ran on m1.",
        ),
        ({}, {}, False, "No minions responded"),
    ],
)  # fmt: skip
def test_functions_on_minions(
    side: tuple[MinionContext, Minions, Bus],
    returns: dict[str, Any],
    given: dict[str, Any],
    result: bool,
    comment: str,
) -> None:
    ctx, minions, _ = side
    minions.answers["f.g"] = returns
    answer = run(ctx, "function", name="f.g", tgt="*", arg=[1], kwarg={"k": "v"}, **given)
    assert (answer["result"], answer["comment"]) == (result, comment)
    assert answer["changes"] == (
        {"ret": {one: got["ret"] for one, got in returns.items()}} if returns else {}
    )
    assert minions.asked[0][2:] == ([1], minions.asked[0][3])
    assert minions.asked[0][3]["kwarg"] == {"k": "v"}


def test_a_test_run_of_a_function_calls_nothing(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, minions, bus = side
    for fun, given, comment in (
        ("function", {"tgt": "*"}, "Function x would be executed on target *"),
        ("runner", {}, "Runner function 'x' would be executed."),
        ("wheel", {}, "Wheel function 'x' would be executed."),
        ("wait_for_event", {"id_list": ["a"]}, "Orchestration would wait for event 'x'"),
    ):
        answer = run(ctx, fun, test=True, **given)
        assert (answer["result"], answer["changes"], answer["comment"]) == (None, {}, comment)
    assert not minions.asked
    assert not bus.fired


def test_a_text_as_arguments_is_split_and_said(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, minions, _ = side
    minions.answers["test.arg"] = full(m1=1)
    answer = run(ctx, "function", name="test.arg", tgt="*", arg="one two", subset=1)
    assert answer["warnings"] == ["Please specify 'arg' as a list of arguments."]
    assert minions.asked[0][:3] == (["m1"], "test.arg", ["one", "two"])


def test_runners(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, _, bus = side
    good = run(ctx, "runner", name="test.arg", arg=[1], kwarg={"a": 2}, b=3)
    assert good["comment"] == "Runner function 'test.arg' executed."
    assert good["changes"] == {"return": {"args": [1], "kwargs": {"a": 2, "b": 3}}}
    tags = [tag for tag, _ in bus.fired]
    jid = good["__jid__"]
    assert tags == [f"salt/run/{JID}/args", f"salt/run/{jid}/new", f"salt/run/{jid}/ret"]
    assert jid != JID
    for name in ("error.error", "cache.flush", "test.nosuch"):
        assert run(ctx, "runner", name=name)["result"] is False
    assert run(ctx, "runner", name="test.nosuch")["comment"] == "'test.nosuch' is not available."


def test_a_wheel_function_that_is_not_there(side: tuple[MinionContext, Minions, Bus]) -> None:
    answer = run(side[0], "wheel", name="key.nosuch")
    assert (answer["result"], answer["comment"]) == (False, "'key.nosuch' is not available.")


def test_runners_at_once(side: tuple[MinionContext, Minions, Bus]) -> None:
    runners = {
        "one": [{"name": "test.arg"}, {"arg": [1]}],
        "two": {"name": "test.nosuch"},
    }
    answer = run(side[0], "parallel_runners", runners=runners)
    assert (answer["result"], answer["comment"]) == (False, "Runner functions failed: two.")
    assert answer["changes"]["ret"]["one"]["return"] == {"args": [1], "kwargs": {}}
    wrong = run(side[0], "parallel_runners", runners=["test.arg"])
    assert wrong["comment"] == "'runners' must be a map: id → name, arg and kwarg of a runner"


def test_events_that_are_waited_for(side: tuple[MinionContext, Minions, Bus]) -> None:
    ctx, _, bus = side
    bus.heard = [
        Event("my/other", {"id": "b"}),
        Event("my/tag", {"id": "a"}),
        Event("my/tag", {"id": "stranger"}),
        Event("my/tag", {"data": {"id": "b"}}),
    ]
    answer = run(ctx, "wait_for_event", name="m[xy]/tag", id_list=["a", "b"])
    assert answer["changes"] == {"minions_seen": ["a", "b"]}
    assert answer["comment"].startswith("All events seen in ")
    bus.heard = [Event("my/tag", {"id": "a"})]
    late = run(ctx, "wait_for_event", name="my/tag", id_list=["a", "b"], timeout=0.01)
    assert (late["result"], late["changes"]) == (False, {"minions_seen": ["a"]})
    assert late["comment"] == "Timeout value reached."
