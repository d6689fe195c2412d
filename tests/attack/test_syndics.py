"""A master with syndics, one of them taken over, and a minion that would like to be one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from attacks import LIMITED, REPLY_S, Stranger, clear
from cluster import Cluster, eventually
from rogue import Rogue, Sealed
from saltlite.master.acl import key_path, process_user
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber


class Above:
    """The upper master, and who speaks to it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.stranger = Stranger(cluster.ret_port)
        self.syndic, self.minion, self.other = (
            Rogue(cluster, self.stranger, name).accept() for name in ("syn1", "m", "web1")
        )
        for one in (self.syndic, self.minion, self.other):
            one.authenticate()

    def publish(self, user: str = process_user(), **load: Any) -> Any:
        key = key_path(self.cluster.cache_dir, user).read_text()
        whole = {"cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [], "tgt_type": "glob",
                 "ret": "", "jid": "", "user": user, "key": key, **load}  # fmt: skip
        return self.stranger.send(clear(whole), within_s=10 * REPLY_S)

    def returned(self, jid: str) -> Any:
        return self.cluster.salt_run("jobs.lookup_jid", jid, "--out=json").json


@pytest.fixture(scope="module")
def above() -> Iterator[Above]:
    options = {
        "worker_threads": 2,
        "order_masters": True,
        "syndics": ["syn*"],
        "publisher_acl": {LIMITED: ["test.ping"]},
    }
    with Cluster(minions=0, master_options=options) as cluster:
        cluster.start_master()
        one = Above(cluster)
        eventually(lambda: one.stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"})
        yield one
        one.stranger.close()


def part(jid: Any, minion: Any, value: object = "forged") -> dict[str, Any]:
    return {"id": "syn1", "jid": jid, "fun": "test.ping", "load": {},
            "return": {minion: {"return": value, "retcode": 0, "success": True}}}  # fmt: skip


def send(rogue: Rogue, *parts: dict[str, Any]) -> Any:
    return rogue.send({"cmd": "_syndic_return", "load": list(parts)})


def test_a_minion_that_claims_to_be_a_syndic(above: Above) -> None:
    jid = above.publish()["load"]["jid"]
    claimed = part(jid, "m1") | {"id": "syn1"}
    assert send(above.minion, claimed) == Sealed({})
    marker = above.cluster.cache_dir / "syndics" / "m"
    assert not marker.exists()
    refused = above.minion.send(
        {"cmd": "_minion_event", "events": [{"tag": "x", "data": {}}], "pretag": "syndic/m"}
    )
    assert refused == Sealed({"refused": "pretag from a minion that is no syndic"})
    assert above.returned(jid) in ({}, None)


def test_a_syndic_does_not_speak_for_minions_of_this_master(above: Above) -> None:
    jid = above.publish()["load"]["jid"]
    assert send(above.syndic, part(jid, "web1"), part(jid, "m1")) == Sealed(None)
    assert above.returned(jid) == {"m1": "forged"}
    with EventSubscriber(MasterSockets(above.cluster.sock_dir).event_pub) as bus:
        assert bus.connect_confirmed(10)
        tags = ("salt/minion/web1/start", "salt/auth", "salt/key", "salt/run/x/ret", jid, "last")
        events = [{"tag": tag, "data": {"id": "web1", "minions": ["web1"]}} for tag in tags]
        above.syndic.send({"cmd": "_minion_event", "events": events, "pretag": "syndic/syn1"})
        heard = []
        while not heard or heard[-1][0] != "last":
            event = bus.get(5)
            assert event is not None, heard
            heard.append((event.tag, event.data.get("id")))
    assert [tag for tag, _ in heard if not tag.startswith("syndic/syn1/")] == ["last"]
    assert heard[-1][1] == "syn1"


@pytest.mark.parametrize("jid", ["../../x", "x" * 300, None, 5, {}, "20240101000000000000/../x"])
@pytest.mark.parametrize("minion", ["../../x", "", "x" * 300, 5, None])
def test_names_are_no_paths(above: Above, jid: Any, minion: Any) -> None:
    """CVE-2024-22231."""
    before = {one for one in above.cluster.root.rglob("*") if "sqlite" not in one.name}
    reply = send(above.syndic, part(jid, minion))
    assert reply in (Sealed({}), Sealed(None)), reply
    after = {one for one in above.cluster.root.rglob("*") if "sqlite" not in one.name}
    assert after - before == set()


def test_what_is_large_is_refused_and_the_next_is_served(above: Above) -> None:
    jid = above.publish()["load"]["jid"]
    many = part(jid, "m1")
    many["return"] = {f"n{number}": {"return": 1} for number in range(20_001)}
    large = part("20240101000000000001", "m1") | {
        "load": {"fun": "test.ping", "tgt": "*", "arg": ["x" * 2_000_000]}
    }
    for one in (many, large):
        reply = above.syndic.send({"cmd": "_syndic_return", "load": [one]}, within_s=20)
        assert reply in (Sealed({}), Sealed(None))
    assert above.returned(jid) in ({}, None)
    assert send(above.syndic, part(jid, "m1", "fine")) == Sealed(None)
    assert above.returned(jid) == {"m1": "fine"}


@pytest.mark.parametrize(
    "more",
    [
        {"jid": "20260102030405000006"},
        {"kwargs": {"auth_list": []}},
        {"jid": "20260102030405000006", "kwargs": {"auth_list": [], "user": "root"}},
        {"kwargs": {"master_id": "x"}},
        {"kwargs": {"from_master": "x", "user": "root"}},
    ],
)
def test_a_limited_user_is_no_syndic(above: Above, more: dict[str, Any]) -> None:
    assert above.publish(LIMITED, **more)["error"]["name"] == "AuthorizationError"


def test_a_limited_user_reaches_nobody_below_whom_nobody_here_stands_for(above: Above) -> None:
    """CVE-2022-22941."""
    reply = above.publish(LIMITED, tgt="nobody-here*")
    assert reply["load"]["jid"] is None
