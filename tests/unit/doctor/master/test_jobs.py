import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.master import jobs
from saltlite.master.jobcache import SqliteJobStore

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def jid(**ago):
    return (NOW - timedelta(**ago)).strftime("%Y%m%d%H%M%S%f")


@pytest.fixture
def make_facts(tmp_path):
    def make(*jids, **options):
        facts = master_facts(tmp_path, FakeMachine(now_s=NOW.timestamp()), **options)
        store = SqliteJobStore(Path(facts.config.paths.cachedir))
        for one in jids:
            store.new_job(one, {"fun": "test.ping", "tgt": "*", "user": "root"}, ["m1"])
        store.close()
        return facts

    return make


def test_a_store_that_is_fine(make_facts):
    assert show(jobs.look(make_facts(jid(hours=1), jid(hours=23)))) == []


def test_no_store(tmp_path):
    assert show(jobs.look(master_facts(tmp_path))) == []
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    assert jobs.read_numbers(str(empty), "") is None


def test_nobody_cleans(make_facts):
    ((severity, what, _where, _mend),) = show(jobs.look(make_facts(jid(hours=40))))
    assert severity == "warning"
    assert what == "the oldest job is 40 h old, keep_jobs_seconds is 24 h: nobody cleans"


def test_as_many_as_may_be(make_facts):
    facts = make_facts(jid(hours=1), jid(hours=2), job_cache_max=2)
    ((severity, what, _where, _mend),) = show(jobs.look(facts))
    assert severity == "note"
    assert what.startswith("2 jobs are on record, job_cache_max is 2: the oldest go")


def test_jobs_come_fast(make_facts, monkeypatch):
    monkeypatch.setattr(jobs, "FAST_PER_MINUTE", 0.1)
    ((severity, what, _where, _mend),) = show(jobs.look(make_facts(jid(minutes=1), jid(minutes=2))))
    assert (severity, what) == ("warning", "2 jobs in the last ten minutes: test.ping 2")


def test_a_damaged_store(make_facts):
    facts = make_facts()
    path = Path(facts.config.paths.cachedir) / "jobs.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    ((severity, what, where, _mend),) = show(jobs.look(facts))
    assert (severity, where) == ("error", str(path))
    assert what == "the job store cannot be read: file is not a database"
    path.rename(path.with_name("jobs.sqlite.corrupt-17"))
    ((severity, what, where, mend),) = show(jobs.look(facts))
    assert (severity, where) == ("note", f"{path}.corrupt-17")
    assert mend == f"rm {path}.corrupt-17*"


def test_reading_leaves_nothing(make_facts):
    facts = make_facts(jid(hours=1))
    cachedir = Path(facts.config.paths.cachedir)
    before = {one: one.stat().st_mtime_ns for one in cachedir.iterdir()}
    assert jobs.read_numbers(str(cachedir / "jobs.sqlite"), "").count == 1
    assert {one: one.stat().st_mtime_ns for one in cachedir.iterdir()} == before


def test_a_store_that_is_written_to(make_facts):
    facts = make_facts(jid(hours=1))
    path = Path(facts.config.paths.cachedir) / "jobs.sqlite"
    store = SqliteJobStore(path.parent)
    store.new_job(jid(hours=2), {"fun": "a.b", "tgt": "*", "user": "root"}, [])
    assert Path(f"{path}-shm").exists()
    assert jobs.read_numbers(str(path), "").count == 2  # what is in its log only counts
    store.close()


def test_another_error_is_told(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        jobs.read_numbers(str(tmp_path), "")
