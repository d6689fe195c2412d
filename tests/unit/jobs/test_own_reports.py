"""What a machine without a master keeps of its runs of states."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from report_runs import make_run

from saltlite.core.jid import new_jid
from saltlite.core.state_reports import ReportQuery
from saltlite.jobs import own_reports
from saltlite.jobs.report_file import FILE_NAME, StateReportFile

STATE = {"result": True, "changes": {"mode": "0644"}, "__id__": "a", "__sls__": "one"}
RETURN = {"file_|-a_|-/a_|-managed": STATE}


def keep(path: Path, returned: Any = RETURN, jid: str = "") -> None:
    fields = {
        "jid": jid or new_jid(datetime.now(timezone.utc), None),
        "id": "m1",
        "fun": "state.apply",
        "fun_args": [],
        "return": returned,
    }
    own_reports.keep_runs(str(path), fields, "sudo_alice")


def test_a_run_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    jid = new_jid(datetime.now(timezone.utc), None)
    keep(tmp_path, jid=jid)
    ((run, row),) = StateReportFile(tmp_path).list_rows(ReportQuery())
    assert (run.minion, run.user, run.jid, row.name) == ("m1", "sudo_alice", jid, "/a")
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


def test_what_is_no_run_leaves_no_file(tmp_path: Path) -> None:
    keep(tmp_path, {"a": 1})
    keep(tmp_path, ["No matching sls"])
    assert [*tmp_path.iterdir()] == []


def test_old_runs_go_and_so_does_what_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = time.time()
    reports = StateReportFile(tmp_path)
    reports.add_runs([make_run(now_s - 31 * 86400), make_run(now_s - 29 * 86400)])
    keep(tmp_path)
    kept = [run.at_s for run in reports.read_runs(ReportQuery())]
    assert now_s - 29 * 86400 in kept
    assert now_s - 31 * 86400 not in kept
    monkeypatch.setattr(own_reports, "MOST_BYTES", 0)
    keep(tmp_path)
    assert not [*reports.read_runs(ReportQuery())]


def test_a_run_is_none_the_worse_if_nothing_can_be_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        keep(tmp_path / "file")
    assert "is not kept for reports" in caplog.text
