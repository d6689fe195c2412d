"""What a Publisher publishes again is run by nobody twice, also by minions that remember little."""

from __future__ import annotations

import random
from collections import Counter, deque

import pytest

from saltlite.master.repeats import MOST, WINDOW_S, Repeats

SALT_REMEMBERS = 100
"""Real Salt's ``minion_jid_queue_hwm``."""


class SaltMinion:
    """Knows the jids of the last jobs that it has taken."""

    def __init__(self) -> None:
        self.is_there = True
        self.runs: Counter[str] = Counter()
        self._known: deque[str] = deque(maxlen=SALT_REMEMBERS)

    def hear(self, jid: str) -> None:
        if self.is_there and jid not in self._known:
            self._known.append(jid)
            self.runs[jid] += 1


@pytest.mark.parametrize("seed", range(50))
def test_a_minion_that_comes_and_goes_runs_no_job_twice(seed: int) -> None:
    dice = random.Random(seed)
    repeats, minion = Repeats(0.0), SaltMinion()
    now_s, pace_s = 0.0, dice.uniform(0.01, 0.5)
    for number in range(2000):
        now_s += dice.expovariate(1 / pace_s)
        if dice.random() < 0.05:
            minion.is_there = not minion.is_there
            repeats.note_arrival(now_s)
        repeats.keep({"jid": str(number)}, None)
        minion.hear(str(number))
        for kept in repeats.due(now_s):
            minion.hear(str(kept.job["jid"]))
        if repeats.is_over(now_s):
            break
    assert minion.runs
    assert max(minion.runs.values()) == 1


def test_who_comes_back_late_gets_what_was_missed() -> None:
    repeats, minion = Repeats(0.0), SaltMinion()
    minion.is_there = False
    for number in range(MOST):
        repeats.keep({"jid": str(number)}, None)
    minion.is_there = True
    repeats.note_arrival(5.0)
    for kept in repeats.due(WINDOW_S / 2):
        minion.hear(str(kept.job["jid"]))
    assert set(minion.runs.values()) == {1}
    assert len(minion.runs) == MOST
