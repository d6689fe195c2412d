"""update-alternatives in directories of its own."""

from __future__ import annotations

import shutil

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.modules import alternatives


def make(host, **grains):
    ctx = MinionContext(config=MinionConfig(), host=host, grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


class OwnDirectories(Host):
    """update-alternatives on directories below one."""

    def __init__(self, place):
        self.place = place
        for name in ("alt", "admin", "bin"):
            (place / name).mkdir()

    def run(self, command, **how):
        own = ["--altdir", f"{self.place}/alt", "--admindir", f"{self.place}/admin",
               "--log", f"{self.place}/log"]  # fmt: skip
        return super().run([command[0], *own, *command[1:]], **how)


@pytest.mark.skipif(shutil.which("update-alternatives") is None, reason="no update-alternatives")
def test_alternatives_for_real(tmp_path, monkeypatch):
    call = make(OwnDirectories(tmp_path), os_family="Debian")
    monkeypatch.setattr(alternatives, "DIRECTORY", f"{tmp_path}/alt")
    one, two, link = (str(tmp_path / name) for name in ("one", "two", "bin/sl-edit"))
    for path in (one, two):
        (tmp_path / path).write_text("")
    assert "in auto mode" in call("alternatives.install", "sl-edit", link, one, 10)
    call("alternatives.install", "sl-edit", link, two, 20)
    assert call("alternatives.show_current", "sl-edit") == two
    assert call("alternatives.show_link", "sl-edit") == link
    assert call("alternatives.check_exists", "sl-edit", one) is True
    assert call("alternatives.check_exists", "sl-edit", "/nosuch") is False
    assert "manual mode" in call("alternatives.set", "sl-edit", one)
    assert call("alternatives.check_installed", "sl-edit", one) is True
    assert call("alternatives.display", "sl-edit").startswith("sl-edit - manual mode")
    assert "auto mode" in call("alternatives.auto", "sl-edit")
    call("alternatives.remove", "sl-edit", two)
    assert call("alternatives.show_current", "sl-edit") == one
    assert call("alternatives.display", "nosuch") == (
        "update-alternatives: error: no alternatives for nosuch"
    )
    assert call("alternatives.show_link", "nosuch") is False


class Recorded(Host):
    def __init__(self, answer="", programs=(), code=0):
        self.answer = answer
        self.programs = programs
        self.code = code
        self.done = []

    def run(self, command, **how):
        self.done.append((list(command), how.get("stdin")))
        return Completed(pid=1, exit_code=self.code, stdout=self.answer, stderr="no")

    def which(self, name):
        return name if name in self.programs else None


def test_red_hat_has_another_name_for_it():
    host = Recorded("x", programs=("alternatives", "update-alternatives"))
    make(host, os_family="RedHat")("alternatives.display", "java")
    assert host.done[0][0] == ["alternatives", "--display", "java"]
    with pytest.raises(FunctionUnavailable):
        make(Recorded())("alternatives.display", "java")
