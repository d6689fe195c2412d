"""How states of two runs differ, and ``state.diff`` of two environments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.core.dataclasses import replace
from saltlite.errors import FunctionError
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.differing import compare, declarations_of
from saltlite.host import Host
from saltlite.loader.registry import Registry

BASE = """\
motd:
  file.managed:
    - name: /etc/motd
    - contents: welcome
nginx:
  test.nop: []
old:
  test.nop: []
"""
DEV = """\
nginx:
  test.nop: []
motd:
  file.managed:
    - name: /etc/motd
    - contents: hello
    - mode: '0644'
new:
  test.nop:
    - require: [test: nginx]
"""


def chunk(state: str, fun: str, ident: str, **arguments: Any) -> Chunk:
    low = {"state": state, "fun": fun, "__id__": ident, "name": ident, "__sls__": "a"}
    return Chunk.from_low({**low, **arguments})


def answer(old: list[Chunk], new: list[Chunk]) -> dict[str, Any]:
    sides = declarations_of(old), declarations_of(new)
    return compare(*sides).as_answer(*sides)


def test_numbers_of_the_order_and_the_file_do_not_count() -> None:
    one, other = chunk("test", "nop", "a", order=10000), chunk("test", "nop", "a", order=10007)
    other = replace(other, sls="b", saltenv="dev")
    assert not any(answer([one], [other]).values())


def test_another_function_of_the_same_is_a_change() -> None:
    found = answer([chunk("file", "managed", "/f", mode=1)], [chunk("file", "absent", "/f")])
    assert found == {
        "added": {},
        "removed": {},
        "changed": {
            "file_|-/f_|-/f_|-absent": {"fun": {"old": "managed", "new": "absent"},
                                       "mode": {"old": 1}}
        },
        "moved": {},
    }  # fmt: skip


def test_true_and_one_are_two_values() -> None:
    found = answer([chunk("test", "nop", "a", x=True)], [chunk("test", "nop", "a", x=1)])
    assert found["changed"]["test_|-a_|-a_|-nop"] == {"x": {"old": True, "new": 1}}


def test_states_that_have_all_in_common_are_counted() -> None:
    one = chunk("test", "nop", "a")
    found = answer([one], [one, chunk("test", "nop", "a", x=1)])
    assert found["added"] == {"test_|-a_|-a_|-nop": {"sls": "a", "x": 1}}
    assert not found["changed"]


def test_what_a_requisite_puts_elsewhere_is_moved() -> None:
    a, b = chunk("test", "nop", "a"), chunk("test", "nop", "b")
    needy = chunk("test", "nop", "a", require=[{"test": "b"}])
    found = answer([a, b], [needy, b])
    assert found["changed"] == {"test_|-a_|-a_|-nop": {"require": {"new": [{"test": "b"}]}}}
    assert found["moved"] == {"test_|-b_|-b_|-nop": {"after": None}}


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    for env, text in {"base": BASE, "dev": DEV}.items():
        (tmp_path / env).mkdir()
        (tmp_path / env / "web.sls").write_text(text)
        (tmp_path / env / "top.sls").write_text(f"{env}:\n  '*': [web]\n")
    roots = {env: [str(tmp_path / env)] for env in ("base", "dev")}
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(cachedir=str(tmp_path / "cache"), conf_file=str(tmp_path / "minion")),
        files=FileOptions(file_client="local", file_roots=roots),
    )
    ctx = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize("mods", [None, "web"])
def test_two_environments(ctx: MinionContext, mods: str | None) -> None:
    found = ctx.functions.call("state.diff", "base", "dev", mods=mods)
    assert found == {
        "added": {"test_|-new_|-new_|-nop": {"sls": "web", "require": [{"test": "nginx"}]}},
        "removed": {"test_|-old_|-old_|-nop": {"sls": "web"}},
        "changed": {
            "file_|-motd_|-/etc/motd_|-managed": {
                "contents": {"old": "welcome", "new": "hello"},
                "mode": {"new": "0644"},
            }
        },
        "moved": {"test_|-nginx_|-nginx_|-nop": {"after": None}},
    }  # fmt: skip
    assert ctx.retcode == 0
    same = ctx.functions.call("state.diff", "dev", "dev", mods=mods)
    assert same == {"added": {}, "removed": {}, "changed": {}, "moved": {}}


def test_an_environment_that_is_not_there(ctx: MinionContext) -> None:
    with pytest.raises(FunctionError, match="environment: 'prod' is none of base, dev"):
        ctx.functions.call("state.diff", "base", "prod")


def test_one_that_does_not_compile(ctx: MinionContext, tmp_path: Path) -> None:
    (tmp_path / "dev" / "web.sls").write_text("a: {{ nothing.at.all }}\n")
    found = ctx.functions.call("state.diff", "base", "dev")
    assert isinstance(found, list)
    assert found[0].startswith("dev: Rendering SLS 'dev:web' failed")
    assert ctx.retcode == 1


def test_an_environment_that_is_locked(ctx: MinionContext) -> None:
    ctx.config = replace(ctx.config, files=replace(ctx.config.files, lock_saltenv=True))
    with pytest.raises(FunctionError, match="lock_saltenv"):
        ctx.functions.call("state.diff", "base", "dev")
