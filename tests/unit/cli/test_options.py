"""Salt's messages and exit codes for options, and what a command pays to start."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from saltlite.cli import logs
from saltlite.cli import options as groups
from saltlite.cli.options import CommandParser
from saltlite.cli.version import answer_version, version_line
from saltlite.config.load import load_master
from saltlite.version import __version__


def salt_like() -> CommandParser:
    parser = CommandParser("salt", "%prog [options] '<target>' <function> [arguments]", "Runs.")
    groups.common_options(parser)
    groups.timeout_option(parser, 5)
    groups.logging_options(parser, "/var/log/salt/master")
    groups.target_options(parser)
    groups.eauth_options(parser)
    groups.output_options(parser)
    return parser


def daemon_like() -> CommandParser:
    return groups.daemon_parser("master", "Serves.")


def parsed(*argv: str, **environ: str):
    return salt_like().parse_command(argv, environ)


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """No Saltfile of whoever runs the tests, and no logging left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    root = logging.getLogger()
    level = root.level
    yield
    logs.close()
    root.setLevel(level)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--bogus"], "no such option: --bogus"),
        (["-Z"], "no such option: -Z"),
        (["-t", "x"], "option -t: invalid integer value: 'x'"),
        (["-c"], "-c option requires 1 argument"),
        (["--static"], "no such option: --static"),
        (["--no-color=x"], "--no-color option does not take a value"),
    ],
)
def test_a_wrong_option_ends_with_64_and_salts_words(argv, message, capsys):
    with pytest.raises(SystemExit) as caught:
        parsed(*argv)
    assert caught.value.code == 64
    out, err = capsys.readouterr()
    assert out == ""
    usage = "Usage: salt [options] '<target>' <function> [arguments]"
    assert err == f"{usage}\n\nsalt: error: {message}\n"


def test_a_wrong_level_names_the_levels(capsys):
    with pytest.raises(SystemExit):
        parsed("-l", "loud")
    assert "salt: error: option -l: invalid choice: 'loud' (choose from " in capsys.readouterr().err


def test_help_and_version(capsys):
    for argv, shown in ((["--help"], "Usage: salt [options]"), (["--version"], "salt ")):
        with pytest.raises(SystemExit) as caught:
            parsed(*argv)
        assert caught.value.code == 0
        assert capsys.readouterr().out.startswith(shown)


def test_version_line():
    assert version_line("salt-key") == f"salt-key {__version__} (saltlite)"


def test_version_is_answered_early(capsys):
    assert answer_version("salt", ["--version"])
    assert capsys.readouterr().out == f"salt {__version__} (saltlite)\n"
    assert not answer_version("salt", ["--version", "x"])
    assert not answer_version("salt", [])


def test_versions_report(capsys):
    with pytest.raises(SystemExit) as caught:
        parsed("-V")
    assert caught.value.code == 0
    report = capsys.readouterr().out
    assert report.startswith("Salt Version:\n")
    for name in ("Python", "PyZMQ", "ZMQ", "msgpack", "cryptography", "system"):
        assert f" {name}: " in report or f"\n{name}: " in report
    assert "Not Installed" not in report


def test_options_may_stand_anywhere():
    options, arguments = parsed("-G", "os:x", "test.echo", "hi", "-t", "7", "--out", "json")
    assert arguments == ["os:x", "test.echo", "hi"]
    assert groups.target_type(options) == "grain"
    assert groups.overrides(options) == {"timeout": 7, "output": "json"}


def test_all_after_two_dashes_is_no_option():
    assert parsed("--", "*", "test.echo", "-t")[1] == ["*", "test.echo", "-t"]


@pytest.mark.parametrize(
    ("flag", "kind"),
    [(flag, kind) for kind, flags in groups.TARGET_FLAGS.items() for flag in flags[:2]],
)
def test_target_flags(flag, kind):
    assert groups.target_type(parsed(flag, "x")[0]) == kind


def test_without_a_flag_the_target_is_a_glob():
    assert groups.target_type(parsed("x")[0]) == "glob"


def test_both_spellings_of_output_options():
    for argv in (["--out-indent", "-1", "--state-output", "terse", "--no-color"],
                 ["--output-indent=-1", "--state_output=terse", "--no-colour"]):  # fmt: skip
        given = groups.overrides(parsed(*argv)[0])
        assert given == {"output_indent": -1, "state_output": "terse", "color": False}


def test_daemon_options():
    options, _ = daemon_like().parse_command(["-d", "-u", "salt", "--pid-file", "/x"], {})
    assert options.daemon
    assert not options.disable_keepalive
    assert groups.overrides(options) == {"user": "salt", "pidfile": "/x"}


def test_salt_key_has_no_short_log_level():
    parser = CommandParser("salt-key", "%prog", "")
    groups.logging_options(parser, "/var/log/salt/key", short=False)
    assert not parser.has_option("-l")
    assert parser.parse_command(["--log-level", "debug"], {})[0].log_level == "debug"


def test_the_command_line_reaches_the_configuration(tmp_path):
    (tmp_path / "master").write_text("timeout: 3\nlog_level: error")
    options, _ = parsed("-c", str(tmp_path), "-t", "9", "--log-file-level", "debug")
    config = groups.load_config(load_master, options, {"id": "m"})
    assert config.jobs.timeout == 9
    assert (config.log.log_level, config.log.log_level_logfile) == ("error", "debug")
    assert config.process.id == "m"


def test_a_wrong_configuration_is_one_line_and_exit_code_1(tmp_path, capsys):
    (tmp_path / "master").write_text("user: x\nworker_threads: 0")
    with pytest.raises(SystemExit) as caught:
        groups.load_config(load_master, parsed("-c", str(tmp_path))[0])
    assert caught.value.code == 1
    assert capsys.readouterr().err == (
        f"{tmp_path}/master:2: worker_threads: found 0 (whole number), "
        "allowed: whole number, 1 or more\n"
    )


def test_what_is_odd_is_told_before_logging_is_set_up(tmp_path, capsys):
    (tmp_path / "master").write_text("file_root: {}")
    groups.load_config(load_master, parsed("-c", str(tmp_path))[0])
    place = f"{tmp_path}/master:1: file_root"
    assert capsys.readouterr().err == (
        f"[WARNING ] {place}: no such option; did you mean file_roots?\n"
    )
    groups.load_config(load_master, parsed("-c", str(tmp_path), "-l", "quiet")[0])
    assert capsys.readouterr().err == ""


def test_a_directory_that_is_not_there_is_told_in_salts_words(capsys):
    groups.load_config(load_master, parsed("-c", "/no/such")[0])
    assert capsys.readouterr().err == "WARNING: CONFIG '/no/such' directory does not exist.\n"


# --- Saltfile ------------------------------------------------------------------------------------

SALTFILE = "salt:\n  config_dir: /from/saltfile\n  timeout: '8'\n  grain: true\n  nosuch: 1\nx: 1\n"


def test_a_saltfile_gives_what_is_not_given(tmp_path):
    (tmp_path / "Saltfile").write_text(SALTFILE)
    options, _ = parsed("x", "-c", "/given")
    assert (options.config_dir, options.timeout, options.grain) == ("/given", 8, True)
    assert parsed("x")[0].config_dir == "/from/saltfile"


def test_where_a_saltfile_is_found(tmp_path):
    for name in ("home/.salt/Saltfile", "named"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"salt:\n  config_dir: /{name}\n")
    assert parsed("x")[0].config_dir is None
    assert parsed("x", SALT_SALTFILE=str(tmp_path / "named"))[0].config_dir == "/named"
    argv = ["x", "--saltfile", str(tmp_path / "named")]
    assert parsed(*argv, SALT_SALTFILE="/nope")[0].config_dir == "/named"


def test_a_saltfile_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.salt").mkdir(parents=True)
    (tmp_path / "home/.salt/Saltfile").write_text("salt:\n  timeout: 4\n")
    assert parsed("x")[0].timeout == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "Saltfile '/no/such' does not exist."),
        ("salt: [", "not YAML"),
        ("salt:\n  timeout: x\n", "option --timeout: invalid integer value: 'x'"),
        ("salt:\n  log_level: loud\n", "invalid choice: 'loud'"),
    ],
)
def test_a_bad_saltfile_ends_with_64(text, message, tmp_path, capsys):
    path = "/no/such"
    if text is not None:
        path = str(tmp_path / "f")
        (tmp_path / "f").write_text(text)
    with pytest.raises(SystemExit) as caught:
        parsed("--saltfile", path)
    assert caught.value.code == 64
    assert message in capsys.readouterr().err


# --- what a start costs --------------------------------------------------------------------------


STAND_IN = "Stands for a module until it is needed."


def imported(code: str) -> set[str]:
    code += "; import sys; print(' '.join(name for name, module in sys.modules.items()"
    code += f" if module.__doc__ != {STAND_IN!r}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_version_costs_next_to_nothing():
    own = imported("import saltlite.cli.version") - imported("pass")
    assert own <= {
        *("saltlite", "saltlite.cli", "saltlite.cli.version", "saltlite.version"),
        *("saltlite.cli.deferred_imports", "saltlite.cli.process_start", "types", "warnings"),
        *("importlib", "importlib._bootstrap", "importlib._bootstrap_external"),
        *("__future__", "collections", "collections.abc", "urllib"),
        *("itertools", "keyword", "operator", "_operator", "reprlib", "_collections"),
    }


def test_options_and_configuration_import_nothing_heavy():
    modules = imported(
        "from saltlite.cli import options, logs; from saltlite.config.load import load_master;"
        "load_master('/no/such')"
    )
    heavy = {"yaml", "zmq", "cryptography", "jinja2", "asyncio", "tornado", "importlib.metadata"}
    assert not modules & (heavy | {"logging.handlers", "saltlite.config.minion", "difflib"})
