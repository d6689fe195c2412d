from doctor_facts import FakeCache, master_facts, show

from saltlite.doctor.master import clones


def looked(tmp_path, grains):
    keys = {"minions": dict.fromkeys(grains, "pem")}
    cache = FakeCache({"grains": grains})
    return show(clones.look(master_facts(tmp_path, keys=keys, cache=cache)))


def test_machines_of_their_own(tmp_path):
    shared = {"docker0": "02:42:00:00:00:01", "lo": "00:00:00:00:00:00"}
    assert (
        looked(
            tmp_path,
            {
                "m1": {"machine_id": "a", "hwaddr_interfaces": {**shared, "eth0": "aa:01"}},
                "m2": {"machine_id": "b", "hwaddr_interfaces": {**shared, "eth0": "aa:02"}},
                "m3": {},
            },
        )
        == []
    )


def test_a_copied_machine(tmp_path):
    card = {"hwaddr_interfaces": {"eth0": "aa:01"}}
    ((severity, what, where, mend),) = looked(
        tmp_path, {"m1": {"machine_id": "a", **card}, "m2": {"machine_id": "a", **card}}
    )
    assert (severity, where) == ("warning", "m1, m2")
    assert what == "2 minions have the same machine_id: one is a copy of the other"
    assert "systemd-machine-id-setup" in mend


def test_a_copy_has_another_address(tmp_path):
    grains = {
        "m1": {"machine_id": "a", "ipv4": ["127.0.0.1", "192.0.2.1"]},
        "m2": {"machine_id": "a", "ipv4": ["127.0.0.1", "192.0.2.2"]},
    }
    ((severity, what, where, _mend),) = looked(tmp_path, grains)
    assert (severity, where) == ("warning", "m1, m2")
    assert what.endswith("one is a copy of the other")


def test_several_minions_of_one_machine_are_no_copies(tmp_path):
    grains = {"machine_id": "a", "ipv4": ["127.0.0.1", "192.0.2.1"]}
    ((severity, what, where, mend),) = looked(tmp_path, {"m1": grains, "m2": grains})
    assert (severity, where, mend) == ("note", "m1, m2", "")
    assert what == "2 minions run on one machine"


def test_two_ids_of_one_card(tmp_path):
    card = {"hwaddr_interfaces": {"eth0": "aa:01"}}
    ((severity, what, where, _mend),) = looked(
        tmp_path, {"m1": {"machine_id": "a", **card}, "m2": {"machine_id": "b", **card}}
    )
    assert (severity, what, where) == ("note", "2 minions have the card aa:01", "m1, m2")


def test_a_minion_without_a_name(tmp_path):
    ((severity, what, _where, _mend),) = looked(tmp_path, {"localhost": {}})
    assert severity == "warning"
    assert what.startswith("a minion has the id localhost")
