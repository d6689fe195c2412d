"""Files of running jobs: what they tell, and which of them count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from saltlite.core.plain import Plain
from saltlite.minion.proc import ProcDir
from saltlite.minion.taken_job import TakenJob
from saltlite.process import start_ticks
from saltlite.transport.codec import pack_bin

JID = "20240102030405000678"
JOB: dict[str, Plain] = {"jid": JID, "fun": "test.ping", "arg": [], "tgt": "*", "secret": "x"}


def jid(number: int) -> str:
    return f"{number:020}"


def test_a_proc_file_tells_the_job_and_its_process(tmp_path: Path) -> None:
    proc = ProcDir(tmp_path / "proc")
    proc.write(TakenJob.of(JOB), os.getpid(), "m:1")
    (entry,) = proc.entries()
    assert entry.jid == JID
    assert entry.alive()
    assert entry.job.fields == {
        "jid": JID,
        "fun": "test.ping",
        "arg": [],
        "tgt": "*",
        "master": "m:1",
    }
    assert (tmp_path / "proc" / JID).stat().st_mode & 0o777 == 0o600
    proc.remove(JID)
    assert list(proc.entries()) == []


def test_a_waiting_job_and_an_ended_one_are_not_alive(tmp_path: Path) -> None:
    proc = ProcDir(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    proc.write(TakenJob.of(JOB), child.pid, "m")
    proc.write(TakenJob.of({**JOB, "jid": jid(1)}), 0, "m")
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
