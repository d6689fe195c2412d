"""Virtual environments: how they are made, and which cannot be."""

from __future__ import annotations

import sys

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.providers import pip as pip_provider
from saltlite.providers.command import Outcome


def make_call(config=None):
    ctx = MinionContext(config=config or MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


@pytest.fixture
def call(monkeypatch):
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return make_call()


def test_without_a_program_pythons_own_makes_the_environment(call, monkeypatch):
    seen = []

    def run(ctx, words, options):
        seen.append(words)
        return Outcome(1, 0, "", "")

    monkeypatch.setattr("saltlite.modules.virtualenv.command.run", run)
    assert call("virtualenv.create", "/x/v", venv_bin="venv", clear=True)["retcode"] == 0
    assert seen == [[sys.executable, "-m", "venv", "--clear", "/x/v"]]


@pytest.fixture
def words(monkeypatch):
    """The words that pip would have been called with."""
    seen = []

    def run(ctx, cmd, options, *, shown=None):
        seen.append(cmd)
        return Outcome(1, 0, "", "")

    monkeypatch.setattr(pip_provider, "command", lambda ctx, bin_env: ["pip"])
    monkeypatch.setattr("saltlite.modules.pip.command.run", run)
    return seen


def test_environments_that_cannot_be(call, tmp_path):
    with pytest.raises(FunctionError, match=r"Cannot find requested python \(nosuch\)\."):
        call("virtualenv.create", str(tmp_path / "v"), venv_bin="venv", python="nosuch")
    with pytest.raises(FunctionError, match="is not supported by 'venv'"):
        call("virtualenv.create", str(tmp_path / "v"), venv_bin="venv", never_download=True)
    with pytest.raises(FunctionError, match="is not supported by 'virtualenv'"):
        call("virtualenv.create", str(tmp_path / "v"), venv_bin="virtualenv", symlinks=True)
    with pytest.raises(FunctionError, match="does not appear to be a virtualenv"):
        call("virtualenv.get_site_packages", str(tmp_path))
    with pytest.raises(FunctionError, match="are both required"):
        call("virtualenv.get_resource_path", str(tmp_path))
