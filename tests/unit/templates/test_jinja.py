"""What templates see, what they import, where errors point, and what the sandbox refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates import jinja
from saltlite.templates.template import render_template

TREE = {
    "f/map.jinja": "{% set port = 80 %}{% macro place() %}{{ tpldir }} {{ tplfile }}{% endmacro %}",
    "f/lib/macros.jinja": (
        "{% macro own() %}{{ tpldir }}{% endmacro %}{% set seen = seen|d('no') %}"
    ),
    "f/lib/up.jinja": '{% from "../map.jinja" import port %}{{ port }}',
    "f/broken.jinja": "one\n{{ grains.nosuch }}\nthree\n",
    "f/syntax.jinja": "one\n{% if %}\n",
    "f/data.yaml": "dir: {{ tpldir }}\nmode: 0644\n",
    "f/latin.txt": b"caf\xe9",
    "f/self.jinja": '{% include "f/self.jinja" %}',
}


def make(tmp_path, extra=None, pillar=None, grains=None):
    root = tmp_path / "states"
    for name, text in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(file_client="local", file_roots={"base": [str(root)]}),
        extra=extra or {},
    )
    ctx = MinionContext(
        config=config, host=Host(), grains=grains or {"os": "Debian"}, pillar=pillar or {}
    )
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def ctx(tmp_path):
    return make(tmp_path)


def rendered(text, ctx, **more):
    return render_template(text, "jinja", ctx, **more)


@pytest.mark.parametrize(
    "expression", ["salt['test.echo']('x')", "salt['test']['echo']('x')", "salt.test.echo('x')"]
)
def test_functions_have_three_spellings(expression, ctx):
    assert rendered(f"{{{{ {expression} }}}}", ctx) == "x"


def test_context_lies_on_defaults_and_both_on_the_names(ctx):
    text = "{{ a }}{{ b }}{{ saltenv }}"
    assert (
        rendered(text, ctx, context={"a": 1}, defaults={"a": 2, "b": 3}, saltenv="dev") == "13dev"
    )


def test_an_sls_file_knows_its_place(ctx):
    text = "{{ [sls, tpldir, tplfile, tpldot, slspath, slsdotpath, slscolonpath, sls_path] }}"
    got = rendered(text, ctx, sls="f.lib.x", path="/cache/f/lib/x.sls")
    assert got == str(
        ["f.lib.x", "f/lib", "f/lib/x.sls", "f.lib", "f/lib", "f.lib", "f:lib", "f_lib"]
    )
    assert rendered("{{ tplfile }}", ctx, sls="f.lib", path="/c/f/lib/init.sls") == (
        "f/lib/init.sls"
    )


def test_an_import_without_context_knows_its_own_place(ctx):
    text = '{% from "f/map.jinja" import place %}{{ place() }} {{ tpldir }}'
    assert rendered(text, ctx, sls="top.x") == "f f/map.jinja top"


def test_an_import_with_context_sees_variables_and_the_importing_place(ctx):
    text = (
        '{% set seen = "yes" %}{% from "f/lib/macros.jinja" import own, seen %}'
        "{{ own() }}{{ seen }}"
    )
    assert rendered(text, ctx, sls="top.x") == "f/libno"
    text = text.replace("own, seen", "own, seen with context")
    assert rendered(text, ctx, sls="top.x") == "topyes"


def test_relative_imports_lead_on_from_the_importing_file(ctx):
    assert rendered('{% from "../map.jinja" import port %}{{ port }}', ctx, sls="f.lib.x") == "80"
    assert rendered('{% include "f/lib/up.jinja" %}', ctx) == "80"


def test_data_files_are_templates_with_a_place_of_their_own(ctx):
    text = '{% import_yaml "f/data.yaml" as y %}{{ y }}'
    assert rendered(text, ctx, sls="top.x") == "{'dir': 'f', 'mode': 644}"


def test_an_absolute_or_foreign_path_stays_below_the_roots(ctx, tmp_path):
    (tmp_path / "secret").write_text("s3cr3t")
    for path in (str(tmp_path / "secret"), "../secret", "f/../../secret"):
        with pytest.raises(RenderError):
            rendered(f'{{% include "{path}" %}}', ctx, sls="x")


def test_bytes_that_are_no_utf8_are_read_as_latin1(ctx):
    assert rendered('{% import_text "f/latin.txt" as t %}{{ t }}', ctx) == "café"


def test_an_error_names_file_line_and_neighbours(ctx):
    with pytest.raises(RenderError) as caught:
        rendered("a\nb\n{{ nosuch }}\nd\n", ctx, path="/srv/x.sls")
    error = caught.value
    assert (error.path, error.line) == ("/srv/x.sls", 3)
    assert str(error) == "/srv/x.sls:3: Jinja variable 'nosuch' is undefined"
    assert error.salt_text == (
        "Jinja variable 'nosuch' is undefined; line 3\n\n"
        "---\na\nb\n{{ nosuch }}    <======================\nd\n---"
    )


@pytest.mark.parametrize(("name", "line"), [("f/broken.jinja", 2), ("f/syntax.jinja", 2)])
def test_an_error_in_an_imported_file_points_there(name, line, ctx):
    with pytest.raises(RenderError) as caught:
        rendered(f'x\n{{% include "{name}" %}}', ctx, path="/srv/x.sls")
    assert (caught.value.path, caught.value.line) == (f"salt://{name}", line)
    assert f"salt://{name}({line}):\n---\none\n" in caught.value.salt_text


def test_only_lines_around_the_place_are_shown(ctx):
    with pytest.raises(RenderError) as caught:
        rendered("\n".join([*map(str, range(20)), "{{ x }}", *map(str, range(20))]), ctx)
    shown = caught.value.excerpt.splitlines()
    assert shown[:2] == ["---", "[...]"]
    assert shown[7].startswith("{{ x }}    <====")
    assert shown[-2:] == ["[...]", "---"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{{ pillar.databse }}", "database"),
        ("{{ pillar['app']['prot'] }}", "port"),
        ("{{ grains.os_famly }}", "os_family"),
        ("{{ pilar }}", "pillar"),
    ],
)
def test_a_misspelt_name_is_met_with_the_nearest_one(text, hint, tmp_path):
    ctx = make(tmp_path, pillar={"database": 1, "app": {"port": 5}}, grains={"os_family": "Debian"})
    with pytest.raises(RenderError) as caught:
        rendered(text, ctx)
    assert caught.value.salt_text.endswith(f"The nearest name is '{hint}'.")


def test_what_a_salt_function_refuses_is_said_as_such(ctx):
    with pytest.raises(RenderError, match="Problem running salt function in Jinja template: "):
        rendered("{{ salt['hashutil.digest']('x', 'nosuch') }}", ctx)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ salt.__self__ }}",
        "{{ salt['test.ping'].__call__.__globals__ }}",
        "{{ salt.test.ping.__init__ }}",
        "{{ salt.test.ping._SaltFunction__ctx }}",
        "{{ ['x']|attr('__class__') }} x",
        "{% set f = '{0.__class__}'.format %}{{ f(1) }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{x.__class__}'.format_map({'x': 1}) }}",
        "{{ ''|method_call('__class__') }}",
        "{{ ''|method_call('__init__') }}",
        "{{ self.__init__ }} {{ self._TemplateReference__context }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ raise.__globals__ }}",
        "{{ ['a']|map(attribute='__class__')|list }}",
        "{{ 'x'|map('attr', '__class__')|list }}",
        "{% import 'f/map.jinja' as m %}{{ m.__dict__ }}",
        "{% import 'f/map.jinja' as m %}{{ m._body_stream }}",
    ],
)
def test_the_sandbox_keeps_what_is_private(text, ctx):
    try:
        shown = rendered(text, ctx)
    except RenderError as error:
        shown = error.problem
        assert "is unsafe" in shown or "has no attribute" in shown
    else:
        assert "Undefined" in shown
    assert "<class" not in shown
    assert "0x" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 10**9 }}",
        "{{ 10**9 * 'x' }}",
        "{{ [0] * 10**9 }}",
        "{{ 10 ** 10000000000 }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
        '{% include "f/self.jinja" %}',
        "{{ '10.0.0.0/8'|network_hosts }}",
    ],
)
def test_what_would_eat_the_memory_is_stopped(text, ctx):
    with pytest.raises(RenderError):
        rendered(text, ctx)


def test_values_are_never_templates(tmp_path):
    ctx = make(tmp_path, pillar={"v": "{{ 7*7 }}{% raw %}"})
    assert rendered("{{ pillar.v }}", ctx) == "{{ 7*7 }}{% raw %}"


def test_options_of_jinja_for_files_and_for_sls(tmp_path, caplog):
    extra = {
        "jinja_env": {"variable_start_string": "<<", "variable_end_string": ">>"},
        "jinja_sls_env": {"trim_blocks": True, "extensions": ["os.system"]},
    }
    ctx = make(tmp_path, extra=extra)
    assert rendered("<< 1 >>{{ 1 }}", ctx) == "1{{ 1 }}"
    assert rendered("{% if 1 %}\nx{% endif %}\n", ctx, sls="a") == "x\n"
    assert "jinja2 environment extensions is not recognized" in caplog.text


def test_code_is_compiled_once_for_one_text(ctx, monkeypatch):
    rendered("{{ 1 }} once", ctx)
    monkeypatch.setattr(jinja.SaltEnvironment, "compile", None)
    assert rendered("{{ 1 }} once", ctx) == "1 once"


def test_kept_code_is_bounded(ctx, monkeypatch):
    monkeypatch.setattr(jinja, "MAX_COMPILED", 5)
    jinja._compiled.clear()
    for number in range(20):
        rendered(f"{{{{ {number} }}}}", ctx)
    assert len(jinja._compiled) == 5


def test_ends_with_a_line_feed_as_its_source(ctx):
    assert rendered("a\n", ctx) == "a\n"
    assert rendered("a", ctx) == "a"
    assert rendered("{% if 1 %}a{% endif -%}\n", ctx) == "a\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "1970"), ("1457456400", "2016"), ("'2002/12/25'", "2002"), ("none", "20"),
        ("'2002-12-25T10:11'", "2002"),
    ],
)  # fmt: skip
def test_moments(value, text, ctx):
    assert rendered(f"{{{{ {value}|strftime('%Y') }}}}", ctx).startswith(text)
    with pytest.raises(RenderError, match="Unable to parse yesterday"):
        rendered("{{ 'yesterday'|strftime }}", ctx)


@pytest.mark.parametrize("name", ["random_hash", "rand_str", "gen_mac", "random_shuffle"])
def test_chance_is_not_compiled_in(name, ctx):
    value = "range(99)|list" if "shuffle" in name else "'00:16:3E'" if "mac" in name else "(10**12)"
    text = f"{{{{ {value}|{name} }}}}"
    assert rendered(text, ctx) != rendered(text, ctx)


def test_no_such_engine(ctx):
    with pytest.raises(RenderError, match="no such template engine: cheetah"):
        render_template("x", "cheetah", ctx)


def test_ping_needs_no_jinja(tmp_path):
    code = (
        "import sys\n"
        "from saltlite.config.minion import MinionConfig, PathOptions\n"
        "from saltlite.context import MinionContext\n"
        "from saltlite.host import Host\n"
        "from saltlite.loader.registry import Registry\n"
        "paths = PathOptions(cachedir=sys.argv[1], extension_modules=sys.argv[1])\n"
        "config = MinionConfig(paths=paths)\n"
        "ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})\n"
        "assert Registry(ctx).call('test.ping')\n"
        "sys.exit('jinja2' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], timeout=30).returncode == 0


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("plain: text\n", {}),
        ("a\r\nb\rc\n\n", {}),
        ("a # b\n  # c\n", {"jinja_env": {"line_comment_prefix": "#"}}),
        ("<<x>>", {"jinja_env": {"variable_start_string": "<<x", "variable_end_string": ">>"}}),
        ("a\n\n", {"jinja_env": {"keep_trailing_newline": True}}),
        ("a { b } % # c\n", {"jinja_env": {"trim_blocks": True, "lstrip_blocks": True}}),
    ],
)
def test_plain_text_is_what_jinja_makes_of_it(tmp_path, monkeypatch, text, extra):
    quick = _outcome(text, make(tmp_path / "quick", extra=extra))
    monkeypatch.setattr(jinja, "is_plain", lambda text, options: False)
    assert quick == _outcome(text, make(tmp_path / "full", extra=extra))


def _outcome(text, ctx):
    try:
        return rendered(text, ctx)
    except RenderError as error:
        return f"error: {error.problem}"


def test_names_of_one_template_are_not_in_the_next(ctx):
    assert rendered("{{ mine }}", ctx, context={"mine": 1}) == "1"
    with pytest.raises(RenderError, match="mine"):
        rendered("{{ mine }} ", ctx)
