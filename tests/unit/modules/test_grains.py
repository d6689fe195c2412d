"""grains.set and its kin: the file beside the configuration, which must never be lost.

What each answers is compared with real Salt in tests/cases/data/differential/render.yaml.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace

import pytest
import yaml

from saltlite.config.minion import GrainOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.modules import grains
from saltlite.states import grains as grain_states


def make(tmp_path, grains=None):
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(
            conf_file=str(tmp_path / "conf" / "minion"), cachedir=str(tmp_path / "cache")
        ),
    )
    ctx = MinionContext(config=config, host=Host(), grains=grains or {}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def file(tmp_path):
    (tmp_path / "conf").mkdir()
    return tmp_path / "conf" / "grains"


def kept(file):
    return yaml.safe_load(file.read_text())


def test_what_the_file_has_stays(tmp_path, file):
    file.write_text("# ours\nold: {a: [1]}\né: ü\n")
    ctx = make(tmp_path)
    assert ctx.functions.call("grains.setval", "role", "db") == {"role": "db"}
    assert kept(file) == {"old": {"a": [1]}, "é": "ü", "role": "db"}
    assert ctx.grains["role"] == "db"


def test_the_mode_stays(tmp_path, file):
    file.write_text("a: 1\n")
    file.chmod(0o600)
    make(tmp_path).functions.call("grains.setval", "b", 2)
    assert file.stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize("text", ["a: [1", "- a\n", "a: 1\na: 2\n", "\xff\xfe"])
def test_a_file_that_cannot_be_read_is_not_replaced(text, tmp_path, file):
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(FunctionError, match="Unable to read existing grains file"):
        make(tmp_path).functions.call("grains.setval", "b", 2)
    assert file.read_bytes() == text.encode("latin-1")


def test_a_link_is_not_followed(tmp_path, file):
    (tmp_path / "secret").write_text("a: 1\n")
    file.symlink_to(tmp_path / "secret")
    with pytest.raises(SaltliteError):
        make(tmp_path).functions.call("grains.setval", "b", 2)
    assert (tmp_path / "secret").read_text() == "a: 1\n"


def test_two_writers_lose_nothing(tmp_path, file):
    def write(part):
        ctx = make(tmp_path)
        for number in range(10):
            ctx.functions.call("grains.setval", f"{part}{number}", number)

    threads = [threading.Thread(target=write, args=(part,)) for part in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(kept(file)) == 20


def test_none_empties_and_destructive_removes(tmp_path, file):
    ctx = make(tmp_path)
    ctx.functions.call("grains.setvals", {"a": 1, "b": 2})
    ctx.functions.call("grains.setval", "a", None)
    assert kept(file) == {"a": None, "b": 2}
    ctx.functions.call("grains.setval", "a", None, destructive=True)
    assert kept(file) == {"b": 2}
    assert dict(ctx.grains) == {"b": 2}


def test_the_minion_is_told(tmp_path, file):
    ctx = make(tmp_path)
    told = []
    ctx.refresh_grains = lambda: told.append(1) or {}
    ctx.functions.call("grains.setval", "a", 1)
    assert told == [1]


def test_nested_grains_leave_their_neighbours(tmp_path, file):
    ctx = make(tmp_path, {"app": {"db": {"port": 1, "host": "h"}, "x": 1}})
    answer = ctx.functions.call("grains.set", "app:db:port", 2)
    whole = {"app": {"db": {"port": 2, "host": "h"}, "x": 1}}
    assert answer == {"comment": "", "changes": whole, "result": True}
    assert kept(file) == whole
    assert ctx.functions.call("grains.delkey", "app:x")["changes"] == {
        "app": {"db": {"port": 2, "host": "h"}}
    }


def test_the_lock_is_no_grain(tmp_path, file):
    make(tmp_path).functions.call("grains.setval", "a", 1)
    assert sorted(os.listdir(file.parent)) == [".grains.lock", "grains"]


@pytest.mark.parametrize(
    ("key", "value", "same"),
    [("a:n", 7, True), ("a:n", "7", True), ("a", "", False), ("nosuch", "", True)],
)
def test_a_grain_that_is_not_there_equals_an_empty_text(key, value, same, tmp_path, file):
    ctx = make(tmp_path, {"a": {"n": 7}})
    assert ctx.functions.call("grains.equals", key, value) is same  # as Salt 3006.30


@pytest.mark.parametrize("key", ["a:b", "a:b:c", "a:b:c:d"])
def test_a_value_that_would_be_lost_refuses_at_any_depth(key):
    """The state plans by the same rule: a test run foretells what a real one would refuse."""
    held = {"a": "x"}
    said = "The key 'a' value is 'x', which is different from the provided key 'b'."
    assert grains.refusal(held, key, 1).startswith(said)
    assert grain_states.present(key, 1).plan(held).comment.startswith(said)
    assert grains.refusal(held, key.replace("b", "x", 1), 1) == ""


# --- two jobs, of which each began before the other one had written ------------------------------


@pytest.mark.parametrize(
    ("calls", "result"),
    [
        ([("append", "l", 1), ("append", "l", 2)], {"l": [0, 1, 2]}),
        ([("append", "l", 1), ("remove", "l", 0)], {"l": [1]}),
        ([("append", "a:l", 1), ("append", "a:l", 2)], {"a": {"l": [1, 2]}}),
        ([("set", "a:x", 1), ("set", "a:y", 2)], {"a": {"x": 1, "y": 2}}),
        ([("set", "a:x", 1), ("delkey", "a:old")], {"a": {"x": 1}}),
    ],
    ids=str,
)
def test_of_two_jobs_with_old_grains_none_is_lost(calls, result, tmp_path, file):
    before = {"l": [0], "a": {"old": 1}} if result.get("a") == {"x": 1} else {"l": [0]}
    file.write_text(yaml.safe_dump(before))
    jobs = [make(tmp_path, dict(before)) for _call in calls]
    for ctx, (name, *given) in zip(jobs, calls, strict=True):
        ctx.functions.call(f"grains.{name}", *given)
    assert {name: kept(file)[name] for name in result} == result


def test_reading_changing_and_writing_are_one_step(tmp_path, file, monkeypatch):
    """Another job that comes between the look at a list and its writing waits."""
    file.write_text("l: []\n")
    appended, others = grains._append_value, []

    def append_slowly(*given):
        if not others:
            other = make(tmp_path, {"l": []})
            run = threading.Thread(target=other.functions.call, args=("grains.append", "l", 2))
            others.append(run)
            run.start()
            run.join(0.3)  # one that does not stand in line is done by then
        return appended(*given)

    monkeypatch.setattr(grains, "_append_value", append_slowly)
    make(tmp_path, {"l": []}).functions.call("grains.append", "l", 1)
    others[0].join()
    assert kept(file) == {"l": [1, 2]}


def test_what_is_set_beside_the_file_counts_above_it(tmp_path, file):
    file.write_text("l: [file]\n")
    ctx = make(tmp_path, {"l": ["config"]})
    ctx.config = replace(ctx.config, grains=GrainOptions(grains={"l": ["config"]}))
    ctx.functions.call("grains.append", "l", 1)
    assert kept(file) == {"l": ["config", 1]}
