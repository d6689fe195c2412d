"""Every implementation of the master's stores, opened on a place of its own for a test.

Who adds one adds a line to ``KINDS``, and the tests of all stores hold for it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from saltlite.config.load import load_master
from saltlite.master.embedded import EmbeddedStores, make_key_ring
from saltlite.master.stores import PublicationKeyRing, Stores


class EmbeddedPlace:
    """A master's directories; each ``open`` is another process of that master."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="sl-"))
        (self.root / "master").write_text(f"root_dir: {self.root}\njob_cache_sync: never\n")
        self._config = load_master(self.root)
        self._ring = make_key_ring()

    def open(self) -> Stores:
        stores = EmbeddedStores(self._config)
        stores.keys.prepare()
        return stores

    def open_ring(self) -> PublicationKeyRing:
        """Of the process that calls; the memory is from before the fork."""
        return self._ring

    def close(self) -> None:
        self._ring.close()
        shutil.rmtree(self.root)


KINDS: dict[str, Callable[[], EmbeddedPlace]] = {"embedded": EmbeddedPlace}


def do_at_once(processes: int, do: Callable[[int], Any]) -> list[Any]:
    """What ``do`` returns in each of so many processes, as JSON has it; it is given a number."""
    go, started = os.pipe()
    running = [_start(number, do, go, started) for number in range(processes)]
    os.close(go)
    os.close(started)  # now all of them go
    answers = [_read_all(fd) for _pid, fd in running]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _fd in running]
    assert codes == [0] * processes
    return [json.loads(one) for one in answers]


def _start(number: int, do: Callable[[int], Any], go: int, started: int) -> tuple[int, int]:
    answer, give = os.pipe()
    pid = os.fork()
    if pid:
        os.close(give)
        return pid, answer
    try:
        os.close(started)
        os.read(go, 1)
        os.write(give, json.dumps(do(number)).encode())
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the test is told by the exit code
        traceback.print_exc()
        os._exit(1)


def _read_all(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as pipe:
        return pipe.read()
