"""What a program said is said again, until its file is another one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from saltlite.grains.programs import KnownPrograms
from saltlite.host import Host

ASK = ["dpkg", "--print-architecture"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    path = folder / "dpkg"
    say(path, "amd64")
    return path


def say(path: Path, answer: str, exit_code: int = 0) -> None:
    """A program that says something, and notes that it was asked."""
    path.write_text(f"#!/bin/sh\necho asked >> {path}.asked\necho {answer}\nexit {exit_code}\n")
    path.chmod(0o755)


def count_asked(path: Path) -> int:
    noted = Path(f"{path}.asked")
    return noted.read_text().count("\n") if noted.exists() else 0


def answer(tmp_path: Path, command: list[str] = ASK) -> str:
    """As a new process would have it."""
    return KnownPrograms(Host(), tmp_path / "cache").run(command).stdout


def test_it_is_asked_once(program: Path, tmp_path: Path) -> None:
    assert [answer(tmp_path) for _ in range(3)] == ["amd64\n"] * 3
    assert count_asked(program) == 1
    kept = tmp_path / "cache/programs/dpkg"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def replace_file(path: Path) -> None:
    say(path.with_name("new"), "arm64")
    os.replace(path.with_name("new"), path)


def rewrite_with_old_time(path: Path) -> None:
    before = path.stat()
    time.sleep(0.02)  # a tick of the file system's clock
    say(path, "arm64")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def put_another_before(path: Path) -> None:
    first = path.parent / "first"
    first.mkdir()
    say(first / "dpkg", "arm64")
    os.environ["PATH"] = f"{first}:{os.environ['PATH']}"


@pytest.mark.parametrize("change", [replace_file, rewrite_with_old_time, put_another_before])
def test_another_file_is_asked(
    program: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    assert answer(tmp_path) == "amd64\n"
    change(program)
    assert answer(tmp_path) == "arm64\n"


def test_a_failure_is_not_kept(program: Path, tmp_path: Path) -> None:
    say(program, "oops", exit_code=1)
    for _ in range(2):
        answer(tmp_path)
    assert count_asked(program) == 2


def test_what_depends_on_more_than_its_file_is_asked_each_time(
    program: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        answer(tmp_path, ["dpkg", "--get-selections"])
    assert count_asked(program) == 2


@pytest.mark.parametrize(
    "kept", [b"", b"junk", b"\xff\n", b"('/bin/dpkg', 1, 2, 3, 4, 5)\narm64\n"]
)
def test_a_file_that_is_not_what_was_kept_is_passed_over(
    program: Path, tmp_path: Path, kept: bytes
) -> None:
    assert answer(tmp_path) == "amd64\n"
    (tmp_path / "cache/programs/dpkg").write_bytes(kept)
    assert answer(tmp_path) == "amd64\n"
    assert count_asked(program) == 2


def test_without_a_cache_it_is_asked_each_time(program: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").rmdir()
    assert [answer(tmp_path) for _ in range(2)] == ["amd64\n"] * 2
    assert count_asked(program) == 2
    assert not (tmp_path / "cache").exists()
