import pytest
from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.master import clock

NOW_S = 1_000_000_000.0


class Minions:
    """Minions that tell the time of their clocks."""

    def __init__(self, **told):
        self.told = told

    def cmd_cli(self, tgt, fun, arg=()):
        assert (tgt, fun, arg) == ("*", "status.time", ["%s"])
        for minion, value in self.told.items():
            yield {minion: {"ret": value, "retcode": 0}}


def looked(tmp_path, *, ask="*", told=None, machine=None, **options):
    told = told or {}
    facts = master_facts(
        tmp_path,
        machine or FakeMachine(daemon=7, now_s=NOW_S),
        keys={"minions": dict.fromkeys(["m1", *told], "pem")},
        ask=ask,
        local=Minions(**told),
        **options,
    )
    return show(clock.look(facts))


def test_clocks_that_are_right(tmp_path):
    assert looked(tmp_path, told={"m1": "999999999"}) == []


def test_nobody_is_asked_unless_it_is_wanted(tmp_path):
    assert looked(tmp_path, ask="", told={"m1": "5"}) == []


def test_a_clock_that_is_behind(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, told={"m1": str(int(NOW_S) - 61)})
    assert (severity, what, where) == ("warning", "its clock is 60 s behind the master's", "m1")
    assert mend.startswith("salt m1 cmd.run 'timedatectl set-ntp true'")


def test_a_clock_that_is_ahead(tmp_path):
    ((severity, what, _where, _mend),) = looked(
        tmp_path, told={"m1": str(int(NOW_S) + 90)}, request_server_ttl=30
    )
    assert severity == "error"
    assert what.startswith("its clock is 90 s ahead of the master's: its requests are refused")


def test_minions_that_do_not_answer(tmp_path):
    ((severity, what, where, _mend),) = looked(tmp_path, told={"m2": str(int(NOW_S))})
    assert (severity, what, where) == ("note", "1 minions did not answer", "m1")


def test_nothing_keeps_the_clock(tmp_path):
    ((severity, what, _where, mend),) = looked(
        tmp_path, ask="", machine=FakeMachine(clock_kept=False)
    )
    assert (severity, what) == ("note", "nothing keeps this machine's clock right")
    assert mend == "timedatectl set-ntp true, or install chrony"


@pytest.mark.parametrize(
    ("told", "apart"), [(100, 0), (109, 0), (99, -0.5), (120, 9.5), (50, -49.5)]
)
def test_what_clocks_differ_by(told, apart):
    """A job that went out at 100.5 and came back at 110.5."""
    assert clock.apart_s(told, 100.5, 110.5) == apart
