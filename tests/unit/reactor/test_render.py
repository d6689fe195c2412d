"""The files of reactions: found, rendered, and what hostile data make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.reactor.reactions import compile_reactions
from saltlite.reactor.render import FileMissing, ReactionRenderer
from saltlite.templates.quoting import quote

EVIL = "x\nevil:\n  local.cmd.run:\n    - tgt: '*'\n    - args: [{cmd: id}]\n"

HOSTILE: list[Any] = [
    EVIL,
    "{{ 7*7 }}",
    "{% raw %}",
    "'",
    '"',
    "\\",
    "a: b",
    "# no comment",
    "&a *a",
    "!!python/object/apply:os.system [id]",
    "\x00\x07\x7f\x85\u2028\ufeff",
    "- list",
    "}]",
    "\ud800",
    "x" * 100_000,
    {"a\nb: c": EVIL},
    [EVIL, [EVIL]],
    "true",
    "~",
    "1e3",
    "\U0001f600",
]


@pytest.fixture
def renderer(tmp_path: Path) -> ReactionRenderer:
    return make(tmp_path)


def make(tmp_path: Path, *, strict: bool = False, **options: Any) -> ReactionRenderer:
    (tmp_path / "srv").mkdir(exist_ok=True)
    config = MinionConfig(
        files=FileOptions(
            file_client="local", file_roots={"base": [str(tmp_path / "srv")]}, **options
        ),
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
    )
    ctx = MinionContext(config=config, host=Host(), grains={"id": "m"}, pillar={"secret": "s"})
    return ReactionRenderer(ctx, strict=strict)


def render(renderer: ReactionRenderer, folder: Path, text: str, data: Any, tag: str = "t") -> Any:
    file = folder / "file.sls"
    file.write_text(text)
    return renderer.render(str(file), tag, {"x": data})


def test_what_templates_see(renderer: ReactionRenderer, tmp_path: Path) -> None:
    text = (
        "tag: {{ tag }}\nx: {{ data.x }}\nsaltenv: {{ saltenv }}\nsls: {{ sls is none }}\n"
        "grain: {{ grains.id }}\npillar: {{ pillar.secret }}\nopts: {{ opts.renderer }}\n"
        "salt: {{ 'test.ping' in salt }}\n"
    )
    assert render(renderer, tmp_path, text, 1) == {
        "tag": "t", "x": 1, "saltenv": "base", "sls": True, "grain": "m", "pillar": "s",
        "opts": "jinja|yaml", "salt": False,
    }  # fmt: skip


def test_one_file_does_not_see_what_another_one_changed(
    renderer: ReactionRenderer, tmp_path: Path
) -> None:
    text = "{% do grains.update({'id': 'changed'}) %}a: {{ grains.id }}"
    assert render(renderer, tmp_path, text, 1) == {"a": "changed"}
    assert render(renderer, tmp_path, "a: {{ grains.id }}", 1) == {"a": "m"}


def test_files(renderer: ReactionRenderer, tmp_path: Path) -> None:
    for name in ("b.sls", "a.sls", "srv/c.sls"):
        (tmp_path / name).write_text("{}")
    found = renderer.locate(f"{tmp_path}/*.sls", "t")
    assert found == [f"{tmp_path}/a.sls", f"{tmp_path}/b.sls"]
    for address in ("salt://c.sls", "salt://c.sls?saltenv=base", "salt://later.sls"):
        (tmp_path / "srv" / "later.sls").write_text("{}")
        assert renderer.locate(address, "t") == [address]
        assert renderer.render(address, "t", {}) == {}
    (tmp_path / "srv" / "later.sls").write_text("a: {{ tag }}")
    assert renderer.render("salt://later.sls", "t", {}) == {"a": "t"}
    for missing in ("/nonexistent", "relative.sls", "salt://none.sls", str(tmp_path)):
        with pytest.raises(FileMissing, match="File missing or not found"):
            renderer.locate(missing, "t")


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_json_keeps_data_data(renderer: ReactionRenderer, tmp_path: Path, value: Any) -> None:
    """As the documents advise; a value that YAML cannot have is refused as a whole."""
    text = "a:\n  local.test.arg:\n    - tgt: m1\n    - args: {x: {{ data.x | json }}}\n"
    try:
        found = render(renderer, tmp_path, text, value)
    except RenderError:
        assert value in ("\x00\x07\x7f\x85\u2028\ufeff", "\ud800")
        return
    assert found == {"a": {"local.test.arg": [{"tgt": "m1"}, {"args": {"x": value}}]}}


def test_unquoted_data_are_an_injection(renderer: ReactionRenderer, tmp_path: Path) -> None:
    """Told in docs/reactor.md and by check.reactor: so Salt's templates work, and these do."""
    found = render(renderer, tmp_path, "a:\n  local.test.arg:\n    - tgt: {{ data.x }}\n", EVIL)
    made = compile_reactions([("f", found)])
    assert [one.fun for one in made.reactions] == ["test.arg", "cmd.run"]


STRICT = {
    "alone": "{{ data.x }}",
    "with json": "{{ data.x | json }}",
    "changed": "{{ data.x if data.x is not string else data.x ~ '' }}",
    "a filter": "{{ data.x | default('y') }}",
    "a variable": "{% set y = data.x %}{{ y }}",
    "a loop": "{% for y in [data.x] %}{{ y }}{% endfor %}",
    "a macro": "{% macro m(y) %}{{ y }}{% endmacro %}{{ m(data.x) }}",
    "a block": "{% set y %}{{ data.x }}{% endset %}{{ y }}",
    "a call": "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ data.x }}{% endcall %}",
}


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("expression", STRICT.values(), ids=STRICT)
def test_reactor_strict(tmp_path: Path, expression: str, value: Any) -> None:
    """However it is printed, a value stays one value."""
    renderer = make(tmp_path, strict=True)
    text = f"a:\n  local.test.arg:\n    - tgt: m1\n    - args: {{x: {expression}}}\n"
    try:
        found = render(renderer, tmp_path, text, value)
    except RenderError:
        assert value == "\ud800" or "json" in expression
        return
    assert found == {"a": {"local.test.arg": [{"tgt": "m1"}, {"args": {"x": value}}]}}


def test_what_is_safe_is_printed_as_it_is(tmp_path: Path) -> None:
    renderer = make(tmp_path, strict=True)
    assert render(renderer, tmp_path, "a: 'G@id:{{ data.x | safe }}'", "m1") == {"a": "G@id:m1"}
    # a text that is made of a safe one is not safe
    found = render(renderer, tmp_path, "a: {{ data.x ~ ('' | safe) }}", EVIL)
    assert found == {"a": EVIL}
    assert render(renderer, tmp_path, "a: {{ 'const' }}\nb: {{ 3 }}\nc: {{ none }}", 1) == {
        "a": "const", "b": 3, "c": None,
    }  # fmt: skip
    with pytest.raises(RenderError, match="nosuch"):
        render(renderer, tmp_path, "a: {{ nosuch }}", 1)
    with pytest.raises(RenderError, match="cannot quote"):
        render(renderer, tmp_path, "#!mako|yaml\na: ${data['x']}", 1)


def test_others_are_not_quoted(tmp_path: Path) -> None:
    """The two kinds of environments keep their compiled templates apart."""
    text = "a: x{{ data.x }}"
    assert render(make(tmp_path), tmp_path, text, "y") == {"a": "xy"}
    assert render(make(tmp_path, strict=True), tmp_path, text, "y") == {"a": 'x"y"'}
    assert render(make(tmp_path), tmp_path, text, "y") == {"a": "xy"}


def test_quote() -> None:
    assert quote({"a": 1}) == '{"a": 1}'
    assert quote("ä\u2028\x7f") == '"ä\\u2028\\u007f"'


def test_an_endless_template_is_told_with_its_place(tmp_path: Path) -> None:
    renderer = make(tmp_path, jinja_time_limit=0.2)
    text = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(RenderError, match=r"takes more than 0.2 s"):
        render(renderer, tmp_path, text, 1)
