from doctor_facts import master_facts, show

from saltlite.doctor.master import options


def test_options_of_the_files(tmp_path):
    facts = master_facts(tmp_path, worker_treads=3, publish_timeout=3, file_client="local")
    assert [
        (what, where.rpartition(":")[0]) for _s, what, where, _m in show(options.look(facts))
    ] == [
        ("file_client is set, but saltlite does not obey it", f"{tmp_path}/master"),
        ("publish_timeout is set, but saltlite does not obey it", f"{tmp_path}/master"),
        ("there is no option worker_treads: did you mean worker_threads?", f"{tmp_path}/master"),
    ]
