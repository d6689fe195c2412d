"""The example of docs/access.md allows what its table says, and the page names all modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from saltlite.core.access import allows_all, allows_run, find_fault, user_entries
from saltlite.core.targets import MinionFacts, Target, find_expected
from saltlite.loader.arguments import parse_arguments
from saltlite.loader.catalogue import AUTH
from saltlite.master.acl import read_call, split_calls
from saltlite.master.publishrights import FREE, GRANTED

PAGE = (Path(__file__).parents[2] / "docs" / "access.md").read_text()
BLOCKS = yaml.safe_load(re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1])["external_auth"]
ROWS = re.findall(
    r"^\| (\w+) \| (\w*) ?\| (runner |wheel )?`([^`]+)`(?: on `([^`]+)`)? \| (yes|no) \|$",
    PAGE,
    re.MULTILINE,
)
FACTS = [
    MinionFacts(one, grains={"os": "RedHat" if one == "db1" else "Debian"}, pillar={})
    for one in ("web1", "web2", "db1")
]


def meant(tgt: str, kind: str) -> set[str]:
    return set(find_expected(Target(tgt, kind), FACTS, greedy=False).minions)


def test_the_example_has_no_fault() -> None:
    assert [find_fault(block) for block in BLOCKS.values()] == ["", ""]
    assert len(ROWS) == 19


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_what_the_example_allows(row: tuple[str, ...]) -> None:
    user, group, kind, call, tgt, allowed = row
    entries = user_entries(BLOCKS["pam"], user, [group] if group else [])
    fun, *words = call.split()
    if kind:
        found = allows_run(entries, kind.strip(), read_call(fun, words, {}))
    else:
        calls = split_calls([fun], [parse_arguments(words)])
        found = allows_all(entries, calls, meant(tgt, "glob"), lambda one: meant(one, "compound"))
    assert found is (allowed == "yes")


def test_every_module_is_on_the_page() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Modules")[2], re.MULTILINE)
    assert sorted(named) == sorted(AUTH)


def test_fields_that_need_a_right_do() -> None:
    assert {"ret", "module_executors"} <= GRANTED - FREE.keys()
