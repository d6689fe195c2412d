from doctor_facts import minion_facts, show

from saltlite.doctor.minion import schedule


def test_both_places_are_looked_at(tmp_path):
    facts = minion_facts(
        tmp_path,
        schedule={"one": {"function": "test.ping", "seconds": 1}},
        pillar={"schedule": {"two": {"function": "test.ping", "seconds": 2}}},
    )
    found = show(schedule.look(facts))
    assert [what for _s, what, _w, _m in found] == [
        "one runs test.ping every 1 s",
        "two runs test.ping every 2 s",
    ]
    assert found[0][2].startswith(f"{tmp_path}/minion:")
    assert found[1][2] == "pillar, schedule"
