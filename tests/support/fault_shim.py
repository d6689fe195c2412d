"""Calls of a daemon that fail, and a clock that is off: the handle of ``fault_shim.c``."""

from __future__ import annotations

import errno
import mmap
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
CALLS = {"write": 1, "flush": 2, "rename": 4, "open": 8}
LAYOUT = struct.Struct("=qiiii1024s")
DIES = -1


def has_compiler() -> bool:
    return shutil.which("cc") is not None


def compile_shim(folder: Path) -> Path:
    """The library, made anew in ``folder``."""
    library = folder / "fault_shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


class Shim:
    """What one daemon and all its processes live with."""

    def __init__(self, library: Path, control: Path) -> None:
        control.write_bytes(bytes(LAYOUT.size))
        self.environment = {"LD_PRELOAD": str(library), "SALTLITE_FAULT_SHIM": str(control)}
        self._file = control.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), LAYOUT.size)

    def step_clock(self, by_s: float) -> None:
        """From now on the clock of the wall is off by so much; 0 sets it right."""
        struct.pack_into("=q", self._map, 0, round(by_s * 1e9))

    def fail(self, call: str, nth: int, how: str, below: Path) -> None:
        """The ``nth`` such call below a directory fails once with an errno's name, or ``dies``."""
        code = DIES if how == "dies" else getattr(errno, how)
        struct.pack_into("=iiii1024s", self._map, 8, 0, nth, code, 0, str(below).encode())
        struct.pack_into("=i", self._map, 8, CALLS[call])  # last: from here on calls are counted

    def disarm(self) -> bool:
        """No call fails any more; whether one has."""
        struct.pack_into("=i", self._map, 8, 0)
        return bool(struct.unpack_from("=i", self._map, 20)[0])

    def close(self) -> None:
        self._map.close()
        self._file.close()
