"""Paths of includes and of file roots are found as ``glob`` finds them."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from saltlite.config.files import find_paths

NAMES = ["b.conf", "a.conf", ".hidden.conf", ".conf", "a.conf.bak", "A.CONF", "x[1].conf", "d"]
PATTERNS = [
    "*.conf", "a.conf", "none.conf", "*", "?.conf", "[ab].conf", "x[[]1].conf", "x[1].conf", "d",
    "d/", "none/*.conf", "d/*.conf", "*/*.conf", "**/*.conf", "a.conf/*.conf", "dangling",
    "./*.conf", "", "d/../*.conf",
]  # fmt: skip


@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_two_ways_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, absolute: bool
) -> None:
    for name in NAMES[:-1]:
        (tmp_path / name).touch()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "c.conf").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    whole = os.path.join(tmp_path, pattern) if absolute else pattern
    assert find_paths(whole) == sorted(glob.glob(whole))
