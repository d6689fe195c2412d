"""docs/security.md: the table of limits says what the code says."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \| `([\w/]+)\.py` · `(\w+)` \|$", re.MULTILINE)
UNITS = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
ROWS = ROW.findall(PAGE)


def number_of(text: str) -> float:
    figure, _, unit = text.partition(" ")
    return float(figure.replace(",", "")) * UNITS.get(unit, 1)


@pytest.mark.parametrize(("what", "limit", "module", "name"), ROWS, ids=[row[0] for row in ROWS])
def test_limit(what, limit, module, name):
    holder = import_module("saltlite." + module.replace("/", ".").removesuffix(".__init__"))
    assert getattr(holder, name) == number_of(limit)


def test_every_row_of_the_table_is_read():
    table = PAGE.partition("## Limits")[2].partition("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(rows) - 1
    assert len(ROWS) > 15
