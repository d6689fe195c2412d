from doctor_facts import minion_facts, show

from saltlite.doctor.minion import options


def test_options_of_the_files(tmp_path):
    facts = minion_facts(tmp_path, acceptance_wait_tme=3, worker_threads=3)
    assert [(severity, what) for severity, what, _w, _m in show(options.look(facts))] == [
        (
            "warning",
            "there is no option acceptance_wait_tme: did you mean acceptance_wait_time?",
        ),
        ("note", "worker_threads is an option of the other daemon, and has no effect here"),
    ]
