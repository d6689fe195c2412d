"""``state.orchestrate`` and its like, over SLS files and minions that answer from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from orchestra import JID, orchestra

from saltlite.client.runner import RunnerClient
from saltlite.errors import FunctionError, UsageError
from saltlite.loader.master_functions import resolve
from saltlite.loader.registry import argspec
from saltlite.runners import state

DEPLOY = """
ping:
  salt.function:
    - name: test.ping
    - tgt: {{ pillar.get('tgt', 'm*') }}
mend:
  test.nop:
    - name: {{ opts['id'] }} {{ opts['__role'] }} {{ saltenv }} {{ salt['saltutil.runner']('test.arg', arg=[1])['args'][0] }}
    - onfail:
      - salt: ping
after:
  test.nop:
    - require:
      - salt: ping
tell:
  event.send:
    - name: my/tag
    - data: {a: 1}
"""  # noqa: E501
OUTER = """
inner:
  salt.runner:
    - name: state.orchestrate
    - kwarg: {mods: deploy, pillar: {tgt: m1}}
"""


def results(found: dict[str, Any]) -> dict[str, Any]:
    answers = found["data"]["m_master"]
    return {answer["__id__"]: answer["result"] for answer in answers.values()}


def test_states_run_on_the_master_as_their_requisites_allow(tmp_path: Path) -> None:
    ctx, minions, bus = orchestra(tmp_path, deploy=DEPLOY)
    minions.answers["test.ping"] = {"m1": {"ret": True}}
    found = state.orchestrate(ctx, "deploy", pillar={"tgt": "m1"})
    assert (found["outputter"], found["retcode"]) == ("highstate", 0)
    assert set(results(found).values()) == {True}
    assert "test_|-mend_|-m_master master base 1_|-nop" in found["data"]["m_master"]
    assert minions.asked[0][0] == "m1"
    assert ("my/tag", {"a": 1}) in bus.fired

    minions.answers["test.ping"] = {"m1": {"ret": False}}
    failed = state.orchestrate(ctx, "deploy")
    assert failed["retcode"] == 1
    assert results(failed) == {"ping": False, "mend": True, "after": False, "tell": True}


def test_one_orchestration_in_another_tells_all_under_the_outer_ones_jid(tmp_path: Path) -> None:
    ctx, minions, bus = orchestra(tmp_path, deploy=DEPLOY, outer=OUTER)
    minions.answers["test.ping"] = {"m1": {"ret": True}}
    found = state.orchestrate(ctx, "outer")
    (answer,) = found["data"]["m_master"].values()
    assert (answer["result"], answer["changes"]["return"]["retcode"]) == (True, 0)
    told = [data["type"] for tag, data in bus.fired if tag == f"salt/run/{JID}/args"]
    assert told == ["runner", "function"]
    assert ctx.jid == JID

    minions.answers["test.ping"] = {}
    (answer,) = state.orchestrate(ctx, "outer")["data"]["m_master"].values()
    assert answer["result"] is False
    assert answer["comment"] == "Runner function 'state.orchestrate' failed."


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mods": "nosuch"}, ["No matching sls found for 'nosuch' in env 'base'"]),
        ({"mods": "deploy", "exclude": "deploy"}, {}),
    ],
)
def test_nothing_that_ran_is_no_success(tmp_path: Path, given: dict[str, Any], said: Any) -> None:
    ctx, _, _ = orchestra(tmp_path, deploy=DEPLOY)
    found = state.orchestrate(ctx, **given)
    assert (found["retcode"], found["data"]) == (1, {"m_master": said})


def test_a_pillar_that_is_none_is_one_line(tmp_path: Path) -> None:
    ctx, _, _ = orchestra(tmp_path, deploy=DEPLOY)
    with pytest.raises(UsageError, match="Pillar data must be formatted as a dictionary"):
        state.orch(ctx, "deploy", pillar="abc")
    with pytest.raises(UsageError, match="pillar_enc is not supported"):
        state.sls(ctx, "deploy", pillar="abc", pillar_enc="gpg")


def test_single_states_and_high_data(tmp_path: Path) -> None:
    ctx, minions, bus = orchestra(tmp_path)
    minions.answers["test.ping"] = {"m1": {"ret": True}}
    single = state.orchestrate_single(ctx, "salt.function", "test.ping", tgt="m1")
    (answer,) = single["m_master"].values()
    assert answer["changes"] == {"ret": {"m1": True}}
    assert bus.fired[-1] == (
        f"salt/run/{JID}/progress",
        {"data": single, "outputter": "highstate"},
    )
    data = {"x": {"salt.function": [{"name": "test.ping"}, {"tgt": "m1"}]}}
    high = state.orchestrate_high(ctx, data, test=True)
    (answer,) = high["m_master"].values()
    assert answer["comment"] == "Function test.ping would be executed on target m1"
    assert len(minions.asked) == 1
    with pytest.raises(UsageError, match="high data are a map"):
        state.orchestrate_high(ctx, {"x": "salt.function"})


def test_high_data_is_shown(tmp_path: Path) -> None:
    ctx, minions, _ = orchestra(tmp_path, deploy=DEPLOY)
    shown = state.orchestrate_show_sls(ctx, "deploy", pillar={"tgt": "shown"})["m_master"]
    assert {"tgt": "shown"} in shown["ping"]["salt"]
    assert not minions.asked


PAUSED = """
first:
  salt.runner:
    - name: state.{word}
    - arg: ['{jid}', second]
second:
  test.nop: []
third:
  test.nop: []
"""


def test_an_orchestration_is_told_to_end(tmp_path: Path) -> None:
    ctx, _, _ = orchestra(tmp_path, paused=PAUSED.format(word="soft_kill", jid=JID))
    found = state.orchestrate(ctx, "paused")
    assert results(found) == {"first": True}
    assert not list(tmp_path.rglob(JID)), "nothing is left of what was said"


def test_an_orchestration_is_told_to_end_before_it_begins(tmp_path: Path) -> None:
    ctx, _, _ = orchestra(tmp_path, paused="first: {test.nop: []}\nsecond: {test.nop: []}\n")
    state.soft_kill(ctx, JID, "second")
    assert results(state.orchestrate(ctx, "paused")) == {"first": True}


def test_a_runner_of_users_says_by_its_context_that_it_failed(tmp_path: Path) -> None:
    ctx, _, _ = orchestra(tmp_path)
    folder = tmp_path / "runners"
    folder.mkdir()
    (folder / "own.py").write_text(
        "def fail():\n    __context__['retcode'] = 3\n    return 'said'\n"
    )
    ctx.config.extra["runner_dirs"] = [str(folder)]
    ran = RunnerClient(ctx).run("own.fail", [], {})
    assert (ran.return_, ran.success, ran.retcode) == ("said", True, 3)
    assert ctx.run("runner", "own.fail", [], {})["success"] is False


RUN = [
    "mods",
    "saltenv",
    "test",
    "exclude",
    "pillar",
    "pillarenv",
    "pillar_enc",
    "orchestration_jid",
]
SHOW = ["mods", "saltenv", "test", "queue", "pillar", "pillarenv", "pillar_enc"]


@pytest.mark.parametrize(
    ("name", "args", "defaults"),
    [
        *((name, RUN, ["base", *[None] * 6]) for name in ("orchestrate", "orch", "sls")),
        *(
            (f"{name}_show_sls", SHOW, ["base", None, False, None, None, None])
            for name in ("orchestrate", "orch")
        ),
        ("orchestrate_single", ["fun", "name", "test", "queue", "pillar"], [None, False, None]),
        ("orchestrate_high", ["data", "test", "queue", "pillar"], [None, False, None]),
    ],
)
def test_the_arguments_are_salts(
    name: str, args: list[str], defaults: list[Any], tmp_path: Path
) -> None:
    """As ``sys.runner_argspec`` of Salt 3006.30 has them."""
    ctx, _, _ = orchestra(tmp_path)
    found = argspec(resolve(f"state.{name}", ctx).call)
    assert (found["args"], found["defaults"]) == (args, defaults)


LOW = {"state": "test", "fun": "nop", "__sls__": "a", "__env__": "base", "order": 10000}


def low_of(**arguments: Any) -> dict[str, Any]:
    return {**LOW, "__id__": "a", "name": "a", **arguments}


def test_two_minions_are_compared(tmp_path: Path) -> None:
    ctx, minions, _bus = orchestra(tmp_path)
    asked: list[Any] = []

    def cmd(tgt: Any, fun: str, arg: Any = (), **kwargs: Any) -> dict[str, Any]:
        asked.append((tgt, fun, arg, kwargs))
        return {"m1": [low_of(x=1)], "m2": [low_of(x=2, order=10003)]}

    minions.cmd = cmd  # type: ignore[attr-defined]
    found = state.diff(ctx, "m1", "m2")
    assert found["changed"] == {"test_|-a_|-a_|-nop": {"x": {"old": 1, "new": 2}}}
    assert not (found["added"] or found["removed"] or found["moved"])
    state.diff(ctx, "m1", "m2", mods="web", saltenv="dev", timeout=3)
    how = {"tgt_type": "list", "timeout": 3, "kwarg": {"saltenv": "dev"}}
    assert asked[1] == (["m1", "m2"], "state.show_low_sls", ["web"], how)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"m1": []}, "m2 did not return"),
        ({"m1": [], "m2": ["No Top file"]}, "m2: state.show_lowstate failed:\n  No Top file"),
        ({"m1": [], "m2": "no such function"}, "  no such function"),
        ({"m1": [], "m2": [{"state": "test"}]}, "m2: state.show_lowstate failed"),
    ],
)
def test_minions_without_low_data(tmp_path: Path, answers: Any, said: str) -> None:
    ctx, minions, _bus = orchestra(tmp_path)
    minions.cmd = lambda *_args, **_kwargs: answers  # type: ignore[attr-defined]
    with pytest.raises(FunctionError) as caught:
        state.diff(ctx, "m1", "m2")
    assert said in str(caught.value)


def test_a_minion_that_is_not_known(tmp_path: Path) -> None:
    ctx, _minions, _bus = orchestra(tmp_path)
    with pytest.raises(FunctionError, match="'web9' has no accepted key"):
        state.diff(ctx, "m1", "web9")
