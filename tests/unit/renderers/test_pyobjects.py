"""What the renderer pyobjects refuses.

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
from saltlite.templates.pipe import TemplateSource, render

REFUSED = {
    "Test.none('x')": ("The function 'none' does not exist in the StateFactory for 'test'", 2),
    "None_.nop('x')": ("name 'None_' is not defined", 2),
    "Test.nop()": ("missing 1 required positional argument: 'id_'", 2),
    "x = 1\nx = (": ("'(' was never closed", 3),
    "salt.none.nothing()": ("AttributeError", 2),
    "Test.nop('x')\nTest.nop('x')": ("A state with id ''x'', type ''test.nop'' exists", 3),
    "from salt://none.sls import M": ("Could not find the file 'salt://none.sls'", None),
    "from salt://m.sls import none": ("'none' was not found in 'salt://m.sls'", None),
    "from salt://self.sls import b": ("more than 20 files import one another", None),
    "import salt://m.sls": ("invalid syntax", 2),
    "class M(Map):\n    merge = 'tier'\n    class D:\n        a = 1": ("dictionary update", 2),
}


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    return context(tmp_path)


def context(root: Path, **settings: Any) -> MinionContext:
    (root / "m.sls").write_text("#!pyobjects\nb = 1\n")
    (root / "self.sls").write_text("#!pyobjects\nfrom salt://self.sls import b\n")
    files = {"file_roots": {"base": [str(root)]}, "root_dir": str(root / "root")}
    options = {**files, "file_client": "local", "id": "web1", **settings}
    (root / "minion").write_text(json.dumps(options))
    config = load_minion(root)
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={"tier": "front"})
    ctx.functions = Registry(ctx)
    return ctx


def rendered(text: str, ctx: MinionContext) -> Any:
    return render(TemplateSource(text=f"#!pyobjects\n{text}\n", path="/a.sls", sls="a"), ctx)


@pytest.mark.parametrize("text", REFUSED)
def test_the_line_of_a_mistake_is_told(text: str, ctx: MinionContext) -> None:
    sentence, line = REFUSED[text]
    with pytest.raises(RenderError) as caught:
        rendered(text, ctx)
    assert sentence in str(caught.value)
    assert caught.value.line == line


def test_nothing_of_a_broken_file_is_in_the_next(ctx: MinionContext) -> None:
    with pytest.raises(RenderError):
        rendered("with Test.nop('x'):\n    Test.nop('y')\n    1 / 0", ctx)
    assert rendered("Test.nop('x')", ctx) == {"x": {"test.nop": []}}
    assert rendered("", ctx) == {}


def test_a_state_is_a_requisite(ctx: MinionContext) -> None:
    found = rendered("a = Test.nop('a')\nTest.nop('b', require=a)", ctx)
    assert found["b"] == {"test.nop": [{"require": [{"test": "a"}]}]}


def test_only_files_run(ctx: MinionContext) -> None:
    with pytest.raises(RenderError, match="is not a file"):
        render(TemplateSource(text="#!pyobjects\nTest.nop('x')\n"), ctx)


def test_the_renderer_may_be_forbidden(tmp_path: Path) -> None:
    ctx = context(tmp_path, renderer_blacklist=["pyobjects"])
    with pytest.raises(RenderError, match="not allowed here"):
        rendered("Test.nop('x')", ctx)
