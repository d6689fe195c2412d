"""What local users without rights, and those that ``publisher_acl`` names, get from the commands.

As real other users, so as root only.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import OURS, Cluster, Ran, bin_dir

STRANGER, NAMED = "nobody", "daemon"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root and setpriv, to be somebody else",
)


@pytest.fixture(scope="module")
def fleet() -> Iterator[Cluster]:
    """A fresh installation, with no directory but the configuration's."""
    with Cluster(minions=1, master_options={"publisher_acl": {NAMED: ["test.*"]}}) as one:
        for path in (one.root, one.root / "master", one.root / "m1"):
            path.chmod(0o755)
        below = one.root / "master" / "not" / "there"
        deep = {name: str(below / name) for name in ("cachedir", "sock_dir")}
        one.reconfigure(one.master_dir / "master", **deep)
        if run_as(STRANGER, one, "salt", "--version").exit_code:
            pytest.skip("other users cannot reach this Python")
        yield start(one)


def start(one: Cluster) -> Cluster:
    one.start_master()
    one.minions["m1"].start()
    one.wait_for_ping("m1")
    return one


def run_as(user: str, cluster: Cluster, program: str, *words: str) -> Ran:
    account = pwd.getpwnam(user)
    config = cluster.minion_dir("m1") if program == "salt-call" else cluster.master_dir
    be = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    done = subprocess.run(
        [*be, "--", str(bin_dir(OURS) / program), "-c", str(config), *words],
        capture_output=True, text=True, timeout=60, cwd="/", stdin=subprocess.DEVNULL,
        env={**cluster._environment(), "HOME": "/nonexistent"},
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr)


def directory(cluster: Cluster, name: str) -> Path:
    options: dict[str, Any] = yaml.safe_load((cluster.master_dir / "master").read_text())
    return Path(options[name])


COMMANDS: list[tuple[str, list[str], str, str]] = [
    ("salt", ["m1", "test.ping"], "cachedir", "publisher_acl names: use sudo, or name nobody in"),
    ("salt", ["--async", "m1", "test.ping"], "cachedir", "publisher_acl names: use sudo, or"),
    ("salt-cp", ["m1", "/etc/hostname", "/tmp/x"], "cachedir", "publisher_acl names: use sudo"),
    ("salt-key", ["-L"], "pki_dir", "root and the master's user: use sudo"),
    ("salt-key", ["-a", "m1", "-y"], "pki_dir", "root and the master's user: use sudo"),
    ("salt-run", ["jobs.list_jobs"], "pki_dir", "root and the master's user: use sudo"),
    ("salt-run", ["test.arg"], "pki_dir", "root and the master's user: use sudo"),
]


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: " ".join([row[0], *row[1]]))
def test_without_permission_there_is_one_line(fleet: Cluster, row: Any) -> None:
    """Which file, who may, and what to do."""
    program, words, where, advice = row
    ran = run_as(STRANGER, fleet, program, *words)
    assert ran.exit_code == 1
    assert ran.stdout == ""
    lines = ran.stderr.splitlines()
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith(f"{program}: no permission to use {directory(fleet, where)}")
    assert advice in lines[0]


@pytest.mark.parametrize("program", ["salt-key", "salt-run"])
def test_who_may_publish_may_not_have_the_masters_files(fleet: Cluster, program: str) -> None:
    ran = run_as(NAMED, fleet, program, *(["-L"] if program == "salt-key" else ["jobs.active"]))
    assert ran.exit_code == 1
    assert len(ran.stderr.splitlines()) == 1
    assert "no permission" in ran.stderr


def test_salt_call_without_permission(fleet: Cluster) -> None:
    ran = run_as(STRANGER, fleet, "salt-call", "test.ping")
    assert ran.exit_code == 1
    lines = ran.stderr.splitlines()
    assert "salt-call: no permission to use" in lines[-1]
    assert "Traceback" not in ran.stderr
    assert "use sudo, or --local" in lines[-1]
    assert run_as(STRANGER, fleet, "salt-call", "--local", "test.ping").exit_code == 0


def test_the_named_user_publishes_on_a_fresh_installation(fleet: Cluster) -> None:
    assert run_as(NAMED, fleet, "salt", "m1", "test.ping", "--out=json").json == {"m1": True}
    assert run_as(NAMED, fleet, "salt", "--async", "m1", "test.ping").exit_code == 0
    both = run_as(NAMED, fleet, "salt", "-b", "1", "m1", "test.ping", "--out=json")
    assert "m1" in both.stdout
    refused = run_as(NAMED, fleet, "salt", "m1", "cmd.run", "id")
    assert "Authorization error" in refused.stdout
    smuggled = run_as(NAMED, fleet, "salt", "--return", "rawfile_json", "m1", "test.ping")
    assert "ret needs the right" in smuggled.stdout + smuggled.stderr
    silent = run_as(NAMED, fleet, "salt", "-t", "1", "-L", "m1,not-there", "test.ping")
    assert "Traceback" not in silent.stderr


def test_a_key_that_was_taken_away_is_a_matter_of_permission(fleet: Cluster) -> None:
    key = directory(fleet, "cachedir") / f".{NAMED}_key"
    os.chown(key, 0, 0)
    try:
        ran = run_as(NAMED, fleet, "salt", "--async", "m1", "test.ping")
    finally:
        os.chown(key, pwd.getpwnam(NAMED).pw_uid, 0)
    assert ran.exit_code == 1
    assert ran.stderr.startswith(f"salt: no permission to use {key}")
