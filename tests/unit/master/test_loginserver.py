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

from saltlite.master import logincheck
from saltlite.master.loginline import Login
from saltlite.master.loginserver import LoginServer, _Replies


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
