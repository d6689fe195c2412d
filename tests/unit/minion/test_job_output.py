"""What a command prints while it runs: only so much of it goes on, and it says where it is cut."""

from __future__ import annotations

from saltlite.minion.job_output import WINDOW_CHARACTERS, WINDOW_S, OutputLimit, PendingOutput


class Pipe:
    """Takes what is passed on; its clock is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.sent: list[tuple[str, bool]] = []
        self.limit = OutputLimit(self._send, clock=lambda: self.now_s)

    def _send(self, text: str, is_cut: bool) -> None:
        self.sent.append((text, is_cut))


def test_little_goes_on_as_it_comes() -> None:
    pipe = Pipe()
    pipe.limit.tell("a")
    pipe.limit.tell("b\n")
    assert pipe.sent == [("a", False), ("b\n", False)]


def test_a_flood_is_cut_once_a_second() -> None:
    pipe = Pipe()
    pipe.limit.tell("x" * (WINDOW_CHARACTERS - 1))
    for _ in range(1000):
        pipe.limit.tell("yy")
    assert [(len(text), is_cut) for text, is_cut in pipe.sent] == [
        (WINDOW_CHARACTERS - 1, False),
        (1, True),
    ]
    pipe.now_s += WINDOW_S
    pipe.limit.tell("z")
    assert pipe.sent[2:] == [("z", False)]


def test_what_fits_exactly_is_not_cut_and_what_follows_says_so() -> None:
    pipe = Pipe()
    pipe.limit.tell("x" * WINDOW_CHARACTERS)
    pipe.limit.tell("y")
    assert [is_cut for _, is_cut in pipe.sent] == [False, True]
    assert pipe.sent[1] == ("", True)


def test_what_waits_for_the_next_event_goes_together() -> None:
    pending = PendingOutput()
    assert pending.take() is None
    pending.add("a\n", is_cut=False)
    pending.add("b\n", is_cut=True)
    assert pending.take() == {"output": "a\nb\n", "is_cut": True}
    assert pending.take() is None


def test_the_loop_keeps_no_more_than_it_has_room_for() -> None:
    pending = PendingOutput()
    for _ in range(3):
        pending.add("x" * WINDOW_CHARACTERS, is_cut=False)
    assert pending.take() == {"output": "x" * 2 * WINDOW_CHARACTERS, "is_cut": True}
