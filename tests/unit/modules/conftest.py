"""What tests of modules share: functions of a minion without a master, and its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from local_minion import make


@pytest.fixture
def call(tmp_path):
    return make(tmp_path).functions.call


@pytest.fixture
def tree(tmp_path):
    for name, text in {
        "f/defaults.yaml": "port: 80\n",
        "f/map.jinja": '{% import_yaml "f/defaults.yaml" as d %}{% set m = {"p": d.port} %}',
        "f/x.json": '{"a": 1}',
    }.items():
        path = tmp_path / "states" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a program into the search path that writes its arguments to ``args`` and says a text."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(name: str, stdout: str = "", *, stderr: str = "", exit_code: int = 0) -> None:
        (tmp_path / "stdout").write_text(stdout)
        (tmp_path / "stderr").write_text(stderr)
        path = tmp_path / name
        path.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$*" >> {tmp_path}/args\n'
            f"case $1 in -i*) cat > {tmp_path}/stdin;; esac\n"
            f"cat {tmp_path}/stdout; cat {tmp_path}/stderr >&2; exit {exit_code}\n"
        )
        path.chmod(0o755)

    return make
