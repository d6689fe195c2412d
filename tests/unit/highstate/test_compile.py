"""Trees of states compile to what real Salt makes of them (tests/cases/data/highstate)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.compile import (
    compile_highstate,
    compile_sls,
    top_of,
)
from saltlite.highstate.graph import order
from saltlite.host import Host
from saltlite.loader.registry import Registry

CASES = DATA / "highstate"
GRAINS = {"id": "web1", "role": "web", "os": "Debian", "lst": ["a", "b"]}
PILLAR = {"tier": "front", "apps": {"x": {"port": 80}}}
DEFAULT: list[list[Any]] = [["show_sls", "a"], ["show_low_sls", "a"], ["show_lowstate"]]
ALIKE = 22
"""So many letters of a text are compared where the rest is told in another way."""

TOP = "base: {'*': [a]}"


def cases() -> list[Any]:
    found = []
    for path in sorted(CASES.glob("*.yaml")):
        answers = json.loads(path.with_suffix(".json").read_text())
        for case in read_yaml(path):
            name = f"{path.stem}: {case['name']}"
            found.append(pytest.param(case, answers[case["name"]], id=name))
    return found


def context(case: dict[str, Any], root: Path) -> MinionContext:
    tree = dict(case["tree"])
    if "ask" not in case:
        tree["base"] = {**tree["base"], "top.sls": TOP}
    for env, files in tree.items():
        for name, text in files.items():
            place = root / "tree" / env / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    settings = {
        "root_dir": str(root / "root"),
        "file_client": "local",
        "id": "web1",
        "file_roots": {env: [str(root / "tree" / env)] for env in tree},
        **case.get("options", {}),
    }
    (root / "minion").write_text(json.dumps(settings))
    ctx = MinionContext(config=load_minion(root), host=Host(), grains=GRAINS, pillar=dict(PILLAR))
    ctx.functions = Registry(ctx)
    return ctx


def answered(ctx: MinionContext, fun: str, *args: Any) -> Any:
    """What our side of ``state.<fun>`` has to say."""
    kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
    saltenv = kwargs.get("saltenv") or ctx.config.files.saltenv
    ctx.pillar = {**ctx.pillar, **kwargs.get("pillar", {})}
    if fun == "show_top":
        wanted = top_of(ctx, saltenv=saltenv)
        return wanted.errors or wanted.sls
    if fun == "show_lowstate":
        compiled = compile_highstate(ctx, saltenv=saltenv)
        return compiled.errors or [chunk.to_low() for chunk in compiled.low]
    if fun == "show_states":
        low = compile_highstate(ctx, saltenv=saltenv).low
        return list(dict.fromkeys(chunk.sls for chunk in low))
    if fun == "sls":
        compiled = compile_sls(ctx, args[0])
        return compiled.first_errors or run_order(compiled.low, compiled.names)
    if fun == "show_highstate":
        shown = compile_highstate(ctx, saltenv=saltenv).as_read()
        return shown.errors or shown.high
    compiled = compile_sls(ctx, args[0], saltenv=saltenv or "base").as_written()
    if fun == "show_sls":
        return compiled.errors or compiled.high
    return compiled.errors or [chunk.to_low() for chunk in compiled.low]


def run_order(low: list[Chunk], names: frozenset[str]) -> list[list[str]]:
    """Tag and comment of what cannot run, in order."""
    found = order(low, names)
    return [
        *([tag, found.problems.get(tag, "")] for tag in (chunk.tag for chunk in found.low)),
        *(
            [
                f"Listen_Error_|-listen_{name}_|-listen_{module}_|-Listen_Error",
                f"Referenced state {module}: {name} does not exist",
            ]
            for module, name, teller in found.unheard
            if not teller or "with_changes" in teller
        ),
    ]


@pytest.mark.parametrize(("case", "answers"), cases())
def test_the_same_states(case: dict[str, Any], answers: list[Any], tmp_path: Path) -> None:
    ctx = context(case, tmp_path)
    questions = case.get("ask", DEFAULT)
    assert len(questions) == len(answers)
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        ctx.pillar = dict(PILLAR)
        ours = json.loads(json.dumps(answered(ctx, *question)))
        answer = case.get("ours", {}).get(number, answer)
        if isinstance(answer, dict) and "raised" in answer:  # Salt itself falls over this
            assert isinstance(ours, list) or not ours
        elif "alike" in case:
            assert [text[:ALIKE] for text in ours] == [text[:ALIKE] for text in answer]
        elif question[0] == "show_lowstate":
            assert once(ours) == once(answer), question
        else:
            assert ours == answer, question


def once(value: Any) -> Any:
    """The same with what a requisite names several times named once, as we do."""
    if isinstance(value, list):
        kept: list[Any] = []
        for each in value:
            if each not in kept:
                kept.append(once(each))
        return kept
    if isinstance(value, dict):
        return {key: once(each) for key, each in value.items()}
    return value
