"""What real Salt made of each template, tests/cases/data/jinja: ours is to be the same."""

from __future__ import annotations

import pytest
from repository import DATA, read_yaml

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates.template import render_template

CASES = DATA / "jinja"
PILLAR = {"a": {"b": {"c": 1}}, "lst": ["x", "y"], "name": "web"}


def cases():
    for path in sorted(CASES.glob("*.yaml")):
        for number, case in enumerate(read_yaml(path)):
            yield pytest.param(case, id=f"{path.stem}-{number}")


@pytest.fixture
def ctx(tmp_path):
    config = MinionConfig(
        identity=IdentityOptions(id="x"),
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(CASES / "states")]}),
    )
    made = MinionContext(config=config, host=Host(), grains={"id": "x"}, pillar=PILLAR)
    made.functions = Registry(made)
    return made


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")  # a case has them
@pytest.mark.parametrize("case", list(cases()))
def test_as_salt_renders_it(case, ctx):
    if "text" in case:
        assert render_template(case["template"], "jinja", ctx) == case["text"]
        return
    with pytest.raises(RenderError) as caught:
        render_template(case["template"], "jinja", ctx)
    first = caught.value.salt_text.split("\n\n---")[0].replace("\n", "|")
    assert first == case["error"]
