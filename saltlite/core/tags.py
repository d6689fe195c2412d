"""Event tags: how they are built and recognised. Source: docs/wire.md#events.

A tag is text; parts that come from a minion (its id) are in the last place, so that no id can make
one tag look like another.
"""

from __future__ import annotations

from saltlite.core.dataclasses import dataclass

AUTH = "salt/auth"
KEY = "salt/key"
KEY_ROTATED = "key"
PRESENT = "salt/presence/present"
PRESENCE_CHANGE = "salt/presence/change"
MINION_START = "minion_start"
MINION_PING = "minion_ping"


@dataclass(frozen=True, slots=True)
class JobTag:
    """A job's tag taken apart: ``salt/job/<jid>/<kind>[/<minion id>]``."""

    jid: str
    kind: str
    minion_id: str = ""


def job(jid: str) -> str:
    """What all tags of one job begin with."""
    return f"salt/job/{jid}/"


def job_new(jid: str) -> str:
    """A job was published; tells who is expected to return."""
    return f"salt/job/{jid}/new"


def job_ret(jid: str, minion_id: str) -> str:
    """One minion's return."""
    return f"salt/job/{jid}/ret/{minion_id}"


def job_start(jid: str, minion_id: str) -> str:
    """A minion began with the job."""
    return f"salt/job/{jid}/start/{minion_id}"


NOW = "now"
"""In place of a number in ``job_progress``: which state has begun, in place of which has ended."""

OUTPUT = "output"
"""There too: what a command has printed that still runs."""


def job_progress(jid: str, minion_id: str, run_number: int) -> str:
    """One state of a state run is done."""
    return f"salt/job/{jid}/prog/{minion_id}/{run_number}"


def job_error(jid: str) -> str:
    """A publish was refused."""
    return f"salt/job/{jid}/error"


def run_new(jid: str) -> str:
    """A runner began."""
    return f"salt/run/{jid}/new"


def run_part(jid: str, what: str) -> str:
    """A runner tells of its course: ``args`` of what an orchestration starts, ``progress``."""
    return f"salt/run/{jid}/{what}"


def run_ret(jid: str) -> str:
    """A runner is done."""
    return f"salt/run/{jid}/ret"


def wheel_new(jid: str) -> str:
    """A wheel function began."""
    return f"salt/wheel/{jid}/new"


def wheel_ret(jid: str) -> str:
    """A wheel function is done."""
    return f"salt/wheel/{jid}/ret"


def minion_start(minion_id: str) -> str:
    """A minion is ready for jobs."""
    return f"salt/minion/{minion_id}/start"


def minion_refresh(minion_id: str) -> str:
    """The master's copy of a minion's data is new."""
    return f"minion/refresh/{minion_id}"


def parse_job(tag: str) -> JobTag | None:
    """The parts of a job's tag; ``None`` for any other tag."""
    # What a minion has chosen stays in one piece and cannot move the other parts.
    parts = tag.split("/", 4)
    if len(parts) < 4 or parts[0] != "salt" or parts[1] != "job":
        return None
    return JobTag(parts[2], parts[3], parts[4] if len(parts) == 5 else "")


SCHEDULE_RETURN = "__schedule_return"
"""What a job of the master's schedule returned."""

REACTOR = "saltlite/reactor/"
REACTION = "saltlite/reactor/reaction"
"""A reaction was started, or could not be: its id, file, kind, function and jid."""

REACTOR_DROPPED = "saltlite/reactor/dropped"
"""Reactions or events were lost; at most once a minute."""

REACTOR_MANAGE = "salt/reactors/manage/"
"""What the reactor is asked for; the last part says what."""

REACTOR_ANSWERS = {
    "list": "salt/reactors/manage/list-results",
    "add": "salt/reactors/manage/add-complete",
    "delete": "salt/reactors/manage/delete-complete",
    "is_leader": "salt/reactors/manage/leader/value",
    "set_leader": "salt/reactors/manage/leader/value",
}
