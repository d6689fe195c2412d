from doctor_facts import FakeCache, FakeMachine, master_facts, show

from saltlite.doctor.master import grains

DAY_S = 86400.0
NOW_S = 1_000_000_000.0


def looked(tmp_path, stored_s, *, connected=("m1",)):
    facts = master_facts(
        tmp_path,
        FakeMachine(now_s=NOW_S),
        keys={"minions": {"m1": "pem"}},
        cache=FakeCache(stored_s={} if stored_s is None else {"m1": stored_s}),
        connected=dict.fromkeys(connected, "10.0.0.1"),
    )
    return show(grains.look(facts))


def test_fresh_grains(tmp_path):
    assert looked(tmp_path, NOW_S - 5 * DAY_S) == []


def test_old_grains(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, NOW_S - 40 * DAY_S)
    assert (severity, where, mend) == ("warning", "m1", "salt -L m1 saltutil.refresh_grains")
    assert what.startswith("the grains of 1 connected minions are older than 30 days")
    assert looked(tmp_path, NOW_S - 40 * DAY_S, connected=()) == []  # it cannot have sent newer


def test_grains_from_the_future(tmp_path):
    ((severity, what, _where, _mend),) = looked(tmp_path, NOW_S + 2 * DAY_S)
    assert severity == "warning"
    assert what == "the grains of 1 minions are from the future: a clock was set back"


def test_no_grains(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, None)
    assert (severity, where) == ("note", "m1")
    assert what == "1 minions are accepted and have never sent their grains"
    assert mend == "salt-call doctor on them; salt-key -d m1 if it is gone for good"
