"""Compile errors with file and line; circles as a path of ids."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry

CASES = {
    "no list": ("a:\n  test.nop: []\nb:\n  test.nop:\n    - require: {test: a}\n", 3),
    "no function": ("\na:\n  test: []\n", 2),
    "blanks": ("a:\n  test.nop:\n  - name x\n", 1),
    "arguments": ("a:\n  test.nop:\n    name: b\n", 1),
    "a dot": ("'a':\n  test.nop:\n    - require:\n      - test.nop: b\n", 1),
    "twice": ("a:\n  test.nop: []\n  test.fail_without_changes: []\n", 1),
    "a number": ("a: {test.nop: []}\n5: {test.nop: []}\n", 2),
    "extend": ("extend:\n  nosuch:\n    test.nop:\n      - name: y\n", 2),
}


def context(tmp_path: Path, text: str) -> MinionContext:
    (tmp_path / "tree" / "web").mkdir(parents=True)
    (tmp_path / "tree" / "web" / "init.sls").write_text(text)
    settings = {
        "root_dir": str(tmp_path / "root"),
        "file_client": "local",
        "id": "web1",
        "file_roots": {"base": [str(tmp_path / "tree")]},
    }
    (tmp_path / "minion").write_text(json.dumps(settings))
    config = load_minion(str(tmp_path), {}, cache_id=False)
    ctx = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize("name", CASES)
def test_the_log_has_file_and_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    text, line = CASES[name]
    errors = context(tmp_path, text).functions.call("state.apply", "web")
    assert isinstance(errors, list)
    assert f"salt://web/init.sls:{line}: {errors[0]}" in caplog.messages


def test_an_id_that_the_template_makes_has_a_file_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "{{ 'a' ~ 'b' }}:\n  test: []\n"
    errors = context(tmp_path, text).functions.call("state.apply", "web")
    assert errors == ["No function declared in state 'ab' in SLS 'web'"]
    assert f"salt://web/init.sls: {errors[0]}" in caplog.messages


def test_what_names_no_id_stays_as_it_is(tmp_path: Path) -> None:
    errors = context(tmp_path, "").functions.call("state.apply", "nosuch")
    assert errors == ["No matching sls found for 'nosuch' in env 'base'"]


def test_a_circle_is_a_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    high = {
        name: {"test": ["nop", {"require": [{"test": other}]}]}
        for name, other in (("a", "b"), ("b", "c"), ("c", "a"))
    }
    with caplog.at_level(logging.ERROR):
        context(tmp_path, "").functions.call("state.high", high)
    assert "recursive requisite: a -> b -> c -> a" in caplog.text


def test_what_is_wrong_with_an_id_is_told_once(tmp_path: Path) -> None:
    text = "extend:\n  gone:\n    test: [{name: y}]\n    cmd: [{name: z}]\n"
    errors = context(tmp_path, text).functions.call("state.apply", "web")
    assert len(errors) == 1
    assert errors[0].startswith("Cannot extend ID 'gone' in 'base:web'.")


def test_an_id_that_failed_twice_is_named_once(tmp_path: Path) -> None:
    text = (
        "bad:\n  test.fail_without_changes: []\n  cmd.run: [{name: 'false'}]\n"
        "after:\n  test.nop:\n    - require: [{test: bad}, {cmd: bad}]\n"
    )
    found = context(tmp_path, text).functions.call("state.apply", "web")
    assert found["test_|-after_|-after_|-nop"]["comment"] == (
        "One or more requisite failed: web.bad"
    )
