from doctor_facts import FakeCache, master_facts, show

from saltlite.doctor.master import schedule


def looked(tmp_path, entry, minions=60, **options):
    names = [f"m{number:02}" for number in range(minions)]
    cache = FakeCache({"pillar": {one: {"schedule": {"backup": entry}} for one in names}})
    keys = {"minions": dict.fromkeys([*names, "x"], "pem")}
    return show(schedule.look(master_facts(tmp_path, keys=keys, cache=cache, **options)))


def test_many_at_once(tmp_path):
    entry = {"function": "state.apply", "cron": "0 3 * * *"}
    ((severity, what, where, mend),) = looked(tmp_path, entry)
    assert severity == "warning"
    assert what == "60 minions run backup (state.apply) in the same second: 0 3 * * *"
    assert where == "m00, m01, m02, m03, m04 and 55 more"
    assert mend == "a splay for backup, as splay: 60"
    assert looked(tmp_path, {**entry, "splay": 300}) == []
    assert looked(tmp_path, entry, minions=5) == []


def test_many_all_the_time(tmp_path):
    ((severity, what, _where, _mend),) = looked(tmp_path, {"function": "test.ping", "seconds": 10})
    assert severity == "warning"
    assert what == "schedules bring 6 jobs a second: backup (test.ping) 6.0"


def test_the_masters_own(tmp_path):
    own = {"fast": {"function": "jobs.active", "seconds": 1}}
    ((severity, what, where, _mend),) = looked(tmp_path, {}, minions=0, schedule=own)
    assert (severity, what) == ("warning", "fast runs jobs.active every 1 s")
    assert where.startswith(f"{tmp_path}/master:")
