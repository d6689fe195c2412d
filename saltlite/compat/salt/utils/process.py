"""``salt.utils.process``."""

from __future__ import annotations

import os
from typing import Any


def os_is_running(pid: Any) -> bool:
    """Whether there is a process of that number."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def appendproctitle(name: str) -> None:
    """Nothing: processes are named by the minion."""


def daemonize(redirect_out: bool = True) -> None:
    """Nothing: functions run in the processes of the minion."""
