from doctor_facts import FakeMachine, master_facts, show

from saltlite.doctor.machine import Space
from saltlite.doctor.master import disk


class FullLogs(FakeMachine):
    """A disk of its own for the log, and that is full."""

    def space(self, path):
        return Space(2, 100, 0, 0, 0) if path.endswith("log/salt") else None


def test_each_place_is_looked_at(tmp_path):
    ((severity, _what, where, _mend),) = show(disk.look(master_facts(tmp_path, FullLogs())))
    assert (severity, where) == ("error", f"{tmp_path}/var/log/salt (log_file)")
