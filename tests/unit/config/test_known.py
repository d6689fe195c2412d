"""Options of Salt that saltlite knows of without obeying them."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from repository import DATA

from saltlite.cli import salt_minion
from saltlite.config import known, master, minion
from saltlite.config.known import (
    OTHER_OPTIONS,
    WITHOUT_EFFECT,
    list_needless,
    nearest,
    without_effect,
)
from saltlite.config.load import load_master
from saltlite.config.schema import option_name, options
from saltlite.loader import catalogue


def test_what_is_set_without_effect_is_named_once() -> None:
    places = {
        "restart_on_error": "/m:2",
        "id": "/m:1",
        "source_address": "/m:7",
        "no_such_option": "/m",
    }
    assert without_effect(places, "minion") == (
        "Set, but without effect yet: restart_on_error (/m:2), source_address (/m:7)"
    )
    assert without_effect({"id": "/m:1", "no_such_option": "/m:2"}, "minion") == ""


NOT_BUILT = ("rest_wsgi", "thorium_top", "svnfs_trunk")


@pytest.mark.parametrize("role", ["master", "minion"])
def test_what_is_not_built_is_named(role: str) -> None:
    places = {name: f"/etc/salt/{role}:{line}" for line, name in enumerate(NOT_BUILT, 1)}
    warning = without_effect(places, role)
    assert all(f"{name} ({place})" in warning for name, place in places.items())


@pytest.mark.parametrize("role", ["master", "minion"])
def test_what_both_have(role: str) -> None:
    places = {"schedule": "/m:1", "schedule_returner": "/m:2", "reactor": "/m:3"}
    assert without_effect(places, role) == ""


def test_the_master_names_them_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "master.d").mkdir()
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nsvnfs_trunk: x\n")
    (tmp_path / "master.d/a.conf").write_text("\nrest_wsgi: {port: 1}\n")
    config = load_master(tmp_path, environ={})
    assert without_effect(config.source, "master") == (
        "Set, but without effect yet: "
        f"rest_wsgi ({tmp_path}/master.d/a.conf:2), svnfs_trunk ({tmp_path}/master:2)"
    )


@pytest.mark.parametrize("role", ["master", "minion"])
def test_every_option_of_salt_is_obeyed_or_named(role: str) -> None:
    """tests/cases/data/salt_option_names.json: of config dumps of 3006.30 and 3008.5."""
    recorded = json.loads((DATA / "salt_option_names.json").read_text())[role]
    sections = {"master": master.SECTIONS, "minion": minion.SECTIONS}[role]
    declared = {option_name(field) for section in sections.values() for field in options(section)}
    # a master's orchestrations obey these as a minion's states do (config/asminion.py)
    as_minion = {"lock_saltenv", "saltenv", "state_max_parallel", "utils_dirs"}
    unknown = set(recorded) - declared - OTHER_OPTIONS - as_minion
    assert all(without_effect({name: "here"}, role) for name in unknown)


def test_what_salts_own_cluster_needs_and_ours_does_not() -> None:
    places = {"cluster_id": "/m:1", "cluster_peers": "/m:2", "cluster_secret": "/m:3"}
    assert without_effect(places, "master") == ""
    assert list_needless(places) == [
        "cluster_peers (/m:2) is not needed: the nodes of a cluster meet in PostgreSQL",
        "cluster_secret (/m:3) is not needed: the nodes of a cluster meet in PostgreSQL",
    ]


def test_what_is_obeyed_without_a_section_is_looked_for_somewhere() -> None:
    """By its name, or as ``gitfs_<option>`` and the like, whose options are texts or fields."""
    package = Path(known.__file__).parents[1]
    code = "\n".join(
        path.read_text() for path in sorted(package.rglob("*.py")) if path.name != "known.py"
    )
    for name in known._OBEYED:
        short = name.removeprefix("gitfs_").removeprefix("git_pillar_")
        ways = (f'"{name}"', f'"{short}"', f"\n    {short}: ")
        assert any(way in code for way in ways), name


def test_directories_that_are_obeyed_belong_to_a_kind_that_is_loaded() -> None:
    """That the catalogue lists a kind is not enough: somebody has to ask for it."""
    package = Path(known.__file__).parents[1]
    code = "\n".join(
        path.read_text()
        for path in sorted(package.rglob("*.py"))
        if path.name not in ("known.py", "catalogue.py")
    )
    constants = {id(value): name for name, value in vars(catalogue).items()}
    for kind in catalogue.KINDS.values():
        if kind.option in known._OBEYED:
            constant = constants.get(id(kind), "no constant")
            asked = rf'modules\("{kind.name}"\)|\b{constant}\b'
            assert re.search(asked, code), kind.option


def read_options(path: Path) -> set[str]:
    """What a file reads: ``extra.get("name")``, ``extra["name"]``, or either by a constant."""
    keys: list[ast.expr] = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr="get"), args=[key, *_]) if is_extra(of):
                keys.append(key)
            case ast.Subscript(value=of, slice=key) if is_extra(of):
                keys.append(key)
    values = [key.value for key in keys if isinstance(key, ast.Constant)]
    values += [constant(path, key.id) for key in keys if isinstance(key, ast.Name)]
    return {value for value in values if isinstance(value, str)}


def constant(path: Path, name: str) -> object:
    """A constant of that file, ``None`` for a variable."""
    inside = path.relative_to(Path(known.__file__).parents[2]).with_suffix("")
    return getattr(import_module(".".join(inside.parts)), name, None)


def is_extra(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2] in {"extra", "_extra"}


def test_what_is_read_is_not_named_as_without_effect() -> None:
    package = Path(known.__file__).parents[1]
    read = {path: read_options(path) for path in sorted(package.rglob("*.py"))}
    assert {"archive_jobs", "reactor", "minionfs_env"} <= set().union(*read.values())
    for path, names in read.items():
        for name in names & (OTHER_OPTIONS | WITHOUT_EFFECT):
            warnings = [without_effect({name: "here"}, role) for role in ("master", "minion")]
            assert "" in warnings, f"{path} reads {name}"


def test_the_minion_hands_the_warning_to_its_log(tmp_path: Path) -> None:
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nrestart_on_error: true\n")
    _config, values = salt_minion._read_config(["-c", str(tmp_path)])
    assert values == {
        "daemon": False,
        "kept": [],
        "unread": f"Set, but without effect yet: restart_on_error ({tmp_path}/minion:3)",
    }


def test_no_option_is_in_both_lists() -> None:
    assert frozenset() == OTHER_OPTIONS & WITHOUT_EFFECT


def test_a_misspelt_option_is_recognised() -> None:
    assert nearest("auto_acept", ["auto_accept"]) == "auto_accept"
    assert nearest("my_own_thing", ["auto_accept"]) is None
