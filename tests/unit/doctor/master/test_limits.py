from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.master import limits


def looked(tmp_path, limit, minions=1, **options):
    keys = {"minions": {f"m{number}": "pem" for number in range(minions)}}
    machine = FakeMachine(daemon=7, limit=limit)
    return show(limits.look(master_facts(tmp_path, machine, keys=keys, **options)))


def test_enough(tmp_path):
    assert looked(tmp_path, 100_000) == []
    assert [severity for severity, *_rest in looked(tmp_path, None)] == ["unseen"]


def test_fewer_than_are_wanted(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, 1024, max_open_files=50_000)
    assert (severity, where) == ("note", "process 7")
    assert what == "max_open_files is 50000, and the system allows 1024, enough for now"
    assert mend == "systemctl edit salt-master: [Service] LimitNOFILE=50000, and restart"


def test_fewer_than_minions_need(tmp_path):
    ((severity, what, _where, _mend),) = looked(tmp_path, 1024, minions=600)
    assert severity == "error"
    assert what.startswith("600 minions need about 1400 open files, and 1024 are allowed")
