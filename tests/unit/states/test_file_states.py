"""File states beside real Salt's recorded answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.states.registry import functions, resolve

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "support"))

from file_state_cases import RUNS, filled, masked, prepare  # noqa: E402

CASES = TESTS / "cases/states"
WORLD = yaml.safe_load((CASES / "file_world.yaml").read_text())
ROOT = os.geteuid() == 0


def recorded():
    for path in sorted(CASES.glob("file_*.yaml")):
        if path.name == "file_world.yaml":
            continue
        for number, case in enumerate(yaml.load(path.read_text(), yaml.CSafeLoader)):
            yield pytest.param(case, id=f"{path.stem}-{number}-{case['fun']}")


@pytest.fixture
def ctx(tmp_path):
    config = MinionConfig(
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path / "t/srv")]}),
    )
    (tmp_path / "cache").mkdir()
    grains = {"id": "x", **WORLD["grains"]}
    ctx = MinionContext(config=config, host=Host(), grains=grains, pillar=WORLD["pillar"])
    ctx.functions = Registry(ctx)
    return ctx


def answer(ctx, case, tmp, *, test):
    try:
        said = realise(resolve(case["fun"], ctx).call(**filled(case["args"], tmp)), ctx, test=test)
    except SaltliteError as error:
        said = Verdict(result=False, comment=str(error))
    assert isinstance(said, Verdict)
    said = {"result": said.result, "comment": said.comment, "changes": dict(said.changes)}
    return sorted_removals(masked(said, tmp))


def sorted_removals(said):
    """What is removed comes in the order of the directory."""
    removed = said.get("changes", {}).get("removed")
    if isinstance(removed, list):
        said["changes"]["removed"] = sorted(removed)
    return said


@pytest.mark.skipif(not ROOT, reason="recorded as root")
@pytest.mark.parametrize("case", list(recorded()))
def test_as_real_salt_did(case, ctx, tmp_path):
    tmp = tmp_path / "t"
    prepare(tmp, WORLD, case)
    if case["fun"].partition(".")[2] not in functions("file"):
        pytest.skip("not there")
    for run, (test, wanted) in enumerate(zip(RUNS, case["answers"], strict=True)):
        said = answer(ctx, case, tmp, test=test)
        if run in case.get("differs", {}):
            assert said["result"] == case["differs"][run]
            continue
        wanted = sorted_removals(wanted)
        if "An exception occurred" in wanted.get("comment", ""):
            assert said["result"] is False
            continue
        assert said["result"] == wanted["result"], (run, said, wanted)
        if wanted["result"] is False:
            assert said["changes"] == {}  # where nothing was changed Salt may tell of changes
            continue
        assert said["changes"] == wanted["changes"], run
        if not test:
            assert said["comment"] == wanted["comment"], run


def test_cleaning_leaves_what_is_required(ctx, tmp_path):
    top = tmp_path / "d"
    (top / "sub").mkdir(parents=True)
    for name in ("mine", "sub/mine", "other", "named"):
        (top / name).write_text("")
    ctx.state["lowstate"] = [
        {"state": "file", "fun": "managed", "__id__": "one", "name": f"{top}/mine"},
        {"state": "file", "fun": "managed", "__id__": "two", "name": f"{top}/sub/mine"},
    ]
    require = [{"file": "one"}, {"file": "two"}, {"file": f"{top}/named"}]
    call = resolve("file.directory", ctx).call
    done = realise(call(name=str(top), clean=True, require=require), ctx, test=False)
    assert done.changes["removed"] == [f"{top}/other"]
    assert sorted(os.listdir(top)) == ["mine", "named", "sub"]


@pytest.mark.parametrize("arguments", [{"contents": "hidden\n"}, {"source": "{tmp}/new"}])
@pytest.mark.parametrize("test", [True, False])
def test_what_is_not_to_be_shown_is_not(ctx, tmp_path, arguments, test):
    (tmp_path / "new").write_text("hidden\n")
    (tmp_path / "f").write_text("secret\n")
    call = resolve("file.managed", ctx).call
    given = filled(arguments, tmp_path)
    said = realise(call(name=str(tmp_path / "f"), show_changes=False, **given), ctx, test=test)
    assert said.changes["diff"] == "<show_changes=False>"
    assert "hidden" not in repr(said)
    assert "secret" not in repr(said)
