"""What a user reads after a typical mistake: the line, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import DATA, read_yaml

from saltlite.config.load import load_master, load_minion
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.pillar.context import check_for_minion, compile_for_minion
from saltlite.templates.pipe import TemplateSource, render

MISTAKES = read_yaml(DATA / "mistakes/renderers.yaml")
GRAINS = {"id": "m1", "os": "Debian", "os_family": "Debian"}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("mistakes")
    for name, text in MISTAKES["files"].items():
        (root / name).write_text(text)
    (root / "minion").write_text(
        f"root_dir: {root}\nid: m1\nfile_client: local\nfile_roots: {{base: [{root}]}}\n"
    )
    (root / "master").write_text(f"root_dir: {root}\npillar_roots: {{base: [{root}]}}\n")
    return root


def mistake(root, text):
    config = load_minion(root)
    ctx = MinionContext(config=config, host=Host(), grains=GRAINS, pillar={"color": "red"})
    ctx.functions = Registry(ctx)
    path = str(root / "p.sls")
    with pytest.raises(RenderError) as caught:
        render(TemplateSource(text=text, path=path, name="p.sls", saltenv="base", sls="p"), ctx)
    return caught.value


@pytest.mark.parametrize("name", MISTAKES["mistakes"])
def test_the_line_and_what_was_meant(name, root):
    case = MISTAKES["mistakes"][name]
    error = mistake(root, case["text"])
    path, line = case["at"].split(":")
    assert Path(error.path.removeprefix("salt://")).name == path
    assert error.line == int(line)
    assert case["says"] in str(error)
    assert "\n" not in str(error)
    marked = [
        each for each in error.excerpt.splitlines() if each.endswith("<======================")
    ]
    assert len(marked) == 1
    hint = case.get("hint", "")
    assert str(error).endswith(hint)
    assert error.salt_text.endswith(hint or "---")


@pytest.mark.parametrize("name", MISTAKES["mistakes"])
def test_in_pillar_the_one_line_tells_nothing_of_the_values(name, root):
    secret = "t0ps3cret"
    case = MISTAKES["mistakes"][name]
    (root / "top.sls").write_text("base: {'*': [p]}\n")
    (root / "p.sls").write_text(case["text"].replace("SECRET", secret))
    (root / "secret.json").write_text(f'{{"a": "{secret}", }}')
    _, problems = check_for_minion(load_master(root), "m1", GRAINS)
    (problem,) = problems
    assert case["at"] in problem.text
    assert secret not in problem.text


@pytest.mark.parametrize(
    ("name", "text", "at"),
    [("top.sls", "base:\n  '*':\n\t- p\n", "top.sls:3"), ("p.sls", "a: 1\nb\nc: 2\n", "p.sls:3")],
)
def test_the_masters_log_has_file_and_line(name, text, at, root, caplog):
    (root / "top.sls").write_text("base: {'*': [p]}\n")
    (root / name).write_text(text)
    assert compile_for_minion(load_master(root), "m1", GRAINS)["_errors"]
    assert f"{root}/{at}: " in caplog.text
