"""What a run of states looks at beside its states: the pillar of now, and whether it is a test."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saltlite.context import MinionContext

Tree = Callable[..., MinionContext]

SLS = """
a:
  test.configurable_test_state:
    - comment: {{ pillar.get('v') }} {{ salt['pillar.get']('v') }}
"""


@pytest.mark.parametrize(
    ("pillar", "given", "expected"),
    [
        ({"test": True}, {}, None),
        ({"test": True}, {"test": False}, True),
        ({"test": True}, {"pillar": {"test": False}}, None),
        ({}, {"pillar": {"test": True}}, True),
        ({"test": 1}, {}, True),
        ({"test": "no"}, {}, True),
    ],
)
def test_a_pillar_may_ask_for_test_runs(
    tree: Tree, pillar: dict[str, Any], given: dict[str, Any], expected: bool | None
) -> None:
    ctx = tree({"a.sls": SLS}, pillar)
    (answer,) = ctx.functions.call("state.apply", "a", **given).values()
    assert answer["result"] is expected


@pytest.fixture
def minion(tree: Tree, tmp_path: Path) -> MinionContext:
    """Has ``v: old`` in memory; by now its pillar says ``new``, and of environment base ``mid``."""
    for env, value in (("base", "mid"), ("dev", "new")):
        (tmp_path / env).mkdir()
        (tmp_path / env / "top.sls").write_text(f"{env}: {{'*': [p]}}")
        (tmp_path / env / "p.sls").write_text(f"v: {value}\n")
    ctx = tree({"a.sls": SLS}, {"v": "old"})
    roots = {env: [str(tmp_path / env)] for env in ("base", "dev")}
    ctx.config = replace(ctx.config, pillar=replace(ctx.config.pillar, pillar_roots=roots))
    ctx.pillar_is_fresh = False
    return ctx


@pytest.mark.parametrize(
    ("function", "given"),
    [("apply", ["a"]), ("sls_id", ["a", "a"]), ("template_str", [SLS])],
)
def test_a_run_compiles_the_pillar_anew(
    minion: MinionContext, function: str, given: list[str]
) -> None:
    (answer,) = minion.functions.call(f"state.{function}", *given).values()
    assert answer["comment"] == "new new"
    assert minion.functions.call("pillar.get", "v") == "old"


def test_a_run_may_name_the_environment_of_its_pillar(minion: MinionContext) -> None:
    (answer,) = minion.functions.call("state.apply", "a", pillarenv="base").values()
    assert answer["comment"] == "mid mid"


def test_a_pillar_that_is_fresh_is_not_compiled_again(minion: MinionContext) -> None:
    minion.pillar_is_fresh = True
    (answer,) = minion.functions.call("state.apply", "a").values()
    assert answer["comment"] == "old old"


def test_nothing_runs_with_a_pillar_that_is_broken_by_now(
    minion: MinionContext, tmp_path: Path
) -> None:
    (tmp_path / "base" / "p.sls").write_text("nonsense\n")
    found = minion.functions.call("state.apply", "a")
    assert found == [
        "Pillar failed to render with the following messages:",
        "SLS 'p' does not render to a dictionary (p.sls)",
    ]


@pytest.mark.parametrize(
    ("top", "comment"),
    [
        ("base: {'*': [empty]}", "No states found for this minion"),
        (
            "base: {'other': [a]}",
            "No Top file or master_tops data matches found. Please see master log for details.",
        ),
    ],
)
def test_a_top_file_with_nothing_to_run_fails(tree: Tree, top: str, comment: str) -> None:
    ctx = tree({"top.sls": top, "empty.sls": "", "a.sls": SLS})
    (answer,) = ctx.functions.call("state.highstate").values()
    assert (answer["result"], answer["comment"], ctx.state["retcode"]) == (False, comment, 2)
    assert ctx.functions.call("state.sls", "empty") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: test.nop", "Success!"),
        ("a: {test.nop: []}", "Success!"),
        ("a: {test: [nop]}", "Success!"),
        (
            "a: {test.nop: }",
            "ID 'a' in template <template-str> contains a short declaration (test.nop) with a"
            " trailing colon. When not passing any arguments to a state, the colon must be"
            " omitted.",
        ),
        ("- a", "Template <template-str> does not render to a dictionary"),
    ],
)
def test_a_template_may_use_short_forms(tree: Tree, text: str, expected: str) -> None:
    found = tree({}).functions.call("state.template_str", text)
    if isinstance(found, dict):
        found = [answer["comment"] for answer in found.values()]
    assert found == [expected]


@pytest.mark.parametrize(("function", "given"), [("apply", ["a"]), ("highstate", [])])
def test_a_terse_return_has_no_clean_states(tree: Tree, function: str, given: list[str]) -> None:
    sls = "clean: {test: [nop]}\nchanged: {test: [succeed_with_changes]}\n"
    sls += "failed: {test: [fail_without_changes]}\n"
    ctx = tree({"a.sls": sls, "top.sls": "base: {'*': [a]}"})
    answers = ctx.functions.call(f"state.{function}", *given, terse=True)
    assert [answer["__id__"] for answer in answers.values()] == ["changed", "failed"]


def test_errors_are_told_in_a_terse_return_too(tree: Tree) -> None:
    assert len(tree({}).functions.call("state.apply", "missing", terse=True)) == 1


@pytest.mark.parametrize(
    ("umask", "mode"), [("077", 0o600), (77, 0o600), ("0o027", 0o640), ("0", 0o666)]
)
def test_a_umask_holds_for_what_a_state_makes(
    tree: Tree, tmp_path: Path, umask: Any, mode: int
) -> None:
    made, other = tmp_path / "made", tmp_path / "other"
    before = os.umask(0o022)
    try:
        tree({}).functions.call(
            "state.single", "file.managed", str(made), contents="x", umask=umask
        )
        tree({}).functions.call("state.single", "file.managed", str(other), contents="x")
    finally:
        os.umask(before)
    assert made.stat().st_mode & 0o777 == mode
    assert other.stat().st_mode & 0o777 == 0o644


def test_a_umask_that_is_none_fails_the_state(tree: Tree, tmp_path: Path) -> None:
    found = tree({}).functions.call("state.single", "file.touch", str(tmp_path / "f"), umask="no")
    (answer,) = found.values()
    assert (answer["result"], answer["comment"]) == (False, "Invalid umask: no\n")
    assert not (tmp_path / "f").exists()


def test_a_template_on_the_minion_runs_in_its_order(tree: Tree, tmp_path: Path) -> None:
    path = tmp_path / "own.sls"
    path.write_text("z: {test: [nop]}\na: {test: [nop]}\nm: test.nop\n")
    found = tree({}).functions.call("state.template", str(path.with_suffix("")))
    assert [answer["__id__"] for answer in found.values()] == ["z", "a", "m"]
    assert {answer["__sls__"] for answer in found.values()} == {str(path)}


@pytest.mark.parametrize(
    ("function", "given", "expected", "retcode"),
    [
        (
            "template",
            ["/none"],
            ["Specified SLS /none.sls on local filesystem cannot be found."],
            1,
        ),
        ("single", ["no.such", "x"], ["Specified state 'no.such' was not found"], 1),
        ("sls_exists", ["none"], False, 1),
        ("sls_exists", ["a"], True, 0),
    ],
)
def test_what_is_not_there_is_told_by_the_exit_code(
    tree: Tree, function: str, given: list[str], expected: Any, retcode: int
) -> None:
    ctx = tree({"a.sls": SLS})
    assert ctx.functions.call(f"state.{function}", *given) == expected
    assert ctx.state["retcode"] == retcode


def test_a_run_of_which_all_is_excluded_has_failed(tree: Tree) -> None:
    ctx = tree({"a.sls": SLS})
    assert ctx.functions.call("state.apply", "a", exclude="a") == {}
    assert ctx.state["retcode"] == 2


def test_items_by_key_are_those_in_memory(minion: MinionContext) -> None:
    found = minion.functions.call("pillar.items", "v", "none:such")
    assert found == {"v": "old", "none:such": ""}
