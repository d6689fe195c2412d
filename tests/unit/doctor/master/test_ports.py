from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.master import ports

PORTS = {"publish_port": 4505, "ret_port": 4506}


def looked(tmp_path, machine):
    return show(ports.look(master_facts(tmp_path, machine, **PORTS)))


def test_a_master_that_listens(tmp_path):
    assert looked(tmp_path, FakeMachine(listening=[4505, 4506], daemon=77)) == []


def test_no_master(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, FakeMachine())
    assert severity == "error"
    assert what == "no master runs here: nothing listens on 4505 and 4506"
    assert where.endswith(".master.lock")
    assert mend == "systemctl start salt-master"


def test_a_port_that_is_taken(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, FakeMachine(listening=[4506]))
    assert severity == "error"
    assert what == "no master runs here, but another program listens on port 4506"
    assert where == "0.0.0.0:4506 (ret_port)"
    assert mend.startswith("ss -ltnp 'sport = :4506'")


def test_a_master_that_does_not_listen(tmp_path):
    ((_severity, what, _where, mend),) = looked(tmp_path, FakeMachine(listening=[4505], daemon=77))
    assert what == "the master runs as process 77, but does not listen on port 4506"
    assert mend.startswith("systemctl restart salt-master")
