"""What a process does for its children before it forks them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILL_TWICE = """
import gc, os, saltlite.master.daemon
from saltlite import process
process.prepare_many_forks()
first = sum(map(len, process._fillers))
again = sum(map(len, list(process._fill_pools())))
print(first, again, gc.get_freeze_count(), len(gc.get_objects()))
"""


def figures(allocator: str) -> list[int]:
    environment = {**os.environ, "PYTHONMALLOC": allocator}
    done = subprocess.run(
        [sys.executable, "-c", FILL_TWICE],
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


def test_the_pools_in_use_are_full_so_that_new_objects_begin_others() -> None:
    first_bytes, again_bytes, frozen, others = figures("pymalloc")
    assert 10_000 < first_bytes < 2_000_000
    assert again_bytes < first_bytes / 2, "what is filled stays full"
    assert frozen > 1000 > others


@pytest.mark.parametrize("allocator", ["malloc", "malloc_debug", "pymalloc_debug"])
def test_with_another_allocator_it_stays_small(allocator: str) -> None:
    first_bytes, _again_bytes, frozen, _others = figures(allocator)
    assert first_bytes < 2_000_000
    assert frozen > 1000


LET_GO = """
from saltlite import process
from saltlite.crypto.keys import PrivateKey
import re

def resident_kib():
    return int(re.search(r"RssFile:\\s+(\\d+)", open("/proc/self/status").read())[1])

key = PrivateKey.generate(2048)
signature = key.sign(b"before", "PKCS1v15-SHA224")
before = resident_kib()
process.release_files()
after = resident_kib()
assert key.public.verify(b"before", signature, "PKCS1v15-SHA224")
print(before, after)
"""


def test_what_a_start_has_touched_of_libraries_is_let_go_and_comes_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LET_GO], capture_output=True, text=True, check=True, timeout=60
    )
    before_kib, after_kib = map(int, done.stdout.split())
    assert after_kib < before_kib / 2


REUSED = """
import resource
from saltlite import process

def count_faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        pieces = [bytes(bytearray(1024 * 1024)) for _ in range(4)]
        del pieces
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4

fresh = count_faults()
process.keep_large_buffers()
count_faults()
reused, kept = count_faults(), resident_kib()
process.release_memory()
print(fresh, reused, kept, resident_kib())
"""


def test_large_buffers_are_used_again_until_memory_is_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REUSED], capture_output=True, text=True, check=True, timeout=60
    )
    fresh, reused, kept_kib, released_kib = map(int, done.stdout.split())
    assert reused < fresh / 10
    assert released_kib < kept_kib - 2048


WRITTEN_TO = """
import ctypes, mmap, os, sys
from saltlite import process

with open(sys.argv[1], "r+b") as file:
    private = mmap.mmap(file.fileno(), 8192, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
private[:4] = b"mine"
address = ctypes.addressof(ctypes.c_char.from_buffer(private))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), 8192, mmap.PROT_READ) == 0
process.release_files()
print(ctypes.string_at(address, 4).decode(), flush=True)
os._exit(0)  # the view of the map is still there
"""


def test_a_mapping_that_has_been_written_to_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(8192))
    done = subprocess.run(
        [sys.executable, "-c", WRITTEN_TO, str(file)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "mine"
