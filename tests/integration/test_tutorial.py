"""docs/tutorial.md and docs/coming-from-ansible.md: what they tell to do, and what is seen."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import Checkout
from page_run import Save, Shell, Type, fits, settled, steps
from repository import ROOT

PAGES = ("tutorial.md", "coming-from-ansible.md")
TUTORIAL_SHOWS = (
    "state.apply test=True", "pillar.items", "state.check", "sync_modules", "reactor.test",
)  # fmt: skip


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    root = Path(tempfile.mkdtemp(prefix="tu-", dir="/tmp"))
    one = Checkout(root)
    try:
        yield one
    finally:
        one.quickstart("stop")
        shutil.rmtree(root)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", PAGES)
def test_each_line_does_what_the_page_says(checkout: Checkout, name: str) -> None:
    shell = Shell(checkout.root, checkout.environment)
    typed = 0
    for step in steps((ROOT / "docs" / name).read_text()):
        seen = shell.do(step)
        if isinstance(step, Type):
            typed += 1
            assert fits(seen, step.seen), f"$ {step.command}\n{seen}\nand not\n{step.seen}"
    shell.close()
    assert typed >= 5
    assert checkout.processes() == []


def test_the_tutorial_shows_what_a_newcomer_needs() -> None:
    text = (ROOT / "docs/tutorial.md").read_text()
    commands = "\n".join(step.command for step in steps(text) if isinstance(step, Type))
    assert [words for words in TUTORIAL_SHOWS if words not in commands] == []


def test_pages_are_read_as_a_reader_does() -> None:
    page = (
        "Save this as `a/b.sls`:\n\n```yaml\nx: 1\n```\n\n```yaml\nonly: shown\n```\n\n"
        "```console\n$ one\nfirst\n…\n$ two\n```\n\nSave it once more:\n\n```yaml\nx: 2\n```\n"
    )
    found = list(steps(page))
    assert found[0] == Save("a/b.sls", "x: 1\n")
    assert [(one.command, one.seen) for one in found if isinstance(one, Type)] == [
        ("one", "first\n…\n"),
        ("two", ""),
    ]
    assert found[-1] == Save("a/b.sls", "x: 2\n")
    assert fits("first\nand\nmore\n", "first\n…\n")
    assert not fits("last\n", "first\n…\n")
    assert not fits("more\n", "")


def test_what_differs_from_run_to_run_is_written_as_in_the_pages() -> None:
    seen = "web2:\n    True\nweb1:\n    /x/y \n    Duration: 3.25 ms\nTotal run time:   1.000 s\n"
    assert settled(seen, Path("/x")) == (
        "web1:\n    /home/you/saltlite/y\n    Duration: 12.000 ms\n"
        "Total run time: 12.000 ms\nweb2:\n    True\n"
    )
