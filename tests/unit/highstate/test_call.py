"""What states in ``_states`` are given. Source: observed on Salt 3006.30."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from typing import Any

import pytest

from saltlite.context import MinionContext

Tree = Callable[..., MinionContext]
OWN = pwd.getpwuid(os.geteuid()).pw_name

CODE = """
def any_(name, value=1, **kwargs):
    given = sorted(key for key in kwargs)
    return {"name": name, "result": True, "changes": {"given": given}, "comment": ""}

def mod_watch(name, sfun=None, **kwargs):
    return any_(name, **kwargs)

def named(name, saltenv=None, runas=None, order=None):
    said = f"{saltenv} {runas} {order}"
    return {"name": name, "result": True, "changes": {}, "comment": said}

def tells(name):
    ids = [chunk["__id__"] for chunk in __lowstate__]
    changes = {"low": sorted(__low__), "running": list(__running__), "ids": ids, "env": __env__}
    return {"name": name, "result": True, "changes": changes, "comment": ""}
"""


@pytest.fixture
def run(tree: Tree) -> Callable[[str], dict[str, Any]]:
    """Answers by id."""

    def made(sls: str) -> dict[str, Any]:
        ctx = tree({"_states/mine.py": CODE, "a.sls": sls})
        found = ctx.functions.call("state.apply", "a")
        return {answer["__id__"]: answer for answer in found.values()}

    return made


def test_the_engines_words_are_not_among_any_keywords(run: Callable[[str], dict[str, Any]]) -> None:
    found = run(
        f"a: {{mine.any_: [{{extra: 1}}, {{timeout: 30}}, {{aggregate: false}}, {{runas: {OWN}}},"
        " {umask: '022'}, {saltenv: base}, {onlyif: 'true'}, {order: 3}, {failhard: false}]}\n"
        "b: {mine.named: [{saltenv: dev}, {runas: root}, {order: 7}]}\n"
        "c: {mine.any_: [{listen: [{mine: a}]}, {other: 1}]}\n"
    )
    assert found["a"]["changes"] == {"given": ["aggregate", "extra", "timeout"]}
    assert found["b"]["comment"] == "dev root 7"
    assert found["listener_c"]["changes"] == {"given": ["other"]}


def test_their_globals_say_what_is_run(run: Callable[[str], dict[str, Any]]) -> None:
    found = run("first: test.nop\nsecond: mine.tells\n")
    assert found["second"]["changes"] == {
        "low": ["__env__", "__id__", "__sls__", "fun", "name", "order", "state"],
        "running": ["test_|-first_|-first_|-nop"],
        "ids": ["first", "second"],
        "env": "base",
    }
