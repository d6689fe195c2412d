from doctor_facts import show

from saltlite.config.master import SECTIONS as MASTER
from saltlite.config.minion import SECTIONS as MINION
from saltlite.config.schema import OptionSource
from saltlite.doctor.settings import judge_options


def judged(name, *, extra=True, role="master"):
    sections, others = (MASTER, MINION) if role == "master" else (MINION, MASTER)
    places = {name: OptionSource("/etc/salt/x", 3)}
    return show(judge_options(places, [name] if extra else [], sections, others, role))


def test_a_misspelt_option():
    assert judged("worker_treads") == [
        (
            "warning",
            "there is no option worker_treads: did you mean worker_threads?",
            "/etc/salt/x:3",
            "write worker_threads in place of worker_treads",
        )
    ]


def test_an_option_without_effect():
    ((severity, what, where, _mend),) = judged("fips_mode", extra=False, role="minion")
    assert (severity, what) == ("warning", "fips_mode is set, but saltlite does not obey it")
    assert where == "/etc/salt/x:3"


def test_an_option_of_the_other_daemon():
    ((severity, what, _where, _mend),) = judged("worker_threads", role="minion")
    assert severity == "note"
    assert what == "worker_threads is an option of the other daemon, and has no effect here"


def test_an_option_that_nobody_knows():
    ((severity, what, _where, _mend),) = judged("our_own_thing")
    assert (severity, what.partition(";")[0]) == (
        "note",
        "our_own_thing is no option of Salt's",
    )


def test_options_that_are_fine():
    assert judged("worker_threads", extra=False) == []
    assert judged("mysql.host") == []
    assert judged("gitfs_remotes") == []  # without a section, and obeyed
