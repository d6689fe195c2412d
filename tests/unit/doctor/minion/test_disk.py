from doctor_facts import FakeMachine, minion_facts, show

from saltlite.doctor.machine import Space
from saltlite.doctor.minion import disk


class FullCache(FakeMachine):
    """A disk of its own for the cache, without inodes."""

    def space(self, path):
        return Space(2, 10**12, 10**12, 100, 0) if path.endswith("cache/salt/minion") else None


def test_each_place_is_looked_at(tmp_path):
    ((severity, what, where, _mend),) = show(disk.look(minion_facts(tmp_path, FullCache())))
    assert (severity, what) == ("error", "no inodes are left: 0 of 100 are free")
    assert where == f"{tmp_path}/var/cache/salt/minion (cachedir)"
