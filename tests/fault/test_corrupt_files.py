"""Files are empty, cut, random or of the wrong type when a daemon starts.

What is in a cache counts as absent; a key is never overwritten. Source:
docs/reliability.md#disk-and-power.
"""

from __future__ import annotations

import contextlib
import random
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgpack
import pytest
from faultlab import Lab

from cluster import Cluster, eventually, running

SEED = 20261120
WRONG_TYPE = bytes(msgpack.packb({"not": [1, {"what": "was expected"}]}))
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "random": lambda whole: random.Random(SEED).randbytes(max(16, len(whole))),
    "wrong type": lambda _whole: WRONG_TYPE,
}


def damage(path: Path, kind: str) -> bytes:
    """Damage a file in place, whatever its mode; what is in it now."""
    data = DAMAGES[kind](path.read_bytes())
    overwrite(path, data)
    return data


def overwrite(path: Path, data: bytes) -> None:
    """Write into a file in place; its mode stays, and counts for nobody."""
    mode = path.stat().st_mode & 0o7777
    path.chmod(mode | 0o200)  # only root may write to what nobody may write to
    path.write_bytes(data)
    path.chmod(mode)


def files_below(*directories: Path) -> list[Path]:
    """Regular files, in order."""
    found = []
    for directory in directories:
        for path in sorted(directory.rglob("*")):
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISREG(path.lstat().st_mode):
                    found.append(path)
    return found


# --- caches ------------------------------------------------------------------------------


@pytest.fixture
def used() -> Iterator[Cluster]:
    """A cluster that has run a job."""
    with running(minions=1, master_options={"worker_threads": 1}) as cluster:
        cluster.salt("m1", "test.ping")
        yield cluster


def leave_traces(cluster: Cluster) -> list[Path]:
    """Stop the master, kill the minion while a job runs; the files of their caches."""
    lab = Lab(cluster)
    lab.publish()
    lab.publish(sleep_s=0.3)
    eventually(lambda: len(lab.started("m1")) >= 1, what="the jobs run")
    lab.close()
    cluster.master.stop()
    cluster.minions["m1"].kill()
    return files_below(cluster.cache_dir, cluster.root / "m1" / "cache")


def start_and_answer(cluster: Cluster) -> None:
    cluster.start_master()
    cluster.minions["m1"].start()
    lab = Lab(cluster)
    lab.wait_for_all()
    lab.publish()
    lab.check(within_s=10)
    lab.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGES)
def test_both_start_with_every_file_of_their_caches_damaged(used: Cluster, kind: str) -> None:
    paths = leave_traces(used)
    assert len(paths) > 8, paths
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # a job that outlived its minion has ended
            damage(path, kind)
    start_and_answer(used)


@pytest.mark.slow
def test_both_start_with_any_one_file_of_their_caches_damaged(used: Cluster) -> None:
    """One file of the master and one of the minion at a time, each with another damage."""
    done: set[str] = set()
    kinds = list(DAMAGES)
    while True:
        left: dict[bool, Path] = {}
        for path in leave_traces(used):
            if kind_of(path) not in done:
                left[used.cache_dir in path.parents] = path
        if not left:
            return
        for path in left.values():
            with contextlib.suppress(FileNotFoundError):
                damage(path, kinds[len(done) % len(kinds)])
                done.add(kind_of(path))
        start_and_answer(used)


def kind_of(path: Path) -> str:
    """Files that differ in a job id or a process id only are of one kind."""
    return str(path.parent) + "".join(c for c in path.name if not c.isdigit())


# --- keys --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def keyed() -> Iterator[Cluster]:
    with running(
        minions=2, master_options={"worker_threads": 1, "gather_job_timeout": 1}
    ) as cluster:
        yield cluster


@pytest.fixture
def stopped(keyed: Cluster) -> Iterator[Cluster]:
    """Nobody runs; afterwards all keys are again what they were, and everybody runs."""
    for daemon in (*keyed.minions.values(), keyed.master):
        daemon.stop()
    directories = [keyed.pki_dir, *(keyed.root / one / "pki" for one in keyed.minions)]
    whole = {path: path.read_bytes() for path in files_below(*directories)}
    yield keyed
    for daemon in (*keyed.minions.values(), keyed.master):
        daemon.stop()
    for path, data in whole.items():
        overwrite(path, data)


def start_all(cluster: Cluster) -> None:
    cluster.start_master()
    for minion in cluster.minions.values():
        minion.start()


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_master_key_ends_the_start_and_is_kept(stopped: Cluster, kind: str) -> None:
    path = stopped.pki_dir / "master.pem"
    left = damage(path, kind)
    ran = stopped.command("salt-master")
    assert ran.exit_code != 0
    assert len(ran.stderr.strip().splitlines()) == 1, ran.stderr
    assert str(path) in ran.stderr
    assert path.read_bytes() == left


@pytest.mark.parametrize("name", ["minion.pem", "minion_master.pub"])
@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_key_of_the_minion_ends_the_start_and_is_kept(
    stopped: Cluster, name: str, kind: str
) -> None:
    path = stopped.root / "m1" / "pki" / name
    left = damage(path, kind)
    ran = stopped.command("salt-minion", config_dir=stopped.minion_dir("m1"), timeout_s=20)
    assert ran.exit_code != 0
    assert [line for line in ran.stderr.splitlines() if str(path) in line], ran.stderr
    assert "Traceback" not in ran.stderr
    assert path.read_bytes() == left


@pytest.mark.parametrize("kind", DAMAGES)
def test_public_copies_do_not_matter(stopped: Cluster, kind: str) -> None:
    damage(stopped.pki_dir / "master.pub", kind)
    damage(stopped.root / "m1" / "pki" / "minion.pub", kind)
    start_all(stopped)
    lab = Lab(stopped)
    lab.wait_for_all()
    lab.close()


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_minion_key_on_the_master_shuts_out_that_minion_only(
    stopped: Cluster, kind: str
) -> None:
    path = stopped.pki_dir / "minions" / "m1"
    left = damage(path, kind)
    start_all(stopped)
    stopped.wait_for_ping("m2")
    ran = stopped.salt("*", "test.ping", "--out=json", "--static", "-t", "1")
    assert '"m2": true' in ran.stdout
    assert '"m1": true' not in ran.stdout
    assert path.read_bytes() == left
