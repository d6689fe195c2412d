"""What is made before the fork is what a worker would make, and is never what a file was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltlite.config.load import load_master
from saltlite.config.master import MasterConfig
from saltlite.pillar import precompiled
from saltlite.pillar.context import compile_for_minion
from saltlite.pillar.precompiled import precompile_pillar
from saltlite.templates import jinja, parsed

TREE = {
    "top.sls": "base:\n  '*':\n    - plain\n    - made\n",
    "plain.sls": "plain: {a: [1, 2]}\n",
    "made.sls": "{% from 'lib/map.jinja' import port %}\nmade: {{ port }} {{ grains['id'] }}\n",
    "lib/map.jinja": "{% set port = 80 %}\n",
}


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of any text or template."""
    monkeypatch.setattr(jinja, "_compiled", {})
    monkeypatch.setattr(parsed, "_texts", parsed.ParsedTexts())


def make_config(tmp_path: Path, more: str = "") -> MasterConfig:
    roots = tmp_path / "pillar"
    roots.mkdir(exist_ok=True)
    file = tmp_path / "master"
    text = f"root_dir: {tmp_path}\npillar_roots:\n  base:\n    - {roots}\n"
    file.write_text(text + more)
    return load_master(str(file))


def write_tree(tmp_path: Path, tree: dict[str, str]) -> None:
    for name, text in tree.items():
        path = tmp_path / "pillar" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def compile_pillar(config: MasterConfig, minion: str = "m1") -> Any:
    return compile_for_minion(config, minion, {"id": minion})


def test_a_worker_compiles_and_reads_nothing_that_was_there(
    tmp_path: Path, forgotten: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tmp_path)
    write_tree(tmp_path, TREE)
    assert precompile_pillar(config) == 4
    known = set(jinja._compiled)
    read: list[str] = []
    load = parsed.load
    monkeypatch.setattr(parsed, "load", lambda text, path: read.append(text) or load(text, path))
    assert compile_pillar(config) == {"plain": {"a": [1, 2]}, "made": "80 m1"}
    assert set(jinja._compiled) == known
    assert read == ["\nmade: 80 m1\n"]


CHANGES = st.lists(
    st.sampled_from(["plain.sls", "made.sls", "lib/map.jinja", "top.sls"]), min_size=1, max_size=4
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=CHANGES, numbers=st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_what_changes_is_seen_at_the_next_pillar(
    tmp_path: Path, forgotten: None, changes: list[str], numbers: list[int]
) -> None:
    config = make_config(tmp_path)
    write_tree(tmp_path, TREE)
    precompile_pillar(config)
    tree = dict(TREE)
    for name, number in zip(changes, numbers, strict=False):
        tree[name] = {
            "plain.sls": f"plain: {{a: [{number}]}}\n",
            "made.sls": f"made: {{{{ grains['id'] }}}} {number}\n",
            "lib/map.jinja": f"{{% set port = {number} %}}\n",
            "top.sls": f"base:\n  'm{number}':\n    - plain\n",
        }[name]
        write_tree(tmp_path, {name: tree[name]})
        found = [compile_pillar(config, minion) for minion in ("m1", "m2")]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jinja, "_compiled", {})
            patch.setattr(parsed, "_texts", parsed.ParsedTexts())
            assert found == [compile_pillar(config, minion) for minion in ("m1", "m2")]


def test_a_file_with_a_mistake_stops_nothing_and_is_told_to_who_needs_it(
    tmp_path: Path, forgotten: None
) -> None:
    config = make_config(tmp_path)
    write_tree(tmp_path, {**TREE, "made.sls": "{% if %}\n", "plain.sls": "a: [\n", "x.sls": "é"})
    (tmp_path / "pillar" / "y.sls").write_bytes(b"\xff")
    assert precompile_pillar(config) == 6
    assert len(compile_pillar(config)["_errors"]) == 2


def test_it_ends_after_its_time_and_does_nothing_without_files(
    tmp_path: Path, forgotten: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(tmp_path)
    assert precompile_pillar(config) == 0
    write_tree(tmp_path, TREE)
    times = iter([0.0, 0.1, precompiled.LIMIT_S + 0.1])
    assert precompile_pillar(config, clock_s=lambda: next(times)) == 1
    jinja._compiled.clear()
    monkeypatch.setattr(precompiled, "LARGEST_CHARS", 0)
    assert precompile_pillar(config) == 4
    assert jinja._compiled == {}
