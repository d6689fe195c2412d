import os
from pathlib import Path

from doctor_facts import FakeMachine, minion_facts, show

from saltlite.doctor.minion import returns

NOW_S = 1_000_000_000.0


def looked(tmp_path, *, daemon=5, **ages_s):
    facts = minion_facts(tmp_path, FakeMachine(daemon=daemon, now_s=NOW_S))
    for folder, age_s in ages_s.items():
        path = Path(facts.config.paths.cachedir) / folder / "20260102030405000001"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return show(returns.look(facts))


def test_nothing_waits(tmp_path):
    assert looked(tmp_path) == []
    assert looked(tmp_path, outbox=60, undelivered=60, proc=60) == []


def test_returns_that_wait(tmp_path):
    assert [what for _s, what, _w, _m in looked(tmp_path, outbox=1200, undelivered=900)] == [
        "1 returns wait for the master, the oldest 20 min",
        "1 returns wait for a returner, the oldest 15 min",
    ]


def test_a_job_that_runs_for_long(tmp_path):
    ((severity, what, _where, mend),) = looked(tmp_path, proc=7200)
    assert (severity, what) == ("note", "1 jobs run for more than an hour, the oldest 2 h")
    assert mend == "salt-call saltutil.running; salt-call saltutil.kill_job JID"
    assert looked(tmp_path, daemon=None, proc=7200) == []
