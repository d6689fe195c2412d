"""Why somebody did not return."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from saltlite.jobs.why import Facts, reason

NOW = datetime(2026, 1, 3, 4, 5, 6, tzinfo=timezone.utc)


def facts(**known):
    return Facts(**{"id": "web1", "key": "minions", "connected": True, **known})


RUNS = {"saltutil.find_job": {"jid": "1", "fun": "cmd.run", "pid": 7}, "saltutil.received": True}
GONE = {"saltutil.find_job": {}, "saltutil.received": True}
NEVER = {"saltutil.find_job": {}, "saltutil.received": False}
REAL_SALT = {"saltutil.find_job": {}, "saltutil.received": "'saltutil.received' is not available."}


@pytest.mark.parametrize(
    ("known", "kind", "words"),
    [
        ({"key": ""}, "key", "no key"),
        ({"key": "minions_pre"}, "key", "salt-key -a web1"),
        ({"key": "minions_rejected"}, "key", "rejected"),
        ({"key": "minions_denied"}, "key", "denied"),
        ({"connected": False}, "not connected", "never heard of"),
        ({"connected": False, "last_heard": NOW}, "not connected", "2026-01-03 04:05:06 UTC"),
        ({}, "silent", "does not answer"),
        ({"answers": RUNS}, "running", "still runs cmd.run (process 7)"),
        ({"answers": GONE}, "died", "died while running"),
        ({"answers": NEVER}, "not received", "never received"),
        ({"answers": REAL_SALT}, "died", "never received it, or"),
    ],
)
def test_why_a_minion_did_not_return(known, kind, words):
    found = reason(facts(**known))
    assert found["reason"] == kind
    assert words in found["text"]
