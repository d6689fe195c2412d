"""What a template changes in pillar, grains and opts. Recorded of Salt 3006.30."""

from __future__ import annotations

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.highstate.compile import compile_sls
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates.own import OwnCopy
from saltlite.templates.template import render_template


@pytest.fixture
def ctx(tmp_path):
    (tmp_path / "one.sls").write_text(
        "{% do pillar.lst.append('new') %}{% do grains.deep.update({'new': 1}) %}"
        "one: {test.nop: [{seen: "
        "[{{ pillar.lst|length }}, {{ salt['pillar.get']('lst')|length }}]}]}"
    )
    (tmp_path / "two.sls").write_text(
        "two: {test.nop: [{seen: [{{ pillar.lst|length }}, {{ grains.deep|length }}]}]}"
    )
    made = MinionContext(
        config=MinionConfig(
            identity=IdentityOptions(id="x"),
            paths=PathOptions(cachedir=str(tmp_path / "cache")),
            files=FileOptions(file_client="local", file_roots={"base": [str(tmp_path)]}),
        ),
        host=Host(),
        grains={"id": "x", "deep": {"a": 1}},
        pillar={"lst": ["x"], "name": "web"},
    )
    made.functions = Registry(made)
    return made


def seen(compiled, name):
    return compiled.high[name]["test"][0]["seen"]


def test_the_files_of_one_run_see_it_but_functions_do_not(ctx):
    compiled = compile_sls(ctx, "one,two")
    assert compiled.errors == []
    assert seen(compiled, "one") == [2, 1]
    assert seen(compiled, "two") == [2, 2]
    assert seen(compile_sls(ctx, "two"), "two") == [1, 1]
    assert ctx.pillar["lst"] == ["x"]


def test_what_a_function_gave_is_not_the_template_s(ctx):
    text = "{% do salt['pillar.get']('lst').append(1) %}{{ pillar.lst, salt['pillar.get']('lst') }}"
    assert render_template(text, "jinja", ctx) == "(['x'], ['x', 1])"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{% do pillar.update({'M': 1}) %}{{ pillar.M, salt['pillar.get']('M') }}", "(1, '')"),
        ("{% do grains.update({'M': 1}) %}{{ grains.M, salt['grains.get']('M') }}", "(1, '')"),
        ("{% do opts.update({'M': 1}) %}{{ opts.M, salt['config.get']('M') }}", "(1, '')"),
        (
            "{% do pillar.pop('name') %}{{ pillar.name is defined, pillar }}",
            "(False, {'lst': ['x']})",
        ),
        ("{{ pillar }} {{ pillar is mapping }}", "{'lst': ['x'], 'name': 'web'} True"),
        ("{% do pillar.update({'M': 1}) %}{{ pillar|list }}", "['lst', 'name', 'M']"),
        ("{{ pillar.copy()|length }}{{ pillar|length }}", "22"),
        ("{{ opts.pillar.name }}{{ opts.grains.id }}{{ opts.id }}", "webxx"),
    ],
)
def test_the_maps_can_be_changed(text, result, ctx):
    assert render_template(text, "jinja", ctx) == result


def test_slsutil_update_changes_its_first_argument(ctx):
    text = "{% set d = {'a': {'b': 1}} %}{% do salt['slsutil.update'](d, {'a': {'c': 2}}) %}{{ d }}"
    assert render_template(text, "jinja", ctx) == "{'a': {'b': 1, 'c': 2}}"


def test_emptiness_is_known_without_a_copy():
    class Slow(dict):
        def __iter__(self):
            raise AssertionError("nobody asked for all")

        def __len__(self):
            raise AssertionError("nobody asked for all")

        def __bool__(self):
            return True

    assert OwnCopy(Slow(a=1))
    own = OwnCopy({"a": 1})
    del own["a"]
    assert not own
    assert "a" not in own
    own["a"] = 2
    assert dict(own) == {"a": 2}
