"""``match: kind`` of top files through ``_matchers``, for states and pillar; as Salt 3006.30."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_master, load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import with_functions
from saltlite.pillar.context import compile_for_minion

MATCHER = """
def match(tgt):
    if tgt == "boom":
        raise ValueError("no such host")
    return __opts__["id"] if tgt == "yes" else ""
"""
TOP = {
    "yes": [{"match": "mine"}, "a"],
    "no": [{"match": "mine"}, "b"],
    "boom": [{"match": "mine"}, "b"],
    "web*": [{"match": "glob"}, "c"],
    "other": [{"match": "theirs"}, "b"],
}
ERRORS = [
    "top file, environment base: the matcher mine_match fails: no such host",
    "top file, environment base: no such kind of target: 'theirs'",
]


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    roots = tmp_path / "srv"
    (roots / "_matchers").mkdir(parents=True)
    (roots / "_matchers/mine_match.py").write_text(MATCHER)
    (roots / "top.sls").write_text(yaml.safe_dump({"base": TOP}, sort_keys=False))
    for name in "abc":
        (roots / f"{name}.sls").write_text(f"{name}: 1\n")
    both = {"base": [str(roots)]}
    return {"id": "web1", "root_dir": str(tmp_path), "file_roots": both, "pillar_roots": both}


@pytest.fixture
def ctx(tmp_path: Path, options: dict[str, Any]) -> MinionContext:
    (tmp_path / "minion").write_text(yaml.safe_dump({**options, "file_client": "local"}))
    config = load_minion(tmp_path)
    return with_functions(MinionContext(config=config, host=Host(), grains={}, pillar={}))


def test_top_files_of_states_ask_it(ctx: MinionContext, caplog: pytest.LogCaptureFixture) -> None:
    assert ctx.functions.call("state.show_top") == {"base": ["c"]}
    assert ctx.functions.call("saltutil.sync_matchers") == ["matchers.mine_match"]
    caplog.clear()
    assert ctx.functions.call("state.show_top") == {"base": ["a", "c"]}
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(": ")[2] for line in said] == [
        error.partition(": ")[2] for error in ERRORS
    ]


def test_top_files_of_pillar_ask_it(ctx: MinionContext) -> None:
    ctx.functions.call("saltutil.sync_matchers")
    found = ctx.functions.call("pillar.items")
    assert found == {"a": 1, "c": 1, "_errors": ERRORS}


def test_on_the_master_it_is_the_masters(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "master").write_text(yaml.safe_dump(options))
    config = load_master(tmp_path)
    place = Path(config.paths.extension_modules) / "matchers"
    place.mkdir(parents=True)
    (place / "mine_match.py").write_text(MATCHER)
    assert compile_for_minion(config, "web7", {}) == {"a": 1, "c": 1, "_errors": ERRORS}
