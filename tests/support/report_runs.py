"""Runs of states for tests of their reports."""

from __future__ import annotations

from typing import Any

from saltlite.core.state_reports import PropertyChange, StateRow, StateRun

MODE = PropertyChange("mode", "0600", "0644")


def make_row(number: int = 0, **more: Any) -> StateRow:
    plain: dict[str, Any] = {
        "number": number,
        "sls": "motd",
        "ident": "motd",
        "function": "file.managed",
        "name": "/etc/motd",
        "result": True,
        "duration_ms": 1.5,
        "changes": (MODE,),
    }
    return StateRow(**{**plain, **more})


def make_run(at_s: float = 1000.0, minion: str = "m1", **more: Any) -> StateRun:
    plain: dict[str, Any] = {
        "jid": f"j{at_s:.0f}",
        "user": "root",
        "fun": "state.apply",
        "saltenv": "base",
        "test": False,
        "total": 3,
        "changed": 1,
        "failed": 0,
        "duration_ms": 4.5,
        "sls": {"motd": 3},
        "rows": (make_row(),),
    }
    return StateRun(at_s=at_s, minion=minion, **{**plain, **more})
