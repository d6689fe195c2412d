"""README.md and the other pages name commands, files and functions that exist."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
ENTRY = re.compile(r"^(salt[\w-]*) = ", re.MULTILINE)
COMMANDS = set(ENTRY.findall((ROOT / "pyproject.toml").read_text()))
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#:]+)(?:#[^)]*)?\)")


def command_lines(text: str) -> list[str]:
    """What a reader is told to type: lines with ``$`` or ``#`` in console blocks."""
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines()]
    return [line[2:] for line in lines if line.startswith(("$ ", "# "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_page_exist(page: Path) -> None:
    for line in command_lines(page.read_text()):
        for word in re.findall(r"(?:^|[ '\"])((?:\./)?(?:scripts|\.ci)/[\w./-]+)", line):
            path = ROOT / word
            assert path.is_file() and os.access(path, os.X_OK), line
        first = line.split()[0]
        if first.startswith("salt"):
            assert first in COMMANDS, line


def test_readme_begins_with_two_commands() -> None:
    lines = command_lines(README)
    assert lines[0].startswith("scripts/quickstart")
    assert len([line for line in lines if line.startswith(("salt", "quickstart/bin/salt"))]) >= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert broken == []


def definitions(path: Path) -> set[str]:
    """Names a file defines: ``function``, ``Class``, ``Class.method``."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{part.name}"
                for part in node.body
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
    return found


def test_functions_of_one_job_exist() -> None:
    """docs/one-job.md writes ``path.py`` · ``Name`` at each step."""
    text = (ROOT / "docs" / "one-job.md").read_text()
    steps = re.findall(r"`([\w/]+\.py)` · `([\w.]+)`", text)
    assert len(steps) >= 12
    missing = [
        f"{path}: {name}"
        for path, name in steps
        if not (ROOT / "saltlite" / path).exists()
        or name not in definitions(ROOT / "saltlite" / path)
    ]
    assert missing == []
