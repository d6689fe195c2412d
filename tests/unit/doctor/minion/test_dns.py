from doctor_facts import FakeMachine, FakeView, minion_facts, show

from saltlite.doctor.machine import Lookup
from saltlite.doctor.minion import dns


def looked(tmp_path, lookup, **machine):
    facts = minion_facts(
        tmp_path, FakeMachine(names={"salt": lookup}, **machine), view=FakeView(), master="salt"
    )
    return show(dns.look(facts))


def test_a_name_that_resolves(tmp_path):
    assert looked(tmp_path, Lookup(("10.0.0.1",), "", 0.01)) == []


def test_a_name_that_does_not(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, Lookup((), "Name not known", 0.01))
    assert (severity, what) == ("error", "the name salt does not resolve: Name not known")
    assert where.startswith(f"{tmp_path}/minion:")
    assert mend == (f"set master: in {tmp_path}/minion, or a line in /etc/hosts: ADDRESS salt")


def test_slow_names(tmp_path):
    found = looked(tmp_path, Lookup(("10.0.0.1",), "", 4.96), own_name=("m1.example.com", 3.0))
    assert [what for _s, what, _w, _m in found] == [
        "to find this machine's full name took 3.0 s",
        "to look up salt took 5.0 s",
    ]
