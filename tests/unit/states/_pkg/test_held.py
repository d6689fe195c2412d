"""Packages that are locked at a version: on small machines with dnf 4, dnf5, yum and zypper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_packages
import pytest
from small_machine import SmallMachine

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.highstate.resource import Verdict, realise
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers.pkg import zypper

MACHINES = {
    "dnf": ("RedHat", fake_packages.DNF, "held-0:1.0-1.*\n"),
    "dnf5": ("RedHat", fake_packages.DNF5, "held 1.0-1\n"),
    "yum": ("RedHat", fake_packages.YUM, "0:held-1.0-1.*\n"),
    "zypper": ("Suse", fake_packages.ZYPPER, fake_packages.LOCK.format("held")),
}
RED = ("dnf", "dnf5", "yum")
Make = Callable[[str], MinionContext]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    def made(name: str) -> MinionContext:
        family, programs, lock = MACHINES[name]
        locks = tmp_path / "locks"
        locks.write_text(lock)
        monkeypatch.setattr(zypper, "LOCKS", str(locks))
        monkeypatch.setattr(fake_packages, "ZYPP_LOCKS", str(locks))
        for program in programs.values():
            if hasattr(program, "locks"):
                monkeypatch.setattr(program, "locks", str(locks))
        grains = {"os_family": family, "osarch": "x86_64"}
        host = SmallMachine(programs, "-1")
        ctx = MinionContext(config=MinionConfig(), host=host, grains=grains, pillar={})
        ctx.functions = Registry(ctx)
        return ctx

    return made


def both(ctx: MinionContext, fun: str, **given: Any) -> list[Verdict]:
    """A test run and a real one."""
    found = [realise(resolve(fun, ctx).call(**given), ctx, test=test) for test in (True, False)]
    return [each for each in found if isinstance(each, Verdict)]


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_the_newest_of_what_is_locked_is_there_already(make: Make, name: str) -> None:
    ctx = make(name)
    settled = Verdict(result=True, comment="Package held is already up-to-date")
    assert both(ctx, "pkg.latest", name="held") == [settled, settled]
    said, came = both(ctx, "pkg.latest", name="x", pkgs=["held", "old"])
    assert said.changes == came.changes == {"old": {"old": "1.0-1", "new": "1.1-1"}}
    assert (said.result, came.result) == (None, True)
    assert ctx.functions.call("pkg.list_upgrades") == {}


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_a_lock_that_may_go_is_foretold_so(make: Make, name: str) -> None:
    ctx = make(name)
    said, came = both(ctx, "pkg.latest", name="held", update_holds=True)
    assert said.changes == came.changes == {"held": {"old": "1.0-1", "new": "1.2-1"}}
    assert (said.result, came.result) == (None, True)
    assert ctx.functions.call("pkg.list_holds", full=False) == ["held"]


@pytest.mark.parametrize("version", [None, ">=1.0-1"])
@pytest.mark.parametrize("name", sorted(MACHINES))
def test_what_is_missing_comes_without_its_lock(make: Make, name: str, version: str | None) -> None:
    ctx = make(name)
    del ctx.host.stock.installed["held"]  # type: ignore[attr-defined]
    given = {"name": "held", "version": version, "update_holds": True}
    said, came = both(ctx, "pkg.installed", **given)
    assert said.changes == came.changes == {"held": {"old": "", "new": "1.2-1"}}


@pytest.mark.parametrize("fun", ["pkg.installed", "pkg.latest"])
@pytest.mark.parametrize("name", RED)
def test_what_is_missing_comes_at_its_lock(make: Make, name: str, fun: str) -> None:
    ctx = make(name)
    del ctx.host.stock.installed["held"]  # type: ignore[attr-defined]
    said, came = both(ctx, fun, name="held")
    assert said.changes == came.changes == {"held": {"old": "", "new": "1.0-1"}}
    assert (said.result, came.result) == (None, True)


@pytest.mark.parametrize("name", RED)
def test_locks_are_listed_as_dnf_writes_them(make: Make, name: str) -> None:
    told = {"yum": "0:held-1.0-1.*"}.get(name, "held-0:1.0-1.*")
    assert make(name).functions.call("pkg.list_holds") == [told]


@pytest.mark.parametrize(
    "words",
    [
        ["--showduplicates", "list", "--available"],
        ["-y", "--allowerasing", "install", "foo"],
        ["grouplist", "hidden"],
        ["install", "--disableexcludes=all", "foo"],
    ],
)
def test_the_dnf5_of_these_tests_refuses_what_dnf5_does(make: Make, words: list[str]) -> None:
    host = make("dnf5").host
    assert host.run(["dnf", *words]).exit_code == 2
