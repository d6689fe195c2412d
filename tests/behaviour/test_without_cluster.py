"""Who has no ``cluster_id`` pays nothing for clusters: neither they nor psycopg are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

USES = """
import sys, time
from pathlib import Path
from saltlite.cli.stores import open_stores
from saltlite.config.load import load_master
from saltlite.master.daemon import Master
config = load_master(sys.argv[1], environ={})
master = Master(config, execute=None, make_renderer=None, engine_context=None)
master._make_dirs()
shared = master._prepare_shared()
master._child_specs(shared)
stores = open_stores(config)
stores.keys.ids, stores.sessions, stores.facts, stores.banks, stores.presence
shared.stores().chores.are_ours()
jobs = shared.job_store()
jobs.new_job("20260102030405000001", {"fun": "test.ping"}, ["m1"])
print(sorted(one for one in sys.modules if one.startswith(("saltlite.cluster", "psycopg"))))
"""


def run(tmp_path: Path, more: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nsock_dir: {tmp_path}/s\n{more}")
    argv = [sys.executable, "-c", USES, str(tmp_path)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def test_nothing_of_it_is_imported(tmp_path: Path) -> None:
    done = run(tmp_path, "")
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_with_a_cluster_it_is(tmp_path: Path) -> None:
    """The look itself works: this one stops because there is no key of a cluster."""
    done = run(tmp_path, "cluster_id: c\ncluster_dsn: host=/nonexistent\n")
    assert done.returncode != 0
    assert "salt-run cluster.join shows how it gets here" in done.stderr


@pytest.mark.parametrize("option", ["cluster_peers: [a]", "cluster_secret: x"])
def test_options_of_salts_own_cluster_need_nothing_either(tmp_path: Path, option: str) -> None:
    assert run(tmp_path, option + "\n").stdout == "[]\n"
