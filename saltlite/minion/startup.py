"""The states that a minion runs when it has started: ``startup_states``."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import Any

from saltlite.config.minion import FileOptions
from saltlite.core.jid import new_jid
from saltlite.minion.taken_job import UNASKED

log = logging.getLogger(__name__)


def startup_job(files: FileOptions, minion_id: str) -> dict[str, Any] | None:
    """The job map that ``startup_states`` asks for; ``None`` for none."""
    names: dict[str, tuple[str, list[Any]]] = {
        "highstate": ("state.highstate", []),
        "sls": ("state.sls", [list(files.sls_list)]),
        "top": ("state.top", [files.top_file]),
    }
    if files.startup_states not in names:
        return None
    lacking = {"sls": not files.sls_list, "top": not files.top_file}
    if lacking.get(files.startup_states):
        needed = "sls_list" if files.startup_states == "sls" else "top_file"
        log.error("startup_states: %s needs %s: nothing is run", files.startup_states, needed)
        return None
    fun, arg = names[files.startup_states]
    return {
        "jid": new_jid(datetime.now(timezone.utc), None),
        "fun": fun,
        "arg": arg,
        "tgt": minion_id,
        "tgt_type": "glob",
        "ret": "",
        UNASKED: True,
    }
