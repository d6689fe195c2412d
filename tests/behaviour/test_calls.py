"""Functions answer what real Salt 3006.30 answered.

The cases are in tests/cases/data/calls, recorded by ``tests/cases/record/calls``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.minion.job import as_plain

CASES = DATA / "calls"


def cases() -> list[Any]:
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        answers = json.loads(path.with_suffix(".json").read_text())
        for case in read_yaml(path):
            name = case["name"]
            found.append(pytest.param(case, answers[name], id=f"{path.stem}: {name}"))
    return found


def context(case: dict[str, Any], root: Path) -> MinionContext:
    for path, text in case.get("tree", {}).items():
        place = root / "tree" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    settings = {
        "root_dir": str(root / "root"),
        "file_client": "local",
        "id": "web1",
        "file_roots": {"base": [str(root / "tree")]},
        "pillar_roots": {"base": [str(root / "pillar")]},
        **case.get("config", {}),
    }
    (root / "pillar").mkdir()
    (root / "pillar" / "top.sls").write_text("base: {'*': [p]}")
    (root / "pillar" / "p.sls").write_text(json.dumps(case["pillar"]))
    (root / "minion").write_text(json.dumps(settings))
    pillar = dict(case["pillar"])
    ctx = MinionContext(config=load_minion(root), host=Host(), grains={"id": "web1"}, pillar=pillar)
    ctx.functions = Registry(ctx)
    return ctx


def answer(ctx: MinionContext, fun: str, args: Any = (), kwargs: Any = None) -> Any:
    try:
        return as_plain(ctx.functions.call(fun, *args, **(kwargs or {})))
    except Exception as error:  # noqa: BLE001 - every end is an answer
        return {"raised": type(error).__name__, "message": str(error)}


@pytest.mark.parametrize(("case", "answers"), cases())
def test_answers_of_real_salt(case: dict[str, Any], answers: list[Any], tmp_path: Path) -> None:
    case = json.loads(json.dumps(case).replace("{root}", str(tmp_path)))
    ctx = context(case, tmp_path)
    ours = [answer(ctx, *call) for call in case["calls"]]
    told = json.loads(json.dumps(ours, default=str).replace(str(tmp_path), "{root}"))
    for call, found, wanted in zip(case["calls"], told, answers, strict=True):
        if isinstance(wanted, dict) and "raised" in wanted:
            assert isinstance(found, dict)
            assert found.get("message") == wanted["message"], call
        else:
            assert found == wanted, call
