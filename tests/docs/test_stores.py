"""Who needs a store takes what the factory gives: the classes behind it are named nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT

CODE = ROOT / "saltlite"
FACTORY = CODE / "master" / "embedded.py"

CLUSTER = CODE / "cluster"
"""A node's copies of what the cluster has are the stores of a single master."""

KIN = {"master/forwardqueue.py": "SqliteJobStore"}
"""A store that is another one with a table more."""


def read_kept_by_factory() -> dict[str, str]:
    """The classes that the factory imports where it makes them, and their modules."""
    tree = ast.parse(FACTORY.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    imports = [
        node
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom)
    ]
    return {
        name.name: str(node.module)
        for node in imports
        for name in node.names
        if str(node.module).startswith("saltlite.master.")
    }


def find_named(path: Path, classes: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = [one.name for one in node.names if classes.get(one.name) == node.module]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = classes.get(node.attr, "").rpartition(".")[2]
            names = [node.attr] if node.value.id == module else []
        else:
            continue
        yield from names


def test_the_factory_is_read() -> None:
    kept = read_kept_by_factory()
    assert kept["SqliteJobStore"] == "saltlite.master.jobcache"
    assert len(kept) == 12


def test_nobody_else_names_a_class_that_keeps_something() -> None:
    classes = read_kept_by_factory()
    found = {
        f"{path.relative_to(CODE)}: {name}"
        for path in CODE.rglob("*.py")
        if path != FACTORY and CLUSTER not in path.parents
        for name in find_named(path, classes)
        if KIN.get(str(path.relative_to(CODE))) != name
    }
    assert found == set()
