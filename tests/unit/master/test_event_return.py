"""Which events go to returners."""

import pytest

from saltlite.config.master import EventOptions
from saltlite.master.eventreturn import AT_ONCE, Complaints, take_some, wanted
from saltlite.master.mirror import event_returners


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
    assert wanted(tag, options) is given


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


class Bus:
    def __init__(self, count):
        self.left = list(range(count))
        self.waits = []

    def get(self, timeout_s):
        self.waits.append(timeout_s)
        return f"event {self.left.pop(0)}" if self.left else None


def test_what_is_there_already_is_taken_together_and_nothing_is_lost():
    bus = Bus(AT_ONCE + 2)
    assert len(list(take_some(bus))) == AT_ONCE
    assert len(list(take_some(bus))) == 2
    assert list(take_some(bus)) == []
    assert [one for one in bus.waits if one] == [0.5] * 3
