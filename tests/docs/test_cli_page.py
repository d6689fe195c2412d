"""docs/cli.md and the completions are what the parsers say, and shells can read them."""

from __future__ import annotations

import optparse
import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATOR = runpy.run_path(str(ROOT / "scripts/gen_cli_docs"))
CONTENTS = GENERATOR["contents"]()
BASH = shutil.which("bash")
ZSH = shutil.which("zsh")


@pytest.mark.parametrize("name", CONTENTS)
def test_generated_files_are_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text() == CONTENTS[name], "run scripts/gen_cli_docs"


def test_every_spelling_of_every_option_is_on_the_page() -> None:
    for command in GENERATOR["COMMANDS"]:
        part = GENERATOR["part"](command)
        for option in GENERATOR["all_options"](command):
            for name in GENERATOR["spellings"](option):
                assert f"`{name}`" in part or f"`{name} " in part


STAND_INS = """
_saltlite_minions() { echo web1 web2 db1; }
_saltlite_functions() { echo test.ping test.echo cmd.run; }
_saltlite_runners() { echo jobs.active manage.up; }
"""


def completed(*words: str, before: str = STAND_INS, source: Path | None = None) -> list[str]:
    """What bash offers for the last word."""
    assert BASH is not None
    script = (
        f"source {source or ROOT / 'completions/salt.bash'}\n"
        f'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n{before}'
        '_${1//-/_}; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [BASH, "-c", script, "bash", *words], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["salt", "we"], ["web1", "web2"]),
        (["salt", "web1", "test.p"], ["test.ping"]),
        (["salt", "-t", "5", "--static", "web1", "cmd"], ["cmd.run"]),
        (["salt", "--batch-s"], ["--batch-size", "--batch-safe-limit", "--batch-safe-size"]),
        (["salt", "--out-file", "/et"], ["/etc"]),
        (["salt-call", "--local", "test.e"], ["test.echo"]),
        (["salt-run", "jobs"], ["jobs.active"]),
        (["salt-key", "--list-"], ["--list-all"]),
        (["salt-key", ""], []),
        (["salt", "web1", "--out", "ne"], ["nested", "newline_values_only"]),
        (["salt", "web1", "--out", "=", "js"], ["json"]),
        (["salt", "--out", "=", "json", "web1", "test.p"], ["test.ping"]),
        (["salt", "--state-output", "="], ["full", "terse", "mixed", "changes", "filter"]),
        (["salt-master", "-l", "deb"], ["debug"]),
        (["salt", "-a", "pa"], ["pam"]),
        (["salt", "-c", "/et"], ["/etc"]),
        (["salt", "-t", ""], []),
    ],
)
def test_bash_completes(words: list[str], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize("option", ["-c {}", "--config-dir = {}", ""])
@pytest.mark.parametrize("where", ["pki/master", "kept/elsewhere"])
def test_bash_knows_the_ids_of_that_configuration(tmp_path: Path, option: str, where: str) -> None:
    for kind, name in (("minions", "web1"), ("minions_pre", "new1"), ("minions_rejected", "no1")):
        (tmp_path / where / kind).mkdir(parents=True)
        (tmp_path / where / kind / name).write_text("a key")
    line = f"pki_dir: {tmp_path / where}\n" if where != "pki/master" else ""
    (tmp_path / "master").write_text(f"interface: 127.0.0.1\n{line}")
    before = "" if option else f"export SALT_CONFIG_DIR={tmp_path}\n"
    options = option.format(tmp_path).split()
    assert completed("salt", *options, "", before=before) == ["web1"]
    assert completed("salt-key", *options, "-a", "", before=before) == ["new1", "no1"]
    assert completed("salt-key", *options, "-d", "n", before=before) == ["new1", "no1"]


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_each_command_has_a_file_that_bash_completion_finds(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "completions/bash", tmp_path, dirs_exist_ok=True)
    shutil.copy(ROOT / "completions/salt.bash", tmp_path / "salt")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(GENERATOR["COMMANDS"])
    assert completed("salt-key", "--list-", source=tmp_path / "salt-key") == ["--list-all"]


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
@pytest.mark.parametrize("command", GENERATOR["COMMANDS"])
def test_man_shows_every_option(command: str) -> None:
    page = str(ROOT / f"man/{command}.1")
    shown = subprocess.run(
        ["man", "-l", "--warnings", "-Tascii", page],
        capture_output=True, text=True, check=True, env={"MANWIDTH": "200", "PATH": os.defpath},
    )  # fmt: skip
    assert shown.stderr == ""
    text = re.sub(".\b", "", shown.stdout)
    options = GENERATOR["all_options"](command)
    missing = [
        name
        for option in options
        if option.help != optparse.SUPPRESS_HELP
        for name in GENERATOR["spellings"](option)
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
    ]
    assert missing == []


@pytest.mark.skipif(ZSH is None, reason="there is no zsh")
def test_zsh_can_read_its_file() -> None:
    assert ZSH is not None
    subprocess.run([ZSH, "-n", str(ROOT / "completions/_salt")], check=True)
