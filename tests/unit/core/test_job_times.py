"""What a minion says of the steps of a job, on the wire and back."""

import pytest

from saltlite.core.job_times import COMMANDS_MOST, JobTimes, MasterRequests, check_wire, read_wire
from saltlite.transport.codec import pack


def test_there_and_back():
    times = JobTimes(10, 20, 30, 0, 50, {"_pillar": MasterRequests("_pillar", 31, 2, 90)})
    assert times.to_wire() == [20, -10, 10, None, 30, ["_pillar", 11, 2, 90]]
    assert read_wire(times.to_wire()) == times


def test_a_return_grows_by_some_bytes_only():
    now = 1_795_216_259_120_000
    times = JobTimes(now - 5000, now, now + 300, now + 900_000, now + 900_010)
    assert len(pack({"times": times.to_wire()})) < 40


def test_a_function_is_found_by_the_clock_if_there_is_one():
    times = JobTimes(clock=lambda: 7)
    times.note_found()
    assert times.found_us == 7
    times = JobTimes()
    times.note_found()
    assert times.found_us == 0


def test_requests_of_a_kind_are_added_up():
    times = JobTimes()
    times.note_asked("_serve_file", 100, 110)
    times.note_asked("_serve_file", 200, 260)
    assert times.asked == {"_serve_file": MasterRequests("_serve_file", 100, 2, 70)}


def test_kinds_of_requests_have_a_bound():
    times = JobTimes()
    for number in range(COMMANDS_MOST + 5):
        times.note_asked(f"cmd{number}", 1, 2)
    assert len(times.asked) == COMMANDS_MOST
    assert check_wire(times.to_wire()) is not None


@pytest.mark.parametrize(
    "plain",
    [
        None,
        "12345",
        [1, 2, 3, 4],
        [1, 2, 3, 4, "5"],
        [-1, 2, 3, 4, 5],
        [1, 2, 3, 4, True],
        [1 << 60, 2, 3, 4, 5],
        [1, 2, 3, 4, 1 << 60],
        [1, 2, 3, 4, 5, "_pillar"],
        [1, 2, 3, 4, 5, ["_pillar", 1, 2]],
        [1, 2, 3, 4, 5, ["x" * 41, 1, 2, 3]],
        [1, 2, 3, 4, 5, ["_pillar", 1, 2, None]],
        [1, 2, 3, 4, 5, *[["c", 1, 1, 1]] * (COMMANDS_MOST + 1)],
    ],
)
def test_what_is_no_list_of_times_is_passed_over(plain):
    assert check_wire(plain) is None
    assert read_wire(plain) is None
