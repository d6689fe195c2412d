"""The daemon's configuration, read in a child: the same as if it were read here."""

from __future__ import annotations

import datetime
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from saltlite.cli.config_child import read_aside, remake_master, remake_minion
from saltlite.config.load import load_master, load_minion
from saltlite.config.master import MasterConfig
from saltlite.config.minion import MinionConfig


def values(config: MinionConfig | MasterConfig) -> dict[str, Any]:
    return {
        f"{section.name}.{option.name}": getattr(getattr(config, section.name), option.name)
        for section in fields(config)
        if section.name not in ("extra", "source")
        for option in fields(getattr(config, section.name))
    }


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "minion").write_text(f"root_dir: {tmp_path}\nid: m1\n{text}")
    return tmp_path


def test_nothing_is_lost_on_the_way(tmp_path: Path) -> None:
    etc = written(
        tmp_path,
        "master: [a, 'b:1']\ngrains: {1: x, deep: {a: [1, 2.5, null, true]}}\nmy_own: {a: ü}\n"
        "publish_port: 1234\nmine_functions: {test.ping: []}\n",
    )
    here = load_minion(etc)
    config, more = read_aside(lambda: (load_minion(etc), {"daemon": True}), remake_minion)
    assert values(config) == values(here)
    assert dict(config.extra) == dict(here.extra) == {"my_own": {"a": "ü"}}
    assert dict(config.source) == dict(here.source)
    assert more == {"daemon": True}


def test_nothing_of_a_masters_is_lost_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "master").write_text(
        f"root_dir: {tmp_path}\nnodegroups: {{web: 'L@a,b'}}\npublisher_acl: {{bob: [test.*]}}\n"
        "worker_threads: 3\nkeep_jobs_seconds: 5\nmy_own: [1, ü]\n"
    )
    here = load_master(tmp_path)
    config, _ = read_aside(lambda: (load_master(tmp_path), {}), remake_master)
    assert values(config) == values(here)
    assert dict(config.extra) == dict(here.extra)
    assert dict(config.source) == dict(here.source)


def test_what_does_not_pack_is_read_here(tmp_path: Path) -> None:
    etc = written(tmp_path, "since: 2024-01-02\n")
    config, _ = read_aside(lambda: (load_minion(etc), {}), remake_minion)
    assert config.extra["since"] in (datetime.date(2024, 1, 2), "2024-01-02")


@pytest.mark.parametrize("code", [0, 1, 64])
def test_the_child_may_end_the_command(code: int) -> None:
    def read() -> tuple[Any, dict[str, Any]]:
        raise SystemExit(code)

    with pytest.raises(SystemExit) as ended:
        read_aside(read, remake_minion)
    assert ended.value.code == code


def test_a_fault_in_the_child_is_a_failure_here(capfd: pytest.CaptureFixture[str]) -> None:
    def read() -> tuple[Any, dict[str, Any]]:
        raise RuntimeError("a bug")

    with pytest.raises(SystemExit) as ended:
        read_aside(read, remake_minion)
    assert ended.value.code == 70
    assert "a bug" in capfd.readouterr().err


def test_something_is_done_meanwhile(tmp_path: Path) -> None:
    done: list[int] = []
    etc = written(tmp_path, "")
    read_aside(lambda: (load_minion(etc), {}), remake_minion, lambda: done.append(os.getpid()))
    assert done == [os.getpid()]
