"""``state.*`` that tell runs what not to do: disabled SLS, pauses, soft kills, a locked saltenv."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.core.plain import PlainMap
from saltlite.errors import FunctionError, UsageError
from saltlite.highstate import control
from saltlite.host import Host
from saltlite.loader.registry import Registry

JID = "20240101000000000000"
OTHER = "20240101000000000001"
SLS = "a: {test.nop: []}\nb: {test.nop: []}\n"

Make = Callable[..., MinionContext]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(**options: Any) -> MinionContext:
        tree = tmp_path / "tree"
        (tree / "web").mkdir(parents=True, exist_ok=True)
        for name in ("one.sls", "two.sls", "web/init.sls", "web/port.sls"):
            (tree / name).write_text(SLS)
        (tree / "top.sls").write_text("base: {'*': [one]}")
        (tree / "other.sls").write_text("base: {'*': [two]}")
        settings = {
            "root_dir": str(tmp_path / "root"),
            "file_client": "local",
            "id": "web1",
            "file_roots": {"base": [str(tree)], "dev": [str(tmp_path)]},
            **options,
        }
        (tmp_path / "minion").write_text(json.dumps(settings))
        config = load_minion(str(tmp_path), {}, cache_id=False)
        grains: dict[str, Any] = {"id": "web1"}
        ctx = MinionContext(config=config, host=Host(), grains=grains, pillar={})
        ctx.functions = Registry(ctx)
        return ctx

    return made


def ids(found: Any) -> list[str]:
    assert isinstance(found, dict), found
    return [answer["__id__"] for answer in found.values()]


# --- disabled ------------------------------------------------------------------------------------


def disabled(ctx: MinionContext, *names: str) -> None:
    ctx.grains = {**ctx.grains, control.GRAIN: list(names)}


def test_disabling_is_told_and_kept_as_a_grain(make: Make, tmp_path: Path) -> None:
    ctx = make()
    found = ctx.functions.call("state.disable", ["one", "web.*"])
    assert found == {"res": True, "msg": "Info: one state disabled.\nInfo: web.* state disabled."}
    assert "state_runs_disabled" in (tmp_path / "grains").read_text()
    disabled(ctx, "one", "web.*")
    assert ctx.functions.call("state.list_disabled") == ["one", "web.*"]
    assert ctx.functions.call("state.disable", "one")["msg"] == "Info: one state already disabled."
    assert ctx.functions.call("state.enable", "one")["msg"] == "Info: one state enabled."


def test_of_two_jobs_that_disable_none_is_lost(make: Make, tmp_path: Path) -> None:
    first, second, third = make(), make(), make()
    first.functions.call("state.disable", "one")
    second.functions.call("state.disable", "two")
    assert yaml.safe_load((tmp_path / "grains").read_text()) == {control.GRAIN: ["one", "two"]}
    third.functions.call("state.enable", "one")
    assert third.functions.call("state.list_disabled") == ["two"]


def test_what_is_disabled_is_not_run(make: Make) -> None:
    ctx = make()
    disabled(ctx, "one", "web.*", "highstate")
    assert ctx.functions.call("state.apply", "one,web.port,two") == [
        'The state file "one" is currently disabled, to re-enable, run state.enable one.',
        'The state file "web.port" is currently disabled by "web.*", to re-enable, run '
        "state.enable web.*.",
    ]
    assert ctx.state["retcode"] == 1
    assert ctx.functions.call("state.highstate")["comment"] == "Disabled"


def test_others_are_run(make: Make) -> None:
    ctx = make()
    disabled(ctx, "one", "web.*")
    assert ids(ctx.functions.call("state.apply", "two")) == ["a", "b"]


# --- pauses --------------------------------------------------------------------------------------


def goes_on(ctx: MinionContext) -> MinionContext:
    """As if a job of that number were at work here."""
    proc = Path(ctx.config.paths.cachedir, "proc", JID)
    proc.parent.mkdir(parents=True)
    proc.touch()
    ctx.job = {"jid": JID}
    return ctx


def test_a_run_ends_before_the_state_that_is_named(make: Make) -> None:
    ctx = goes_on(make())
    ctx.functions.call("state.soft_kill", JID, "b")
    assert ctx.functions.call("state.get_pauses") == {JID: {"b": {"kill": True}}}
    assert ids(ctx.functions.call("state.apply", "one")) == ["a"]
    assert ctx.functions.call("state.get_pauses") == {}  # gone with the run


def test_a_run_waits_until_it_is_resumed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = goes_on(make())
    ctx.functions.call("state.pause", JID)
    slept: list[float] = []

    def sleep(wait_s: float) -> None:
        slept.append(wait_s)
        ctx.functions.call("state.resume", JID)

    monkeypatch.setattr("saltlite.highstate.control.time.sleep", sleep)
    assert ids(ctx.functions.call("state.apply", "one")) == ["a", "b"]
    assert slept == [control.POLL_S]


def test_a_pause_with_an_end_ends_by_itself(make: Make) -> None:
    ctx = goes_on(make())
    ctx.functions.call("state.pause", JID, "a", 0)
    assert ctx.functions.call("state.get_pauses", JID) == {JID: {"a": {"duration": 0.0}}}
    assert ids(ctx.functions.call("state.apply", "one")) == ["a", "b"]


@pytest.mark.parametrize(("ident", "ran"), [(None, []), ("b", ["a"])])
def test_a_run_may_be_told_to_end_before_it_begins(
    make: Make, ident: str | None, ran: list[str]
) -> None:
    ctx = make()
    ctx.functions.call("state.soft_kill", JID, ident)
    ctx.functions.call("state.soft_kill", OTHER)  # what is said to another does not end it
    assert sorted(ctx.functions.call("state.get_pauses")) == sorted([JID, OTHER])
    assert ids(goes_on(ctx).functions.call("state.apply", "one")) == ran
    assert list(ctx.functions.call("state.get_pauses")) == [OTHER]


def test_a_run_that_was_paused_before_it_began_waits(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = make()
    ctx.functions.call("state.pause", JID, "b")
    slept: list[float] = []

    def sleep(wait_s: float) -> None:
        slept.append(wait_s)
        ctx.functions.call("state.resume", JID, "b")

    monkeypatch.setattr("saltlite.highstate.control.time.sleep", sleep)
    assert ids(goes_on(ctx).functions.call("state.apply", "one")) == ["a", "b"]
    assert slept == [control.POLL_S]


def test_what_no_run_has_heard_is_dropped_in_the_end(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = make()
    ctx.functions.call("state.soft_kill", JID)
    said = Path(ctx.config.paths.cachedir, control.DIRECTORY, JID)
    day_before_s = said.stat().st_mtime - control.KEPT_S - 1
    os.utime(said, (day_before_s, day_before_s))
    ctx.functions.call("state.soft_kill", OTHER)
    assert list(ctx.functions.call("state.get_pauses")) == [OTHER]
    monkeypatch.setattr(control, "MOST", 3)
    for number in range(6):
        ctx.functions.call("state.soft_kill", f"2026010203040500000{number}")
    assert len(ctx.functions.call("state.get_pauses")) == 3


def test_what_is_said_to_a_run_that_goes_on_is_kept_whatever_its_age(make: Make) -> None:
    ctx = goes_on(make())
    ctx.functions.call("state.pause", JID)
    os.utime(Path(ctx.config.paths.cachedir, control.DIRECTORY, JID), (0, 0))
    ctx.functions.call("state.soft_kill", OTHER)
    assert sorted(ctx.functions.call("state.get_pauses")) == sorted([JID, OTHER])


@pytest.mark.parametrize("jid", ["", "..", "a/b", "../" + "1" * 20, "1" * 19, "1" * 20 + "\n"])
def test_nothing_is_said_to_what_is_no_job(make: Make, jid: str) -> None:
    ctx = make()
    with pytest.raises(UsageError, match="no job id"):
        ctx.functions.call("state.pause", jid)
    assert ctx.functions.call("state.get_pauses") == {}


# --- the rest ------------------------------------------------------------------------------------


def test_another_top_file(make: Make) -> None:
    found = make().functions.call("state.top", "other.sls")
    assert {answer["__sls__"] for answer in found.values()} == {"two"}


def test_what_is_used_and_what_is_not(make: Make) -> None:
    usage = make().functions.call("state.show_state_usage")["base"]
    assert usage == {
        "used": ["one"],
        "unused": ["other", "top", "two", "web", "web.port"],
        "count_all": 6,
        "count_used": 1,
        "count_unused": 5,
    }


def test_a_highstate_of_which_all_is_excluded_is_empty(make: Make) -> None:
    assert make().functions.call("state.highstate", exclude="one") == {}


@pytest.mark.parametrize("function", ["highstate", "show_top", "show_lowstate"])
def test_a_locked_environment_stays(make: Make, function: str) -> None:
    ctx = make(lock_saltenv=True)
    with pytest.raises(FunctionError, match="lock_saltenv is enabled"):
        ctx.functions.call(f"state.{function}", saltenv="dev")


@pytest.mark.parametrize(("queue", "waits"), [(False, 0), (True, 1), (1, 0), (2, 1)])
def test_a_number_for_queue_bounds_who_waits(
    make: Make, monkeypatch: pytest.MonkeyPatch, queue: bool | int, waits: int
) -> None:
    slept: list[float] = []
    others: list[PlainMap] = [{"jid": str(n), "fun": "state.apply", "pid": n} for n in (1, 2)]

    class Jobs:
        def running(self) -> list[PlainMap]:
            return [] if slept else others

        def signal(self, jid: str, number: int) -> str:
            return ""

    ctx = make()
    ctx.jobs = Jobs()
    monkeypatch.setattr("saltlite.highstate.apply.time.sleep", slept.append)
    found = ctx.functions.call("state.apply", "one", queue=queue)
    assert len(slept) == waits
    assert isinstance(found, dict if waits else list)


def test_of_two_who_speak_to_a_run_at_once_both_are_heard(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = make()
    (Path(ctx.config.paths.cachedir) / "proc").mkdir(parents=True)
    (Path(ctx.config.paths.cachedir) / "proc" / JID).touch()
    real, others = control.pauses, []

    def read_slowly(one: MinionContext, jid: str) -> dict[str, Any]:
        found = real(one, jid)
        monkeypatch.setattr(control, "pauses", real)
        other = threading.Thread(target=lambda: control.say(ctx, JID, "b", {"duration": 5}))
        other.start()
        other.join(0.3)  # without a lock it is done by now, and would be overwritten
        others.append(other)
        return found

    monkeypatch.setattr(control, "pauses", read_slowly)
    control.say(ctx, JID, "a", {"kill": True})
    others[0].join()
    assert control.pauses(ctx, JID) == {"a": {"kill": True}, "b": {"duration": 5}}


def test_what_is_said_as_a_run_ends_does_not_stay(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = goes_on(make())
    write = control.write_file

    def write_as_it_ends(path: Path, data: bytes, *, mode: int) -> None:
        write(path, data, mode=mode)
        Path(ctx.config.paths.cachedir, "proc", JID).unlink()

    monkeypatch.setattr(control, "write_file", write_as_it_ends)
    control.say(ctx, JID, "a", {"kill": True})
    assert control.all_pauses(ctx) == {}
