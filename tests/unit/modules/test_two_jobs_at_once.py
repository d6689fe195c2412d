"""Two jobs of one minion that change the same file: the second one reads what the first wrote."""

from __future__ import annotations

import getpass
import stat
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.errors import StoreError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.modules import mount, schedule, sdb
from saltlite.providers import textfile
from saltlite.providers.cron import crontab

CRONTAB = """#!/bin/sh
case "$1" in -u) shift 2;; esac
case "$1" in -l) cat {table};; *) cp "$1" {table};; esac
"""


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MinionContext:
    (tmp_path / "table").write_text("")
    program = tmp_path / "bin/crontab"
    program.parent.mkdir()
    program.write_text(CRONTAB.format(table=tmp_path / "table"))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    for name in ("hosts", "aliases", "x.ini", "fstab", "sysctl.conf"):
        (tmp_path / name).write_text("")
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(
            conf_file=str(tmp_path / "conf/minion"), cachedir=str(tmp_path / "cache")
        ),
    )
    extra = {
        "hosts.file": str(tmp_path / "hosts"),
        "aliases.file": str(tmp_path / "aliases"),
        "profile": {"driver": "sqlite3", "database": str(tmp_path / "sdb.sqlite")},
    }
    ctx = MinionContext(config=replace(config, extra=extra), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


def interrupt(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, other: Callable[[], Any]
) -> list[threading.Thread]:
    """Have another job begin at the first use of a function, after it has read."""
    real, others = getattr(module, name), []

    def read_slowly(*given: Any, **options: Any) -> Any:
        found = real(*given, **options)
        if not others:
            others.append(threading.Thread(target=other))
            others[0].start()
            others[0].join(0.3)  # one that does not stand in line is done by then
        return found

    monkeypatch.setattr(module, name, read_slowly)
    return others


USER = getpass.getuser()
CALLS: dict[str, tuple[Any, str, str, list[tuple[str, list[Any]]]]] = {
    "hosts": (textfile, "load", "hosts", [
        ("hosts.add_host", ["10.0.0.1", "one"]), ("hosts.add_host", ["10.0.0.2", "two"]),
    ]),
    "hosts set": (textfile, "load", "hosts", [
        ("hosts.set_host", ["10.0.0.1", "one"]), ("hosts.set_host", ["10.0.0.2", "two"]),
    ]),
    "aliases": (textfile, "load", "aliases", [
        ("aliases.set_target", ["one", "root"]), ("aliases.set_target", ["two", "root"]),
    ]),
    "ini": (textfile, "load", "x.ini", [
        ("ini.set_option", ["{tmp}/x.ini", {"one": {"a": 1}}]),
        ("ini.set_option", ["{tmp}/x.ini", {"two": {"a": 1}}]),
    ]),
    "fstab": (textfile, "load", "fstab", [
        ("mount.set_fstab", ["/one", "/dev/sdz1", "ext4", "defaults", 0, 0, "{tmp}/fstab"]),
        ("mount.set_fstab", ["/two", "/dev/sdz2", "ext4", "defaults", 0, 0, "{tmp}/fstab"]),
    ]),
    "cron": (crontab, "parse", "table", [
        ("cron.set_job", [USER, "1", "*", "*", "*", "*", "one"]),
        ("cron.set_job", [USER, "1", "*", "*", "*", "*", "two"]),
    ]),
    "cron variables": (crontab, "parse", "table", [
        ("cron.set_env", [USER, "one", "1"]), ("cron.set_env", [USER, "two", "1"]),
    ]),
    "mounts": (mount, "_cache", "cache/mounts", [
        ("mount.write_mount_cache", ["/one", "/dev/sdz1", False, "ext4", "defaults"]),
        ("mount.write_mount_cache", ["/two", "/dev/sdz2", False, "ext4", "defaults"]),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_both_changes_hold(
    case: str, ctx: MinionContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, file, calls = CALLS[case]
    jobs = [(function, [_placed(each, tmp_path) for each in given]) for function, given in calls]
    (first, given), (second, others_given) = jobs
    others = interrupt(monkeypatch, module, name, lambda: ctx.functions.call(second, *others_given))
    ctx.functions.call(first, *given)
    others[0].join()
    text = (tmp_path / file).read_text()
    assert "one" in text
    assert "two" in text


def _placed(value: Any, tmp_path: Path) -> Any:
    return value.format(tmp=tmp_path) if isinstance(value, str) else value


def test_a_schedule_that_is_changed_offline(
    ctx: MinionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(name: str) -> Any:
        return schedule._put(ctx, "add", name, {"function": "test.ping"}, {"offline": True})

    others = interrupt(monkeypatch, schedule, "_saved", lambda: add("two"))
    assert add("one")
    others[0].join()
    assert set(schedule._saved(ctx)) == {"one", "two"}


def test_a_random_text_is_drawn_once(ctx: MinionContext, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def draw() -> None:
        drawn.append(sdb.get_or_set_hash(ctx, "sdb://profile/password"))

    others = interrupt(monkeypatch, sdb, "get", draw)
    draw()
    others[0].join()
    assert len(drawn) == 2
    assert len(set(drawn)) == 1


def hold_again(ctx: MinionContext) -> AbstractContextManager[None]:
    return textfile.hold(ctx, "/etc/x")


def test_what_is_held_for_long_is_one_line(
    ctx: MinionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textfile, "PATIENCE_S", 0.1)
    with textfile.hold(ctx, "/etc/x"):
        with textfile.hold(ctx, "/etc/y"):
            pass
        with pytest.raises(StoreError, match="locked by another process"), hold_again(ctx):
            pass
