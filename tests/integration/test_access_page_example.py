"""The steps of docs/access.md, done by an ordinary user, print what the page says."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from cluster import OURS, Cluster, bin_dir

STEPS = (Path(__file__).parents[2] / "docs" / "access.md").read_text().partition("## Step by")[2]
BLOCK = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", STEPS, re.DOTALL)[0])
ROOT, USER = re.findall(r"```\n([#$].*?)```", STEPS, re.DOTALL)
COMMANDS = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", USER, re.MULTILINE)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root and setpriv, to be somebody else",
)


@pytest.fixture
def run_as_user() -> Iterator[Callable[[str], str]]:
    with Cluster(minions=1) as one:
        users = one.root / "users"
        users.write_text(re.findall(r"echo '(.*)' >", ROOT)[0] + "\n")
        users.chmod(0o600)
        BLOCK["external_auth"]["file"]["^filename"] = str(users)
        one.reconfigure(one.master_dir / "master", **BLOCK)
        one.start()
        home = one.root / "home"
        home.mkdir()
        account = pwd.getpwnam("nobody")
        os.chown(home, account.pw_uid, account.pw_gid)
        for path in (one.root, one.root / "master", one.master_dir):
            path.chmod(0o755)

        def run(line: str) -> str:
            program, *words = shlex.split(line)
            be = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}"]
            done = subprocess.run(
                [*be, "--clear-groups", "--", str(bin_dir(OURS) / program), "-c",
                 str(one.master_dir), *words],
                capture_output=True, text=True, timeout=60, cwd="/", stdin=subprocess.DEVNULL,
                env={**one._environment(), "HOME": str(home)},
            )  # fmt: skip
            return done.stdout

        if "salt" not in run("salt --version"):
            pytest.skip("other users cannot reach this Python")
        yield run


def test_the_steps(run_as_user: Callable[[str], str]) -> None:
    assert len(COMMANDS) == 6
    found = [(line, run_as_user(line)) for line, _expected in COMMANDS]
    assert found == COMMANDS
