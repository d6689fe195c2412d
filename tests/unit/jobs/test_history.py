"""What changed, by the returns that are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone

import pytest

from saltlite.jobs.history import changes_of, moment_before

NOW = datetime(2026, 1, 3, 4, 5, 6, tzinfo=timezone.utc)


@dataclass
class Job:
    load: dict
    jid: str = "20260102030405000006"
    minions: list = field(default_factory=list)


def told(fun, value):
    return changes_of(Job({"fun": fun}), {"return": value})


PKG = {"vim": {"old": "", "new": "9"}}
STEP = "pkg_|-editor_|-vim_|-installed"
CHANGED = {"name": "vim", "result": True, "changes": {"vim": {"old": "", "new": "9"}}}
CLEAN = {"name": "vim", "result": True, "changes": {}}
DRY = {"name": "vim", "result": None, "changes": {"vim": {"old": "", "new": "9"}}}


@pytest.mark.parametrize(
    ("fun", "value", "expected"),
    [
        ("state.apply", {STEP: CHANGED}, {"Changes": {"pkg.installed vim": CHANGED["changes"]}}),
        ("state.apply", {STEP: CLEAN}, None),
        ("state.apply", {STEP: DRY}, None),
        ("state.apply", ["Rendering SLS failed"], {"Changes": "not told"}),
        ("pkg.install", PKG, {"Changes": PKG}),
        ("pkg.install", {}, {"Changes": "not told"}),
        ("cmd.run", "hello", {"Changes": "not told"}),
        ("test.ping", True, None),
        ("grains.items", {}, None),
        (["test.ping", "cmd.run"], {}, {"Changes": "not told"}),
        (["test.ping", "pkg.list_pkgs"], {}, None),
    ],
)  # fmt: skip
def test_changes_of_one_return(fun, value, expected):
    assert told(fun, value) == expected


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("yesterday", "2026-01-02 00:00:00"),
        (" Today ", "2026-01-03 00:00:00"),
        ("3 hours ago", "2026-01-03 01:05:06"),
        ("2d", "2026-01-01 04:05:06"),
        ("1 week ago", "2025-12-27 04:05:06"),
        ("90 min", "2026-01-03 02:35:06"),
        ("someday", None),
        ("", None),
    ],
)
def test_moments_in_words(words, moment):
    found = moment_before(words, NOW)
    assert (None if found is None else f"{found:%Y-%m-%d %H:%M:%S}") == moment
