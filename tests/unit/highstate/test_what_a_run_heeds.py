"""What a run of states looks at beside its states: the pillar of now, and whether it is a test."""

from __future__ import annotations

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
        "SLS 'p' does not render to a dictionary",
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
