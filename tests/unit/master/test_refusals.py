"""Refusals in the log: few lines, and a count of the rest."""

from __future__ import annotations

import logging

import pytest

from saltlite.master.refusals import LINE_LIMIT, Refusals, printable


def test_few_lines_and_a_count_of_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    now_s = [0.0]
    refusals = Refusals(lambda: now_s[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            refusals.refuse("request", "bad\nid \x1b[31m\u202e")
        now_s[0] = 1.0
        refusals.refuse("request")
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 11
    assert lines[-1].endswith("(990 more not shown)")
    assert refusals.counts["request"] == 1001
    assert all(line.isprintable() and line.isascii() for line in lines)


def test_a_long_detail_is_cut() -> None:
    assert len(printable("\u202e" * 10_000)) < LINE_LIMIT
