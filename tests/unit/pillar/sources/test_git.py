"""Pillar in branches of git repositories; the values are those of real Salt 3006.30."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pillar_errors import without_places

from saltlite.cli import salt_master
from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry, with_functions
from saltlite.pillar.context import compile_masterless

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
FIRST = {
    "top.sls": "base: {'*': [one, shared]}\ndev: {'*': [one]}\n",
    "one.sls": "a: 1\nwho: {{ grains.id }}-{{ saltenv }}\n",
    "sub/top.sls": "base: {'*': [s]}",
    "sub/s.sls": "s: sub",
}
SECOND = {
    "pil/top.sls": "base: {'*': [two, one]}\nprod: {'*': [two]}\n",
    "pil/two.sls": "b: 2",
    "pil/shared.sls": "fromb: shared",
}
WEB = {
    "top.sls": "base: {'*': [web.x, plain]}",
    "x.sls": "x: mounted",
    "plain.sls": "plain: 1",
    "web/x.sls": "x: below",
}
TOP = {"top.sls": "base: {'*': [web.x, web.plain, own]}", "own.sls": "own: 1"}
NO_SHARED = "Specified SLS 'shared' in environment 'base' is not available on the salt master"
NO_ONE = "Specified SLS 'one' in environment 'base' is not available on the salt master"
NO_DEV = "No matching pillar environment for environment 'dev' found"
NO_PROD = "No matching pillar environment for environment 'prod' found"
OWN = {"a": 1, "who": "web1-base"}


def git(where: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", str(where), *words]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("git")
    for name, tree in (("a", FIRST), ("b", SECOND), ("web", WEB), ("top", TOP)):
        git(root, "init", "-q", "-b", "master", str(root / name))
        for path, text in tree.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_text(text)
        (root / name / "out").symlink_to("/etc")
        git(root / name, "add", "-A")
        git(root / name, "commit", "-qm", "1")
        git(root / name, "branch", "prod")
    git(root / "a", "checkout", "-q", "-b", "dev")
    (root / "a/one.sls").write_text("a: dev")
    git(root / "a", "commit", "-qam", "2")
    git(root / "a", "tag", "v1")
    git(root / "a", "checkout", "-q", "master")
    return root


def compiled(made: Path, tmp_path: Path, *entries: Any, **options: Any) -> dict[str, Any]:
    (tmp_path / "minion").write_text(settings(made, tmp_path, *entries, **options))
    config = load_minion(tmp_path)
    ctx = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    ctx.functions = Registry(ctx)
    return without_places(compile_masterless(ctx))


def settings(made: Path, tmp_path: Path, *entries: Any, **options: Any) -> str:
    values = {
        "id": "web1",
        "file_client": "local",
        "root_dir": str(tmp_path),
        "pillar_roots": {"base": [str(tmp_path / "none")]},
        "ext_pillar": [{"git": list(entries)}],
        **options,
    }
    return yaml.safe_dump(values).replace("{made}", f"file://{made}")


A = "master {made}/a"
B = {"master {made}/b": [{"root": "pil"}]}


MOUNTED = {"master {made}/web": [{"mountpoint": "web"}]}
T = "master {made}/top"
BELOW = {"x": "mounted", "plain": 1, "own": 1}
MISSING = [
    f"Specified SLS 'web.{name}' in environment 'base' is not available on the salt master"
    for name in ("x", "plain")
]
ALONE = {"own": 1, "_errors": MISSING}


@pytest.mark.parametrize(
    ("entries", "options", "expected"),
    [
        (["master {made}/web"], {}, {"x": "below", "plain": 1}),
        (["master {made}/web"], {"git_pillar_mountpoint": "web"}, {"x": "below", "plain": 1}),
        ([MOUNTED], {}, {}),
        ([T, MOUNTED], {}, BELOW),
        ([MOUNTED, T], {}, BELOW),
        ([T, {"{made}/web": [{"mountpoint": "salt://web/"}]}], {}, BELOW),
        ([T, {"{made}/web": [{"mountpoint": "./web"}]}], {}, BELOW),
        ([T, MOUNTED], {"git_pillar_includes": False}, ALONE),
        ([T, {"{made}/web": [{"mountpoint": "web"}, {"env": "dev"}]}], {}, ALONE),
        ([T, {"{made}/web": [{"mountpoint": "../web"}]}], {}, ALONE),
        ([T, {"{made}/web": [{"mountpoint": "web"}, {"root": "nosuch"}]}], {}, ALONE),
        ([{"{made}/a": [{"root": "sub"}, {"mountpoint": "sub"}]}], {}, {}),
        (["v1 {made}/a"], {}, {"_errors": [NO_DEV]}),
        (["{made}/a"], {"git_pillar_branch": "dev"}, {"a": "dev"}),
        (["{made}/a"], {"git_pillar_env": "dev"}, {"a": 1, "who": "web1-dev"}),
        (["{made}/a"], {"git_pillar_root": "sub"}, {"s": "sub"}),
        ([{"{made}/a": [{"refspecs": "refs/heads/dev:refs/remotes/origin/dev"}]}], {}, {}),
        ([A], {}, {**OWN, "_errors": [NO_SHARED, NO_DEV]}),
        ([A, B], {}, {**OWN, "b": 2, "fromb": "shared", "_errors": [NO_DEV, NO_PROD]}),
        (
            [A, B],
            {"git_pillar_includes": False},
            {**OWN, "b": 2, "_errors": [NO_SHARED, NO_DEV, NO_ONE, NO_PROD]},
        ),
        (["dev {made}/a"], {}, {"a": "dev"}),
        (["dev {made}/a", {"prod {made}/b": [{"root": "pil"}]}], {}, {"a": "dev", "b": 2}),
        ([{"dev {made}/a": [{"env": "base"}]}], {}, {"a": "dev", "_errors": [NO_SHARED, NO_DEV]}),
        (["__env__ {made}/a"], {}, {**OWN, "_errors": [NO_SHARED, NO_DEV]}),
        (["__env__ {made}/a", B], {"pillarenv": "dev"}, {"a": "dev"}),
        ([{"master {made}/a": [{"root": "sub"}]}, "nobranch {made}/b"], {}, {"s": "sub"}),
        ([{"dev {made}/a": [{"base": "dev"}]}], {}, {"a": "dev", "_errors": [NO_SHARED, NO_DEV]}),
        ([{"__env__ {made}/a": [{"all_saltenvs": "dev"}]}], {"pillarenv": "qa"}, {}),
        (
            [{"__env__ {made}/a": [{"all_saltenvs": "master"}]}],
            {"pillarenv": "dev"},
            {"a": 1, "who": "web1-dev"},
        ),
        (
            [{"dev {made}/a": [{"all_saltenvs": "master"}]}],
            {"pillarenv": "dev"},
            {"a": "dev"},
        ),
        (["__env__ {made}/a"], {"pillarenv": "dev", "git_pillar_fallback": "master"}, {"a": "dev"}),
        ([{"qa {made}/a": [{"fallback": "dev"}, {"env": "dev"}]}], {}, {"a": "dev"}),
        (["master {made}/none"], {}, {}),
        (["--upload-pack=x {made}/a"], {}, {}),
        (
            [{"master {made}/a": [{"root": "../../.."}]}],
            {},
            {**OWN, "_errors": [NO_SHARED, NO_DEV]},
        ),
        ([{"master {made}/a": [{"root": "out"}]}], {}, {}),
    ],
)
def test_branches_as_pillar(
    made: Path, tmp_path: Path, entries: list[Any], options: dict[str, Any], expected: Any
) -> None:
    assert compiled(made, tmp_path, *entries, **options) == expected


@pytest.mark.parametrize("entry", ["master", "", {}, {"master": []}, 5])
def test_an_entry_without_an_address_is_an_error(made: Path, tmp_path: Path, entry: Any) -> None:
    assert "Failed to load ext_pillar git" in compiled(made, tmp_path, entry)["_errors"][0]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({A: [{"mountpiont": "x"}]}, "no option of a repository; did you mean 'mountpoint'?"),
        ({"https://x:hushed@h/r x": []}, "https://h/r x is no branch and address of a repository"),
        ({"https://x:hushed@h/r": [{"nosuch": 1}]}, "https://h/r: 'nosuch' is no option of a"),
    ],
)
def test_an_entry_that_is_wrong_is_named(
    made: Path, tmp_path: Path, entry: Any, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (found,) = compiled(made, tmp_path, entry)["_errors"]
    assert said in found
    assert "hushed" not in found
    nowhere = {"interface": "192.0.2.1"}  # so that it could not start in any case
    (tmp_path / "master").write_text(settings(made, tmp_path, entry, **nowhere))
    with pytest.raises(SystemExit) as ended:
        salt_master.main(["-c", str(tmp_path)])
    assert ended.value.code == 1
    assert said in capfd.readouterr().err


def test_a_map_is_no_list_of_repositories(made: Path, tmp_path: Path) -> None:
    (error,) = compiled(made, tmp_path, ext_pillar=[{"git": {A: []}}])["_errors"]
    assert "takes a list of repositories, not a map with master file://" in error


def test_no_transport_runs_a_command(made: Path, tmp_path: Path) -> None:
    assert compiled(made, tmp_path, f"master ext::sh -c touch% {tmp_path}/PWNED") == {}
    assert not (tmp_path / "PWNED").exists()


def test_the_log_names_each_mistake_once(
    made: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also of what is compiled within, and what a function compiles again."""
    below = tmp_path / "own"
    below.mkdir()
    (below / "top.sls").write_text("base: {'*': [bad]}\n")
    (below / "bad.sls").write_text("a: [1\n")
    options = {"pillar_roots": {"base": [str(below)]}}
    (tmp_path / "minion").write_text(settings(made, tmp_path, "prod {made}/a", **options))
    ctx = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
    ctx = with_functions(ctx)
    first = compile_masterless(ctx)
    assert ctx.functions.call("pillar.items") == first
    assert len(first["_errors"]) == 2
    rendering, missing = (record.getMessage() for record in caplog.records)
    assert f"SLS 'bad' failed, render error: {below}/bad.sls:2: " in rendering
    assert missing.endswith("top.sls:2: No matching pillar environment for environment 'dev' found")
