"""What a run says of misspelt functions and arguments: where, and what was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from saltlite.errors import UsageError
from saltlite.highstate.slips import PASS_KEYWORDS_ON, is_one_slip
from saltlite.loader.catalogue import STATES
from tests.unit.highstate.conftest import Tree


def answers(tree: Tree, files: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found = tree(files).functions.call("state.apply", "a")
    return {each["name"]: each for each in found.values()}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x:\n  test.succed: []\n", "salt://a.sls:2\n"),
        ("x:\n  test.nope: []\n", "salt://a.sls:2: did you mean 'test.nop'?\n"),
        ("# one\nx: tst.nop\n", "salt://a.sls:2: did you mean 'test.nop'?\n"),
        ("x:\n  test:\n    - nope\n", "salt://a.sls:3: did you mean 'test.nop'?\n"),
        ("{% set n = 'x' %}\n{{ n }}:\n  nosuch.here: []\n", "salt://a.sls\n"),
        ("x:\n  own.maed: []\n", "salt://a.sls:2: did you mean 'own.made'?\n"),
    ],
)
def test_an_unknown_function_is_told_with_its_line(tree: Tree, text: str, told: str) -> None:
    own = "def made(name):\n    return {'name': name, 'result': True, 'changes': {}}\n"
    ctx = tree({"a.sls": text, "_states/own.py": own})
    ctx.functions.call("saltutil.sync_all", refresh=False)
    found = ctx.functions.call("state.apply", "a")
    [answer] = found.values()
    assert answer["result"] is False
    first, reason, rest = answer["comment"].split("\n", 2)
    assert first.startswith("State '")
    assert reason.endswith("is not available.")
    assert rest == told


def test_a_missing_argument_is_told_with_its_line(tree: Tree) -> None:
    found = answers(tree, {"a.sls": "\n/x:\n  file.symlink:\n    - force: true\n"})
    assert found["/x"]["comment"] == (
        "Missing parameter target for state file.symlink\nsalt://a.sls:3\n"
    )


def test_an_argument_that_nobody_takes_ends_the_run_with_its_line(tree: Tree) -> None:
    text = "x:\n  test.configurable_test_state:\n    - chnages: true\n"
    with pytest.raises(UsageError) as told:
        answers(tree, {"a.sls": text})
    assert str(told.value) == (
        "'chnages' is an invalid keyword argument for 'test.configurable_test_state'"
        " (salt://a.sls:3: did you mean 'changes'?)"
    )


SLIPS = """\
right:
  test.nop:
    - name: right
    - other: 1
wrong:
  test.nop:
    - require_inn: []
    - requir:
      - test: right
{% for n in [1, 2] %}
n{{ n }}:
  test.show_notification:
    - text: hi
    - txet: ho
{% endfor %}
own:
  own.anything:
    - create: true
    - user: root
    - unles: /bin/true
"""

CUSTOM = "def anything(name, **kwargs):\n    return {'name': name, 'result': True, 'changes': {}}\n"


def test_a_misspelt_argument_is_a_warning_with_its_line(tree: Tree) -> None:
    ctx = tree({"a.sls": SLIPS, "_states/own.py": CUSTOM})
    ctx.functions.call("saltutil.sync_all", refresh=False)
    found = {each["name"]: each for each in ctx.functions.call("state.apply", "a").values()}
    assert all(each["result"] for each in found.values())
    assert {name: each["warnings"] for name, each in found.items() if "warnings" in each} == {
        "wrong": [
            "salt://a.sls:7: 'require_inn' is no argument of test.nop; did you mean 'require_in'?",
            "salt://a.sls:8: 'requir' is no argument of test.nop; did you mean 'require'?",
        ],
        **{
            f"n{n}": [
                "salt://a.sls:14: 'txet' is no argument of test.show_notification; "
                "did you mean 'text'?"
            ]
            for n in "12"
        },
        "own": ["salt://a.sls:20: 'unles' is no argument of own.anything; did you mean 'unless'?"],
    }


@pytest.mark.parametrize(
    ("fun", "slip", "meant"),
    [
        ("state.apply", "tets", "test"),
        ("state.sls", "pilar", "pillar"),
        ("state.apply", "tst", "test"),
    ],
)
def test_a_misspelt_keyword_of_a_run_is_refused(
    tree: Tree, fun: str, slip: str, meant: str
) -> None:
    ctx = tree({"a.sls": "a: test.succeed_with_changes"})
    with pytest.raises(UsageError, match=f"'{slip}' is no argument .* mean '{meant}'"):
        ctx.functions.call(fun, "a", **{slip: True})
    assert ctx.functions.call("state.apply", "a", other=1, __pub_x=1, mock=False)


def test_high_data_without_files_have_no_place(tree: Tree) -> None:
    high = {"a": {"test": ["nop", {"requir": []}]}, "b": {"test": ["nope"]}}
    found = tree({}).functions.call("state.high", high)
    first, second = found.values()
    assert first["warnings"] == ["'requir' is no argument of test.nop; did you mean 'require'?"]
    assert second["comment"].endswith("\ndid you mean 'test.nop'?\n")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("requir", "require", True),
        ("requrie", "require", True),
        ("reqoire", "require", True),
        ("requires", "require", True),
        ("require", "require", False),
        ("reqiure", "requires", False),
        ("match", "watch", True),
        ("", "a", True),
        ("ab", "ba", True),
        ("abc", "cba", False),
    ],
)
def test_one_slip(one: str, other: str, expected: bool) -> None:
    assert is_one_slip(one, other) is is_one_slip(other, one) is expected


def test_modules_that_pass_keywords_on_are_known() -> None:
    assert set(STATES) >= PASS_KEYWORDS_ON
