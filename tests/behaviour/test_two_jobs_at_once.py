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
from saltlite.highstate.resource import Action
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.modules import data, dnsutil, iptables, mount, schedule, sdb
from saltlite.modules.state import requests
from saltlite.providers import locale as locales
from saltlite.providers import textfile
from saltlite.providers.cron import crontab
from saltlite.providers.file import content
from saltlite.providers.network import ifupdown
from saltlite.providers.pkg import apt_repos
from saltlite.providers.pkg.options import SourceOptions
from saltlite.states.file import edits as state_edits

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
    (tmp_path / "lines").write_text("three one\n")
    (tmp_path / "crontab").write_text("1 * * * * one two\n")
    (tmp_path / "supported").write_text("aa_one.UTF-8 UTF-8\naa_two.UTF-8 UTF-8\n")
    (program.parent / "locale-gen").symlink_to("/bin/true")
    for module, name, file in (
        (ifupdown, "FILE", "interfaces"), (locales, "GENERATED", "locale.gen"),
        (locales, "SUPPORTED", "supported"), (apt_repos, "MAIN", "sources.list"),
        (apt_repos, "PARTS", "sources.list.d"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, str(tmp_path / file))
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
    ctx = MinionContext(config=replace(config, extra=extra), host=Host(), grains=GRAINS, pillar={})
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


GRAINS = {"os_family": "Debian", "os": "Debian"}
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
    "file.prepend": (content, "load", "x.ini", [
        ("file.prepend", ["{tmp}/x.ini", "one"]), ("file.append", ["{tmp}/x.ini", "two"]),
    ]),
    "file.replace": (content, "load", "x.ini", [
        ("file.replace", ["{tmp}/x.ini", "zz", "one", 0, 8, 1, True]),
        ("file.append", ["{tmp}/x.ini", "two"]),
    ]),
    "file.blockreplace": (content, "load", "x.ini", [
        ("file.blockreplace", ["{tmp}/x.ini", "<", ">", "one", True]),
        ("file.append", ["{tmp}/x.ini", "two"]),
    ]),
    "file.line": (content, "load", "lines", [
        ("file.line", ["{tmp}/lines", "one", None, "insert", "start"]),
        ("file.append", ["{tmp}/lines", "two"]),
    ]),
    "file.comment": (content, "load", "lines", [
        ("file.comment", ["{tmp}/lines", "three one", "# one"]),
        ("file.append", ["{tmp}/lines", "two"]),
    ]),
    "file.psed": (content, "load", "lines", [
        ("file.psed", ["{tmp}/lines", "three", "one"]), ("file.append", ["{tmp}/lines", "two"]),
    ]),
    "data": (data, "load", "cache/datastore", [
        ("data.update", ["one", 1]), ("data.update", ["two", 2]),
    ]),
    "dnsutil": (dnsutil, "_parse_names", "hosts", [
        ("dnsutil.hosts_append", ["{tmp}/hosts", "10.0.0.1", "one"]),
        ("dnsutil.hosts_append", ["{tmp}/hosts", "10.0.0.1", "two"]),
    ]),
    "locale": (textfile, "load", "locale.gen", [
        ("locale.gen_locale", ["aa_one.UTF-8"]), ("locale.gen_locale", ["aa_two.UTF-8"]),
    ]),
    "crontab of a file": (crontab, "parse", "table", [
        ("cron.set_job", [USER, "1", "*", "*", "*", "*", "one"]),
        ("cron.write_cron_file", [USER, "{tmp}/crontab"]),
    ]),
    "mounts": (mount, "_read_cache", "cache/mounts", [
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


def test_both_sources_of_packages_hold(
    ctx: MinionContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(dist: str) -> None:
        apt_repos.mod_repo(ctx, f"deb http://a.example/{dist} {dist} main", SourceOptions())

    others = interrupt(monkeypatch, apt_repos, "entries", lambda: add("two"))
    add("one")
    others[0].join()
    assert [each.dist for each in apt_repos.entries(ctx)] == ["one", "two"]


def test_both_interfaces_hold(
    ctx: MinionContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(name: str) -> None:
        ctx.functions.call("ip.build_interface", name, "eth", True, proto="dhcp")

    others = interrupt(monkeypatch, textfile, "load", lambda: add("two"))
    add("one")
    others[0].join()
    text = (tmp_path / "interfaces").read_text()
    assert "iface one" in text
    assert "iface two" in text


def test_rules_that_were_saved_are_not_replaced_by_earlier_ones(
    ctx: MinionContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, path = ["one"], str(tmp_path / "rules")
    monkeypatch.setattr(iptables, "running", lambda _ctx, _family: " ".join(rules))

    def change() -> None:
        rules.append("two")
        iptables.save(ctx, path)

    others = interrupt(monkeypatch, iptables, "running", change)
    iptables.save(ctx, path)
    others[0].join()
    assert Path(path).read_text() == "one two"


SLOW_KEYGEN = """#!/bin/sh
kept=$(grep -v gone {known}); touch {known}.read
sleep 0.4
echo "$kept" > {known}
"""


def test_a_host_that_is_added_while_another_is_removed(ctx: MinionContext, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text("one\ngone\n")
    program = tmp_path / "bin/ssh-keygen"
    program.write_text(SLOW_KEYGEN.format(known=known))
    program.chmod(0o755)
    removing = threading.Thread(
        target=ctx.functions.call, args=("ssh.rm_known_host", None, "gone", str(known))
    )
    removing.start()
    while removing.is_alive() and not known.with_suffix(".read").exists():
        removing.join(0.01)
    ctx.functions.call("file.append", str(known), "two")
    removing.join()
    assert known.read_text() == "one\ntwo\n"


STATES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "append": ("file.append", {"text": "one"}, "file.append", {"text": ["one", "two"]}),
    "prepend": ("file.prepend", {"text": "one"}, "file.prepend", {"text": ["two"]}),
    "keyvalue": (
        "file.keyvalue", {"key": "one", "value": "1", "append_if_not_found": True},
        "file.keyvalue", {"key": "two", "value": "1", "append_if_not_found": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STATES)
def test_a_state_sees_what_another_job_added_meanwhile(
    case: str, ctx: MinionContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, given, second, others_given = STATES[case]
    path = tmp_path / "x.ini"
    path.write_text("begin\n")
    declared = {"name": str(path), **others_given}

    def declare(function: str, declared: dict[str, Any]) -> Action:
        made = getattr(state_edits, function.partition(".")[2])(ctx, **declared)
        assert isinstance(made, Action)
        return made

    early = declare(first, {"name": str(path), **given})
    declare(second, declared).run(ctx)
    early.run(ctx)
    lines = path.read_text().split()
    assert sorted(lines) == sorted(set(lines))
    assert {line[:3] for line in lines} == {"beg", "one", "two"}


def _placed(value: Any, tmp_path: Path) -> Any:
    return value.format(tmp=tmp_path) if isinstance(value, str) else value


def test_a_schedule_that_is_changed_offline(
    ctx: MinionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(name: str) -> Any:
        return schedule._put_entry(ctx, "add", name, {"function": "test.ping"}, {"offline": True})

    others = interrupt(monkeypatch, schedule, "_read_saved", lambda: add("two"))
    assert add("one")
    others[0].join()
    assert set(schedule._read_saved(ctx)) == {"one", "two"}


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


def test_of_two_requests_for_a_run_none_is_lost(
    ctx: MinionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "apply_", lambda *given, **options: {})
    for name in ("one", "two", "three"):
        requests.request(ctx, "x", name=name)
    others = interrupt(
        monkeypatch, requests, "_read_requests", lambda: requests.request(ctx, "x", name="four")
    )
    assert requests.clear_request(ctx, "two") is True
    others[0].join()
    assert sorted(requests.check_request(ctx)) == ["four", "one", "three"]


def test_values_that_were_cleared_do_not_come_back(
    ctx: MinionContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.update(ctx, "old", 1)
    others = interrupt(monkeypatch, data, "load", lambda: data.clear(ctx))
    data.update(ctx, "new", 2)
    others[0].join()
    assert data.load(ctx) == {}
