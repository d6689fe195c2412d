"""Which events go to returners."""

from datetime import datetime, timezone

import pytest

from saltlite.config.master import EventOptions
from saltlite.master.eventreturn import Complaints, is_wanted, read_event
from saltlite.master.job_mirror import event_returners
from saltlite.transport.bus import pack_event


@pytest.mark.parametrize(
    ("only", "never", "tag", "given"),
    [
        ([], [], "salt/auth", True),
        (["salt/job/*"], [], "salt/job/1/ret/web1", True),
        (["salt/job/*"], [], "salt/auth", False),
        ([r"salt/job/\d+/new"], [], "salt/job/12/new", True),
        (["*"], ["salt/auth"], "salt/auth", False),
        (["(broken"], [], "x", False),
        ([], ["salt/*"], "mine/own", True),
    ],
)
def test_lists_of_tags(only, never, tag, given):
    options = EventOptions(event_return_whitelist=only, event_return_blacklist=never)
    assert is_wanted(tag, options) is given


def test_one_returner_or_several():
    assert event_returners(EventOptions()) == []
    assert event_returners(EventOptions(event_return="rawfile_json")) == ["rawfile_json"]
    assert event_returners(EventOptions(event_return=["a", "b"])) == ["a", "b"]


def test_a_returner_that_fails_is_a_line_a_minute(caplog):
    now_s = 0.0
    complaints = Complaints(lambda: now_s)
    for now_s in (0.0, 1.0, 59.0, 60.0):  # noqa: B007 - the clock reads it
        complaints.add("gone", 2, ValueError("no\nway"))
        complaints.add("other", 1, ValueError("no"))
    lines = [one.getMessage() for one in caplog.records if "gone" in one.getMessage()]
    assert lines == [
        "event_return: gone did not get 2 events: ValueError: no way",
        "event_return: gone did not get 6 events: ValueError: no way",
    ]


def test_what_is_no_event_is_passed_over():
    assert read_event(b"no event") is None
    frame = pack_event("x", {"a": 1}, datetime(2026, 1, 2, tzinfo=timezone.utc))
    assert read_event(frame).tag == "x"
