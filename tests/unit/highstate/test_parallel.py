"""States in processes of their own: at once, awaited, bounded, heard, and gone with the run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import FunctionError
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.parallel import Answer
from saltlite.highstate.run import run_low
from saltlite.highstate.state_return import StateReturn
from saltlite.host import Host
from saltlite.loader.registry import Registry

Make = Callable[..., MinionContext]
DEADLINE_TRIES = 400


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(**options: Any) -> MinionContext:
        tree = tmp_path / "tree"
        tree.mkdir(exist_ok=True)
        settings = {
            "root_dir": str(tmp_path / "root"),
            "file_client": "local",
            "id": "web1",
            "file_roots": {"base": [str(tree)]},
            **options,
        }
        (tmp_path / "minion").write_text(json.dumps(settings))
        config = load_minion(str(tmp_path), {}, cache_id=False)
        ctx = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
        ctx.functions = Registry(ctx)
        return ctx

    return made


def meets(own: Path, other: Path, tries: int = DEADLINE_TRIES) -> str:
    """A command that ends well once another one has begun."""
    wait = f"for i in $(seq {tries}); do test -e {other} && exit 0; sleep 0.02; done"
    return f"touch {own}; {wait}; exit 1"


def beside(command: str, **more: Any) -> dict[str, Any]:
    return {
        "cmd": ["run", {"name": command}, {"parallel": True}, *({k: v} for k, v in more.items())]
    }


def run(ctx: MinionContext, high: dict[str, Any]) -> dict[str, Answer]:
    """The answers by id, in the order of the returns."""
    found = ctx.functions.call("state.high", high)
    assert isinstance(found, dict), found
    return {answer["__id__"]: answer for answer in found.values()}


def test_they_run_at_the_same_time_and_say_so(make: Make, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    found = run(make(), {"a": beside(meets(one, two)), "b": beside(meets(two, one))})
    assert [answer["result"] for answer in found.values()] == [True, True]
    assert [answer["__parallel__"] for answer in found.values()] == [True, True]
    assert [answer["__run_num__"] for answer in found.values()] == [0, 1]


def test_no_more_of_them_at_once_than_allowed(make: Make, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    ctx = make(state_max_parallel=1)
    found = run(ctx, {"a": beside(meets(one, two, 3)), "b": beside(meets(two, one, 3))})
    assert [answer["result"] for answer in found.values()] == [False, True]


def test_who_requires_one_waits_for_it_and_the_others_do_not(make: Make, tmp_path: Path) -> None:
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    found = run(
        make(),
        {
            "slow": beside(meets(begun, gate)),
            "free": {"cmd": ["run", {"name": f"touch {gate}"}]},
            "after": {"test": ["nop", {"require": [{"cmd": "slow"}]}]},
            "changed": {"test": ["nop", {"onchanges": [{"cmd": "slow"}]}]},
        },
    )
    assert [answer["result"] for answer in found.values()] == [True] * 4
    assert found["changed"]["comment"] == "Success!"
    assert list(found) == ["slow", "free", "after", "changed"]


def test_a_failed_one_fails_what_requires_it(make: Make) -> None:
    found = run(
        make(),
        {
            "bad": {"test": ["fail_without_changes", {"parallel": True}]},
            "after": {"test": ["nop", {"require": [{"test": "bad"}]}]},
        },
    )
    assert found["after"]["comment"] == "One or more requisite failed: None.bad"


def test_failhard_of_one_lets_nothing_else_begin(make: Make) -> None:
    high = {
        "bad": {"test": ["fail_without_changes", {"parallel": True}, {"failhard": True}]},
        "waits": {"test": ["nop", {"onfail": [{"test": "bad"}]}]},
        "yet": {"test": ["nop"]},
    }
    assert list(run(make(), high)) == ["bad"]


def test_a_killed_one_is_a_failure_that_names_the_signal(make: Make) -> None:
    found = run(make(), {"bad": beside("kill -KILL $PPID"), "other": {"test": ["nop"]}})
    assert found["bad"]["result"] is False
    assert found["bad"]["comment"] == "The process of this state was ended by SIGKILL."
    assert found["other"]["result"] is True


class Master:
    """Keeps what it is asked; refuses one command."""

    def __init__(self) -> None:
        self.loads: list[PlainMap] = []

    def request(self, load: PlainMap) -> Plain:
        self.loads.append(load)
        if load.get("tag") == "refused":
            raise FunctionError("not today")
        return None


def test_what_they_ask_of_the_master_goes_through_the_run(make: Make) -> None:
    ctx = make()
    master = ctx.master = Master()
    found = run(
        ctx,
        {
            "told": {"event": ["send", {"name": "told/one"}, {"parallel": True}]},
            "refused": {"event": ["send", {"name": "refused"}, {"parallel": True}]},
        },
    )
    assert sorted(str(load["tag"]) for load in master.loads) == ["refused", "told/one"]
    assert (found["told"]["result"], found["refused"]["result"]) == (True, False)
    assert "not today" in found["refused"]["comment"]
    assert ctx.master is master


def test_they_end_with_the_run(make: Make, tmp_path: Path) -> None:
    def told(tag: str, _answer: StateReturn, _total: int) -> None:
        assert tag.startswith("test")
        raise KeyboardInterrupt

    pid = tmp_path / "pid"
    command = f"echo $PPID > {pid}.new; mv {pid}.new {pid}; sleep 60"
    low: list[dict[str, Any]] = [
        {"state": "cmd", "fun": "run", "name": command, "__id__": "long", "parallel": True},
        {
            "state": "test",
            "fun": "nop",
            "name": "x",
            "__id__": "x",
            "onlyif": meets(tmp_path / "seen", pid),
        },
    ]
    with pytest.raises(KeyboardInterrupt):
        run_low(make(), [*map(Chunk.from_low, low)], {}, test=False, told=told)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


STATE = """
import os

LOADED_BY = os.getpid()

def told(name):
    by = [LOADED_BY, os.getpid()]
    return {"name": name, "result": True, "changes": {"by": by}, "comment": ""}
"""


def test_the_function_is_loaded_before_the_fork_and_not_by_each_process(
    make: Make, tmp_path: Path
) -> None:
    folder = tmp_path / "states"
    folder.mkdir()
    (folder / "whose.py").write_text(STATE)
    ctx = make(states_dirs=[str(folder)])
    high = {name: {"whose": ["told", {"parallel": True}]} for name in ("a", "b")}
    by = [answer["changes"]["by"] for answer in run(ctx, high).values()]
    assert [loaded for loaded, _ran in by] == [os.getpid()] * 2
    assert len({os.getpid(), *(ran for _loaded, ran in by)}) == 3
