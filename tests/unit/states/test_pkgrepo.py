"""Sources of packages that are configured or not, in a directory of this test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers.pkg import apt_repos

CASES = DATA / "states" / "pkgrepo.yaml"
REPO = "deb http://h.example/d sid main"


class Quiet(Host):
    """This machine, but commands only leave their names."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def run(self, command: Any, **how: Any) -> Completed:
        self.did.append(" ".join(command))
        return Completed(pid=1, exit_code=0, stdout="", stderr="")


def make(os_family: str = "Debian") -> MinionContext:
    native = {"pkg": {"Debian": "aptpkg", "Arch": "pacmanpkg"}[os_family]}
    config = MinionConfig(modules=ModuleOptions(providers=native))
    grains = {"os_family": os_family, "osarch": "amd64"}
    ctx = MinionContext(config=config, host=Quiet(), grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(apt_repos, "MAIN", str(tmp_path / "sources.list"))
    monkeypatch.setattr(apt_repos, "PARTS", str(tmp_path / "parts"))
    (tmp_path / "parts").mkdir()
    return tmp_path / "parts" / "zz.list"


def run(ctx: MinionContext, case: dict[str, Any], file: Path, *, test: bool) -> Verdict:
    given = {"name": REPO, **case.get("with", {})}
    if case["fun"] == "pkgrepo.managed":
        given["file"] = str(file)
    found = realise(resolve(case["fun"], ctx).call(**given), ctx, test=test)
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{number}-{case['fun']}")
        for number, case in enumerate(read_yaml(CASES))
    ],
)
def test_sources_as_salt_has_them(file: Path, case: dict[str, Any]) -> None:
    if "before" in case:
        file.write_text(case["before"])
    ctx = make()
    foretold = run(ctx, case, file, test=True)
    assert (file.read_text() if file.exists() else None) == case.get("before")
    assert ctx.host.did == []
    real = run(ctx, case, file, test=False)
    assert (real.result, real.comment) == (case.get("result", True), case["comment"])
    assert real.changes == case.get("changes", {})
    if real.result:
        assert (file.read_text() if file.exists() else "") == case["after"]
        assert foretold.changes == real.changes
        assert run(ctx, case, file, test=False).changes == {}
    assert ("apt-get -q update" in ctx.host.did) is case.get("refreshed", bool(real.changes))


def test_a_package_manager_without_sources_refuses_the_declaration() -> None:
    refused = resolve("pkgrepo.managed", make("Arch")).call(name="x")
    assert refused == Verdict(
        result=False, comment="Repo management not implemented on this platform"
    )
