from doctor_facts import FakeMachine, minion_facts, show

from saltlite.doctor.minion import clock


def test_nothing_keeps_the_clock(tmp_path):
    found = show(clock.look(minion_facts(tmp_path, FakeMachine(clock_kept=False))))
    assert [what for _s, what, _w, _m in found] == ["nothing keeps this machine's clock right"]
    assert show(clock.look(minion_facts(tmp_path, FakeMachine(clock_kept=None)))) == []
