"""Session keys of minions on disk: kept, replaced, ended."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from saltlite.master.keystore import AcceptedKey
from saltlite.master.sessions import Sessions


def test_sessions_are_kept_replaced_and_ended(tmp_path: Path) -> None:
    sessions, others = (Sessions(tmp_path / "s", lifetime_s=3600) for _ in range(2))
    assert sessions.get("web1") is None
    made = sessions.get_or_make("web1")
    assert stat.S_IMODE((tmp_path / "s/web1").stat().st_mode) == 0o600
    assert sessions.get("web1") is made
    assert others.get_or_make("web1").key == made.key
    assert made.key not in repr(made)
    later = AcceptedKey("a key", (2**40 * 10**9, 1, 1), tmp_path / "web1")
    assert sessions.get("web1", accepted=later) is None
    assert sessions.get_or_make("web1", accepted=later).key != made.key
    others.delete("web1")
    assert sessions.get("web1") is None
    sessions.get_or_make("web2")
    sessions.clear()
    assert sessions.ids() == []


def test_an_old_or_damaged_session_counts_for_nothing(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s", lifetime_s=60)
    made = sessions.get_or_make("web1")
    os.utime(tmp_path / "s/web1", (1, 1))
    assert sessions.get("web1") is None
    assert sessions.get_or_make("web1").key != made.key
    (tmp_path / "s/web1").write_text("junk")
    assert sessions.get("web1") is None
    assert not (tmp_path / "s/web1").exists()
