"""Options that nothing reads yet are named: in the code, in the page, and by the daemons."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from saltlite.config import master, minion
from saltlite.config.known import WITHOUT_EFFECT
from saltlite.config.schema import option_name, options

ROOT = Path(__file__).parents[2]
DECLARED = ("config/master.py", "config/minion.py", "config/known.py")


def fields() -> set[str]:
    return {
        field.name
        for page in (master, minion)
        for section in page.SECTIONS.values()
        for field in options(section)
    }


def option_of(field_name: str) -> str:
    for page in (master, minion):
        for section in page.SECTIONS.values():
            for field in options(section):
                if field.name == field_name:
                    return option_name(field)
    raise AssertionError(field_name)


def words_of_code() -> set[str]:
    package = ROOT / "saltlite"
    files = (p for p in package.rglob("*.py") if str(p.relative_to(package)) not in DECLARED)
    return {word for path in files for word in re.findall(r"\w+", path.read_text())}


def test_the_list_is_what_nothing_reads() -> None:
    unread = fields() - words_of_code()
    assert {option_of(name) for name in unread} == WITHOUT_EFFECT


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT))
def test_the_page_names_it(name: str) -> None:
    page = (ROOT / "docs" / "differences.md").read_text()
    assert f"`{name}`" in page.partition("## Options without effect")[2]
