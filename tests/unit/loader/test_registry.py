from __future__ import annotations

import sys

import pytest

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.host import Host
from saltlite.loader.function import documentation
from saltlite.loader.registry import Registry


def make(config: MinionConfig | None = None) -> MinionContext:
    ctx = MinionContext(config=config or MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


def test_calls_by_name():
    assert make().functions.call("test.ping") is True
    assert make().functions.call("test.echo", "a") == "a"


def test_a_trailing_underscore_is_not_part_of_the_name():
    assert make().functions.call("test.false") is False
    with pytest.raises(FunctionUnavailable):
        make().functions.call("test.false_")


@pytest.mark.parametrize(
    "name",
    [
        "nosuch.fun", "test.nosuch", "test", "", ".", "test.", ".ping", "test.ping.x", "os.system",
        "test._own", "test.log", "test.random", "test.MinionContext", "test.__doc__",
        "saltlite.modules.test.ping", "../modules/test.ping",
    ],
)  # fmt: skip
def test_unknown_names_are_unavailable(name):
    with pytest.raises(FunctionUnavailable) as caught:
        make().functions.call(name)
    assert str(caught.value) == f"'{name}' is not available."


def test_a_name_from_a_peer_imports_nothing_outside_the_table():
    before = set(sys.modules)
    with pytest.raises(FunctionUnavailable):
        make().functions.call("antigravity.geohash")
    assert "antigravity" not in set(sys.modules) - before


def test_the_context_is_filled_in_and_hidden():
    ctx = make()
    assert ctx.functions.call("test.retcode", 3) is True
    assert ctx.state["retcode"] == 3
    assert ctx.functions.argspec("test.retcode") == {
        "args": ["code"], "defaults": [42], "varargs": None, "kwargs": None,
    }  # fmt: skip


def test_argspec_of_stars():
    assert make().functions.argspec("test.arg") == {
        "args": None, "defaults": None, "varargs": True, "kwargs": True,
    }  # fmt: skip


def test_names_are_sorted_and_complete():
    names = make().functions.names()
    assert names == sorted(names)
    assert {"test.ping", "test.try", "test.false"} <= set(names)
    assert not [name for name in names if name.rpartition(".")[2].startswith("_")]


def test_every_function_is_documented():
    functions = make().functions
    assert [name for name in functions.names() if not functions.doc(name)] == []


def test_disabled_and_whitelisted_modules():
    disabled = make(MinionConfig(modules=ModuleOptions(disable_modules=["test"])))
    with pytest.raises(FunctionUnavailable):
        disabled.functions.call("test.ping")


@pytest.mark.parametrize(
    ("named", "gone", "stays"),
    [
        ("cmdmod", "cmd.run", "test.ping"),
        ("cmd", "cmd.run", "test.ping"),
        ("linux_sysctl", "sysctl.get", "cmd.run"),
        ("aptpkg", "pkg.version", "cmd.run"),
        ("systemd_service", "service.status", "cmd.run"),
        ("yumpkg", None, "pkg.version"),
        ("rh_service", None, "service.status"),
    ],
)
def test_modules_are_disabled_by_the_names_of_salts_files(named, gone, stays):
    ctx = make(MinionConfig(modules=ModuleOptions(disable_modules=[named])))
    ctx.grains = {"os_family": "Debian", "init": "systemd"}
    names = ctx.functions.names()
    assert gone not in names
    assert stays in names


def test_a_list_of_modules_holds_for_calls_from_outside_alone():
    functions = make(MinionConfig(modules=ModuleOptions(whitelist_modules=["test"]))).functions
    assert functions.get_offered("test.ping").call() is True
    with pytest.raises(FunctionUnavailable, match=r"'config\.get' is not available"):
        functions.get_offered("config.get")
    assert functions.call("config.get", "id") == functions.call("config.option", "id")


def test_documentation_is_indented_as_salt_shows_it():
    assert documentation("One.\n\n    Two.\n") == "\n    One.\n\n    Two.\n    "
    assert documentation(None) is None


def test_the_outputter_of_a_function():
    registry = Registry(make())
    assert registry.resolve("test.outputter").outputter == "txt"
    assert registry.resolve("test.ping").outputter is None
