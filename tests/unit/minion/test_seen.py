"""Which jobs a minion remembers across restarts."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from saltlite.minion.seen import KEPT, SeenJobs

JID = "20240102030405000678"


def jid(number: int) -> str:
    return f"{number:020}"


def test_a_job_is_taken_once_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "minion_jids"
    assert SeenJobs(path).take(JID)
    again = SeenJobs(path)
    assert not again.take(JID)
    assert again.take(jid(1))
    assert not SeenJobs(path).take(jid(1))
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_last_thousand_are_remembered_and_the_file_stays_short(tmp_path: Path) -> None:
    path = tmp_path / "minion_jids"
    seen = SeenJobs(path)
    for number in range(5 * KEPT):
        assert seen.take(jid(number))
    assert len(path.read_text().splitlines()) <= 2 * KEPT
    again = SeenJobs(path)
    assert not any(again.take(jid(number)) for number in range(4 * KEPT, 5 * KEPT))
    assert again.take(jid(0))


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe\x00", b"not a jid\n" * 10])
def test_junk_in_the_file_is_no_obstacle(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "minion_jids"
    path.write_bytes(junk)
    assert SeenJobs(path).take(JID)


def test_a_disk_that_fails_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seen = SeenJobs(tmp_path / "nowhere" / "minion_jids")
    assert seen.take(jid(1))
    assert seen.take(jid(2))
    assert not seen.take(jid(1))
    assert seen.has(jid(1)) and not seen.has(jid(3))
    assert caplog.text.count("cannot be kept") == 1


def test_a_disk_that_was_full_for_a_while_costs_no_other_job_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, write = SeenJobs(tmp_path / "jids"), os.write
    fill = [7]

    def write_short(fd: int, data: bytes) -> int:
        if not fill:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, bytes(data)[: fill.pop()])

    monkeypatch.setattr(os, "write", write_short)
    assert seen.take("20260102030405000001")
    monkeypatch.undo()
    assert seen.take("20260102030405000002")
    assert not SeenJobs(tmp_path / "jids").take("20260102030405000002")
