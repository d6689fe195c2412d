"""A master that takes files from minions and has many of its own, and a minion that means harm.

Source: docs/security.md#ids-jids-and-paths (CVE-2024-38824, CVE-2024-22232), #limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from attacks import NO_REPLY, Stranger, Victim, clear, unharmed
from cluster import Cluster, eventually
from rogue import BAD_LOAD, Rogue, Sealed
from saltlite.transport.addresses import MasterSockets

WORKERS = 2
FOLDERS, EACH = 100, 100


@pytest.fixture(scope="module")
def pushed_at() -> Iterator[Victim]:
    options = {"worker_threads": WORKERS, "file_recv": True, "file_recv_max_size": 1}
    with Cluster(minions=0, master_options=options, auto_accept=False) as one:
        srv = one.root / "master/srv"
        for folder in range(FOLDERS):
            (srv / f"d{folder:03}").mkdir(parents=True)
            for number in range(EACH):
                (srv / f"d{folder:03}/{number:03}").touch()
        one.start_master()
        victim = Victim.of(one, WORKERS)
        eventually(lambda: victim.stranger.send(clear({"cmd": "ping"})) != NO_REPLY, what="ping")
        eventually(MasterSockets(one.sock_dir).event_pub.exists, what="the event bus")
        yield victim
        victim.stranger.close()


@pytest.fixture(scope="module")
def pusher(pushed_at: Victim) -> Rogue:
    rogue = Rogue(pushed_at.cluster, Stranger(pushed_at.cluster.ret_port), "a").accept()
    rogue.authenticate()
    return rogue


def load(**fields: Any) -> dict[str, Any]:
    return {"cmd": "_file_recv", "path": ["x"], "loc": 0, "data": b"x", "size": 1, **fields}


def test_an_honest_push(pushed_at: Victim, pusher: Rogue) -> None:
    kept = pushed_at.cluster.cache_dir / "minions/a/files/etc/motd"
    with unharmed(pushed_at, written="/cache/minions"):
        assert pusher.send(load(path=["etc", "motd"], data=b"\xff" * 1000)) == Sealed(True)
        assert pusher.send(load(path=["etc", "motd"], data="ü", loc=1000)) == Sealed(True)
    assert kept.read_bytes() == b"\xff" * 1000 + "ü".encode()


HOSTILE: list[dict[str, Any]] = [
    {"path": path}
    for path in (
        ["..", "..", "jobs", "x"], ["../x"], ["a", "/etc/x"], ["a\0"], "str", [], [["a"]], ["."],
        [""], None, 5, {}, ["x" * 300], ["a"] * 100, ["a/b"], ["a\\b"], [b"\xff\xfe/x"],
    )
] + [
    {"loc": loc} for loc in (-1, 10**12, 2**63, "0", 1.5, True, None, [], 7)
] + [
    {"data": data} for data in (None, 5, ["x"], {}, b"x" * (1024 * 1024 + 1))
]  # fmt: skip


def test_no_piece_lands_anywhere_else(pushed_at: Victim, pusher: Rogue) -> None:
    with unharmed(pushed_at):
        replies = pusher.send_many([pusher.make(load(**fields)) for fields in HOSTILE])
    assert replies == [Sealed(False)] * len(HOSTILE)


def test_nobody_pushes_for_another(pushed_at: Victim, pusher: Rogue) -> None:
    with unharmed(pushed_at):
        assert pusher.send(load(id="b")) == BAD_LOAD
        assert pushed_at.stranger.send(clear(load(id="a"))) == {}


def test_links_that_were_planted_are_not_followed(pushed_at: Victim, pusher: Rogue) -> None:
    cache = pushed_at.cluster.cache_dir
    top = cache / "minions/a/files"
    top.mkdir(parents=True, exist_ok=True)
    (top / "out").symlink_to(cache)
    (top / "key").symlink_to(cache / ".root_key")
    with unharmed(pushed_at):
        for path in (["out", "x"], ["key"]):
            assert pusher.send(load(path=path)) == Sealed(False)


def test_long_lists_cost_little(pushed_at: Victim, pusher: Rogue) -> None:
    wish = {"cmd": "_file_list", "saltenv": "base", "prefix": ""}
    with unharmed(pushed_at):
        replies = [pusher.send(wish) for _ in range(WORKERS + 1)]
    assert all(len(reply.value) == FOLDERS * EACH for reply in replies)
    with unharmed(pushed_at, cpu_s=2.0):
        assert pusher.send(dict(wish, prefix="d099/09")).value == [
            f"d099/09{number}" for number in range(10)
        ]
