"""Machines of other distributions than Debian, and what is declared on them.

Each has a package manager or a service manager of its own (``small_machine``, ``fake_packages``,
``fake_services``), and declarations that it ``lacks`` the features for: they must be refused before
anything has run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import fake_packages
import fake_services
from declarations import BOOL, YES, Form, Pool, some
from small_machine import FILE, Program, made

Declaration = tuple[str, dict[str, Any]]

PACKAGES = ("foo", "old", "held", "new", "other", "gone", "nosuch")
UNITS = ("web", "idle", "on", "offen", "brk", "sham", "nosuch")


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A kind of machine: its grains, programs and files, and what can be declared on it."""

    grains: Mapping[str, Any]
    programs: Mapping[str, Program]
    providers: tuple[str, ...]
    """The files of ``saltlite/providers/pkg`` and ``/service`` that it is managed with."""
    furnish: Callable[[], None]
    release: str = "-1"
    forms: Mapping[str, Form] = field(default_factory=dict)
    lacks: tuple[Declaration, ...] = ()


def red_forms(world: str) -> dict[str, Form]:
    """What dnf and yum can do besides."""
    members = ("other", "old", "foo", "gone")
    return {
        **package_forms(world, "-1", rpm=True),
        **repository_forms(world),
        **patch_forms(world),
        "pkg.group_installed": Form(
            world=world,
            always={"name": ("tools", "few", "nosuch")},
            may={"skip": some(members), "include": some(members)},
        ),
    }


def patch_forms(world: str) -> dict[str, Form]:
    """Patches, or advisories."""
    ids = tuple(fake_packages.PATCHES)
    form = Form(world=world, always={"name": (*ids, "nosuch")}, may={"advisory_ids": some(ids)})
    return {"pkg.patch_installed": form, "pkg.patch_downloaded": form}


def package_forms(world: str, release: str, *, rpm: bool = False) -> dict[str, Form]:
    """What every package manager can do; ``release`` is what its versions end with."""

    def at(*versions: str) -> tuple[str, ...]:
        return tuple(each + release for each in versions)

    one, old, new = at("1.0", "1.1", "1.9")
    several: dict[str, Pool] = {
        "pkgs": some(["foo", "other", {"new": f">={new}"}, {"old": old}, {"held": one}, "gone"])
    }
    more: dict[str, Pool] = {"hold": BOOL, "update_holds": YES, "pkg_verify": YES} if rpm else {}
    forms = {
        "pkg.installed": {
            "always": {"name": PACKAGES},
            "may": {
                "version": [one, old, *at("0.5", "2.0", "9"), f">={one}", "1.*", "latest"],
                "refresh": BOOL, "allow_updates": YES, "reinstall": YES, "normalize": (False,),
                "sources": ([{"src": FILE}],), **several, **more,
            },
        },
        "pkg.latest": {"always": {"name": PACKAGES}, "may": {"refresh": BOOL, **several}},
        "pkg.removed": {"always": {"name": PACKAGES}, "may": {"version": (one,), **several}},
        "pkg.purged": {"always": {"name": PACKAGES}, "may": {"version": (one,), **several}},
        "pkg.uptodate": {
            "always": {"name": ("x",)},
            "may": {"refresh": BOOL, "pkgs": some(["foo", "old", "held"])},
        },
        "pkg.mod_watch": {
            "always": {"name": PACKAGES, "sfun": ("installed", "removed", "latest", "nosuch")}
        },
    }  # fmt: skip
    if rpm:
        forms["pkg.downloaded"] = {
            "always": {"name": PACKAGES}, "may": {"version": [one, old], "refresh": BOOL, **several}
        }  # fmt: skip
        forms["pkg.held"] = {
            "always": {"name": PACKAGES}, "may": {"pkgs": some(PACKAGES), "replace": YES}
        }  # fmt: skip
        forms["pkg.unheld"] = {
            "always": {"name": PACKAGES}, "may": {"pkgs": some(PACKAGES), "all": YES}
        }  # fmt: skip
    return {name: Form(world=world, **parts) for name, parts in forms.items()}


def repository_forms(world: str) -> dict[str, Form]:
    """Repositories in ``.repo`` files."""
    names = ("base", "extra", "new")
    url, mirrors = "http://h.example/d", "http://m.example/list"
    return {
        "pkgrepo.managed": Form(
            world=world,
            always={"name": names},
            may={
                "baseurl": (url, "http://g.example/d", [url, "http://g.example/d"]),
                "mirrorlist": (mirrors,), "gpgcheck": (0, 1, True), "gpgkey": ("file:///k", ""),
                "enabled": BOOL, "disabled": BOOL, "humanname": ("Some name", "Other"),
                "comments": (["why"], "one\ntwo"), "refresh": (False,), "priority": (5,),
                "exclude": ("a b",),
            },
        ),
        "pkgrepo.absent": Form(world=world, always={"name": (*names, "nosuch")}),
    }  # fmt: skip


def service_forms(world: str, **may: Pool) -> dict[str, Form]:
    """What every service manager can do."""
    forms = {
        "service.running": {"always": {"name": UNITS}, "may": {"enable": BOOL, **may}},
        "service.dead": {"always": {"name": UNITS}, "may": {"enable": BOOL, **may}},
        "service.enabled": {"always": {"name": UNITS}, "may": may},
        "service.disabled": {"always": {"name": UNITS}, "may": may},
        "service.mod_watch": {
            "always": {"name": UNITS, "sfun": ("running", "dead", "enabled")},
            "may": {"reload": YES, "full_restart": YES, "force": YES},
        },
    }
    return {name: Form(world=world, **parts) for name, parts in forms.items()}


NO_HOLDS: tuple[Declaration, ...] = (
    ("pkg.held", {"name": "foo"}),
    ("pkg.held", {"name": "foo", "replace": True}),
    ("pkg.unheld", {"name": "foo"}),
    ("pkg.unheld", {"name": "foo", "all": True}),
    ("pkg.installed", {"name": "new", "hold": True}),
)
NO_FILES: tuple[Declaration, ...] = (
    ("pkg.downloaded", {"name": "new"}),
    ("pkg.installed", {"name": "foo", "pkg_verify": True}),
)
NO_GROUPS: tuple[Declaration, ...] = (("pkg.group_installed", {"name": "tools"}),)
NO_PATCHES: tuple[Declaration, ...] = (
    ("pkg.patch_installed", {"name": "P-2024-1"}),
    ("pkg.patch_downloaded", {"name": "P-2024-1"}),
)
NO_REPOSITORIES: tuple[Declaration, ...] = (
    ("pkgrepo.managed", {"name": "new", "baseurl": "http://h.example/d"}),
    ("pkgrepo.absent", {"name": "new"}),
)
NO_UNITS: tuple[Declaration, ...] = (
    ("service.masked", {"name": "web"}),
    ("service.masked", {"name": "web", "runtime": True}),
    ("service.unmasked", {"name": "web"}),
    ("service.running", {"name": "idle", "unmask": True}),
    ("service.running", {"name": "idle", "unmask_runtime": True}),
    ("service.running", {"name": "idle", "no_block": True}),
    ("service.dead", {"name": "web", "no_block": True}),
    ("service.mod_watch", {"name": "web", "sfun": "running", "no_block": True}),
)
BASE = "[base]\nname=Base\nbaseurl=http://h.example/d\nenabled=1\ngpgcheck=1\n"
EXTRA = (
    "# kept\n[extra]\nname=Extra\nmirrorlist=http://m.example/list\nenabled=0\n\n[more]\nname=M\n"
)


def _furnish_red(locks: str, lock: str) -> Callable[[], None]:
    def furnish() -> None:
        made(locks, f"\n# Added lock on Tue Jun  4 08:00:00 2024\n{lock}\n")
        made("/etc/yum.repos.d/base.repo", BASE)
        made("/etc/yum.repos.d/extra.repo", EXTRA)

    return furnish


def _furnish_centos() -> None:
    _furnish_red(fake_packages.YUM_LOCKS, "0:held-1.0-1.*")()
    fake_services.furnish_redhat()


def _furnish_suse() -> None:
    made(fake_packages.ZYPP_LOCKS, fake_packages.LOCK.format("held"))
    made(f"{fake_packages.ZYPP_REPOS}/base.repo", BASE)
    made(f"{fake_packages.ZYPP_REPOS}/extra.repo", EXTRA)


def _furnish_arch() -> None:
    os.makedirs("/etc/pacman.d")


def _furnish_alpine() -> None:
    made("/etc/apk/world", "foo\ngone\nheld\nold\n")
    made("/etc/apk/repositories", f"{fake_packages.MIRROR}\n")
    fake_services.furnish_openrc()


def _grains(family: str, init: str, **more: Any) -> dict[str, Any]:
    return {"id": "x", "os_family": family, "init": init, "osarch": "x86_64", **more}


APT_LACKS: tuple[Declaration, ...] = (*NO_GROUPS, *NO_PATCHES)
"""What the machine of ``package_machine`` refuses."""

DISTRIBUTIONS: Mapping[str, Distribution] = {
    "fedora": Distribution(
        grains=_grains("RedHat", "unknown"),
        programs=fake_packages.DNF5,
        providers=("pkg/dnf",),
        furnish=_furnish_red(fake_packages.DNF5_LOCKS, "held 1.0-1"),
        forms=red_forms("fedora"),
    ),
    "rocky": Distribution(
        grains=_grains("RedHat", "unknown"),
        programs=fake_packages.DNF,
        providers=("pkg/dnf",),
        furnish=_furnish_red(fake_packages.DNF_LOCKS, "held-0:1.0-1.*"),
        forms=red_forms("rocky"),
    ),
    "centos": Distribution(
        grains=_grains("RedHat", "sysvinit"),
        programs={**fake_packages.YUM, **fake_services.REDHAT},
        providers=("pkg/dnf", "service/sysv"),
        furnish=_furnish_centos,
        forms={**red_forms("centos"), **service_forms("centos")},
        lacks=NO_UNITS,
    ),
    "suse": Distribution(
        grains=_grains("Suse", "unknown"),
        programs=fake_packages.ZYPPER,
        providers=("pkg/zypper",),
        furnish=_furnish_suse,
        forms={
            **package_forms("suse", "-1", rpm=True),
            **repository_forms("suse"),
            **patch_forms("suse"),
        },
        lacks=NO_GROUPS,
    ),
    "arch": Distribution(
        grains=_grains("Arch", "unknown"),
        programs=fake_packages.PACMAN,
        providers=("pkg/pacman",),
        furnish=_furnish_arch,
        forms=package_forms("arch", "-1"),
        lacks=(*NO_HOLDS, *NO_FILES, *NO_GROUPS, *NO_PATCHES, *NO_REPOSITORIES),
    ),
    "alpine": Distribution(
        grains=_grains("Alpine", "openrc"),
        programs={**fake_packages.APK, **fake_services.OPENRC},
        providers=("pkg/apk", "service/openrc"),
        furnish=_furnish_alpine,
        release="-r0",
        forms={
            **package_forms("alpine", "-r0"),
            **service_forms("alpine", runlevels=("default", "boot", ["boot", "default"], "nosuch")),
        },
        lacks=(*NO_HOLDS, *NO_FILES, *NO_GROUPS, *NO_PATCHES, *NO_REPOSITORIES, *NO_UNITS),
    ),
    "devuan": Distribution(
        grains=_grains("Debian", "sysvinit"),
        programs=fake_services.DEBIAN,
        providers=("service/sysv",),
        furnish=fake_services.furnish_debian,
        forms=service_forms("devuan"),
        lacks=NO_UNITS,
    ),
}
"""The machines by the name of their world."""
