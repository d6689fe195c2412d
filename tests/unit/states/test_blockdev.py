"""File systems that ``mkfs`` really makes, on files of a temporary directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError, UsageError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.states import blockdev


@pytest.fixture
def ctx(tmp_path: Path) -> MinionContext:
    config = MinionConfig(paths=PathOptions(cachedir=str(tmp_path / "cache")))
    return MinionContext(config=config, host=Host(), grains={}, pillar={})


@pytest.fixture
def disk(tmp_path: Path) -> str:
    """A file of 4 MiB, as empty as a new disk."""
    path = tmp_path / "disk"
    path.write_bytes(bytes(4 << 20))
    return str(path)


@pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("mkfs.ext4", "mkfs.ext2", "blkid")),
    reason="needs e2fsprogs and blkid",
)
def test_a_file_system_is_made_once_and_then_found(ctx: MinionContext, disk: str) -> None:
    declared = blockdev.formatted(disk, "ext4")
    said = realise(declared, ctx, test=True)
    assert isinstance(said, Verdict)
    assert (said.result, said.changes) == (None, {"old": "", "new": "ext4"})
    assert not any(Path(disk).read_bytes())
    first, second = (realise(declared, ctx, test=False) for _ in range(2))
    assert isinstance(first, Verdict) and isinstance(second, Verdict)
    assert (first.result, first.changes) == (True, said.changes)
    assert (second.result, second.changes) == (True, {})
    other = realise(blockdev.formatted(disk, "ext2"), ctx, test=False)
    assert isinstance(other, Verdict)
    assert (other.result, other.changes) == (True, {"old": "ext4", "new": "ext2"})


def test_a_device_that_cannot_be_looked_at_is_not_taken_for_empty(
    ctx: MinionContext, disk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("blkid", "echo no >&2; exit 4"), ("mkfs", f"echo > {disk}")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    with pytest.raises(FunctionError, match="cannot be told: no"):
        realise(blockdev.formatted(disk), ctx, test=False)
    (programs / "blkid").unlink()
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(SaltliteError, match="blkid"):
        realise(blockdev.formatted(disk), ctx, test=False)
    assert not any(Path(disk).read_bytes())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"speed": 3}, "speed=3"),
        ({"read-only": True, "read-write": True}, "exclude each other"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        blockdev.tuned("/dev/none", **settings)
