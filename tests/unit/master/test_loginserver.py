"""The children of the login server: started anew, ended, and what they import."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

from saltlite.errors import LoginUnchecked
from saltlite.master import logincheck
from saltlite.master.loginline import Login
from saltlite.master.loginserver import LoginServer, _Replies

WITHIN_MS = 20_000


def test_the_child_that_brings_replies_is_reaped_and_started_anew(tmp_path: Path) -> None:
    """Killed while nobody logs in, it was a zombie until the next reply."""
    poller = zmq.Poller()
    replies = _Replies(tmp_path / "late", lambda _parent, _title: None, poller)
    try:
        first = replies._pid
        os.kill(first, signal.SIGKILL)
        assert [found for found, _ in poller.poll(5000)] == [replies.handle]
        replies.reap()
        with pytest.raises(ChildProcessError):
            os.waitpid(first, os.WNOHANG)
        assert poller.poll(0) == []
        replies.send(b"t" * 16, b"reply")
        assert replies._pid != first
        assert replies.handle >= 0
    finally:
        replies.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(replies._pid, os.WNOHANG)


def test_a_child_that_brings_nothing_is_ended(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("saltlite.master.loginserver.HAND_OVER_S", 0.05)
    replies = _Replies(tmp_path / "late", lambda _parent, _title: None, zmq.Poller())
    try:
        stopped = replies._pid
        os.kill(stopped, signal.SIGSTOP)
        replies.send(b"t" * 16, b"x" * 10_000_000)
        assert replies._pid != stopped
        with pytest.raises(ChildProcessError):
            os.waitpid(stopped, os.WNOHANG)
    finally:
        replies._kill()


@pytest.mark.parametrize("call", ["fork", "pipe2"])
def test_a_login_without_room_for_a_check_fails_and_ends_no_other(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_words: object) -> int:
        raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))

    shared: Any = SimpleNamespace(config=None)
    server = LoginServer(shared, chance=lambda: 0.0)
    login = Login(b"t" * 16, "file", "kim", "", {}, b"no")
    server._line.add(login, time.monotonic())
    monkeypatch.setattr(logincheck, "is_usable", lambda _config, _eauth: True)
    before = set(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        server._start(login)
    assert set(os.listdir("/proc/self/fd")) == before
    assert not server._checks
    assert list(server._line.due(time.monotonic() + 60)) == [login]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (LoginUnchecked("eauth ldap failed for kim: no route\n"), "eauth ldap failed for kim: no"),
        (KeyError("pw"), "A login by ldap: KeyError"),
    ],
)
def test_a_module_that_fails_is_told_of_now_and_then(
    error: Exception, line: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its server is away, and everybody logs in again and again."""

    def fail(*_words: object) -> None:
        raise error

    monkeypatch.setattr(logincheck, "is_usable", lambda _config, _eauth: True)
    monkeypatch.setattr(logincheck, "check_login", fail)
    nothing = SimpleNamespace(let_go=lambda: None, close=lambda: None)
    shared: Any = SimpleNamespace(config=None)
    server: Any = LoginServer(shared, chance=lambda: 0.0)
    server._life = server._replies = server._listener = nothing
    server._poller = zmq.Poller()
    for number in range(5):
        login = Login(b"%016d" % number, "ldap", f"kim{number}", "pw", {}, b"no")
        server._line.add(login, time.monotonic())
        server._start(server._line.take(time.monotonic()))
        while server._checks:
            for fd, _events in server._poller.poll(WITHIN_MS):
                server._read(fd)
    assert len(list(server._line.due(time.monotonic() + 60))) == 5
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().startswith(line)
    assert "\n" not in caplog.records[0].getMessage()


# --- what is imported ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module", ["saltlite.master.context", "saltlite.master.dispatch", "saltlite.cli.salt"]
)
def test_who_checks_no_login_imports_no_module_for_it(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "names = ('saltlite.auth', 'saltlite.providers.pam', 'saltlite.providers.ldap',"
        " 'saltlite.master.loginserver', 'saltlite.master.logincheck', 'ldap3')\n"
        "print([one for one in names if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
