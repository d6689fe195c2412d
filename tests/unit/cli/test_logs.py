"""Logging costs a command that logs nothing no time, and is as asked for by all others."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
import saltlite.cli
import logging, sys
from saltlite.cli import logs
from saltlite.cli.deferred_imports import is_loaded
from saltlite.config.display import LogOptions
log = logging.getLogger("saltlite.test")
logs.early()
"""


@pytest.fixture
def run_python(tmp_path):
    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", START + code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=tmp_path,
        )

    return run


def test_who_logs_nothing_does_not_load_logging(run_python):
    done = run_python("logs.setup(LogOptions(log_file='x'))\nprint(is_loaded('logging'))")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_first_record_goes_where_setup_says(run_python, tmp_path):
    code = """
logs.setup(LogOptions(log_file="x", log_level_logfile="info"))
log.debug("no")
print(is_loaded("logging"))
log.info("a")
log.error("b")
"""
    assert run_python(code).stderr == "[ERROR   ] b\n"
    lines = (tmp_path / "x").read_text().splitlines()
    assert [line.rpartition("] ")[2] for line in lines] == ["a", "b"]


@pytest.mark.parametrize(
    "options",
    [
        "log_level='debug'",
        "log_level_logfile='all'",
        "log_granular_levels={'saltlite.test': 'DEBUG'}",
    ],
)
def test_whoever_wants_fine_records_has_them(options, run_python, tmp_path):
    run_python(f"logs.setup(LogOptions(log_file='x', {options}))\nlog.debug('fine')")
    assert (tmp_path / "x").read_text().endswith("] fine\n")


def test_what_is_logged_before_setup_is_seen_and_kept(run_python, tmp_path):
    code = """
log.warning("early")
kept = logs.early_records()
logs.setup(LogOptions(log_file='x'))
logs.write_kept(kept)
log.warning("late")
"""
    assert run_python(code).stderr == "[WARNING ] early\n[WARNING ] late\n"
    lines = (tmp_path / "x").read_text().splitlines()
    assert [line.rpartition("] ")[2] for line in lines] == ["early", "late"]


def test_nothing_is_kept_where_nothing_was_logged(run_python):
    done = run_python("print(logs.early_records(), is_loaded('logging'))")
    assert done.stdout == "[] False\n"


def test_a_library_that_logs_is_heard(run_python):
    code = """
import logging.handlers
logs.setup(LogOptions(log_file="x"))
logging.getLogger("other").error("b")
"""
    assert run_python(code).stderr == "[ERROR   ] b\n"


def test_a_daemon_opens_its_file_at_once(run_python, tmp_path):
    run_python("logs.setup(LogOptions(log_file='log/x'), at_once=True)")
    assert (tmp_path / "log/x").exists()


def test_what_was_closed_is_not_set_up_later(run_python):
    code = """
logs.setup(LogOptions(log_file="x", log_level="debug"))
logs.close()
log.debug("a")
log.error("b")
"""
    assert run_python(code).stderr == ""


def test_a_syslog_that_is_not_there_is_told_at_the_start(run_python):
    done = run_python("logs.setup(LogOptions(log_file='file:///no/such/socket'))")
    assert done.stderr.startswith("[WARNING ] The log_file does not exist.")
