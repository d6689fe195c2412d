"""The rings in which the processes of a master note their steps."""

import os

import pytest

from saltlite.jobs import marks
from saltlite.jobs.marks import CLIENT, JOB, RECORDS, RETURN, SEEN, SENT, Mark, Marks

JID = "20260102030405000001"
OTHER = "20260102030405000002"


def test_what_was_noted_of_a_job_is_read(tmp_path):
    worker, publisher = Marks(tmp_path, "MWorker-0"), Marks(tmp_path, "Publisher")
    worker.note(JOB, JID, "", 1, 2, 3, 4, 5)
    publisher.note(SENT, JID, "", 6)
    worker.note(RETURN, JID, "web1", 7, 8, 9, 10)
    worker.note(RETURN, OTHER, "web1", 11)
    assert marks.read_marks(tmp_path, JID) == [
        Mark("MWorker-0", JOB, 0, (1, 2, 3, 4, 5)),
        Mark("MWorker-0", RETURN, marks.number_of("web1"), (7, 8, 9, 10, 0)),
        Mark("Publisher", SENT, 0, (6, 0, 0, 0, 0)),
    ]


def test_a_file_never_grows_beyond_its_records(tmp_path):
    ring = Marks(tmp_path, "MWorker-0")
    for number in range(RECORDS + 3):
        ring.note(RETURN, JID, f"m{number}", number)
    found = {mark.minion for mark in marks.read_marks(tmp_path, JID)}
    assert len(found) == RECORDS
    assert marks.number_of("m2") not in found
    assert marks.number_of(f"m{RECORDS + 2}") in found


def test_files_are_private(tmp_path):
    Marks(tmp_path, "Publisher").note(SENT, JID, "", 1)
    marks.note_seen(tmp_path, JID, [("web1", 2)])
    for path in (tmp_path / "times").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "times").stat().st_mode & 0o777 == 0o700


def test_what_is_no_jid_is_not_noted(tmp_path):
    ring = Marks(tmp_path, "MWorker-0")
    ring.note(RETURN, "req", "web1", 1)
    ring.note(RETURN, "9" * 40, "web1", 1)
    assert marks.read_marks(tmp_path, "req") == []


def test_nothing_is_noted_where_nothing_can_be(tmp_path):
    (tmp_path / "times").write_text("in the way")
    ring = Marks(tmp_path, "MWorker-0")
    ring.note(SENT, JID, "", 1)
    marks.note_seen(tmp_path, JID, [("web1", 2)])


def test_the_client_begins_anew_when_its_file_is_full(tmp_path):
    Marks(tmp_path, "Publisher").note(SENT, JID, "", 1)
    marks.note_seen(tmp_path, OTHER, [(f"m{number}", 1) for number in range(RECORDS + 9)])
    marks.note_seen(tmp_path, JID, [("web1", 2)])
    assert marks.read_marks(tmp_path, OTHER) == []
    assert Mark(CLIENT, SEEN, marks.number_of("web1"), (2, 0, 0, 0, 0)) in marks.read_marks(
        tmp_path, JID
    )


@pytest.mark.parametrize("make", ["symlink", "link", "fifo"])
def test_a_client_does_not_write_through_what_another_user_put_there(tmp_path, make):
    victim = tmp_path / "victim"
    victim.write_text("keep")
    (tmp_path / "times").mkdir()
    place = tmp_path / "times" / CLIENT
    if make == "symlink":
        place.symlink_to(victim)
    elif make == "link":
        os.link(victim, place)
    else:
        os.mkfifo(place)
    marks.note_seen(tmp_path, JID, [("web1", 2)])
    assert victim.read_text() == "keep"


def test_a_file_cut_in_the_middle_of_a_record(tmp_path):
    ring = Marks(tmp_path, "MWorker-0")
    ring.note(SENT, JID, "", 1)
    path = tmp_path / "times" / "MWorker-0"
    path.write_bytes(path.read_bytes() + b"half")
    assert len(marks.read_marks(tmp_path, JID)) == 1


def test_ids_have_numbers_of_their_own():
    names = [f"web-{number:05}.example.com" for number in range(20_000)]
    assert len({marks.number_of(name) for name in names}) == len(names)
