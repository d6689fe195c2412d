"""Every command answers ``--help``, explains each option, and has the options used every day."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r'^(salt[\w-]*) = "saltlite\.cli\.entry:(\w+)"$', re.MULTILINE)
ENTRIES = dict(ENTRY.findall((ROOT / "pyproject.toml").read_text()))
COMMANDS = {name: f"saltlite.cli.{module}" for name, module in ENTRIES.items()}

COMMON = "--version -V --versions-report -h --help -c --config-dir --log-level --log-file"
OUTPUT = (
    "--out --output --out-indent --out-file --out-file-append --no-color --no-colour "
    "--force-color --state-output --state_output --state-verbose --state_verbose"
)
DAEMON = "-l -d --daemon -u --user --pid-file --disable-keepalive"
DAILY = {
    "salt": f"{COMMON} {OUTPUT} -l -t --timeout -s --static --async -v --verbose --show-jid "
    "--summary --hide-timeout -b --batch --batch-size --failhard --subset -d --doc "
    "--args-separator --return --preview-target -E -L -G -P -N -C -I -J -S --delimiter -a --auth "
    "--eauth --username --password",
    "salt-api": f"{COMMON} {DAEMON}",
    "salt-call": f"{COMMON} {OUTPUT} -l --local --file-root --pillar-root --master "
    "--retcode-passthrough --return -g --grains -d --doc -t --timeout",
    "salt-cp": f"{COMMON} {OUTPUT} -l -C --chunked -t -E -L -G -P -N",
    "salt-key": f"{COMMON} {OUTPUT} -L --list-all -l --list -a --accept -A --accept-all -r "
    "--reject -R --reject-all -d --delete -D --delete-all --include-all --include-accepted "
    "--include-rejected --include-denied -f --finger -F --finger-all -y --yes -q --quiet "
    "--gen-keys --gen-keys-dir --keysize --gen-signature --priv --pub --signature-path "
    "--auto-create",
    "salt-master": f"{COMMON} {DAEMON}",
    "salt-minion": f"{COMMON} {DAEMON}",
    "salt-run": f"{COMMON} {OUTPUT} -l -t --timeout -d --doc --async",
    "salt-syndic": f"{COMMON} {DAEMON}",
}
"""Options of real Salt that are typed daily. Source: docs/cli.md, those marked M."""

HEAVY = ("zmq", "cryptography", "yaml", "jinja2", "msgpack", "tornado", "asyncio", "logging.config")


def run(command: str, *args: str, report_imports: bool = False) -> subprocess.CompletedProcess[str]:
    """A command as its entry point starts it; with the modules it imported on stderr, if asked."""
    code = f"import sys, {COMMANDS[command]} as command; sys.argv[0] = {command!r}\n"
    code += "try:\n    code = command.main(sys.argv[1:])\n"
    code += "except SystemExit as end:\n    code = end.code\n"
    if report_imports:
        code += "print(*sys.modules, sep='\\n', file=sys.stderr)\n"
    code += "sys.exit(code)\n"
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )


@cache
def help_text(command: str) -> str:
    done = run(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def options(command: str) -> dict[str, str]:
    """Every option of the help page with what is said about it."""
    found: dict[str, str] = {}
    spellings: list[str] = []
    for line in help_text(command).splitlines():
        entry = re.match(r"^ {2,6}(-{1,2}[\w-].*?)(?: {2,}(\S.*))?$", line)
        if entry:
            spellings = re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", entry[1])
            found.update(dict.fromkeys(spellings, entry[2] or ""))
        elif line.startswith(" " * 12):
            found.update({name: f"{found[name]} {line.strip()}".strip() for name in spellings})
        else:
            spellings = []
    return found


def test_all_commands_are_declared() -> None:
    assert sorted(COMMANDS) == sorted(DAILY)


@pytest.mark.parametrize("command", sorted(DAILY))
def test_help_shows_how_to_use_it(command: str) -> None:
    assert help_text(command).startswith(f"Usage: {command} ")


@pytest.mark.parametrize("command", sorted(DAILY))
def test_every_option_is_explained(command: str) -> None:
    assert [name for name, text in options(command).items() if not text] == []


@pytest.mark.parametrize("command", sorted(DAILY))
def test_the_daily_options_are_there(command: str) -> None:
    assert [name for name in DAILY[command].split() if name not in options(command)] == []


ALL_START_WITH = frozenset(
    [
        "saltlite",
        "saltlite.cli",
        "saltlite.cli.deferred_imports",
        "saltlite.cli.process_start",
        "saltlite.cli.version",
        "saltlite.cli.entry",
        "saltlite.version",
    ]
)


@pytest.mark.parametrize("command", sorted(DAILY))
def test_version_pays_for_nothing_else(command: str) -> None:
    code = f"import sys; before = set(sys.modules); sys.argv = [{command!r}, '--version']\n"
    code += f"from saltlite.cli import entry; code = entry.{ENTRIES[command]}()\n"
    code += "from saltlite.cli.deferred_imports import is_loaded\n"
    code += "print(*filter(is_loaded, set(sys.modules) - before), file=sys.stderr); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert re.fullmatch(rf"{command} \S+ \(saltlite\)\n", done.stdout)
    imported = set(done.stderr.split())
    assert {name for name in imported if name.startswith("saltlite")} == ALL_START_WITH
    assert imported & {*HEAVY, "dataclasses", "optparse", "typing", "logging", "pathlib"} == set()


@pytest.mark.parametrize("command", ["salt", "salt-call", "salt-run"])
def test_the_quickest_begin_without_paths_and_addresses(command: str) -> None:
    imported = run(command, "--version", report_imports=True).stderr.split()
    assert {"pathlib", "urllib.request"} & set(imported) == set()


@pytest.mark.parametrize("command", sorted(DAILY))
def test_a_wrong_option_is_a_usage_error(command: str) -> None:
    done = run(command, "--bogus")
    assert done.returncode == 64
    assert f"{command}: error: no such option: --bogus" in done.stderr


@pytest.mark.parametrize("command", ["salt-master", "salt-minion"])
def test_a_user_that_is_not_there_is_67(command: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # paths of sockets must be short
        options = f"root_dir: {folder}\nuser: no-such-user-here\nid: m1\nmaster: 127.0.0.1\n"
        (Path(folder) / command.removeprefix("salt-")).write_text(options)
        done = run(command, "-c", folder)
    assert done.returncode == 67
    assert "The user is not available. There is no user no-such-user-here\n" in done.stderr
