"""What ``pkg.installed`` is given in the public trees, with each package manager.

Every argument that is counted there reaches the command of each package manager that knows it; one
that changes what is installed and that it does not know fails the declaration first.
"""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Completed
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve

NATIVE = {
    "Debian": "aptpkg",
    "RedHat": "yumpkg",
    "Suse": "zypperpkg",
    "Arch": "pacmanpkg",
    "Alpine": "apkpkg",
}
APT = "apt-get -q -y -o DPkg::Options::=--force-confold -o DPkg::Options::=--force-confdef"
DNF = "dnf -y install --best --allowerasing"
ZYPPER = "zypper --non-interactive --no-refresh install --auto-agree-with-licenses --name"
PACMAN = "pacman -S --noprogressbar --noconfirm --needed"
PLAIN = {
    "Debian": f"{APT} install foo",
    "RedHat": f"{DNF} foo",
    "Suse": f"{ZYPPER} foo",
    "Arch": f"{PACMAN} foo",
    "Alpine": "apk add foo",
}


class Deaf:
    """A machine on which nothing is ever installed; what would install is kept."""

    def __init__(self) -> None:
        self.installing: list[str] = []
        self.others: list[str] = []

    def run(self, argv: Any, **how: Any) -> Completed:
        line = " ".join(argv)
        installs = any(word in argv for word in ("install", "-S", "add"))
        (self.installing if installs else self.others).append(line)
        return Completed(pid=1, exit_code=0, stdout="", stderr="")

    def which(self, name: str) -> str:
        return f"/usr/bin/{name}"

    def is_dir(self, path: str) -> bool:
        return False

    def exists(self, path: str) -> bool:
        return True

    def names(self, path: str) -> list[str]:
        return []

    def read_text(self, path: str) -> None:
        return None


def make(family: str) -> MinionContext:
    config = MinionConfig(modules=ModuleOptions(providers={"pkg": NATIVE[family]}))
    grains = {"os_family": family, "osarch": "amd64" if family == "Debian" else "x86_64"}
    ctx = MinionContext(config=config, host=Deaf(), grains=grains, pillar={})  # type: ignore[arg-type]
    ctx.functions = Registry(ctx)
    return ctx


def commands(family: str, **given: Any) -> list[str]:
    ctx = make(family)
    found = realise(resolve("pkg.installed", ctx).call(name="foo", **given), ctx, test=False)
    assert isinstance(found, Verdict)
    assert found.result is False  # nothing was installed
    return [line for line in ctx.host.installing if "-Sp" not in line]


CHANGED: list[tuple[dict[str, Any], dict[str, str]]] = [
    (
        {"version": "2.0-1"},
        {
            "Debian": f"{APT} install foo=2.0-1",
            "RedHat": f"{DNF} foo-2.0-1",
            "Suse": f"{ZYPPER} --oldpackage foo=2.0-1",
            "Arch": f"{PACMAN} foo=2.0-1",
            "Alpine": "apk add foo=2.0-1",
        },
    ),
    (
        {"pkgs": ["foo", {"bar": "1-1"}]},
        {
            "Debian": f"{APT} install foo bar=1-1",
            "RedHat": f"{DNF} foo bar-1-1",
            "Suse": f"{ZYPPER} --oldpackage foo bar=1-1",
            "Arch": f"{PACMAN} foo bar=1-1",
            "Alpine": "apk add foo bar=1-1",
        },
    ),
    (
        {"install_recommends": False},
        {
            "Debian": f"{APT} --no-install-recommends install foo",
            "RedHat": f"{DNF} --setopt=install_weak_deps=0 foo",
            "Suse": f"{ZYPPER} --no-recommends foo",
        },
    ),
    ({"setopt": ["a=1", "b=2"]}, {"RedHat": f"{DNF} --setopt=a=1 --setopt=b=2 foo"}),
    ({"setopt": "a=1,b=2"}, {"RedHat": f"{DNF} --setopt=a=1 --setopt=b=2 foo"}),
    ({"skip_suggestions": True}, {}),
    ({"ignore_epoch": True}, {}),
    ({"upgrade": True}, {}),
]


@pytest.mark.parametrize("family", NATIVE)
@pytest.mark.parametrize(("given", "those"), CHANGED, ids=lambda each: ",".join(each))
def test_each_argument_reaches_the_command(
    family: str, given: dict[str, Any], those: dict[str, str]
) -> None:
    assert commands(family, **given) == [those.get(family, PLAIN[family])]


def test_from_one_repository() -> None:
    assert commands("Debian", fromrepo="sid") == [f"{APT} -t sid install foo"]
    only = "dnf -y install --best --allowerasing --disablerepo=* --enablerepo=epel foo"
    assert commands("RedHat", fromrepo="epel") == [only]
    assert commands("Suse", fromrepo="oss") == [
        f"{ZYPPER} --force --force-resolution --from oss foo"
    ]


SUBJECT = "The package manager of this machine cannot"


@pytest.mark.parametrize("family", ["Arch", "Alpine"])
@pytest.mark.parametrize("fun", ["pkg.installed", "pkg.latest"])
def test_what_changes_the_outcome_and_is_not_known_fails_first(family: str, fun: str) -> None:
    ctx = make(family)
    refused = resolve(fun, ctx).call(name="foo", fromrepo="x")
    said = f"{SUBJECT} install from one repository alone (fromrepo)"
    assert refused == Verdict(result=False, comment=said)
    if fun == "pkg.installed":
        refused = resolve(fun, ctx).call(name="foo", hold=True)
        assert refused == Verdict(result=False, comment=f"{SUBJECT} hold packages")
        refused = resolve(fun, ctx).call(name="foo", pkg_verify=True)
        assert refused == Verdict(result=False, comment="pkg.verify not implemented")
    assert ctx.host.installing == []


def test_apk_does_not_install_what_is_only_to_be_got() -> None:
    ctx = make("Alpine")
    said = f"{SUBJECT} get packages without installing them"
    with pytest.raises(FunctionError, match=said):
        ctx.functions.call("pkg.install", "foo", downloadonly=True)
    assert ctx.host.installing == []


@pytest.mark.parametrize(
    ("given", "refreshes"), [({}, True), ({"refresh": True}, True), ({"refresh": False}, False)]
)
def test_lists_are_got_once_a_run_unless_it_is_said(given: dict[str, Any], refreshes: bool) -> None:
    ctx = make("Debian")
    for _ in range(2):
        realise(resolve("pkg.installed", ctx).call(name="foo", **given), ctx, test=False)
    times = ctx.host.others.count("apt-get -q update")
    assert times == (2 if given.get("refresh") else int(refreshes))
