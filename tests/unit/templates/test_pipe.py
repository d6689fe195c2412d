"""The pipe of renderers: which run, what each gives, and how each fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile

import pytest

from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates.pipe import Stage, TemplateSource, pipe, render, source_of_file


def make(tmp_path, extra=None, **files):
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(
            conf_file=str(tmp_path / "minion"),
            cachedir=str(tmp_path / "cache"),
            extension_modules=str(tmp_path / "cache" / "extmods"),
        ),
        files=FileOptions(
            file_client="local", file_roots={"base": [str(tmp_path / "states")]}, **files
        ),
        extra=extra or {},
    )
    ctx = MinionContext(config=config, host=Host(), grains={"os": "Debian"}, pillar={"p": 1})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def ctx(tmp_path):
    return make(tmp_path)


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("a: 1", [Stage("jinja", ""), Stage("yaml", "")]),
        ("#!yaml\na: 1", [Stage("yaml", "")]),
        ("#!jinja|yaml|gpg\n", [Stage("jinja", ""), Stage("yaml", ""), Stage("gpg", "")]),
        ("#!jinja -s|yaml\n", [Stage("jinja", "-s"), Stage("yaml", "")]),
        ("#!/bin/sh\n", [Stage("jinja", ""), Stage("yaml", "")]),
        ("# !yaml\n", [Stage("jinja", ""), Stage("yaml", "")]),
        ("", [Stage("jinja", ""), Stage("yaml", "")]),
    ],
)
def test_the_first_line_names_the_renderers(text, stages):
    assert pipe(text, "jinja|yaml") == stages


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: {{ grains.os }}", {"a": "Debian"}),
        ("#!yaml\na: '{{ 1 }}'", {"a": "{{ 1 }}"}),
        ('#!json\n{"b": 1, "a": [true]}', {"b": 1, "a": [True]}),
        ('#!jinja|json\n{"a": {{ 1 + 1 }}}', {"a": 2}),
        ("#!text\n{{ x }}", "{{ x }}"),
        ("#!jinja|text\n{{ 1 }}", "1"),
        ("# nothing", {}),
        ("#!yamlex\na: !aggregate [1]\na: !aggregate [2]", {"a": [1, 2]}),
        ("#!yamlex\na: !aggregate {x: 1}\na: !aggregate {y: 2}", {"a": {"x": 1, "y": 2}}),
        ("#!yamlex\na: !aggregate [1]\na: !reset [2]", {"a": [2]}),
    ],
)
def test_what_files_render_to(text, data, ctx):
    assert render(TemplateSource(text=text), ctx) == data


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_toml(ctx):
    assert render(TemplateSource(text="#!toml\n[a]\nb = 1"), ctx) == {"a": {"b": 1}}
    with pytest.raises(RenderError):
        render(TemplateSource(text="#!toml\n[a"), ctx)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 3, "found conflicting ID 'a', set first on line 1"),
        ("a: b: c", 1, "mapping values are not allowed in this context"),
        ("a: 1\nb: {{{ 1 }}: 2}", 2, None),
        ("x:\n\ty: 1", 2, "found character that cannot start any token"),
        ("a: !!python/name:os.system x", 1, "could not determine a constructor for the tag"),
        ("#!json\n{", 1, "Expecting property name"),
        ("#!nosuch\na: 1", 1, "renderer 'nosuch' is not available"),
    ],
)
def test_errors_name_the_line(text, line, problem, ctx):
    with pytest.raises(RenderError) as caught:
        render(TemplateSource(text=text, path="/srv/x.sls"), ctx)
    assert (caught.value.path, caught.value.line) == ("/srv/x.sls", line)
    assert (problem or "") in caught.value.problem


def test_yaml_errors_show_the_lines(ctx):
    with pytest.raises(RenderError) as caught:
        render(TemplateSource(text="a: 1\na: {{ 2 }}\n", path="/x.sls"), ctx)
    assert caught.value.salt_text == (
        "found conflicting ID 'a', set first on line 1; line 2\n\n"
        "---\na: 1\na: 2    <======================\n---"
    )


def test_white_and_black_lists(tmp_path):
    ctx = make(tmp_path, renderer_whitelist=["jinja", "yaml"])
    assert render(TemplateSource(text="a: 1"), ctx) == {"a": 1}
    with pytest.raises(RenderError, match="'py' is not allowed"):
        render(TemplateSource(text="#!py\n", path="/x.sls"), ctx)
    ctx = make(tmp_path, renderer_blacklist=["jinja"])
    with pytest.raises(RenderError, match="'jinja' is not allowed"):
        render(TemplateSource(text="a: 1"), ctx)


def test_the_configured_pipe_is_the_default(tmp_path):
    assert render(TemplateSource(text="a: '{{ 1 }}'"), make(tmp_path, renderer="yaml")) == {
        "a": "{{ 1 }}"
    }
    assert render(TemplateSource(text="a: 1"), make(tmp_path), renderer="text") == "a: 1"


PY = """#!py
def run():
    return {
        "id": __grains__["os"], "said": __salt__["test.echo"]("hi"), "p": pillar["p"],
        "sls": __sls__, "env": __env__, "opts": __opts__["id"], "place": slspath,
    }
"""


def test_python(ctx):
    source = TemplateSource(text=PY, path="/srv/salt/a/b.sls", sls="a.b", saltenv="dev")
    assert render(source, ctx) == {
        "id": "Debian", "said": "hi", "p": 1, "sls": "a.b", "env": "dev", "opts": "web1",
        "place": "a",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("#!py\ndef run():\n    raise ValueError('no')\n", 3, "ValueError: no"),
        ("#!py\ndef run(:\n", 2, "SyntaxError"),
        ("#!py\nx = 1\n", None, "has no function run"),
        ("#!py\nimport nosuch_module\n", 2, "ModuleNotFoundError"),
    ],
)
def test_python_that_fails(text, line, problem, ctx):
    with pytest.raises(RenderError) as caught:
        render(TemplateSource(text=text, path="/srv/x.sls"), ctx)
    assert caught.value.line == line
    assert problem in caught.value.problem


def test_python_comes_from_files_only(ctx):
    with pytest.raises(RenderError, match="Template :string: is not a file!"):
        render(TemplateSource(text=PY), ctx)


def test_renderers_of_users_come_first(tmp_path):
    folder = tmp_path / "cache" / "extmods" / "renderers"
    folder.mkdir(parents=True)
    (folder / "shout.py").write_text(
        "def render(data, saltenv='base', sls='', argline='', **kwargs):\n"
        "    return {'said': data.splitlines()[1].upper(), 'arg': argline, 'sls': sls}\n"
    )
    source = TemplateSource(text="#!jinja|shout -x\n{{ 'hey' }}", sls="a")
    assert render(source, make(tmp_path)) == {"said": "HEY", "arg": "-x", "sls": "a"}


def test_files_of_the_tree_and_of_the_machine(tmp_path, ctx):
    (tmp_path / "states").mkdir()
    (tmp_path / "states" / "x.sls").write_text("dir: {{ tpldir }}\nfile: {{ tplfile }}\n")
    for path in ("salt://x.sls", str(tmp_path / "states" / "x.sls")):
        source = source_of_file(path, ctx)
        assert source is not None
        assert render(source, ctx) == {"dir": ".", "file": "x.sls"}
    assert source_of_file("salt://nosuch.sls", ctx) is None
    assert source_of_file("relative.sls", ctx) is None


def test_files_that_are_no_text(tmp_path, ctx):
    (tmp_path / "x.sls").write_bytes(b"a: \xff")
    with pytest.raises(RenderError, match="not UTF-8"):
        source_of_file(str(tmp_path / "x.sls"), ctx)


@pytest.fixture
def keys():
    """A GnuPG home with one key; its path is short, since sockets live there."""
    if shutil.which("gpg") is None:
        pytest.skip("there is no gpg")
    home = tempfile.mkdtemp(prefix="gpg", dir="/tmp")
    gpg = ["gpg", "--homedir", home, "--batch", "--quiet"]
    try:
        subprocess.run(
            [*gpg, "--passphrase", "", "--quick-generate-key", "salt@example", "ed25519/cert"],
            check=True, timeout=60, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        listed = subprocess.run(
            [*gpg, "--list-keys", "--with-colons"], capture_output=True, text=True
        )
        fingerprint = next(
            line.split(":")[9] for line in listed.stdout.splitlines() if "fpr" in line
        )
        subprocess.run(
            [*gpg, "--passphrase", "", "--quick-add-key", fingerprint, "cv25519", "encr"],
            check=True, timeout=60, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        yield home
    finally:
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], timeout=20)
        shutil.rmtree(home, ignore_errors=True)


def encrypted(home, text):
    command = ["gpg", "--homedir", home, "--batch", "--quiet", "--trust-model", "always"]
    done = subprocess.run(
        [*command, "--armor", "-r", "salt@example", "--encrypt"],
        input=text, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    return done.stdout


def test_gpg_decrypts_what_it_can(tmp_path, keys, caplog):
    ctx = make(tmp_path, extra={"gpg_keydir": keys})
    data = {"a": [{"secret": encrypted(keys, "s3cr3t")}, "plain"], "n": 5}
    text = f"#!json|gpg\n{json.dumps(data)}"
    with caplog.at_level(0):
        assert render(TemplateSource(text=text), ctx) == {
            "a": [{"secret": "s3cr3t"}, "plain"],
            "n": 5,
        }
    assert "s3cr3t" not in caplog.text


def test_gpg_leaves_what_it_cannot_decrypt(tmp_path, keys):
    broken = "-----BEGIN PGP MESSAGE-----\n\nAAAA\n-----END PGP MESSAGE-----"
    text = "#!yaml|gpg\na: |\n  " + broken.replace("\n", "\n  ")
    assert render(TemplateSource(text=text), make(tmp_path, extra={"gpg_keydir": keys})) == {
        "a": broken
    }
    must = {"gpg_keydir": keys, "gpg_decrypt_must_succeed": True}
    with pytest.raises(RenderError, match="Could not decrypt"):
        render(TemplateSource(text=text), make(tmp_path, extra=must))


@pytest.mark.parametrize("engine", ["jinja", "mako"])
def test_a_template_engine_takes_no_unknown_option(engine, ctx):
    with pytest.raises(RenderError, match="Unknown renderer option: junk"):
        render(TemplateSource(text=f"#!{engine} junk|yaml\na: 1", path="p.sls"), ctx)


def test_the_option_for_what_is_so_anyway_is_taken(ctx):
    assert render(TemplateSource(text="#!jinja -s|yaml\na: 1", path="p.sls"), ctx) == {"a": 1}
