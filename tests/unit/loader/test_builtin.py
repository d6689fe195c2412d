"""Modules in several files: ``PARTS`` says which has what, and a call imports that one alone."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from saltlite.loader.builtin import Parts, functions_of
from saltlite.loader.catalogue import MODULES, STATES

IN_PARTS = [
    place
    for place in (*MODULES.modules().values(), *STATES.modules().values())
    if hasattr(importlib.import_module(place), "PARTS")
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parts:
    folder = tmp_path / "in_two_files"
    folder.mkdir()
    (folder / "__init__.py").write_text('PARTS = {"one": ("first", "not_"), "two": ("second",)}\n')
    (folder / "one.py").write_text("def first(): return 1\ndef not_(): return False\n")
    (folder / "two.py").write_text("def second(): return 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("in_two_files", "in_two_files.one", "in_two_files.two"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = functions_of(importlib.import_module("in_two_files"))
    assert isinstance(found, Parts)
    return found


def test_names_import_nothing_and_a_function_its_own_file(package: Parts) -> None:
    assert list(package) == ["first", "not", "second"]
    assert "not_" not in package
    assert package.get("third") is None
    assert "in_two_files.one" not in sys.modules
    assert package["not"]() is False
    assert "in_two_files.two" not in sys.modules
    assert package["second"]() == 2


@pytest.mark.parametrize("place", IN_PARTS)
def test_a_table_has_all_that_the_files_have_and_no_more(place: str) -> None:
    module = importlib.import_module(place)
    told = {part: sorted(names) for part, names in module.PARTS.items()}
    folder = Path(str(module.__file__)).parent
    files = sorted(path.stem for path in folder.glob("[!_]*.py"))
    there = {
        name: sorted(
            function.__name__
            for function in functions_of(importlib.import_module(f"{place}.{name}")).values()
        )
        for name in files
    }
    assert told == there
