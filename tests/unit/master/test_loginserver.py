"""The children of the login server: started anew, ended, and what they import."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zmq

from saltlite.master.loginserver import _Replies


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
