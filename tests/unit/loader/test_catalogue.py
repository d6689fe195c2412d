"""Every kind of plug-in: what is in its package is one, and nothing else ever is imported."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import saltlite
from saltlite.loader import catalogue
from saltlite.loader.catalogue import KINDS, MODULES, Kind

OURS = [kind for kind in KINDS.values() if kind.package is not None]
ROOT = Path(str(saltlite.__file__)).parent


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package below another ``saltlite``, where the catalogue looks now."""
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.setattr(catalogue, "ROOT", str(tmp_path))
    return folder


def names(kind: Kind) -> list[str]:
    return list(kind)


def test_files_and_packages_are_plug_ins_and_nothing_else_is(package: Path) -> None:
    for name in ("one.py", "import_.py", "_hidden.py", ".dot.py", "text.txt", "two.pyc"):
        (package / name).write_text("")
    for folder in ("several", "__pycache__", "_own"):
        (package / folder).mkdir()
    (package / "several/__init__.py").write_text("")
    kind = Kind("things", "thing_dirs", "things")
    assert kind.modules() == {
        "import": "saltlite.things.import_",
        "one": "saltlite.things.one",
        "several": "saltlite.things.several",
    }
    assert "one" in kind
    assert "two" not in kind


def test_a_folder_that_another_version_left_behind_is_no_plug_in(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saltlite, "__path__", [str(package.parent)])
    (package / "left_behind/__pycache__").mkdir(parents=True)
    (package / "here.py").write_text("")
    kind = Kind("things", "thing_dirs", "things")
    assert kind.load("here") is not None
    assert kind.load("left_behind") is None
    for name in ("saltlite.things", "saltlite.things.here", "saltlite.things.left_behind"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("name", ["_file", "../modules/test", "os", "test.ping", "", "__init__"])
def test_a_name_chooses_among_what_is_there(name: str) -> None:
    assert name not in MODULES
    assert MODULES.load(name) is None


def test_a_kind_of_users_alone_has_none_of_ours() -> None:
    assert names(Kind("thorium", "thorium_dirs")) == []


@pytest.mark.parametrize("kind", OURS, ids=repr)
def test_what_is_in_the_package_is_all_there_is(kind: Kind) -> None:
    folder = ROOT.joinpath(*str(kind.package).split("."))
    there = {path.stem.removesuffix("_") for path in folder.glob("[!_]*") if path.suffix != ".pyc"}
    assert set(kind) == there
    assert names(kind) == sorted(kind)


def test_names_are_found_without_importing() -> None:
    code = (
        "import sys; from saltlite.loader.catalogue import KINDS; before = set(sys.modules);"
        "assert all('test' in KINDS[kind] for kind in ('modules', 'states', 'runners'));"
        "assert set(sys.modules) == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_kind_is_called_as_its_directory() -> None:
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in KINDS}
    assert len({kind.option for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("kind", OURS, ids=repr)
def test_a_package_says_what_it_is(kind: Kind) -> None:
    assert importlib.import_module(f"saltlite.{kind.package}").__doc__
