"""Files that are replaced as a whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from saltlite.disk import write_file


def test_two_threads_that_write_one_file_do_not_mix(tmp_path: Path) -> None:
    """As two jobs may with ``multiprocessing: False``; the one that ends last has it."""
    path = tmp_path / "file"

    def pieces() -> Iterator[bytes]:
        yield b"first "
        other = threading.Thread(target=write_file, args=(path, b"second"))
        other.start()
        other.join()
        assert path.read_bytes() == b"second"
        yield b"first"

    write_file(path, pieces())
    assert path.read_bytes() == b"first first"
    assert os.listdir(tmp_path) == ["file"]
