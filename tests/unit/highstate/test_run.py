"""Runs of states, against what real Salt 3006.30 made of the same files.

They are in tests/cases/data/states/run. Left out of the answers: times, numbers of runs and
processes. The order is in them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from repository import DATA

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.minion.job import as_plain

CASES = DATA / "states" / "run"
NAMES = sorted(path.stem for path in CASES.glob("*.json"))


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    tree = tmp_path / "tree"
    shutil.copytree(CASES, tree)
    settings = {
        "root_dir": str(tmp_path / "root"),
        "file_client": "local",
        "id": "web1",
        "file_roots": {"base": [str(tree)]},
    }
    (tmp_path / "minion").write_text(json.dumps(settings))
    config = load_minion(str(tmp_path), {}, cache_id=False)
    made = MinionContext(
        config=config, host=Host(), grains={"id": "web1", "os": "Debian"}, pillar={}
    )
    made.functions = Registry(made)
    return made


def shown(answer: Mapping[str, Any]) -> dict[str, Any]:
    left = {k: v for k, v in answer.items() if k not in ("start_time", "__run_num__", "__sls__")}
    left["changes"] = {key: value for key, value in answer["changes"].items() if key != "pid"}
    left["duration"] = "duration" in answer
    # Behind Salt's words ours say where the declaration is, and what was meant.
    left["comment"] = re.sub(r"(?m)^(salt://\S+:\d+|did you mean).*\n", "", answer["comment"])
    plain: dict[str, Any] = as_plain(left)
    return plain


@pytest.mark.parametrize("kind", ["real", "test"])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_comes_out_as_in_salt(ctx: MinionContext, name: str, kind: str) -> None:
    expected = dict(json.loads((CASES / f"{name}.json").read_text())[kind])
    found = ctx.functions.call("state.apply", name, test=kind == "test")
    assert isinstance(found, dict)
    assert {tag: shown(answer) for tag, answer in found.items()} == expected
    order = sorted(found, key=lambda tag: found[tag]["__run_num__"])
    assert order == list(expected)


def single(ctx: MinionContext, fun: str, **kwargs: Any) -> dict[str, Any]:
    found = ctx.functions.call("state.single", fun, "x", **kwargs)
    answer: dict[str, Any] = next(iter(found.values()))
    return answer


def test_a_failed_state_gives_the_job_its_retcode(ctx: MinionContext) -> None:
    single(ctx, "test.fail_without_changes")
    assert ctx.state["retcode"] == 2
    single(ctx, "test.nop")
    assert ctx.state["retcode"] == 0


def test_what_does_not_compile_is_not_run(ctx: MinionContext) -> None:
    found = ctx.functions.call("state.apply", "nosuch")
    assert found == ["No matching sls found for 'nosuch' in env 'base'"]
    assert ctx.state["retcode"] == 1


def test_pillar_that_failed_lets_nothing_run(ctx: MinionContext) -> None:
    ctx.pillar = {"_errors": ["bad"]}
    found = ctx.functions.call("state.apply", "others")
    assert found == ["Pillar failed to render with the following messages:", "bad"]
    assert ctx.state["retcode"] == 5


REFUSES = "Pillar failed to render. Additional info follows:\n\n- bad\n- worse"
SHOWING = (  # whether ``force`` is asked for, as on Salt 3006.30
    ("state.show_sls", "others"), ("state.show_low_sls", "others"), ("state.show_highstate",),
    ("state.show_lowstate",), ("state.show_top",), ("state.show_states",),
    ("state.sls_exists", "others"), ("state.id_exists", "a", "others"),
)  # fmt: skip


@pytest.mark.parametrize("call", SHOWING, ids=lambda call: call[0])
def test_pillar_that_failed_shows_nothing_unless_forced(
    ctx: MinionContext, call: tuple[str, ...]
) -> None:
    ctx.pillar = {"_errors": ["bad", "worse"]}
    with pytest.raises(FunctionError) as caught:
        ctx.functions.call(*call)
    assert str(caught.value) == REFUSES
    ctx.functions.call(*call, force=True)


def test_a_file_of_the_minion_needs_a_pillar_too(ctx: MinionContext, tmp_path: Path) -> None:
    ctx.pillar = {"_errors": ["bad", "worse"]}
    (tmp_path / "here.sls").write_text("a: test.nop\n")
    with pytest.raises(FunctionError) as caught:
        ctx.functions.call("state.template", str(tmp_path / "here"))
    assert str(caught.value) == REFUSES
    assert len(ctx.functions.call("state.template", str(tmp_path / "here"), force=True)) == 1


@pytest.mark.parametrize(
    "call",
    [
        ("state.single", "test.nop", "x"), ("state.high", {"x": {"test": ["nop"]}}),
        ("state.template_str", "x: test.nop"),
    ],
    ids=lambda call: call[0],
)  # fmt: skip
def test_what_the_call_says_itself_needs_no_pillar(ctx: MinionContext, call: Any) -> None:
    ctx.pillar = {"_errors": ["bad"]}
    (answer,) = ctx.functions.call(*call).values()
    assert answer["result"] is True


@pytest.mark.parametrize(
    ("call", "is_run"),
    [
        (("state.apply", "others"), True), (("state.sls", "others"), True),
        (("state.sls_id", "{id}", "others"), True), (("state.top", "top.sls"), False),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)  # fmt: skip
def test_force_runs_with_a_pillar_that_failed(
    ctx: MinionContext, call: tuple[str, ...], is_run: bool
) -> None:
    (first, *_) = ctx.functions.call("state.show_sls", "others")
    ctx.pillar = {"_errors": ["bad"]}
    words = [word.format(id=first) for word in call]
    assert isinstance(ctx.functions.call(*words), list)
    assert isinstance(ctx.functions.call(*words, force=True), dict) is is_run


def test_another_run_is_waited_for_or_refuses_this_one(ctx: MinionContext) -> None:
    class Busy:
        def running(self) -> list[dict[str, Any]]:
            return [{"fun": "state.apply", "pid": 7, "jid": "20260102030405060708"}]

        def signal(self, jid: str, number: int) -> str:
            return ""

    ctx.jobs = Busy()  # type: ignore[assignment]
    found = ctx.functions.call("state.apply", "others")
    assert found == [
        'The function "state.apply" is running as PID 7 and was started at '
        "2026, Jan 02 03:04:05.060708 with jid 20260102030405060708"
    ]
    assert ctx.functions.call("state.running") == found
    assert isinstance(ctx.functions.call("state.apply", "others", concurrent=True), dict)


def test_an_argument_that_a_state_does_not_take_is_refused(ctx: MinionContext) -> None:
    with pytest.raises(TypeError, match="'bogus' is an invalid keyword argument"):
        single(ctx, "test.configurable_test_state", bogus=1)


def test_failhard_ends_the_run(ctx: MinionContext) -> None:
    high = {
        "a": {"test": ["fail_without_changes", {"order": 1}, {"failhard": True}]},
        "b": {"test": ["nop", {"order": 2}]},
    }
    found = ctx.functions.call("state.high", high)
    assert [answer["__id__"] for answer in found.values()] == ["a"]


def test_a_request_is_tried_kept_and_run_once(ctx: MinionContext, tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "tree" / "touch.sls").write_text(f"touch {made}:\n  cmd.run: []\n")
    tried = ctx.functions.call("state.request", "touch")
    assert [answer["result"] for answer in tried.values()] == [None]
    assert not made.exists()
    assert ctx.functions.call("state.check_request", "default")["mods"] == "touch"
    ran = ctx.functions.call("state.run_request")
    assert [answer["result"] for answer in ran.values()] == [True]
    assert made.exists()
    assert ctx.functions.call("state.check_request") == {}
    assert ctx.functions.call("state.run_request") == {}


def test_one_id_is_run_with_what_it_requires(ctx: MinionContext, tmp_path: Path) -> None:
    (tmp_path / "tree" / "three.sls").write_text(
        "a: {test.nop: []}\nb: {test.nop: [{require: [{test: a}]}]}\nc: {test.nop: []}\n"
    )
    found = ctx.functions.call("state.sls_id", "b", "three")
    assert [answer["__id__"] for answer in found.values()] == ["a", "b"]
    with pytest.raises(TypeError, match="No matches for ID 'z' found in SLS 'three'"):
        ctx.functions.call("state.sls_id", "z", "three")


def test_slots_are_filled_before_a_state_runs(ctx: MinionContext) -> None:
    answer = single(ctx, "cmd.run", env=[{"A": "__slot__:salt:test.echo('b c') ~ /d"}])
    assert answer["changes"]["retcode"] == 127  # there is no program x
    slot = "__slot__:salt:test.arg(1, k=v).kwargs.k"
    answer = single(ctx, "test.show_notification", text=slot)
    assert answer["comment"] == "v"


def test_each_finished_state_is_told_to_the_master(ctx: MinionContext, tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []

    class Master:
        def request(self, load: dict[str, Any]) -> None:
            heard.append(load)

    ctx.job = {"jid": "1"}
    ctx.master = Master()  # type: ignore[assignment]
    (tmp_path / "tree" / "told.sls").write_text(
        "a: {test.nop: [{fire_event: done}]}\nb: {test.nop: []}\n"
    )
    ctx.functions.call("state.sls", "told", state_events=True)
    assert [load["tag"] for load in heard] == [
        "salt/job/1/prog/web1/0",
        "salt/state_result/1/web1/done",
        "salt/job/1/prog/web1/1",
    ]
    assert heard[0]["data"]["ret"]["comment"] == "Success!"


def test_a_custom_state_sees_the_kind_of_run_and_calls_others(
    ctx: MinionContext, tmp_path: Path
) -> None:
    states = tmp_path / "tree" / "_states"
    states.mkdir()
    (states / "mine.py").write_text(
        "def made(name):\n"
        "    inner = __states__['test.succeed_with_changes'](name)\n"
        "    return {'name': name, 'result': None if __opts__['test'] else True,\n"
        "            'changes': {}, 'comment': ['inner', inner['comment']]}\n"
    )
    (tmp_path / "tree" / "custom.sls").write_text("x:\n  mine.made: []\n")
    tried = ctx.functions.call("state.apply", "custom", test=True)["mine_|-x_|-x_|-made"]
    assert (tried["result"], tried["comment"]) == (
        None,
        "inner\nIf we weren't testing, this would be successful with changes",
    )
    ran = ctx.functions.call("state.apply", "custom")["mine_|-x_|-x_|-made"]
    assert (ran["result"], ran["comment"]) == (True, "inner\nSuccess!")
