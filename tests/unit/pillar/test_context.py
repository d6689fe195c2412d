"""What is kept between compilations is never older than the files, nor somebody else's."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from saltlite.config.load import load_master
from saltlite.config.master import MasterConfig
from saltlite.pillar import tree
from saltlite.pillar.context import compile_for_minion

TREE = {
    "top.sls": "base: {'*': ['part.*']}",
    "part/one.sls": "{% import_yaml 'values.yaml' as values %}\none: {{ values.a }}\nlist: [1]",
    "values.yaml": "a: 1",
}


@pytest.fixture
def pillar(tmp_path: Path) -> Path:
    root = tmp_path / "pillar"
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def config(pillar: Path, tmp_path: Path) -> MasterConfig:
    settings = {"root_dir": str(tmp_path), "pillar_roots": {"base": [str(pillar)]}}
    (tmp_path / "master").write_text(yaml.safe_dump(settings))
    return load_master(tmp_path)


def test_changed_files_are_seen_at_once(config: MasterConfig, pillar: Path) -> None:
    assert compile_for_minion(config, "a", {}) == {"one": 1, "list": [1]}
    (pillar / "values.yaml").write_text("a: 2")
    (pillar / "part/two.sls").write_text("two: {{ opts.id }}")
    assert compile_for_minion(config, "a", {}) == {"one": 2, "list": [1], "two": "a"}
    (pillar / "part/one.sls").unlink()
    assert compile_for_minion(config, "b", {}) == {"two": "b"}


def test_what_is_done_to_a_pillar_is_not_in_the_next(config: MasterConfig) -> None:
    first = compile_for_minion(config, "a", {})
    first["list"].append("changed")
    assert compile_for_minion(config, "a", {}) == {"one": 1, "list": [1]}


def test_an_alias_in_one_file_is_not_joined_with_another(
    config: MasterConfig, pillar: Path
) -> None:
    (pillar / "part/one.sls").write_text("a: &x {k: {v: 1}}\nb: *x\n")
    (pillar / "part/two.sls").write_text("a: {k: {v: 2, w: 3}}\n")
    for _ in range(2):
        assert compile_for_minion(config, "a", {}) == {
            "a": {"k": {"v": 2, "w": 3}}, "b": {"k": {"v": 1}}
        }  # fmt: skip


def test_servers_of_other_roots_are_others(config: MasterConfig) -> None:
    compile_for_minion(config, "a", {})
    count = len(tree._servers)
    compile_for_minion(config, "b", {})
    assert len(tree._servers) == count <= tree.SERVERS_KEPT
