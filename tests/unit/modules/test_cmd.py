"""What recorded commands (tests/cases/data/salt_call) do not show: secrets, injection, guards."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from cluster import eventually
from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RenderError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.providers import command

SECRETS = ("s3cr3t-1", "s3cr3t-2", "s3cr3t-3", "s3cr3t-4")


def make(modules=None, host=None):
    config = MinionConfig(modules=modules or ModuleOptions())
    ctx = MinionContext(config=config, host=host or Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize("cmd", ["nosuch-program", "false", "true"])
@pytest.mark.parametrize("fun", ["cmd.run", "cmd.run_all", "cmd.retcode", "cmd.shell"])
def test_secrets_are_in_no_log_and_no_error(fun, cmd, caplog):
    ctx = make()
    said = ""
    with caplog.at_level(0):
        try:
            said = str(
                ctx.functions.call(
                    fun, cmd, env={"DB_PASSWORD": SECRETS[0]}, stdin=SECRETS[1],
                    password=SECRETS[2],
                )
            )  # fmt: skip
        except FunctionError as error:
            said = str(error)
    for secret in SECRETS:
        assert secret not in said + caplog.text


def test_environment_that_is_no_yaml_is_not_shown(caplog):
    with caplog.at_level(0), pytest.raises(FunctionError) as caught:
        make().functions.call("cmd.run", "true", env=f"{{A: [{SECRETS[0]}")
    assert SECRETS[0] not in str(caught.value) + caplog.text


@pytest.mark.parametrize(
    "text", ["$(touch PWNED)", "`touch PWNED`", ";touch PWNED", "|touch PWNED", "a\ntouch PWNED"]
)
def test_arguments_of_a_list_are_not_read_by_a_shell(text, tmp_path):
    ctx = make()
    assert ctx.functions.call("cmd.run", ["printf", "%s", text], cwd=str(tmp_path)) == text
    assert ctx.functions.call("cmd.which", text) is None
    assert ctx.functions.call("cmd.has_exec", text) is False
    with pytest.raises(FunctionError):
        ctx.functions.call("cmd.exec_code", "/nosuch", text, cwd=str(tmp_path), args=[text])
    for option in ("runas", "group", "shell"):
        with pytest.raises(FunctionError):
            ctx.functions.call("cmd.run", "true", cwd=str(tmp_path), **{option: text})
    assert not (tmp_path / "PWNED").exists()


def test_no_shell_unless_a_person_asks():
    ctx = make()
    assert ctx.functions.call("cmd.run", "echo $((1+1))") == "$((1+1))"
    assert ctx.functions.call("cmd.run", "echo $((1+1))", __pub_jid="1") == "2"
    unsafe = make(ModuleOptions(cmd_safe=False))
    assert unsafe.functions.call("cmd.run", "echo $((1+1))") == "2"


@pytest.mark.parametrize("cmd", ["rm -rf x", ["rm", "-rf", "x"]])
def test_forbidden_commands(cmd):
    ctx = make(ModuleOptions(cmd_blacklist_glob=["rm *"]))
    with pytest.raises(FunctionError, match='The shell command "rm -rf x" is not permitted'):
        ctx.functions.call("cmd.run", cmd)
    assert ctx.functions.call("cmd.run", "echo a") == "a"


def test_only_allowed_commands():
    ctx = make(ModuleOptions(cmd_whitelist_glob=["echo *"]))
    assert ctx.functions.call("cmd.run", "echo a") == "a"
    with pytest.raises(FunctionError):
        ctx.functions.call("cmd.run", "true")


@pytest.mark.parametrize("cmd", ["", "  ", []])
def test_no_command(cmd):
    with pytest.raises(FunctionError, match="No command"):
        make().functions.call("cmd.run", cmd)


def test_unbalanced_quotes():
    with pytest.raises(FunctionError, match="cannot be split"):
        make().functions.call("cmd.run", "echo 'a")


def test_retcode_of_the_job():
    ctx = make()
    ctx.functions.call("cmd.run", "false")
    assert ctx.state["retcode"] == 1
    ctx.functions.call("cmd.run", "false", ignore_retcode=True)
    assert ctx.state["retcode"] == 0


def test_login_environment_of_a_user():
    class Su(Host):
        def account(self, name):
            account = super().account("root")
            return type(account)(name, account.uid, account.gid, account.groups, "/h", "/bin/sh")

        def run(self, argv, **options):
            if argv[0] == "su":
                marker = "---saltlite-environment---"
                out = f"motd\n{marker}PATH=/u/bin\0A=b\nc\0_=/usr/bin/env\0SHLVL=1\0{marker}"
                return Completed(1, 0, out, "")
            self.env = options["env"]
            return Completed(1, 0, "", "")

    host = Su()
    make(host=host).functions.call("cmd.run", "true", runas="u")
    assert host.env["PATH"] == "/u/bin"
    assert host.env["A"] == "b\nc"
    assert (host.env["USER"], host.env["HOME"]) == ("u", "/h")
    assert "SHLVL" not in host.env


def test_a_user_whose_login_fails_gets_the_basics(caplog):
    class NoSu(Host):
        def run(self, argv, **options):
            if argv[0] == "su":
                return Completed(1, 1, "", "su: failure")
            self.env = options["env"]
            return Completed(1, 0, "", "")

    host = NoSu()
    make(host=host).functions.call("cmd.run", "true", runas="root")
    assert host.env["USER"] == "root"
    assert "could not be retrieved" in caplog.text


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"A": 1}, {"A": "1"}),
        ([{"A": 1}, {"B": "x"}], {"A": "1", "B": "x"}),
        ("{A: 1}", {"A": "1"}),
        ("A=1", {}),
        (["A"], {"A": ""}),
        (None, {}),
        (5, {}),
    ],
)
def test_forms_of_env(env, expected):
    assert command.merge_environment(env) == expected


def test_levels(caplog):
    ctx = make()
    with caplog.at_level(0):
        ctx.functions.call("cmd.run", "echo visible", output_loglevel="quiet")
    assert caplog.records == []
    with caplog.at_level(logging.INFO):
        ctx.functions.call("cmd.run", "echo visible", output_loglevel="info")
    assert "stdout: visible" in caplog.text


def test_a_script_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    script = tmp_path / "s.sh"
    script.write_text("echo plain $1; ls -ld $0\n")  # without #!, read by the shell
    answer = make().functions.call("cmd.script", str(script), "x")
    assert answer["stdout"].startswith("plain x\n-rwx------")
    assert os.listdir(tmp_path) == ["s.sh"]


@pytest.mark.parametrize("source", ["salt://../../etc/passwd", "salt:///etc/passwd", "salt://"])
def test_a_script_comes_from_below_the_file_roots(source):
    assert make().functions.call("cmd.script", source)["cache_error"] is True


@pytest.mark.parametrize("source", ["x", "", "nosuch://x"])
def test_a_script_has_an_address(source):
    with pytest.raises(FunctionError, match=r"is not absolute|Unsupported url scheme"):
        make().functions.call("cmd.script", source)


def test_a_script_may_be_a_template(tmp_path):
    script = tmp_path / "s.sh"
    script.write_text("#!/bin/sh\necho {{ grains.os }} {{ colour }} $1\n")
    ctx = make()
    ctx.grains = {"os": "Debian"}
    for variables in ({"colour": "red"}, {"context": {"colour": "red"}}):
        answer = ctx.functions.call("cmd.script", str(script), "x", template="jinja", **variables)
        assert answer["stdout"] == "Debian red x"
    with pytest.raises(RenderError, match=f"{script}:2: .*'colour' is undefined"):
        ctx.functions.call("cmd.script", str(script), template="jinja")
    assert ctx.functions.call("cmd.script", str(script), template="nosuch")["cache_error"] is True


def test_a_command_and_its_directory_may_be_templates(tmp_path):
    ctx = make()
    ctx.grains = {"name": tmp_path.name}
    where = f"{tmp_path.parent}/{{{{ grains.name }}}}"
    said = ctx.functions.call("cmd.run", "pwd", cwd=where, template="jinja")
    assert said == str(tmp_path)
    said = ctx.functions.call("cmd.run", "echo {{ saltenv }}", template="jinja", saltenv="dev")
    assert said == "dev"
    assert ctx.functions.call("cmd.run", ["echo", "{{ 1 + 1 }}"], template="jinja") == "2"
    with pytest.raises(FunctionError, match="unavailable engine nosuch"):
        ctx.functions.call("cmd.run", "x", template="nosuch")


def test_a_script_that_runs_on_removes_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "private"))
    (tmp_path / "private").mkdir()
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    done = tmp_path / "done"
    os.mkfifo(done)
    script = tmp_path / "s.sh"
    script.write_text(f'#!/bin/sh\nread go < {done}\necho "$1 $go" > {done}\n')
    answer = make().functions.call("cmd.script", str(script), ["a b"], bg=True)
    assert answer["retcode"] is None and answer["pid"] > 0
    assert len(os.listdir(tmp_path / "private")) == 1
    done.write_text("on\n")
    assert done.read_text() == "a b on\n"
    eventually(lambda: not os.listdir(tmp_path / "private"), what="the script's copy is gone")


@pytest.mark.parametrize(
    ("given", "shell"),
    [({"SHELL": "/bin/dash"}, "/bin/dash"), ({"SHELL": ""}, "/bin/sh"), ({}, "/bin/sh")],
)
def test_the_shell_is_that_of_who_started_it_else_sh(given, shell):
    env = {name: value for name, value in os.environ.items() if name != "SHELL"} | given
    shown = "from saltlite.providers.command import DEFAULT_SHELL; print(DEFAULT_SHELL)"
    argv = [sys.executable, "-c", shown]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{shell}\n"
