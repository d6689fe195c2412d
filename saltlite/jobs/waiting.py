"""Which returners have records that wait for their server: a look at one directory, nothing more.

The minion's loop asks this now and then; what is in the files, only a process of its own reads.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER: Final = "returners"
"""The directory of spools, below ``cachedir``."""

WAITS: Final = ".waits"
"""What the sign of a spool whose server was away is called, after the spool's name."""


def waiting_spools(cachedir: Path) -> list[str]:
    """Return the names of the spools in which records wait, sorted."""
    try:
        names = os.listdir(cachedir / FOLDER)
    except OSError:
        return []
    return sorted(name.removesuffix(WAITS) for name in names if name.endswith(WAITS))
