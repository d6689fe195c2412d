from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.machine import ProcessFacts
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


def test_who_has_it(tmp_path):
    nginx = ProcessFacts(5, 1, "nginx: master process /usr/sbin/nginx", "S", 9.0)
    machine = FakeMachine(listening=[4506], listener=nginx)
    ((severity, what, _where, mend),) = looked(tmp_path, machine)
    assert severity == "error"
    assert what == (
        "no master runs here, but process 5 (nginx: master process /usr/sbin/nginx) listens on "
        "port 4506"
    )
    assert mend == "stop it, then: systemctl start salt-master"


def test_a_master_of_salt(tmp_path):
    salt = ProcessFacts(5, 1, "/opt/salt/bin/python3 /usr/bin/salt-master MWorkerQueue", "S", 9.0)
    machine = FakeMachine(listening=[4505, 4506], listener=salt)
    found = looked(tmp_path, machine)
    assert [severity for severity, *_rest in found] == ["warning", "warning"]
    assert found[0][1] == (
        "the master that listens on port 4505 is not saltlite's: process 5 (/opt/salt/bin/python3 "
        "/usr/bin/salt-master MWorkerQueue)"
    )


def test_a_master_that_does_not_listen(tmp_path):
    ((_severity, what, _where, mend),) = looked(tmp_path, FakeMachine(listening=[4505], daemon=77))
    assert what == "the master runs as process 77, but does not listen on port 4506"
    assert mend.startswith("systemctl restart salt-master")
