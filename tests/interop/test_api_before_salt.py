"""Our salt-api before a real Salt master: its port 4506, and its event bus that is no ZeroMQ."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api import RECORDED_AUTH, ApiCluster

from cluster import SALT_3006, SALT_3008, is_installed

JSON = {"Accept": "application/json"}
pytestmark = [pytest.mark.interop, pytest.mark.slow]


@pytest.fixture(scope="module", params=[SALT_3006, SALT_3008])
def cluster(request: pytest.FixtureRequest) -> Iterator[ApiCluster]:
    if not is_installed(request.param):
        pytest.skip(f"no Salt {request.param} here")
    with ApiCluster(
        master=request.param, minions={"m1": request.param},
        master_options={"external_auth": RECORDED_AUTH},
    ) as cluster:  # fmt: skip
        yield cluster.start()


def test_everything_daily(cluster: ApiCluster) -> None:
    anna = cluster.client.log_in("anna")

    def result(**chunk: object) -> object:
        reply = cluster.client.run(anna, chunk)
        assert reply.status == 200, reply.raw
        return reply.body["return"][0]

    assert result(client="local", tgt="*", fun="test.ping") == {"m1": True}
    assert result(client="local", tgt="m1", fun="test.echo", arg=["x"]) == {"m1": "x"}
    run = {"client": "runner", "fun": "test.arg", "arg": ["a"], "kwarg": {"b": 1}, "c": 2}
    assert result(**run) == {"args": ["a"], "kwargs": {"b": 1, "c": 2}}
    keys = result(client="wheel", fun="key.list_all")
    assert isinstance(keys, dict)
    assert keys["data"]["return"]["minions"] == ["m1"]
    prints = result(client="wheel", fun="key.finger", match="m1")
    assert isinstance(prints, dict)
    assert set(prints["data"]["return"]["minions"]) == {"m1"}
    started = result(client="local_async", tgt="*", fun="test.ping")
    assert isinstance(started, dict)
    assert started["minions"] == ["m1"]
    headers = {**JSON, "X-Auth-Token": anna}
    assert set(cluster.client.ask("GET", "/minions", headers).body["return"][0]) == {"m1"}
    hook = cluster.client.ask("POST", "/hook/x", headers, {"a": 1})
    assert hook.body == {"success": True}
    assert cluster.client.ask("POST", "/logout", headers, {}).status == 200


def test_rights_are_the_masters_matter(cluster: ApiCluster) -> None:
    ben = cluster.client.log_in("ben")
    assert (
        cluster.client.run(ben, {"client": "local", "tgt": "*", "fun": "test.ping"}).status == 200
    )
    for chunk in (
        {"client": "local", "tgt": "*", "fun": "cmd.run", "arg": ["id"]},
        {"client": "runner", "fun": "manage.up"},
        {"client": "wheel", "fun": "key.delete", "match": "zz"},
        {"client": "wheel_async", "fun": "key.delete", "match": "zz"},
    ):
        assert cluster.client.run(ben, chunk).status == 401, chunk
    assert cluster.client.run("f" * 40, {"client": "runner", "fun": "test.arg"}).status == 401
