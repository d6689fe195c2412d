"""A job over HTTP on minions of which one is dead: the answer comes when the live ones have it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from api import RECORDED_AUTH, ApiCluster

from cluster import eventually
from saltlite.master.presence import connections_to

GIVEN_UP_S = 30.0
"""What the options give a silent minion: ``timeout`` and ``gather_job_timeout``."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    options = {"external_auth": RECORDED_AUTH, "timeout": 15, "gather_job_timeout": 15}
    with ApiCluster(minions=3, master_options=options) as cluster:
        cluster.start()
        cluster.minions["m3"].kill()
        eventually(lambda: len(connections_to(cluster.publish_port) or ()) == 2)
        yield cluster


def timed(cluster: ApiCluster, **chunk: object) -> tuple[object, float]:
    session = cluster.client.log_in("anna")
    started = time.monotonic()
    reply = cluster.client.run(session, {"client": "local", **chunk})
    return reply.body["return"][0], time.monotonic() - started


def test_nobody_waits_for_the_dead(cluster: ApiCluster) -> None:
    found, took_s = timed(cluster, tgt="*", fun="test.ping")
    assert found == {"m1": True, "m2": True, "m3": False}
    assert took_s < GIVEN_UP_S / 2


def test_the_live_are_waited_for(cluster: ApiCluster) -> None:
    found, took_s = timed(cluster, tgt="*", fun="test.sleep", arg=[3])
    assert found == {"m1": True, "m2": True, "m3": False}
    assert 3 <= took_s < GIVEN_UP_S / 2


@pytest.mark.parametrize(
    ("fun", "found"),
    [
        ("manage.status", {"up": ["m1", "m2"], "down": ["m3"]}),
        ("manage.up", ["m1", "m2"]),
        ("manage.down", ["m3"]),
    ],
)
def test_runners_do_not_wait_for_the_dead(cluster: ApiCluster, fun: str, found: object) -> None:
    shown, took_s = timed(cluster, client="runner", fun=fun)
    assert shown == found
    assert took_s < GIVEN_UP_S / 2


def test_the_command_line_does_not_wait_either(cluster: ApiCluster) -> None:
    started = time.monotonic()
    ran = cluster.command("salt-run", "manage.versions", "--out=json")
    assert time.monotonic() - started < GIVEN_UP_S / 2
    assert ran.json["Minion offline"] == {"m3": False}
    assert sorted(ran.json["Up to date"]) == ["m1", "m2"]


def test_the_dead_alone(cluster: ApiCluster) -> None:
    """Others are connected and not asked, so it cannot be known: as ``salt`` does it."""
    found, took_s = timed(cluster, tgt="m3", fun="test.ping", timeout=2, gather_job_timeout=1)
    assert found == {"m3": False}
    assert took_s >= 2
