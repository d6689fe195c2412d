"""Custom code from file roots to where the loader looks."""

from __future__ import annotations

import contextlib

import pytest

from saltlite.config.load import load_master, load_minion
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.fileserver.sync import Choice, copy_code, sync_master
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.runners import saltutil as runner


class Events:
    def __init__(self):
        self.tags = []

    def fire(self, tag, data):
        self.tags.append(tag)


@pytest.fixture
def roots(tmp_path):
    return tmp_path / "roots"


@pytest.fixture
def put(roots):
    def put(path, text="def f(): return 1\n", env="base"):
        place = roots / env / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    return put


@pytest.fixture
def ctx(tmp_path, roots):
    (tmp_path / "minion").write_text(
        f"id: m1\nroot_dir: {tmp_path}/m\nfile_client: local\n"
        f"file_roots: {{base: [{roots}/base], dev: [{roots}/dev]}}\n"
    )
    ctx = MinionContext(
        config=load_minion(tmp_path), host=Host(), grains={}, pillar={}, events=Events()
    )
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def call(ctx):
    return ctx.functions.call


def test_what_is_new_or_changed_is_named(call, put):
    put("_modules/b.py")
    put("_modules/a.py")
    put("_modules/pack/__init__.py")
    put("_modules/pack/data.txt", "x")
    assert call("saltutil.sync_modules") == [
        "modules.a", "modules.b", "modules.pack.__init__", "modules.pack.data",
    ]  # fmt: skip
    assert call("saltutil.sync_modules") == []
    put("_modules/a.py", "def f(): return 2\n")
    assert call("saltutil.sync_modules") == ["modules.a"]
    assert call("a.f") == 2


def test_what_is_gone_goes(call, put, roots, tmp_path):
    put("_modules/a.py")
    put("_modules/pack/__init__.py")
    call("saltutil.sync_modules")
    (roots / "base/_modules/pack/__init__.py").unlink()
    assert call("saltutil.sync_modules") == []
    assert call("saltutil.list_extmods") == {"modules": ["a"]}
    assert not (tmp_path / "m/var/cache/salt/minion/extmods/modules/pack").exists()


def test_what_is_gone_may_stay(ctx, call, put, roots, tmp_path):
    (tmp_path / "minion").write_text(
        (tmp_path / "minion").read_text() + "clean_dynamic_modules: False\n"
    )
    ctx.config = load_minion(tmp_path)
    put("_modules/a.py")
    call("saltutil.sync_modules")
    (roots / "base/_modules/a.py").unlink()
    call("saltutil.sync_modules")
    assert call("saltutil.list_extmods") == {"modules": ["a"]}


def test_bytecode_stays_where_it_is(call, put):
    put("_modules/a.pyc")
    put("_modules/__pycache__/a.cpython-311.pyc")
    assert call("saltutil.sync_modules") == []


def test_environments(call, put):
    put("_modules/a.py", "def f(): return 'base'\n")
    put("_modules/a.py", "def f(): return 'dev'\n", "dev")
    put("_modules/b.py", env="dev")
    assert call("saltutil.sync_modules", saltenv="base,dev") == ["modules.a", "modules.b"]
    assert call("a.f") == "dev"
    assert call("saltutil.sync_modules", saltenv=["base"]) == ["modules.a"]
    assert call("saltutil.list_extmods") == {"modules": ["a"]}


@pytest.mark.parametrize(
    ("lists", "there"),
    [
        ({"extmod_whitelist": "a"}, ["a"]),
        ({"extmod_whitelist": "a,b*"}, ["a", "b1"]),
        ({"extmod_whitelist": ["b1"]}, ["b1"]),
        ({"extmod_blacklist": "a"}, ["b1", "c"]),
        ({"extmod_blacklist": {"modules": ["a", "c"]}}, ["b1"]),
        ({}, ["a", "b1", "c"]),
        ({"extmod_whitelist": {"states": []}}, ["a", "b1", "c"]),
    ],
)
def test_lists_of_wanted_files(call, put, lists, there):
    for name in ("a", "b1", "c"):
        put(f"_modules/{name}.py")
    call("saltutil.sync_modules", **lists)
    assert call("saltutil.list_extmods") == {"modules": there}


@pytest.mark.parametrize("nothing", [[], {"modules": []}])
def test_an_empty_list_of_wanted_files_takes_all_away(call, put, nothing):
    put("_modules/a.py")
    call("saltutil.sync_modules")
    assert call("saltutil.sync_all", extmod_whitelist=nothing)["modules"] == []
    assert call("saltutil.list_extmods") == {}


def test_all_kinds(ctx, call, put):
    for kind in ("modules", "states", "grains", "output", "utils", "returners", "proxy"):
        put(f"_{kind}/a.py")
    found = call("saltutil.sync_all")
    assert {kind: names for kind, names in found.items() if names} == {
        "modules": ["modules.a"], "states": ["states.a"], "grains": ["grains.a"],
        "output": ["output.a"], "utils": ["utils.a"], "returners": ["returners.a"],
        "proxymodules": ["proxy.a"],
    }  # fmt: skip
    assert list(found)[:4] == ["clouds", "beacons", "modules", "states"]
    assert "module_refresh" in ctx.events.tags
    assert "pillar_refresh" in ctx.events.tags


def test_without_refresh_nobody_is_told(ctx, call, put):
    put("_modules/a.py")
    call("saltutil.sync_all", refresh=False)
    assert ctx.events.tags == []


def test_pillar_code_is_the_masters_business_where_there_is_one(ctx, call):
    class Master:
        def request(self, load):
            return []

    assert call("saltutil.sync_pillar") == []
    ctx.master = Master()
    import dataclasses

    files = dataclasses.replace(ctx.config.files, file_client="remote")
    ctx.config = dataclasses.replace(ctx.config, files=files)
    ctx.state.clear()
    with pytest.raises(FunctionError, match="only be synced to masterless minions"):
        call("saltutil.sync_pillar")
    assert "pillar" not in call("saltutil.sync_all")


def test_files_are_private(call, put, tmp_path):
    put("_modules/a.py")
    call("saltutil.sync_modules")
    path = tmp_path / "m/var/cache/salt/minion/extmods/modules/a.py"
    assert path.stat().st_mode & 0o077 == 0


def test_a_master_that_names_files_elsewhere_changes_nothing(tmp_path):
    class Files:
        def list_files(self, saltenv="base", prefix=""):
            return ["_modules/../../x.py", "/etc/x", "_modules", "_other/x.py", "_modules/ok.py"]

        def ahead(self, paths, saltenv="base"):
            return contextlib.nullcontext()

        def read(self, path, saltenv="base"):
            return b"x = 1\n"

    target = tmp_path / "cache/modules"
    found = copy_code(Files(), "modules", ["base"], target, Choice())
    assert found.names == ["modules.ok"]
    assert [path.name for path in tmp_path.rglob("*.py")] == ["ok.py"]


def test_a_link_in_the_way_is_not_followed(tmp_path):
    class Files:
        def list_files(self, saltenv="base", prefix=""):
            return ["_modules/a.py"]

        def ahead(self, paths, saltenv="base"):
            return contextlib.nullcontext()

        def read(self, path, saltenv="base"):
            return b"new\n"

    target = tmp_path / "modules"
    target.mkdir()
    (tmp_path / "victim").write_text("old\n")
    (target / "a.py").symlink_to(tmp_path / "victim")
    copy_code(Files(), "modules", ["base"], target, Choice())
    assert (tmp_path / "victim").read_text() == "old\n"
    assert (target / "a.py").read_text() == "new\n"


def test_the_masters_own(tmp_path, roots, put):
    put("_runners/fleet.py")
    put("_output/mine.py")
    (tmp_path / "master").write_text(
        f"root_dir: {tmp_path}/x\nfile_roots: {{base: [{roots}/base]}}\n"
    )
    config = load_master(tmp_path)

    class Ctx:
        pass

    ctx = Ctx()
    ctx.config = config
    found = runner.sync_all(ctx)
    assert {kind: names for kind, names in found.items() if names} == {
        "runners": ["runners.fleet"], "output": ["output.mine"],
    }  # fmt: skip
    assert runner.sync_runners(ctx) == []
    assert sync_master(config, "runners", "dev").removed
