"""What the renderer stateconf refuses.

What it accepts is compared with Salt in tests/cases/data/highstate.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.states import stateconf
from saltlite.templates.pipe import TemplateSource, render

REFUSED = {
    "#!stateconf -Z\n.x: test.nop\n": "option -Z not recognized; use #!stateconf",
    "#!stateconf -G yaml\n.x: test.nop\n": "use #!stateconf [-G]",
    "#!stateconf -G .\n.x: test.nop\n": "use #!stateconf [-G]",
    "#!stateconf -G none . jinja\n.x: test.nop\n": "renderer 'none' is not available",
    "#!jinja|yaml|stateconf\n.x: test.nop\n": "stateconf wants text",
    "#!stateconf\n- a\n": "SLS a does not render to a dictionary",
    "#!stateconf\n- a\n# - end of state config -\n": "SLS a does not render to a dictionary",
    "#!stateconf\na: [\n": "did not find expected node content",
    "#!stateconf\n.x: 5\n": "The type .x in 5 is not formatted as a dictionary",
    "#!stateconf\n..x: test.nop\n...y: test.nop\n": "goes beyond top level package",
}


def context(root: Path, **settings: Any) -> MinionContext:
    options = {"root_dir": str(root), "file_client": "local", "id": "web1", **settings}
    (root / "minion").write_text(json.dumps(options))
    ctx = MinionContext(config=load_minion(root), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize("text", REFUSED)
def test_one_sentence_says_what_is_wrong(text: str, tmp_path: Path) -> None:
    with pytest.raises(RenderError) as caught:
        render(TemplateSource(text=text, path="a.sls", sls="a"), context(tmp_path))
    assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize("name", ["yaml", "jinja", "stateconf"])
def test_a_renderer_behind_it_must_be_allowed_too(name: str, tmp_path: Path) -> None:
    ctx = context(tmp_path, renderer_blacklist=[name])
    with pytest.raises(RenderError, match=f"renderer '{name}' is not allowed here"):
        render(TemplateSource(text="#!stateconf\n.x: test.nop\n", path="a.sls", sls="a"), ctx)


def test_files_of_another_compilation_are_told_nothing(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    extends = "#!stateconf\nextend:\n  b::p:\n    stateconf.set: [{n: other}]\n"
    told = "#!stateconf -G\n.p: {stateconf.set: [{n: own}]}\n# - end of state config -\n"
    told += ".x: {test.nop: [{n: '{{ p.n }}'}]}\n"
    shared: dict[str, Any] = {}
    render(TemplateSource(text=extends, sls="a", shared=shared), ctx)
    same = render(TemplateSource(text=told, sls="b", shared=shared), ctx)
    another = render(TemplateSource(text=told, sls="b"), ctx)
    assert {"n": "other"} in same["b::x"]["test.nop"]
    assert {"n": "own"} in another["b::x"]["test.nop"]


@pytest.mark.parametrize("function", [stateconf.set_, stateconf.context])
def test_its_states_do_nothing(function: Any) -> None:
    done = function("a::params", n=1)
    assert (done.result, done.comment) == (True, "")
