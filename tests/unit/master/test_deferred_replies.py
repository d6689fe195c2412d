"""Replies that come later: tickets, and ReqServer's memory of who waits."""

from saltlite.master.deferred_replies import EARLY_MOST, LATE, LATE_S, Later, Owed


def test_a_ticket_is_no_reply_and_never_the_same():
    one, other = Later(), Later()
    assert one.frame.startswith(LATE)
    assert one.frame[0] == 0xC1
    assert one.ticket != other.ticket


def test_a_reply_finds_its_caller_once():
    owed, later = Owed(), Later()
    assert owed.promise(later.frame, b"caller", 1.0) is None
    assert owed.take_waiter(later.ticket, b"reply") == b"caller"
    assert owed.take_waiter(later.ticket, b"reply") is None


def test_a_reply_that_is_faster_than_its_ticket_waits():
    owed, later = Owed(), Later()
    assert owed.take_waiter(later.ticket, b"reply") is None
    assert owed.promise(later.frame, b"caller", 1.0) == b"reply"
    assert owed.take_given_up(1e9) == []


def test_nobody_waits_for_ever_and_memory_is_bounded():
    owed = Owed(most=2)
    tickets = [Later() for _ in range(3)]
    for number, later in enumerate(tickets):
        owed.promise(later.frame, b"c%d" % number, float(number))
    assert owed.take_given_up(2.0) == [b"c0"]
    assert owed.take_given_up(LATE_S + 1.0) == [b"c1"]
    for number in range(EARLY_MOST + 1):
        owed.take_waiter(b"%d" % number, b"r%d" % number)
    assert owed.promise(LATE + b"0", b"x", 5.0) is None
    assert owed.promise(LATE + b"1", b"x", 5.0) == b"r1"
