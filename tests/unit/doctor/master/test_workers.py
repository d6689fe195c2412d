import pytest
from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.machine import ProcessFacts
from saltlite.doctor.master import workers
from saltlite.doctor.master.facts import MasterFacts

LOG = "var/log/salt/master"


def process(number, *, state="S", age_s=5000.0, title="salt-master MWorker-1"):
    return ProcessFacts(number, 1, title, state, age_s)


def judged(*processes, wanted=None):
    return show(workers.judge_processes(processes, len(processes) if wanted is None else wanted))


@pytest.fixture
def answers(monkeypatch):
    """What the request port answers."""

    def answer(took_s):
        monkeypatch.setattr(MasterFacts, "ask_worker", lambda *_given: took_s)

    return answer


def test_a_master_that_answers(tmp_path, answers):
    answers(0.003)
    assert show(workers.look(master_facts(tmp_path))) == []


def test_no_worker_answers(tmp_path, answers):
    answers(None)
    ((severity, what, where, mend),) = show(workers.look(master_facts(tmp_path, ret_port=4506)))
    assert (severity, what, where) == ("error", "no worker answered within 8 s", "port 4506")
    assert mend.startswith(f"tail {tmp_path}/{LOG}; systemctl restart salt-master")


def test_a_slow_answer(tmp_path, answers):
    answers(2.5)
    ((severity, what, _where, _mend),) = show(workers.look(master_facts(tmp_path)))
    assert (severity, what) == ("warning", "a worker answered after 2.5 s")


def test_without_a_master_nobody_is_asked(tmp_path):
    found = show(workers.look(master_facts(tmp_path, FakeMachine())))
    assert found == [("unseen", "no master runs here", "", "")]


def test_a_process_that_is_stopped():
    assert judged(process(7), process(8, state="T")) == [
        (
            "error",
            "a process of the master is stopped",
            "process 8 (salt-master MWorker-1)",
            "kill -CONT 8",
        )
    ]


def test_a_process_that_waits_for_a_disk():
    ((severity, what, _where, mend),) = judged(process(7, state="D"))
    assert severity == "warning"
    assert what == "a process of the master waits for a disk or a network file system"
    assert mend.startswith("cat /proc/7/stack")


def test_workers_that_die():
    ((severity, what, _where, _mend),) = judged(process(7), wanted=5)
    assert (severity, what) == ("warning", "1 workers run, worker_threads is 5: the others die")
    ((severity, what, _where, _mend),) = judged(process(7), process(8, age_s=3.0))
    assert (severity, what) == ("note", "1 workers were started again in the last minute")


def test_a_master_that_has_just_begun():
    assert judged(process(7, age_s=3.0), wanted=5) == []
    assert judged(process(7, title="python salt-master"), wanted=5) == []  # no setproctitle
