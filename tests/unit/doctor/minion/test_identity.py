from pathlib import Path

from doctor_facts import FakeMachine, minion_facts, show

from saltlite.doctor.minion import identity


def looked(tmp_path, own_name="m1.example.com", **options):
    machine = FakeMachine(own_name=(own_name, 0.0))
    return show(identity.look(minion_facts(tmp_path, machine, **options)))


def test_an_id_that_is_set(tmp_path):
    assert looked(tmp_path, own_name="other") == []


def test_localhost(tmp_path):
    ((severity, what, _where, mend),) = looked(tmp_path, id="localhost")
    assert severity == "error"
    assert what == "the id is localhost, as that of any machine without a name"
    assert mend.startswith(f"id: NAME in {tmp_path}/minion")


def test_an_id_of_another_machine(tmp_path):
    kept = tmp_path / "etc/salt/minion_id"
    kept.parent.mkdir(parents=True)
    kept.write_text("old.example.com")
    ((severity, what, where, mend),) = looked(tmp_path, "new.example.com", id=None)
    assert (severity, where) == ("warning", str(kept))
    assert what == (
        "the id old.example.com was kept when the machine had that name; it is new.example.com now"
    )
    assert mend.startswith(f"if it is a copy or was renamed: rm {kept}")
    assert looked(tmp_path, "old", id=None) == []


def test_a_machine_without_an_id(tmp_path):
    path = tmp_path / "etc/machine-id"
    path.parent.mkdir(parents=True)
    path.touch()
    ((severity, _what, where, mend),) = looked(tmp_path)
    assert (severity, where, mend) == ("warning", str(path), "systemd-machine-id-setup")
    Path(path).write_text("0123\n")
    assert looked(tmp_path) == []
