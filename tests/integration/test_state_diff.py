"""What docs/states.md shows of ``state.diff``: two environments, two branches, two minions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from git_places import commit, git
from programs import need

from cluster import Cluster, running

PAGE = (Path(__file__).parents[2] / "docs" / "states.md").read_text()
PART = PAGE.split("### What would differ")[1].split("\n## ")[0]
BASE, DEV = re.findall(r"```yaml\n(.*?)```", PART, re.DOTALL)
((COMMAND, SHOWN),) = re.findall(r"```console\n# ([^\n]+)\n(.*?)```", PART, re.DOTALL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    roots = tmp_path_factory.mktemp("srv")
    for env, text in {"base": BASE, "dev": DEV}.items():
        (roots / env).mkdir()
        (roots / env / "web.sls").write_text(text)
        (roots / env / "top.sls").write_text(f"{env}:\n  'web*':\n    - web\n")
    (roots / "base" / "more.sls").write_text(
        "{% if grains.id == 'web2' %}\nmore:\n  test.nop: []\n{% endif %}\nsame:\n  test.nop: []\n"
    )
    envs = {env: [str(roots / env)] for env in ("base", "dev")}
    with running(
        minions=dict.fromkeys(["web1", "web2"], "saltlite"), master_options={"file_roots": envs}
    ) as started:
        yield started


def test_the_example(cluster: Cluster) -> None:
    program, *args = COMMAND.split()
    assert program == "salt"
    ran = cluster.salt(*args)
    assert ran.stdout == SHOWN
    assert ran.exit_code == 0


def test_two_minions(cluster: Cluster) -> None:
    ran = cluster.salt_run("state.diff", "web1", "web2", "mods=more", "--out=json")
    assert ran.json == {
        "added": {"test_|-more_|-more_|-nop": {"sls": "more"}},
        "removed": {},
        "changed": {},
        "moved": {},
    }
    same = cluster.salt_run("state.diff", "web1", "web2", "saltenv=dev", "--out=json")
    assert not any(same.json.values())


def test_mistakes_are_one_line(cluster: Cluster) -> None:
    ran = cluster.salt("web1", "state.diff", "base", "prod")
    assert "environment: 'prod' is none of base, dev" in ran.stdout
    assert ran.exit_code != 0
    ran = cluster.salt_run("state.diff", "web1", "web9")
    assert "minion: 'web9' has no accepted key" in ran.stdout + ran.stderr
    assert ran.exit_code != 0


def test_two_branches(tmp_path: Path) -> None:
    """The same example, each environment a branch of a repository."""
    need("git")
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "master", ".")
    commit(work, "web.sls", BASE, "base")
    git(work, "checkout", "-q", "-b", "dev")
    commit(work, "web.sls", DEV, "dev")
    # The highstate of either is what the other environment's is.
    for branch, env in (("master", "base"), ("dev", "dev")):
        git(work, "checkout", "-q", branch)
        commit(work, "top.sls", f"{env}:\n  'web*':\n    - web\n", "top")
    options = {"fileserver_backend": ["gitfs"], "gitfs_remotes": [f"file://{work}"]}
    with running(minions={"web1": "saltlite"}, master_options=options) as cluster:
        assert cluster.salt_run("fileserver.update", "--out=json").json is True
        ran = cluster.salt(*COMMAND.split()[1:])
    assert (ran.stdout, ran.exit_code) == (SHOWN, 0)
