import pytest
from doctor_facts import FakeCache, master_facts, show

from saltlite.doctor.master import versions


def looked(tmp_path, **found):
    grains = {minion: {"saltversion": version} for minion, version in found.items()}
    keys = {"minions": dict.fromkeys(grains, "pem")}
    return show(
        versions.look(master_facts(tmp_path, keys=keys, cache=FakeCache({"grains": grains})))
    )


def test_the_masters_release(tmp_path):
    assert looked(tmp_path, m1="3006.30", m2="3006.9", m3="odd") == []


def test_a_newer_release(tmp_path):
    assert looked(tmp_path, m1="3008.5", m2="3008.5") == [
        ("note", "2 minions have 3008.5, a newer release than the master's (3006.30)", "m1, m2", "")
    ]


def test_an_older_release(tmp_path):
    ((severity, what, where, mend),) = looked(tmp_path, m1="2019.2.8", m2="3004.1")[-1:]
    assert (severity, where) == ("warning", "m2")
    assert what == "1 minions have 3004.1, older than this master is tried with"
    assert mend == "bring them up to 3006.30"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3006.30", (3006, 30)), ("3008.0rc1", (3008,)), ("3007.1+12.gabc", (3007, 1)), ("x", ())],
)
def test_versions_as_numbers(text, numbers):
    assert versions.read_version(text) == numbers
