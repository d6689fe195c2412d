"""A copy of the checkout for ``scripts/quickstart``; saltlite is this environment's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
from repository import ROOT


class Checkout:
    """What the script needs, in a directory of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "scripts", root / "scripts")
        home = root / "home"
        home.mkdir()
        self.environment = {
            **os.environ,
            "SALTLITE_QUICKSTART_BIN": str(Path(sys.executable).parent),
            "HOME": str(home),
        }

    def quickstart(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.root / "scripts" / "quickstart"), *args],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    def processes(self) -> list[str]:
        """Command lines of what runs with a file of this checkout."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            line = " ".join(process.info["cmdline"] or [])
            if str(self.root) in line and process.pid != os.getpid():
                found.append(line)
        return found
