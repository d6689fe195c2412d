"""Pillar that would take the master's time or memory ends as an error of that file alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from pillar_errors import without_places

from saltlite.config.load import load_master
from saltlite.pillar.context import compile_for_minion

SOON_S = 20.0  # 1 s on an idle machine

BOMBS = {
    "a text of a gigabyte": "a: {{ 'x' * 1000000000 }}",
    "a list of a billion": "a: {{ [0] * 1000000000 }}",
    "a huge power": "a: {{ 9 ** (9 ** 9) }}",
    "a huge width": "a: {{ '%1000000000d' % 1 }}",
    "a huge width by argument": "a: {{ '%-*d' % (1000000000, 1) }}",
    "a huge precision": "a: {{ '%.1000000000f' % 1 }}",
    "a huge format": "a: {{ '{0:>1000000000}'.format(1) }}",
    "a huge format by argument": "a: {{ '{:{w}}'.format(1, w=1000000000) }}",
    "a huge format of a map": "a: {{ '{a:1000000000}'.format_map({'a': 1}) }}",
    "a huge range": "{% for i in range(1000000000) %}{% endfor %}",
    "output without end": "{% for i in range(90000) %}{% for j in range(90000) %}xxxxxxxxxxxxxxxxx"
    "{% endfor %}{% endfor %}",
    "a macro that calls itself": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "a file that imports itself": "{% include 'bomb.sls' %}",
    "a billion laughs": "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(
        f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "deep lists": "a: " + "[" * 100_000,
    "deep maps": "a: " + "{a: " * 100_000,
}


def compiled(where: Path, bomb: str) -> dict[str, Any]:
    tree = where / "pillar"
    tree.mkdir()
    (tree / "top.sls").write_text("base: {'*': [first, bomb, last]}")
    (tree / "first.sls").write_text("first: 1")
    (tree / "bomb.sls").write_text(bomb)
    (tree / "last.sls").write_text("last: 1")
    settings = {"root_dir": str(where), "pillar_roots": {"base": [str(tree)]}}
    (where / "master").write_text(yaml.safe_dump(settings))
    return compile_for_minion(load_master(where), "web1", {"id": "web1"})


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_an_error_of_its_own_file(tmp_path: Path, bomb: str) -> None:
    begun = time.monotonic()
    assert without_places(compiled(tmp_path, bomb)) == {
        "first": 1,
        "last": 1,
        "_errors": ["Rendering SLS 'bomb' failed. Please see master log for details."],
    }
    assert time.monotonic() - begun < SOON_S


@pytest.mark.parametrize("include", ["[bomb]", "[last, bomb, first]"])
def test_circles_of_includes_end(tmp_path: Path, include: str) -> None:
    found = compiled(tmp_path, f"include: {include}\nbomb: 1")
    assert found == {"first": 1, "last": 1, "bomb": 1}


def test_large_numbers_are_no_bombs(tmp_path: Path) -> None:
    text = (
        "a: \"{{ '%d %s' % (10000000000, 'x') }} {{ '{:,} {}'.format(10**10, 99) }} {{ 7 % 4 }}\""
    )
    assert compiled(tmp_path, text)["a"] == "10000000000 x 10,000,000,000 99 3"
