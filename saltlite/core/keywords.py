"""Keyword arguments of functions, told apart from what a job or a state brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def own_keywords(kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Those that the caller meant: without ``__pub_jid``, ``__env__`` and the like."""
    return {name: value for name, value in kwargs.items() if not name.startswith("__")}


def without_job(kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Those that a minion did not add about the job, ``__pub_jid`` and its kin, alone.

    For functions that give back, or hand on, whatever else they were given.
    """
    return {name: value for name, value in kwargs.items() if not name.startswith("__pub_")}
