"""Who is let in, who waits and who is turned away. Source: docs/wire.md#which-key-is-let-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster import Cluster, eventually


@pytest.fixture
def closed() -> Iterator[Cluster]:
    """A master that accepts nobody by itself; nothing is started yet."""
    with Cluster(minions=0, auto_accept=False, master_options={"worker_threads": 2}) as cluster:
        yield cluster


def start(cluster: Cluster, minion_id: str, **options: Any) -> None:
    cluster.add_minion(minion_id, **options).start()


def in_state(cluster: Cluster, folder: str, minion_id: str) -> Path:
    path = cluster.pki_dir / folder / minion_id
    eventually(path.exists, what=f"{minion_id} is in {folder}")
    return path


def test_a_key_waits_until_it_is_accepted(closed: Cluster) -> None:
    closed.start_master()
    start(closed, "web1")
    in_state(closed, "minions_pre", "web1")
    listed = closed.salt_key("-L")
    assert listed.stdout == (
        "Accepted Keys:\nDenied Keys:\nUnaccepted Keys:\nweb1\nRejected Keys:\n"
    )
    accepted = closed.salt_key("-a", "web1", stdin="y\n")
    assert accepted.stdout == (
        "The following keys are going to be accepted:\nUnaccepted Keys:\nweb1\n"
        "Proceed? [n/Y] Key for minion web1 accepted.\n"
    )
    closed.wait_for_ping("web1")


def test_a_rejected_minion_ends_with_77(closed: Cluster) -> None:
    closed.start_master()
    start(closed, "web1", acceptance_wait_time=1)
    in_state(closed, "minions_pre", "web1")
    closed.salt_key("-y", "-r", "web1")
    process = closed.minions["web1"].process
    assert process is not None
    assert process.wait(45) == 77


def test_rejected_retry_keeps_asking(closed: Cluster) -> None:
    closed.start_master()
    start(closed, "web1", acceptance_wait_time=1, rejected_retry=True)
    in_state(closed, "minions_pre", "web1")
    closed.salt_key("-y", "-r", "web1")
    eventually(lambda: "rejected" in closed.minions["web1"].log(), what="the refusal was heard")
    closed.salt_key("-y", "-a", "web1", "--include-rejected")
    closed.wait_for_ping("web1")


def test_another_key_for_a_known_id_is_denied(closed: Cluster) -> None:
    closed.start_master()
    start(closed, "web1")
    in_state(closed, "minions_pre", "web1")
    closed.salt_key("-y", "-a", "web1")
    closed.wait_for_ping("web1")
    known = (closed.pki_dir / "minions" / "web1").read_bytes()
    closed.minions["web1"].stop()
    for name in ("minion.pem", "minion.pub"):
        (closed.root / "web1" / "pki" / name).unlink()
    closed.minions["web1"].start()
    in_state(closed, "minions_denied", "web1")
    assert (closed.pki_dir / "minions" / "web1").read_bytes() == known


def test_ids_in_autosign_file_are_let_in_and_in_autoreject_file_turned_away(
    closed: Cluster,
) -> None:
    base = closed.root / "master"  # root_dir: paths outside it would be moved below it
    autosign, autoreject = base / "autosign", base / "autoreject"
    autosign.write_text("# ours\nweb*\n")
    autoreject.write_text("web9\n")
    closed.reconfigure(
        closed.master_dir / "master", autosign_file=str(autosign), autoreject_file=str(autoreject)
    )
    closed.start_master()
    for minion_id in ("web1", "web9", "db1"):
        start(closed, minion_id)
    in_state(closed, "minions", "web1")
    in_state(closed, "minions_rejected", "web9")
    in_state(closed, "minions_pre", "db1")


def test_a_grain_can_vouch(closed: Cluster) -> None:
    grains_dir = closed.root / "autosign_grains"
    grains_dir.mkdir()
    (grains_dir / "rack").write_text("r7\n")
    closed.reconfigure(closed.master_dir / "master", autosign_grains_dir=str(grains_dir))
    closed.start_master()
    start(closed, "right", autosign_grains=["rack"], grains={"rack": "r7"})
    start(closed, "wrong", autosign_grains=["rack"], grains={"rack": "r8"})
    in_state(closed, "minions", "right")
    in_state(closed, "minions_pre", "wrong")


def test_a_full_master_takes_no_more(closed: Cluster) -> None:
    closed.reconfigure(closed.master_dir / "master", max_minions=1, auto_accept=True)
    closed.start_master()
    start(closed, "first")
    closed.wait_for_ping("first")
    start(closed, "second")
    second = closed.minions["second"]
    eventually(lambda: "as many minions as it may" in second.log(), what="it hears why")
    assert not (closed.pki_dir / "minions" / "second").exists()


def test_deleting_a_key_forgets_the_minion(closed: Cluster) -> None:
    closed.start_master()
    start(closed, "web1")
    in_state(closed, "minions_pre", "web1")
    closed.salt_key("-y", "-a", "web1")
    closed.wait_for_ping("web1")
    eventually((closed.cache_dir / "grains" / "web1.p").exists, what="grains are cached")
    deleted = closed.salt_key("-y", "-d", "web1")
    assert "Key for minion web1 deleted." in deleted.stdout
    assert not (closed.cache_dir / "grains" / "web1.p").exists()
    assert not (closed.cache_dir / "sessions" / "web1").exists()


def test_fingerprints_agree_on_both_sides(closed: Cluster) -> None:
    closed.start_master()
    start(closed, "web1")
    in_state(closed, "minions_pre", "web1")
    shown = closed.salt_key("-f", "web1").stdout.splitlines()
    assert shown[0] == "Unaccepted Keys:"
    finger = shown[1].split()[-1]
    everything = closed.salt_key("-F").stdout
    assert everything.startswith("Local Keys:\nmaster.pem:  ")
    assert finger in everything
