from doctor_facts import show

from saltlite.doctor.disks import judge_disks, judge_space
from saltlite.doctor.machine import Machine, Space

MIB = 1024**2
ROOMY = {"device": 1, "bytes_all": 1000 * MIB, "bytes_free": 500 * MIB}


def judged(**given):
    space = Space(**{**ROOMY, "inodes": 1000, "inodes_free": 900, **given})
    return show(judge_space("/c (cachedir)", "/c", space))


def test_room_enough():
    assert judged() == []
    assert judged(inodes=0, inodes_free=0) == []  # btrfs counts none


def test_a_share_of_a_large_disk_is_enough():
    assert judged(bytes_all=4_000_000 * MIB, bytes_free=20_000 * MIB) == []


def test_a_full_disk():
    assert judged(bytes_free=5 * MIB) == [
        (
            "error",
            "the disk is full: 5 MiB are free, 0.5%",
            "/c (cachedir)",
            "find what fills it: du -xh --max-depth=2 /c | sort -h | tail",
        )
    ]


def test_a_nearly_full_disk():
    ((severity, what, _where, _mend),) = judged(bytes_free=30 * MIB)
    assert (severity, what) == ("warning", "the disk is nearly full: 30 MiB are free, 3.0%")


def test_inodes():
    ((severity, what, _where, mend),) = judged(inodes_free=3)
    assert (severity, what) == ("error", "no inodes are left: 3 of 1000 are free")
    assert mend.startswith("find what has them: du -x --inodes")
    ((severity, what, _where, _mend),) = judged(inodes=100_000, inodes_free=3000)
    assert (severity, what) == ("warning", "few inodes are left: 3000 of 100000 are free")


def test_each_file_system_is_told_once(tmp_path):
    class Full(Machine):
        def space(self, path):
            return Space(7, 100 * MIB, 0, 0, 0)

    assert len(list(judge_disks(Full(), {"/a": "cachedir", "/b": "pki_dir"}))) == 1
    machine = Machine()
    assert machine.space(str(tmp_path / "not" / "there")).device == tmp_path.stat().st_dev
