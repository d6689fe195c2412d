"""pip in virtual environments made here, with packages of a directory; nothing asks the network."""

from __future__ import annotations

import os
import sys
import zipfile

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import CommandError, FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.providers import pip as pip_provider
from saltlite.providers.command import Outcome

try:
    import pip
except ImportError:
    pip = None

needs_pip = pytest.mark.skipif(pip is None, reason="this Python has no pip to lend")


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


def wheel(folder, name, version, needs=""):
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}/__init__.py", "")
        file.writestr(f"{name}/data.txt", "some data\n")
        required = f"Requires-Dist: {needs}\n" if needs else ""
        file.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        )
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", "")


def quick_venv(folder):
    """A program that makes environments without installing pip, which takes seconds."""
    program = folder / "quick-venv"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m venv --without-pip "$@"\n')
    program.chmod(0o755)
    return str(program)


@needs_pip
def test_an_environment_and_its_packages(call, tmp_path):
    wheel(tmp_path, "sl_one", "1.0")
    wheel(tmp_path, "sl_one", "2.0")
    wheel(tmp_path, "sl_two", "1.0", "sl_one")
    (tmp_path / "req.txt").write_text("sl_one==1.0\n")
    venv = str(tmp_path / "v")
    made = call("virtualenv.create", venv, venv_bin=quick_venv(tmp_path))
    assert made["retcode"] == 0, made
    site = call("virtualenv.get_site_packages", venv)
    assert site.startswith(venv)
    os.symlink(os.path.dirname(pip.__file__), f"{site}/pip")
    here = {"bin_env": venv, "no_index": True, "find_links": str(tmp_path)}

    done = call("pip.install", requirements=str(tmp_path / "req.txt"), **here)
    assert done["retcode"] == 0
    assert "sl-one==1.0" in [line.replace("_", "-") for line in call("pip.freeze", bin_env=venv)]
    assert call("pip.install", "sl_one,sl_two", upgrade=True, **here)["retcode"] == 0
    listed = call("pip.list", "sl", bin_env=venv)
    assert {name.replace("_", "-"): version for name, version in listed.items()} == {
        "sl-one": "2.0",
        "sl-two": "1.0",
    }
    assert call("pip.is_installed", "SL.two", bin_env=venv) is True
    assert call("pip.uninstall", "sl_two", bin_env=venv)["retcode"] == 0
    assert call("pip.is_installed", "sl_two", bin_env=venv) is False
    assert call("pip.version", f"{venv}/bin/python") == pip.__version__

    failed = call("pip.install", "sl_nosuch", **here)
    assert failed["retcode"] == 1
    assert "sl_nosuch" in failed["stderr"]

    assert call("virtualenv.get_distribution_path", venv, "sl_one") == site
    path = call("virtualenv.get_resource_path", venv, "sl_one", "data.txt")
    assert path == f"{site}/sl_one/data.txt"
    assert call("virtualenv.get_resource_content", venv, "sl_one", "data.txt") == "some data\n"


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


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"pkgs": "a,b>=1,<2,c[x,y]"}, ["a", "b>=1,<2", "c[x,y]"]),
        ({"pkgs": ["a", "b"]}, ["a", "b"]),
        ({"pkgs": "a", "upgrade": True, "no_deps": True}, ["--upgrade", "--no-deps", "a"]),
        ({"pkgs": "a", "index_url": "http://i", "proxy": "p:1"},
         ["--proxy", "p:1", "--index-url", "http://i", "a"]),
        ({"requirements": "/a.txt,/b.txt"},
         ["--requirement", "/a.txt", "--requirement", "/b.txt"]),
        ({"pkgs": "a", "editable": "git+https://h/x#egg=x"},
         ["--editable", "git+https://h/x#egg=x"]),
        ({"pkgs": "a", "extra_args": ["--quiet", {"--log": "/l"}]},
         ["a", "--quiet", "--log", "/l"]),
        ({"pkgs": "a", "no_binary": ["x", "y"]}, ["--no-binary=x,y", "a"]),
    ],
)  # fmt: skip
def test_words_of_an_installation(call, words, kwargs, expected):
    call("pip.install", **kwargs)
    assert words == [["pip", "install", *expected]]


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"no_index": True, "index_url": "http://x"}, "are mutually exclusive"),
        ({"mirrors": "x"}, "does not support mirror argument"),
        ({"exists_action": "q"}, "only supports the values s, i, w, and b. 'q' is not valid"),
        ({"find_links": "x"}, "'x' is not a valid URL or path"),
    ],
)
def test_options_that_cannot_be(call, words, kwargs, text):
    with pytest.raises(FunctionError, match=text):
        call("pip.install", "a", **kwargs)
    assert words == []


def test_a_timeout_is_a_number(call, words):
    with pytest.raises(ValueError, match="'abc' is not a valid timeout, must be an integer"):
        call("pip.install", "a", timeout="abc")


def test_nothing_to_install(call, words):
    assert call("pip.install") == {"retcode": 0, "stdout": "No packages to install."}


def test_the_index_with_its_password_is_not_logged(call, caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(pip_provider, "command", lambda ctx, bin_env: ["false"])
    with caplog.at_level(0):
        call("pip.install", "a", index_url="https://u:s3cr3t@h.example/simple")
    assert "s3cr3t" not in caplog.text


def test_which_pip(tmp_path):
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    assert pip_provider.command(ctx.host, None) == [sys.executable, "-m", "pip"]
    assert pip_provider.command(ctx.host, sys.executable)[1:] == ["-m", "pip"]
    with pytest.raises(CommandError, match="could not find a pip binary"):
        pip_provider.command(ctx.host, str(tmp_path / "nosuch"))
    with pytest.raises(CommandError, match="Could not find a pip binary in virtualenv"):
        pip_provider.command(ctx.host, str(tmp_path))


def test_no_pip_of_the_working_directory_is_run(call, tmp_path):
    """It may be another user's, and we may be root."""
    tmp_path.chmod(0o777)
    for name in ("pip", "runpy", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not ours')")
    assert call("pip.version", cwd=str(tmp_path), bin_env=sys.executable)[:1].isdigit()


def test_outdated_and_frozen():
    text = '[{"name": "a", "version": "1", "latest_version": "2", "latest_filetype": "wheel"}]'
    assert pip_provider.parse_outdated(text) == {"a": "2 [wheel]"}
    lines = ["a==1.0", "# b", "-f x", "c @ file:///c.whl", "-e git+https://h/d@1#egg=d", "e===2"]
    assert pip_provider.parse_freeze(lines, None) == {
        "a": "1.0", "c": "file:///c.whl", "d": "git+https://h/d@1", "e": "2",
    }  # fmt: skip
