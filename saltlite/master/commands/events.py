"""``_minion_event``: events that minions put on the master's bus, and which they may.

The rule is on the tag as it will be on the bus, in every form the request has.
Source: docs/wire.md#_minion_event; CVE-2025-22239.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from saltlite.channel.master import OpenedRequest
from saltlite.core.lazyregex import regex
from saltlite.core.messages import TAG_LIMIT, MinionEvent, MinionEvents
from saltlite.master.context import MasterContext
from saltlite.master.rates import EVENTS_PER_S

_JID: Final = r"[0-9]{20}(?:_[0-9]{1,20})?"
_BARE_JID: Final = regex(_JID)
_OURS: Final = regex(
    r"salt(lite)?(/.*)?|syndic(/.*)?|new_job|key|minions", re.IGNORECASE | re.DOTALL
)
_OF_PATH: Final = regex(r"\Asalt/beacon/[^/]+/[^/]+//(?!/)")
"""How tags of beacons begin that end with a path: ``salt/beacon/web1/inotify//etc/hosts``."""
_OWN: Final = (
    r"salt/minion/{id}/[^/].*",
    r"salt/beacon/{id}/[^/].*",
    r"salt/audit/{id}/(drift|failed|clean)",
    rf"salt/job/{_JID}/prog/{{id}}/[^/]+",
    rf"salt/job/{_JID}/start/{{id}}",
    rf"salt/state_result/{_JID}/{{id}}/[^/].*",
)


def accept_events(ctx: MasterContext, request: OpenedRequest) -> dict[str, str] | None:
    """Put the events on the bus whose tags this minion may use.

    The reply is ``None``, or ``{"refused": <why>}`` for those that are not on the bus; minions of
    Salt do not look at it.
    """
    events = MinionEvents.from_wire(request.load)
    if not ctx.rates.allows(
        "event", request.id, EVENTS_PER_S, ctx.steady_s(), count=max(1, len(events.events))
    ):
        return _refuse_event(ctx, request, f"more than {EVENTS_PER_S:g} events a second")
    # pretag is prepended to each tag: with it a minion could reach any tag.
    if events.pretag:
        return _refuse_event(ctx, request, "pretag from a minion that is no syndic")
    wrong = [event.tag for event in events.events if not may_use(event.tag, request.id)]
    # The others still go out: one bad tag must not suppress the rest of the batch.
    for event in events.events:
        if event.tag not in wrong:
            ctx.events.fire(event.tag, _event_data(event, request, single=events.single))
    return (
        _refuse_event(ctx, request, f"a minion may not use the tag {wrong[0]!r}") if wrong else None
    )


def _refuse_event(ctx: MasterContext, request: OpenedRequest, why: str) -> dict[str, str]:
    ctx.refusals.refuse("event", f"minion {request.id}: {why}")
    return {"refused": why}


def may_use(tag: str, minion_id: str) -> bool:
    """Whether a minion may use this tag on the master's bus."""
    if not tag or len(tag) > TAG_LIMIT or not tag.isprintable() or tag != tag.strip():
        return False
    # Salt 3006 and 3007 announce a job under its bare jid; a minion must not.
    if _BARE_JID.fullmatch(tag) or "/./" in tag or "/../" in tag:
        return False
    if "//" in _OF_PATH.sub("", tag, count=1):
        return False
    if not _OURS.fullmatch(tag):
        return True
    return any(re.fullmatch(own.replace("{id}", re.escape(minion_id)), tag) for own in _OWN)


def _event_data(event: MinionEvent, request: OpenedRequest, *, single: bool) -> Mapping[str, Any]:
    """What goes on the bus; its ``id`` is always the proven one."""
    # The load as it came; its id has been held against the proven one (open_request).
    if single:
        return request.load
    if isinstance(event.data, dict):
        return {**event.data, "id": request.id}
    return {"data": event.data, "id": request.id}
