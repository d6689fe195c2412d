"""The clock of a place goes back and forward under a running minion: its schedule and its log.

The zone is made so that the change comes seconds after the start. Source: docs/schedule.md.
"""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from cluster import Cluster
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

pytestmark = pytest.mark.alone

AHEAD_S = 20.0
"""From the start of the daemons to the change, on the clock of the place."""

AFTER_S = 9.0
HOUR_S = 3600
OFTEN_S = 2


def zone(change: str) -> str:
    """A zone whose summer ends at 3:00:00 by the clock, or begins at 2:00:00, in AHEAD_S."""
    now = datetime.now(timezone.utc)
    autumn = change == "autumn"
    change_at = now.replace(hour=3 if autumn else 2, minute=0, second=0, microsecond=0)
    shown = change_at - timedelta(seconds=AHEAD_S)
    before_s = round((shown - now).total_seconds())
    winter_s, summer_s = (before_s - HOUR_S, before_s) if autumn else (before_s, before_s + HOUR_S)
    today = shown.timetuple().tm_yday - 1
    start, end = ("0/0", f"{today}/3") if autumn else (f"{today}/2", "365/25")
    return f"WIN{posix(winter_s)}SUM{posix(summer_s)},{start},{end}"


def posix(east_s: int) -> str:
    """An offset as TZ has it: west of Greenwich."""
    rest, sign = abs(east_s), "-" if east_s > 0 else "+"
    return f"{sign}{rest // 3600}:{rest // 60 % 60:02}:{rest % 60:02}"


SCHEDULES: dict[str, dict[str, Any]] = {
    "autumn": {
        "often": {"seconds": OFTEN_S},
        "minutely": {"cron": "* * * * *"},
        "nightly": {"cron": "0 2 * * *"},
    },
    "spring": {
        "often": {"seconds": OFTEN_S},
        "minutely": {"cron": "* * * * *"},
        "jumped over": {"when": "2:30am"},
        "of the jump": {"cron": "30 2 * * *"},
        "later": {"when": "3:30am"},
    },
}
WANTED = {
    "autumn": {"minutely": 1},  # at two o'clock for the second time; the first time was before us
    "spring": {"minutely": 1, "jumped over": 1, "of the jump": 1},
}


@dataclass(frozen=True)
class Heard:
    """What became of one change: ``at_s`` is that of the change, ``jobs`` names and times."""

    at_s: float
    jobs: list[tuple[str, float]]
    log: str


@pytest.fixture(scope="module")
def heard() -> dict[str, Heard]:
    """Of both changes, each with a master of its own: most of it is waiting."""
    with ThreadPoolExecutor(len(SCHEDULES)) as pool:
        return dict(zip(SCHEDULES, pool.map(live_through, SCHEDULES), strict=True))


def live_through(change: str) -> Heard:
    common = {"function": "test.ping", "run_on_start": False, "maxrunning": 5}
    schedule = {name: {**common, **one} for name, one in SCHEDULES[change].items()}
    with Cluster(minions=1, minion_options={"schedule": schedule}) as one:
        began_s = time.time()
        one.minions["m1"].env["TZ"] = zone(change)
        one.start_master()
        with EventSubscriber(MasterSockets(one.sock_dir).event_pub, ("salt/job/",)) as bus:
            assert bus.connect_confirmed(5)
            one.minions["m1"].start()
            one.wait_for_ping("m1", within_s=AHEAD_S - 6)
            jobs = listen(bus, until_s=began_s + AHEAD_S + AFTER_S)
        return Heard(began_s + AHEAD_S, jobs, (one.root / "m1" / "log").read_text())


@pytest.mark.parametrize("change", SCHEDULES)
def test_no_run_is_lost_and_none_comes_twice(heard: dict[str, Heard], change: str) -> None:
    found = heard[change]
    often = [at_s for name, at_s in found.jobs if name == "often"]
    pauses = [later - sooner for sooner, later in itertools.pairwise(often)]
    assert often[-1] > found.at_s + AFTER_S / 2
    assert max(pauses) < 2.5 * OFTEN_S
    assert Counter(name for name, _ in found.jobs if name != "often") == WANTED[change]
    offsets = re.findall(
        r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}([+-]\d{4,6}) ", found.log, re.MULTILINE
    )
    assert len(set(offsets)) == 2, sorted(set(offsets))


def listen(bus: EventSubscriber, *, until_s: float) -> list[tuple[str, float]]:
    """Names of scheduled jobs that return, and when."""
    heard = []
    while (left_s := until_s - time.time()) > 0:
        event = bus.get(left_s)
        if event is not None and event.data.get("schedule"):
            heard.append((str(event.data["schedule"]), time.time()))
    return heard
