"""docs/cli.md and the completions are what the parsers say, and shells can read them."""

from __future__ import annotations

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


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    assert BASH is not None
    script = (
        f'source {ROOT}/completions/salt.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
        "_saltlite_minions() { echo web1 web2 db1; }\n"
        "_saltlite_functions() { echo test.ping test.echo cmd.run; }\n"
        "_saltlite_runners() { echo jobs.active manage.up; }\n"
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
    ],
)
def test_bash_completes(words: list[str], offered: list[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.skipif(ZSH is None, reason="there is no zsh")
def test_zsh_can_read_its_file() -> None:
    assert ZSH is not None
    subprocess.run([ZSH, "-n", str(ROOT / "completions/_salt")], check=True)
