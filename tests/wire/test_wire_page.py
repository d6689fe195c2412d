"""docs/wire.md is law: every literal on it is read by the message it names and written again."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from saltlite.core import messages

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
LITERALS = re.findall(r"(?:<!-- (\w+) -->\n)?```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("name", "literal"), LITERALS)
def test_literal(name, literal):
    load = ast.literal_eval(literal.strip())
    assert isinstance(load, dict)
    if name:
        assert getattr(messages, name).from_wire(load).to_wire() == load


def test_every_message_is_on_the_page():
    shown = {name for name, _ in LITERALS if name}
    defined = {
        name
        for name, value in vars(messages).items()
        if isinstance(value, type) and hasattr(value, "to_wire")
    }
    assert shown == defined


def test_sources_exist():
    sources = re.findall(r"`((?:core|crypto|channel|transport)/\w+\.py)`", PAGE)
    root = Path(messages.__file__).parents[1]
    assert sources
    assert [one for one in sources if not (root / one).is_file()] == []
