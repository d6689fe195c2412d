from doctor_facts import master_facts, show

from saltlite.doctor.master import keys


def looked(tmp_path, **states):
    return show(keys.look(master_facts(tmp_path, keys=states)))


def test_keys_that_are_accepted(tmp_path):
    assert looked(tmp_path, minions={"m1": "a", "m2": "b"}) == []


def test_keys_that_wait(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, minions_pre={"m1": "a", "m2": "b"})
    assert (severity, what, where) == ("note", "2 keys wait to be accepted", "m1, m2")
    assert mend == "compare salt-key -f m1 with the minion's, then: salt-key -a m1"


def test_keys_that_are_rejected(tmp_path):
    ((severity, what, where, _mend),) = looked(tmp_path, minions_rejected={"m1": "a"})
    assert (severity, where) == ("note", "m1")
    assert what == "1 keys are rejected: these minions are not let in"


def test_an_id_that_is_taken(tmp_path):
    ((severity, what, where, mend),) = looked(
        tmp_path, minions={"m1": "a"}, minions_denied={"m1": "b"}
    )
    assert (severity, where) == ("warning", "m1")
    assert what == "another machine wants in under this id, or this one has made a new key"
    assert mend.startswith("if it is the same machine: salt-key -d m1, restart its minion")


def test_one_key_under_two_ids(tmp_path):
    ((severity, what, where, mend),) = looked(
        tmp_path, minions={"m1": "one\nkey", "m2": "one\nkey\n", "m3": "other", "m4": ""}
    )
    assert (severity, where) == ("error", "m1, m2")
    assert what == "2 minions have the same key: one can read what the other is told"
    assert "salt-key -d m2" in mend
