"""What every test may use."""

from __future__ import annotations

import sys
from pathlib import Path

import setproctitle

# It finds where a process's title is through the environment, which tests change: so it looks now.
setproctitle.getproctitle()
sys.path.insert(0, str(Path(__file__).parent / "support"))
