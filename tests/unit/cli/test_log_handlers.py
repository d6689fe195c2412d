"""Logging: where records go, how they look, and that a log never stops the work."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.cli import log_handlers, logs, salt_master, salt_minion
from saltlite.config.display import LOG_LEVELS, LogOptions

log = logging.getLogger("saltlite.test.logs")


pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.fixture
def target(tmp_path):
    return tmp_path / "log/master"


def test_console_and_file_have_their_own_forms_and_levels(target, capsys):
    logs.setup(LogOptions(log_file=str(target), log_level="error", log_level_logfile="info"))
    log.info("to the file")
    log.error("to both")
    assert capsys.readouterr().err == "[ERROR   ] to both\n"
    lines = target.read_text().splitlines()
    assert [line.rpartition("] ")[2] for line in lines] == ["to the file", "to both"]
    assert f"[saltlite.test.logs:{log_line(lines[0])}" in lines[0]
    assert f"[INFO    ][{os.getpid()}]" in lines[0]


def log_line(line: str) -> str:
    return line.split(":", 3)[3][:4]


def test_the_file_follows_the_console_without_a_level_of_its_own(target):
    logs.setup(LogOptions(log_file=str(target), log_level="debug"), console=False)
    log.debug("fine")
    assert "fine" in target.read_text()


def test_the_file_is_private_to_owner_and_group(target):
    old = os.umask(0)
    try:
        logs.setup(LogOptions(log_file=str(target)), console=False, at_once=True)
    finally:
        os.umask(old)
    assert target.stat().st_mode & 0o777 == 0o640


def test_commands_open_the_file_with_the_first_record(target):
    logs.setup(LogOptions(log_file=str(target)), console=False)
    assert not target.exists()
    log.warning("x")
    assert target.exists()


def test_rotation_is_followed(target):
    logs.setup(LogOptions(log_file=str(target)), console=False)
    log.warning("one")
    target.rename(target.with_name("old"))
    log.warning("two")
    target.unlink()
    log.warning("three")
    assert "one" in target.with_name("old").read_text()
    assert target.read_text().endswith("three\n")
    assert "two" not in target.read_text()


@pytest.mark.parametrize("at_once", [True, False])
def test_a_log_that_cannot_be_written_costs_one_line(at_once, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    path = f"{tmp_path}/file/log"
    logs.setup(LogOptions(log_file=path), at_once=at_once)
    for number in range(3):
        log.error("still here %d", number)
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if "Failed to open log file" in line]
    assert told == [f"[WARNING ] Failed to open log file {path}: Not a directory"]
    assert [line for line in lines if line not in told] == [
        f"[ERROR   ] still here {number}" for number in range(3)
    ]


def test_a_full_disk_costs_one_line(capsys):
    logs.setup(LogOptions(log_file="/dev/full"), console=False)
    log.error("one")
    log.error("two")
    assert capsys.readouterr().err == (
        "[WARNING ] Failed to open log file /dev/full: No space left on device\n"
    )


def test_a_fifo_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "fifo")
    logs.setup(LogOptions(log_file=str(tmp_path / "fifo")), console=False, at_once=True)
    log.error("x")
    assert "Failed to open log file" in capsys.readouterr().err


def test_devnull_opens_nothing():
    before = list(logging.getLogger().handlers)
    logs.setup(LogOptions(log_file="/dev/null"), console=False)
    assert logging.getLogger().handlers == before


def test_quiet_says_nothing(target, capsys):
    logs.setup(LogOptions(log_file=str(target), log_level="quiet"))
    log.critical("x")
    assert capsys.readouterr().err == ""
    assert not target.exists()


@pytest.mark.parametrize("name", LOG_LEVELS)
def test_every_level(name, target):
    options = LogOptions(log_file=str(target), log_level_logfile=name, log_level="quiet")
    logs.setup(options)
    level = LOG_LEVELS[name]
    with contextlib.suppress(FileNotFoundError):
        log.log(max(level, 1), "at")
        log.log(level - 1, "below")
        text = target.read_text()
        assert (text.count("at\n"), text.count("below\n")) == (1, 0)
        assert name in ("all", "quiet") or f"[{name.upper():<8}]" in text


def test_granular_levels(target):
    options = LogOptions(
        log_file=str(target),
        log_granular_levels={"salt.test": "debug", "saltlite.test.mute": "error", "x": "bogus"},
    )
    logs.setup(options, console=False)
    log.debug("granular")
    logging.getLogger("saltlite.testing").debug("another name")
    logging.getLogger("saltlite.test.mute").warning("muted")
    logging.getLogger("elsewhere").info("below the level")
    logging.getLogger("elsewhere").warning("at the level")
    words = [line.rpartition("] ")[2] for line in target.read_text().splitlines()]
    assert words == ["granular", "at the level"]


def test_a_record_is_one_line_whatever_is_in_it(target, capsys):
    logs.setup(LogOptions(log_file=str(target)))
    log.warning("id %s", "web\n2026 INFO accepted\r\x1b[31m\u202e\x00\x9b")
    shown = r"id web\n2026 INFO accepted\r\x1b[31m\u202e\x00\x9b"
    assert capsys.readouterr().err == f"[WARNING ] {shown}\n"
    assert target.read_text().endswith(f"{shown}\n")
    assert target.read_text().count("\n") == 1


def test_a_lone_surrogate_can_be_logged(target):
    handler = log_handlers.LogFile(str(target))
    handler.emit(logging.makeLogRecord({"msg": "id a\udcff"}))  # not through pytest's own log
    handler.close()
    assert target.read_text() == "id a\\udcff\n"


def test_a_traceback_is_below_its_record_and_harmless(target):
    logs.setup(LogOptions(log_file=str(target)), console=False)
    try:
        raise ValueError("bad\x1b[31m")
    except ValueError:
        log.exception("it failed")
    text = target.read_text()
    assert "it failed\nTraceback (most recent call last):\n" in text
    assert text.endswith("ValueError: bad\\x1b[31m\n")


def test_jid_and_colours(capsys):
    options = LogOptions(
        log_file="/dev/null", log_fmt_console="%(colorlevel)s %(message)s %(jid)s%(nosuch)s"
    )
    logs.setup(options, colour=True)
    log.warning("x", extra={"jid": "2026"})
    log.error("y")
    assert capsys.readouterr().err == (
        "\x1b[0;33m[WARNING ]\x1b[0;0m x [JID: 2026]\n\x1b[0;31m[ERROR   ]\x1b[0;0m y \n"
    )


def test_a_wrong_form_loses_no_record(capsys):
    logs.setup(LogOptions(log_file="/dev/null", log_fmt_console="%(message)q %"))
    log.warning("x")
    assert capsys.readouterr().err == "x\n"


def test_a_closed_console_is_no_reason_to_stop(monkeypatch, target):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        logs.setup(LogOptions(log_file=str(target)))
        log.warning("x")
        monkeypatch.undo()
        with contextlib.suppress(BrokenPipeError):
            stream.close()
    assert "x" in target.read_text()


def test_setup_again_replaces(target, capsys):
    logs.early()
    log.warning("early")
    logs.setup(LogOptions(log_file=str(target)))
    logs.setup(LogOptions(log_file=str(target)))
    log.warning("late")
    assert capsys.readouterr().err == "[WARNING ] early\n[WARNING ] late\n"


def test_warnings_of_the_start_reach_the_file_and_the_console_once(target, capsys):
    logs.early("quiet")
    log.info("no matter")
    log.warning("an %s\noption", "odd")
    kept = logs.early_records()
    assert json.loads(json.dumps(kept)) == kept  # it goes through a pipe
    logs.setup(LogOptions(log_file=str(target)))
    logs.write_kept(kept)
    assert capsys.readouterr().err == ""
    (line,) = target.read_text().splitlines()
    assert re.search(r"[.]logs:\d+ *\]\[WARNING \]\[\d+\] an odd\\noption$", line), line
    assert logs.early_records() == []


def test_what_the_file_is_not_to_have_is_not_repeated_there(target):
    logs.early()
    log.warning("odd")
    kept = logs.early_records()
    logs.setup(LogOptions(log_file=str(target), log_level_logfile="error"))
    logs.write_kept(kept)
    assert not target.exists()


def test_no_more_of_the_start_is_kept_than_its_bound(target):
    logs.early("quiet")
    for number in range(log_handlers.EARLY_RECORDS + 5):
        log.warning("%d", number)
    assert len(logs.early_records()) == log_handlers.EARLY_RECORDS


@pytest.mark.parametrize("daemon", [salt_master, salt_minion])
def test_the_daemons_hand_warnings_of_their_options_over(daemon, tmp_path):
    for name in ("master", "minion"):
        (tmp_path / name).write_text(f"id: x\nroot_dir: {tmp_path}\ntcp_keepalive_idle: many\n")
    _config, values = daemon._read_config(["-c", str(tmp_path)])
    (record,) = values["kept"]
    assert f"{daemon.__name__.rpartition('_')[2]}:3: tcp_keepalive_idle: " in record["msg"]
    assert record["msg"].endswith("the default is used")


@pytest.mark.parametrize("form", ["file://{path}", "file://{path}/LOG_DAEMON"])
def test_syslog_by_socket(form, tmp_path):
    path = tmp_path / "dev-log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(path))
        server.settimeout(5)
        options = LogOptions(log_file=form.format(path=path), log_fmt_logfile="%(message)s")
        logs.setup(options, console=False)
        log.warning("to syslog")
        priority = 3 * 8 + 4 if "DAEMON" in form else 1 * 8 + 4
        assert server.recv(1000).rstrip(b"\0") == f"<{priority}>to syslog".encode()


def test_syslog_by_udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        port = server.getsockname()[1]
        logs.setup(LogOptions(log_file=f"udp://127.0.0.1:{port}/LOG_LOCAL1"), console=False)
        log.error("x")
        assert server.recv(1000).startswith(b"<139>")


@pytest.mark.parametrize("address", ["ftp://x", "udp://h:99999999"])
def test_a_syslog_that_is_not_there_costs_one_line(address, capsys):
    logs.setup(LogOptions(log_file=address))
    log.error("x")
    log.error("y")
    lines = capsys.readouterr().err.splitlines()
    told = [line for line in lines if line.startswith(f"[WARNING ] Failed to log to {address}: ")]
    assert len(told) == 1
    assert [line for line in lines if line not in told] == ["[ERROR   ] x", "[ERROR   ] y"]


def test_a_syslog_socket_that_is_not_there_is_told_in_salts_words(capsys):
    logs.setup(LogOptions(log_file="file:///no/such/socket"))
    log.error("x")
    said = "The log_file does not exist. Logging not setup correctly or syslog service not started."
    assert capsys.readouterr().err == f"[WARNING ] {said}\n[ERROR   ] x\n"


@given(st.text())
def test_escaped_text_is_one_printable_line(text):
    shown = log_handlers.escape_controls(text)
    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    if text.isascii() and text.isprintable():
        assert shown == text


def test_a_line_of_the_file_has_its_distance_from_utc(target, monkeypatch):
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        form = LogOptions().log_fmt_logfile
        logs.setup(LogOptions(log_file=str(target), log_fmt_logfile=form))
        for seconds in (1792888200.5, 1792891800.5):  # 02:30 comes twice that night
            record = log.makeRecord(log.name, logging.ERROR, "f", 1, "said", (), None)
            record.created, record.msecs = seconds, 500.0
            log.handle(record)
        times = [line.partition(" [")[0] for line in target.read_text().splitlines()]
        assert times == ["2026-10-25 02:30:00,500+0200", "2026-10-25 02:30:00,500+0100"]
    finally:
        monkeypatch.undo()
        time.tzset()
