"""Moments of the past."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from saltlite.core.past_moments import read_past_moment

NOW = datetime(2030, 1, 31, 17, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("today", "2030-01-31T00:00:00+01:00"),
        ("yesterday", "2030-01-30T00:00:00+01:00"),
        ("90m", "2030-01-31T16:00:00+01:00"),
        ("2 hours ago", "2030-01-31T15:30:00+01:00"),
        ("1.5d", "2030-01-30T05:30:00+01:00"),
        ("1w", "2030-01-24T17:30:00+01:00"),
        ("2030-01-02", "2030-01-02T00:00:00+01:00"),
        ("2030-01-02 12:00", "2030-01-02T12:00:00+01:00"),
        ("2030-01-02T12:00:00+00:00", "2030-01-02T12:00:00+00:00"),
        ("1893456000", "2030-01-01T00:00:00+00:00"),
    ],
)
def test_moments(text: str, expected: str) -> None:
    assert read_past_moment(text, NOW) == datetime.fromisoformat(expected).timestamp()


@pytest.mark.parametrize("text", ["", "soon", "5", "12345678901234567890", "2030-13-01"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is no moment: yesterday, today, 90m"):
        read_past_moment(text, NOW)
