"""Tests are where CONTRIBUTING.md says, and find each other without edits of ``sys.path``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, TESTS

UNIT = TESTS / "unit"
CODE = ROOT / "saltlite"
OF_ALL = {
    "cli/test_every_option.py": "the options of all commands, in one table",
    "test_forbidden.py": "the syntax tree of the whole package",
}
"""Files of ``tests/unit`` that are about no single module or package, and about what they are."""

EDITORS = {
    "conftest.py": "for all that pytest runs",
    "cases/record/recording.py": "for scripts that pytest does not run",
    "docs/test_modules_page.py": "puts back what an example edits",
    "unit/loader/test_user.py": "puts back what users' files edit",
    "behaviour/test_users_modules.py": "puts back what users' files edit",
}
"""Who may edit ``sys.path``."""


def mirrored(test: Path) -> bool:
    place = CODE / test.relative_to(UNIT).parent / test.stem.removeprefix("test_")
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def test_unit_tests_are_named_as_the_code() -> None:
    found = {str(path.relative_to(UNIT)) for path in UNIT.rglob("test_*.py") if not mirrored(path)}
    assert found == set(OF_ALL)


def test_cases_are_data_programs_or_what_records_them() -> None:
    found = {path.name for path in (TESTS / "cases").iterdir()}
    assert found - {"__pycache__"} == {"data", "programs", "record"}


def edits_of_the_path(tree: ast.AST) -> Iterator[ast.AST]:
    """Assignments to ``sys.path`` or a part of it, and calls of its methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (one for one in targets if "sys.path" in ast.unparse(one))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.startswith("sys.path.") or "'sys.path'" in ast.unparse(node):
                yield node


def test_few_edit_the_path() -> None:
    found = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if not path.is_relative_to(TESTS / "cases" / "data")
        and "sys.path" in (text := path.read_text())
        and any(edits_of_the_path(ast.parse(text)))
    }
    assert found == set(EDITORS)
