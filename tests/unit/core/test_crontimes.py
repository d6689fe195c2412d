"""Times that cron's five fields mean; the answers are those of croniter 7.0, asked on that day."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from saltlite.core.crontimes import read_cron
from saltlite.core.moments import UnreadableMoment

NOW = datetime.fromisoformat("2026-11-18T12:00:00")  # a Wednesday


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("* * * * *", "2026-11-18T12:01:00"),
        ("*/15 * * * *", "2026-11-18T12:15:00"),
        ("5,10-12 3 * * *", "2026-11-19T03:05:00"),
        ("0 5 * * mon-fri", "2026-11-19T05:00:00"),
        ("30 8 1 * *", "2026-12-01T08:30:00"),
        ("0 0 13 * fri", "2026-11-20T00:00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00:00"),
        ("59 23 31 dec *", "2026-12-31T23:59:00"),
        ("0 12 * * 7", "2026-11-22T12:00:00"),
        ("0 12 * * 0", "2026-11-22T12:00:00"),
        ("0 */6 * * *", "2026-11-18T18:00:00"),
        ("@daily", "2026-11-19T00:00:00"),
        ("@weekly", "2026-11-22T00:00:00"),
        ("@hourly", "2026-11-18T13:00:00"),
        ("@yearly", "2027-01-01T00:00:00"),
        ("@monthly", "2026-12-01T00:00:00"),
        ("0 0 */2 * 1", "2026-11-19T00:00:00"),
        ("0 0 * * */2", "2026-11-19T00:00:00"),
        ("10/20 * * * *", "2026-11-18T12:10:00"),
        ("0 12 * jan-mar *", "2027-01-01T12:00:00"),
        ("0 22-2 * * *", "2026-11-18T22:00:00"),
        ("0 0 * * fri-mon", "2026-11-20T00:00:00"),
        ("0 0 29 2 1", "2027-02-01T00:00:00"),
        ("0 0 * * 5-7", "2026-11-20T00:00:00"),
        ("0 0 1-7 * mon", "2026-11-23T00:00:00"),
        ("0 0 * * SUN", "2026-11-22T00:00:00"),
        ("0 0 ? * *", "2026-11-19T00:00:00"),
        ("0 0 */3 * mon", "2026-11-19T00:00:00"),
        ("0 0 31 6 *", None),
    ],
)
def test_the_next_time(text: str, due: str | None) -> None:
    found = read_cron(text).after(NOW)
    assert (found and found.isoformat()) == due


def test_one_after_the_other() -> None:
    times, found = read_cron("20,40 0-1 1 jan,mar *"), [NOW]
    while len(found) < 6:
        found.append(times.after(found[-1]) or NOW)
    assert [f"{each:%y-%m-%d %H:%M}" for each in found[1:]] == [
        "27-01-01 00:20",
        "27-01-01 00:40",
        "27-01-01 01:20",
        "27-01-01 01:40",
        "27-03-01 00:20",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("* * * *", "it takes five fields"),
        ("* * * * * 5", "it takes five fields"),
        ("@reboot", "it takes five fields"),
        ("61 * * * *", "'61' is not within 0-59"),
        ("* * 0 * *", "'0' is not within 1-31"),
        ("*/0 * * * *", "'*/0' is not within 0-59"),
        ("*/x * * * *", "'x' is not a number"),
        ("a * * * *", "'a' is not a number"),
        ("5- * * * *", "'' is not a number"),
        ("* * L * *", "'l' is not a number"),
        (5, "5 is not a cron expression"),
    ],
)
def test_what_is_none_is_said(text: Any, said: str) -> None:
    with pytest.raises(UnreadableMoment, match="is not a cron expression") as raised:
        read_cron(text)
    assert said in str(raised.value)
