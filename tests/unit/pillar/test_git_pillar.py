"""Pillar in branches of git repositories; the values are those of real Salt 3006.30."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.registry import Registry
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
    for name, tree in (("a", FIRST), ("b", SECOND)):
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
    git(root / "a", "checkout", "-q", "master")
    return root


def compiled(made: Path, tmp_path: Path, *entries: Any, **options: Any) -> dict[str, Any]:
    settings = {
        "id": "web1",
        "file_client": "local",
        "root_dir": str(tmp_path),
        "pillar_roots": {"base": [str(tmp_path / "none")]},
        "ext_pillar": [{"git": list(entries)}],
        **options,
    }
    text = yaml.safe_dump(settings).replace("{made}", f"file://{made}")
    (tmp_path / "minion").write_text(text)
    config = load_minion(tmp_path)
    ctx = MinionContext(config=config, host=Host(), grains={"id": "web1"}, pillar={})
    ctx.functions = Registry(ctx)
    return compile_masterless(ctx)


A = "master {made}/a"
B = {"master {made}/b": [{"root": "pil"}]}


@pytest.mark.parametrize(
    ("entries", "options", "expected"),
    [
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


def test_no_transport_runs_a_command(made: Path, tmp_path: Path) -> None:
    assert compiled(made, tmp_path, f"master ext::sh -c touch% {tmp_path}/PWNED") == {}
    assert not (tmp_path / "PWNED").exists()
