from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.master import dns


def test_a_name_that_is_found_at_once(tmp_path):
    assert show(dns.look(master_facts(tmp_path))) == []


def test_a_slow_name(tmp_path):
    machine = FakeMachine(own_name=("db.example.com", 5.04))
    assert show(dns.look(master_facts(tmp_path, machine))) == [
        (
            "warning",
            "to find this machine's full name took 5.0 s",
            "db.example.com",
            "a line in /etc/hosts: 127.0.1.1 db.example.com db",
        )
    ]
