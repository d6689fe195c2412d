from doctor_facts import FakeMachine, FakeView, minion_facts, show

from saltlite.doctor.machine import Lookup
from saltlite.doctor.minion import ports
from saltlite.errors import ConfigError

VIEW = FakeView([("salt", 4506)])
REFUSED = "Connection refused"


def looked(tmp_path, view=VIEW, *, daemon=5, refusing=None, **options):
    machine = FakeMachine(
        daemon=daemon, refusing=refusing, names={"salt": Lookup(("10.0.0.1",), "", 0.0)}
    )
    return show(ports.look(minion_facts(tmp_path, machine, view=view, **options)))


def test_a_master_that_is_there(tmp_path):
    assert looked(tmp_path) == []


def test_a_master_that_is_not(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, refusing={4505: REFUSED, 4506: REFUSED})
    assert (severity, what) == ("error", "the master cannot be reached: Connection refused")
    assert where == "salt (10.0.0.1), ports 4506 and 4505"
    assert mend.startswith("on the master: salt-run doctor only=ports")


def test_one_port_is_closed(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, refusing={4505: "no answer within 3 s"})
    assert severity == "error"
    assert what == "the master answers on another port, but not on this one: no answer within 3 s"
    assert (where, mend.partition(",")[0]) == (
        "salt (10.0.0.1), port 4505",
        "let TCP port 4505 through",
    )


def test_no_minion_runs(tmp_path):
    ((severity, what, _where, mend),) = looked(tmp_path, daemon=None)
    assert (severity, what) == ("warning", "no salt-minion runs here")
    assert mend == "systemctl start salt-minion"


def test_a_minion_without_a_master_asks_none(tmp_path):
    found = looked(tmp_path, daemon=None, file_client="local")
    assert found == [("unseen", "there is no master to be reached", "", "")]


def test_a_master_that_is_no_name(tmp_path):
    class Odd(FakeView):
        def masters(self):
            raise ConfigError("'a b' is not a name", option="master")

    ((severity, what, _where, _mend),) = looked(tmp_path, Odd())
    assert (severity, what) == ("error", "master: 'a b' is not a name")
