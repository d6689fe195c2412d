"""Collects what a minion tells the others; :mod:`saltlite.core.mine` reads the option."""

from __future__ import annotations

import logging
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.mine import entries
from saltlite.loader.arguments import KWARG
from saltlite.minion.job import run_function
from saltlite.minion.taken_job import NO_JOB

log = logging.getLogger(__name__)


def collect(option: object, ctx: MinionContext) -> dict[str, Any]:
    """Run all functions; those that fail are named in the log and left out."""
    data = {}
    for entry in entries(option):
        keywords = [{**entry.kwarg, KWARG: True}] if entry.kwarg else []
        # Without a job map: nobody has sent a job whose fields the function could be given.
        outcome = run_function(entry.fun, [*entry.arg, *keywords], NO_JOB, ctx)
        if outcome.success:
            data[entry.name] = entry.storage_form(outcome.value)
        else:
            log.warning("mine function %s fails and is left out", entry.name)
    return data
