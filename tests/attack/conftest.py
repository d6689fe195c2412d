"""One master for all attacks: a victim that has to be as well at the end as it was at first."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from attacks import LIMITED, PEER, WEB_ONLY, Stranger, Victim, clear
from cluster import Cluster, eventually
from rogue import Rogue
from saltlite.transport.addresses import MasterSockets

WORKERS = 2


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A running master without minions that has something worth stealing in its roots."""
    options = {
        "worker_threads": WORKERS,
        "fileserver_followsymlinks": False,
        "publisher_acl": {LIMITED: ["test.ping"], WEB_ONLY: [{"web*": ["test.*"]}]},
        "peer": {PEER: ["test.ping"]},
        "peer_run": {PEER: [r"match\..*", r"mine\.get", r"cache\.mine", r"manage\.status"]},
    }
    with Cluster(minions=0, master_options=options, auto_accept=False) as one:
        roots = one.root / "master"
        for name in ("srv", "pillar"):
            (roots / name).mkdir(parents=True)
        (roots / "srv" / "open.txt").write_text("for everybody")
        (roots / "pillar" / "top.sls").write_text("base:\n  b: [secret]\n")
        (roots / "pillar" / "secret.sls").write_text("secret: s3cr3t\n")
        (roots / "outside.txt").write_text("TOP-SECRET-OUTSIDE")
        (roots / "srv" / "way-out").symlink_to(roots / "outside.txt")
        (roots / "srv" / "up").symlink_to(roots)
        (roots / "srv" / "a-dir").mkdir()
        os.mkfifo(roots / "srv" / "fifo")
        one.start_master()
        stranger = Stranger(one.ret_port)
        eventually(lambda: stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"}, what="ping")
        eventually(MasterSockets(one.sock_dir).event_pub.exists, what="the event bus")
        stranger.close()
        yield one


@pytest.fixture(scope="session")
def victim(cluster: Cluster) -> Iterator[Victim]:
    one = Victim.of(cluster, WORKERS)
    yield one
    one.stranger.close()


@pytest.fixture(scope="session")
def stranger(victim: Victim) -> Stranger:
    return victim.stranger


@pytest.fixture(scope="session")
def rogue(cluster: Cluster, stranger: Stranger) -> Rogue:
    """Accepted as ``a``; means harm."""
    return _accepted(cluster, stranger, "a")


@pytest.fixture(scope="session")
def bystander(cluster: Cluster, stranger: Stranger) -> Rogue:
    """Accepted as ``b``; means well."""
    return _accepted(cluster, stranger, "b")


@pytest.fixture(scope="session")
def peer(cluster: Cluster, stranger: Stranger) -> Rogue:
    """Accepted, and may publish ``test.ping``."""
    return _accepted(cluster, stranger, PEER)


@pytest.fixture(scope="session")
def crowd(cluster: Cluster, stranger: Stranger) -> list[Rogue]:
    """Several minions that conspire; one key serves them all."""
    first = _accepted(cluster, stranger, "c0")
    others = [Rogue(cluster, stranger, f"c{number}", first.key).accept() for number in range(1, 8)]
    for one in others:
        one.authenticate()
    return [first, *others]


def _accepted(cluster: Cluster, stranger: Stranger, minion_id: str) -> Rogue:
    one = Rogue(cluster, stranger, minion_id).accept()
    one.authenticate()
    return one


@pytest.fixture(scope="session")
def root_key(cluster: Cluster) -> str:
    return (cluster.cache_dir / ".root_key").read_text()
