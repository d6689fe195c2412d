"""Compiled templates that are kept on disk: used for what they were made of, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.highstate.compile import compile_sls
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates import compiled, jinja
from saltlite.templates.compiled import FOLDER, MAX_FILES, keep_compiled
from saltlite.templates.template import render_template

TEXT = "one\n{{ grains.os }} {% for n in range(3) %}{{ n }}{% endfor %}\n"
RENDERED = "one\nDebian 012\n"


class Templates:
    """Renders as a new process would: nothing is in memory, some may be on disk."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cachedir = root / "cache"
        self.cachedir.mkdir()
        self.compilations = 0
        compile_ = jinja.SaltEnvironment.compile

        def counted(*args: object, **kwargs: object) -> object:
            self.compilations += 1
            return compile_(*args, **kwargs)  # type: ignore[call-overload]

        monkeypatch.setattr(jinja.SaltEnvironment, "compile", counted)

    def ctx(self, **extra: object) -> MinionContext:
        config = MinionConfig(
            identity=IdentityOptions(id="web1"),
            paths=PathOptions(cachedir=str(self.cachedir)),
            files=FileOptions(file_client="local", file_roots={"base": [str(self.cachedir)]}),
            extra=extra,
        )
        ctx = MinionContext(config=config, host=Host(), grains={"os": "Debian"}, pillar={})
        ctx.functions = Registry(ctx)
        return ctx

    def render(self, text: str = TEXT, *, name: str = "f/a.j2", **extra: object) -> str:
        jinja._compiled.clear()
        ctx = self.ctx(**extra)
        keep_compiled(ctx)
        return render_template(text, "jinja", ctx, name=name, path=f"/srv/{name}")

    @property
    def files(self) -> list[Path]:
        folder = self.cachedir / FOLDER
        return sorted(folder.iterdir()) if folder.is_dir() else []


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Templates:
    return Templates(tmp_path, monkeypatch)


def test_the_second_process_compiles_nothing(templates: Templates) -> None:
    assert [templates.render(), templates.render()] == [RENDERED, RENDERED]
    assert templates.compilations == 1
    (file,) = templates.files
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_an_edited_template_takes_its_old_selfs_place(templates: Templates) -> None:
    templates.render()
    assert templates.render("two\n{{ grains.os }}\n") == "two\nDebian\n"
    assert templates.render(TEXT) == RENDERED
    assert (templates.compilations, len(templates.files)) == (3, 1)


def test_other_options_make_other_code(templates: Templates) -> None:
    text = "{% if true %}\nyes\n{% endif %}\n"
    assert templates.render(text) == "\nyes\n\n"
    assert templates.render(text, jinja_env={"trim_blocks": True}) == "yes\n\n"
    assert templates.render(text) == "\nyes\n\n"
    assert templates.compilations == 2


def test_another_compiler_makes_other_code(
    templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates.render()
    monkeypatch.setattr(compiled, "_digest_of_maker", lambda: b"another release")
    assert templates.render() == RENDERED
    assert templates.compilations == 2


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[: len(data) // 2], id="half"),
        pytest.param(lambda data: bytes(len(data)), id="zeros"),
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="last bit"),
        pytest.param(lambda data: data[:70] + bytes([data[70] ^ 128]) + data[71:], id="a bit"),
        pytest.param(lambda data: bytes([data[0] ^ 1]) + data[1:], id="digest"),
    ],
)
def test_a_damaged_file_is_made_anew(templates: Templates, damage: object) -> None:
    templates.render()
    (file,) = templates.files
    whole = file.read_bytes()
    file.write_bytes(damage(whole))  # type: ignore[operator]
    assert templates.render() == RENDERED
    assert templates.compilations == 2
    assert file.read_bytes() == whole


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720])
def test_where_others_may_write_nothing_is_read_or_written(templates: Templates, mode: int) -> None:
    templates.render()
    (templates.cachedir / FOLDER).chmod(mode)
    assert templates.render() == RENDERED
    assert templates.render("{{ 1 }}", name="f/new.j2") == "1"
    assert (templates.compilations, len(templates.files)) == (3, 1)


def test_a_folder_behind_a_link_is_not_used(templates: Templates, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (templates.cachedir / FOLDER).symlink_to(elsewhere)
    assert [templates.render(), templates.render()] == [RENDERED, RENDERED]
    assert list(elsewhere.iterdir()) == []


def test_what_cannot_be_written_is_rendered_all_the_same(templates: Templates) -> None:
    (templates.cachedir / FOLDER).write_text("a file")
    assert [templates.render(), templates.render()] == [RENDERED, RENDERED]
    assert templates.compilations == 2


def test_kept_code_knows_its_lines(templates: Templates) -> None:
    for _ in range(2):
        with pytest.raises(RenderError) as caught:
            templates.render("one\ntwo\n{{ grains.nosuch }}\n")
        assert (caught.value.path, caught.value.line) == ("/srv/f/a.j2", 3)
    assert templates.compilations == 1


def test_the_oldest_go_when_there_are_too_many(templates: Templates) -> None:
    templates.render()
    folder = templates.cachedir / FOLDER
    for number in range(MAX_FILES):
        (folder / f"{number:064}").touch()
        os.utime(folder / f"{number:064}", (number, number))
    templates.render("{{ 2 }}", name="f/b.j2")
    left = templates.files
    assert len(left) == MAX_FILES // 2
    templates.compilations = 0
    assert (templates.render(), templates.render("{{ 2 }}", name="f/b.j2")) == (RENDERED, "2")
    assert templates.compilations == 0


def test_states_are_kept_and_what_they_import(templates: Templates) -> None:
    root = templates.cachedir
    (root / "a.sls").write_text("{% from 'map.jinja' import x with context %}{{ x }}: test.nop\n")
    (root / "map.jinja").write_text("{% set x = grains.os %}")
    jinja._compiled.clear()
    for _ in range(2):
        jinja._compiled.clear()
        found = compile_sls(templates.ctx(), "a")
        assert [chunk.ident for chunk in found.low] == ["Debian"]
    assert (templates.compilations, len(templates.files)) == (2, 2)


def test_templates_of_other_contexts_are_not_kept(templates: Templates) -> None:
    """Pillar among them: its templates may hold secrets."""
    render_template(TEXT, "jinja", templates.ctx(), name="f/a.j2", path="/srv/f/a.j2")
    assert templates.files == []
