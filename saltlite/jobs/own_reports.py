"""Reports of what this machine's states did without a master, kept and asked on the machine itself.

A minion with a master keeps nothing: its master has the returns. Source:
docs/reports.md#without-a-master.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from saltlite.core.state_reports import read_runs
from saltlite.errors import StoreError
from saltlite.jobs.report_file import StateReportFile

log = logging.getLogger(__name__)

KEEP_S: Final = 30 * 86400
MOST_BYTES: Final = 64 * 1024**2
"""How long reports are kept, and what they may take on disk."""


def keep_runs(cachedir: str, fields: Mapping[str, Any], user: str) -> None:
    """Keep what a return tells of runs of states; its run is none the worse if that fails."""
    now_s = time.time()
    jid, minion = str(fields["jid"]), str(fields["id"])
    runs = [*read_runs(fields, jid=jid, minion=minion, user=user, now_s=now_s)]
    if not runs:
        return
    reports = StateReportFile(Path(cachedir))
    try:
        reports.add_runs(runs)
        reports.clean(now_s - KEEP_S)
        reports.clean_to_bytes(MOST_BYTES)
    except StoreError as error:
        log.warning("What states did is not kept for reports: %s", error)
    finally:
        reports.close()
