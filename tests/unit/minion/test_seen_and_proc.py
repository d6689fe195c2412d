"""What a minion remembers of its jobs across restarts."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from saltlite.core.plain import Plain
from saltlite.minion.proc import ProcDir
from saltlite.minion.seen import KEPT, SeenJobs
from saltlite.process import start_ticks
from saltlite.transport.codec import pack_bin

JID = "20240102030405000678"
JOB: dict[str, Plain] = {"jid": JID, "fun": "test.ping", "arg": [], "tgt": "*", "secret": "x"}


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


def test_a_proc_file_tells_the_job_and_its_process(tmp_path: Path) -> None:
    proc = ProcDir(tmp_path / "proc")
    proc.write(JOB, os.getpid(), "m:1")
    (entry,) = proc.entries()
    assert entry.jid == JID
    assert entry.alive()
    assert entry.job == {"jid": JID, "fun": "test.ping", "arg": [], "tgt": "*", "master": "m:1"}
    assert (tmp_path / "proc" / JID).stat().st_mode & 0o777 == 0o600
    proc.remove(JID)
    assert list(proc.entries()) == []


def test_a_waiting_job_and_an_ended_one_are_not_alive(tmp_path: Path) -> None:
    proc = ProcDir(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    proc.write(JOB, child.pid, "m")
    proc.write({**JOB, "jid": jid(1)}, 0, "m")
    waiting, running = proc.entries()
    assert (waiting.alive(), running.alive()) == (False, True)
    child.communicate(b"\n")
    assert not running.alive()


def test_a_process_id_used_again_is_not_the_job(tmp_path: Path) -> None:
    entry = {**JOB, "pid": os.getpid(), "started": start_ticks(os.getpid()) - 1}
    (tmp_path / JID).write_bytes(pack_bin(entry))
    (found,) = ProcDir(tmp_path).entries()
    assert not found.alive()


@pytest.mark.parametrize(
    "junk", [b"", b"\x00", b"\xff" * 9, pack_bin({"jid": "other"}), pack_bin([1])]
)
def test_junk_is_removed_and_named(
    tmp_path: Path, junk: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / JID).write_bytes(junk)
    assert list(ProcDir(tmp_path).entries()) == []
    assert not (tmp_path / JID).exists()
    assert JID in caplog.text
