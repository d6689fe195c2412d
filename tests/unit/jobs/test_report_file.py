"""The file of reports when things go wrong; what it answers is in the suites of all stores."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from report_runs import make_run

from saltlite.core.state_reports import ReportQuery
from saltlite.errors import StoreError
from saltlite.jobs.report_file import FILE_NAME, StateReportFile

ALL = ReportQuery()


def test_who_only_reads_makes_no_file(tmp_path: Path) -> None:
    reports = StateReportFile(tmp_path)
    assert reports.list_rows(ALL) == []
    assert list(reports.read_runs(ALL)) == []
    assert reports.clean_to_bytes(0) == 0
    reports.checkpoint()
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        StateReportFile(tmp_path).add_runs([make_run()])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert FILE_NAME in modes
    assert set(modes.values()) == {0o600}


def test_a_file_that_is_none_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database at all" * 100)
    reports = StateReportFile(tmp_path)
    with pytest.raises(StoreError, match="not a database"):
        reports.add_runs([make_run()])
    reports.add_runs([make_run()])
    assert len(reports.list_rows(ALL)) == 1
    assert [path.name for path in tmp_path.glob("*.corrupt-*")]


def test_a_file_of_a_later_version_is_put_aside(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / FILE_NAME)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="layout 99"):
        StateReportFile(tmp_path).add_runs([make_run()])
    assert list(tmp_path.glob("*.corrupt-*"))
    StateReportFile(tmp_path).add_runs([make_run()])


def test_a_file_that_was_removed_is_begun_anew(tmp_path: Path) -> None:
    reports = StateReportFile(tmp_path)
    reports.add_runs([make_run(1.0)])
    for path in tmp_path.iterdir():
        path.unlink()
    reports.add_runs([make_run(2.0)])
    assert [run.at_s for run in StateReportFile(tmp_path).read_runs(ALL)] == [2.0]


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        StateReportFile(tmp_path / "file" / "cache").add_runs([make_run()])


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / FILE_NAME).symlink_to(target)
    with pytest.raises(StoreError):
        StateReportFile(cache).add_runs([make_run()])
    assert not target.exists()
