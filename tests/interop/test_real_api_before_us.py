"""Real salt-api before our master: what needs port 4506 alone works, what waits for events fails.

Source: docs/api.md, "Real salt-api before our master".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from api import RECORDED_AUTH, ApiCluster

from cluster import OURS, SALT_3006, SALT_3008, is_installed

JSON = {"Accept": "application/json"}
pytestmark = [pytest.mark.interop, pytest.mark.slow]


@pytest.fixture(scope="module", params=[SALT_3006, SALT_3008])
def cluster(request: pytest.FixtureRequest) -> Iterator[ApiCluster]:
    if not is_installed(request.param):
        pytest.skip(f"no Salt {request.param} here")
    with ApiCluster(
        api_kind=request.param, master=OURS, minions={"m1": OURS},
        master_options={"external_auth": RECORDED_AUTH},
    ) as cluster:  # fmt: skip
        yield cluster.start()


def run(cluster: ApiCluster, session: str, **chunk: Any) -> Any:
    reply = cluster.client.run(session, chunk)
    assert reply.status == 200, reply.raw
    return reply.body["return"][0]


def test_what_needs_no_events_works(cluster: ApiCluster) -> None:
    anna = cluster.client.log_in("anna")
    started = run(cluster, anna, client="local_async", tgt="*", fun="test.ping")
    assert started["minions"] == ["m1"]
    assert run(cluster, anna, client="runner_async", fun="test.arg")["tag"].startswith("salt/run/")
    keys = run(cluster, anna, client="wheel", fun="key.list_all")
    assert keys["data"]["return"]["minions"] == ["m1"]
    assert set(run(cluster, anna, client="wheel_async", fun="key.list_all")) == {"jid", "tag"}
    headers = {**JSON, "X-Auth-Token": anna}
    shown = cluster.client.ask("GET", "/keys", headers)
    assert shown.body["return"]["minions"] == ["m1"]
    published = cluster.client.ask("POST", "/minions", headers, [{"tgt": "*", "fun": "test.ping"}])
    assert published.status == 202
    assert published.body["return"][0]["minions"] == ["m1"]
    fields = {"username": "anna", "password": "x", "eauth": "auto"}
    chunk = {"client": "local_async", "tgt": "m1", "fun": "test.ping", **fields}
    assert cluster.client.ask("POST", "/run", JSON, [chunk]).body["return"][0]["minions"] == ["m1"]
    assert cluster.client.ask("POST", "/logout", headers, {}).status == 200
    assert cluster.client.ask("GET", "/keys", headers).status == 401


def test_rights_are_those_of_our_master(cluster: ApiCluster) -> None:
    ben = cluster.client.log_in("ben")
    assert run(cluster, ben, client="local_async", tgt="*", fun="test.ping")["minions"] == ["m1"]
    for chunk in (
        {"client": "local_async", "tgt": "*", "fun": "cmd.run", "arg": ["id"]},
        {"client": "runner_async", "fun": "manage.up"},
        {"client": "wheel", "fun": "key.delete", "match": "zz"},
    ):
        assert cluster.client.run(ben, chunk).status == 401, chunk
    fields = {"username": "anna", "password": "no", "eauth": "sharedsecret"}
    assert cluster.client.ask("POST", "/login", JSON, fields).status == 401


@pytest.mark.timeout(120)
def test_what_waits_for_an_event_fails(cluster: ApiCluster) -> None:
    """After half a minute, with 504 of 3006 and 500 of 3008."""
    anna = cluster.client.log_in("anna")
    chunk = {"client": "runner", "fun": "test.arg", "timeout": 1}
    assert cluster.client.run(anna, chunk).status in (500, 504)


def test_without_a_master_it_says_so(cluster: ApiCluster) -> None:
    link = cluster.sock_dir / "workers.ipc"
    assert link.resolve().is_socket()
    cluster.master.stop()
    assert not link.is_symlink()
    fields = {"username": "anna", "password": "x", "eauth": "auto"}
    assert cluster.client.ask("POST", "/login", JSON, fields).status == 503
