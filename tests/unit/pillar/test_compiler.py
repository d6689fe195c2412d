"""Trees of pillar give what real Salt makes of them (tests/cases/data/pillar/compiled.yaml)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pillar_errors import without_places
from repository import DATA, read_yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.pillar.context import compile_masterless
from saltlite.pillar.lazy import LazyPillar

CASES = DATA / "pillar" / "compiled.yaml"
GRAINS = {"id": "web1", "role": "web", "os": "Debian", "lst": ["a", "b"]}


def cases() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = read_yaml(CASES)
    return loaded


def plant(tree: dict[str, dict[str, str]], root: Path) -> dict[str, list[str]]:
    for env, files in tree.items():
        (root / env).mkdir(parents=True)
        for name, text in files.items():
            path = root / env / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return {env: [str(root / env)] for env in tree}


def context(root: Path, options: dict[str, Any]) -> MinionContext:
    conf = root / "conf"
    conf.mkdir()
    settings = {"root_dir": str(root / "root"), "file_client": "local", "id": "web1", **options}
    (conf / "minion").write_text(yaml.safe_dump(settings))
    ctx = MinionContext(config=load_minion(conf), host=Host(), grains=GRAINS, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_the_same_pillar(case: dict[str, Any], tmp_path: Path) -> None:
    roots = plant(case["tree"], tmp_path)
    options = json.loads(json.dumps(case.get("options", {})).replace("{tree}", str(tmp_path)))
    ctx = context(tmp_path, {"pillar_roots": roots, **options})
    ctx.pillar = LazyPillar(lambda: compile_masterless(ctx))  # as salt-call does
    pillar = compile_masterless(ctx)
    assert without_places(json.loads(json.dumps(pillar))) == case.get("ours", case["pillar"])


def test_an_override_begins_joined_lists_and_comes_first(tmp_path: Path) -> None:
    text = "k: {x: a, l: [1, 2]}\nl: [1]\nz: a\n"
    roots = plant({"base": {"top.sls": "base: {'*': [a]}", "a.sls": text}}, tmp_path)
    ctx = context(tmp_path, {"pillar_roots": roots, "pillar_merge_lists": True})
    pillar = compile_masterless(ctx, override={"l": [5], "k": {"l": [7]}, "ov": 1, "z": "o"})
    assert json.dumps(pillar) == json.dumps(  # of Salt 3006.30
        {"l": [5, 1], "k": {"l": [7, 1, 2], "x": "a"}, "ov": 1, "z": "o"}
    )


def test_nodegroups_without_a_name(tmp_path: Path) -> None:
    roots = plant({"base": {"top.sls": ""}}, tmp_path)
    options = {"nodegroups": {"ng": "web*"}, "ext_pillar": [{"nodegroups": None}]}
    ctx = context(tmp_path, {"pillar_roots": roots, **options})
    assert compile_masterless(ctx)["nodegroups"] == ["ng"]


PLACES = {
    "top.sls": "base:\n  '*':\n  - roles.web\n  - flat\n  - gone\n  - listed\n  - missing\n",
    "roles/web/init.sls": "password: hunter2\nport: {{ nosuch.thing }}\n",
    "flat.sls": "a: 1\nsecret: hunter2: x\n",
    "listed.sls": "- hunter2\n",
    "missing.sls": "include:\n  - nowhere\n",
}


def test_the_minion_is_told_where_an_error_is_and_no_more(tmp_path: Path) -> None:
    ctx = context(tmp_path, {"pillar_roots": plant({"base": PLACES}, tmp_path)})
    safe = "Please see master log for details."
    away = "in environment 'base' is not available on the salt master"
    assert compile_masterless(ctx) == {
        "_errors": [
            f"Rendering SLS 'roles.web' failed. {safe} (roles/web/init.sls:2)",
            f"Rendering SLS 'flat' failed. {safe} (flat.sls:2)",
            f"Specified SLS 'gone' {away} (top.sls:5)",
            "SLS 'listed' does not render to a dictionary (listed.sls)",
            f"Specified SLS 'nowhere' {away} (missing.sls:2)",
        ]
    }


def test_the_line_of_an_imported_file_is_not_told_as_one_of_this(tmp_path: Path) -> None:
    files = {
        "top.sls": "base: {'*': [a]}",
        "a.sls": "{% import 'b.jinja' as b %}\nx: 1\n",
        "b.jinja": "\n\n{{ nosuch.thing }}\n",
    }
    ctx = context(tmp_path, {"pillar_roots": plant({"base": files}, tmp_path)})
    [error] = compile_masterless(ctx)["_errors"]
    assert error.endswith(" details. (a.sls)")
