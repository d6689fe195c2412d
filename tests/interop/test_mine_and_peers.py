"""Mine, publish, peer_run and returners, with real Salt on the other side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cluster import OURS, SALT_3006, SALT_3007, SALT_3008, Cluster, eventually

PAIRS = [
    pytest.param((OURS, SALT_3006), id="our-master-3006-minions"),
    pytest.param((SALT_3006, OURS), id="3006-master-our-minions"),
    pytest.param((OURS, SALT_3007), id="our-master-3007-minions"),
    pytest.param((SALT_3007, OURS), id="3007-master-our-minions"),
    pytest.param((OURS, SALT_3008), id="our-master-3008-minions"),
]
MINE = {
    "test.echo": ["hi"],
    "hidden": [{"mine_function": "test.ping"}, {"allow_tgt": "db1"}],
    "named": [{"mine_function": "test.arg_clean"}, "a", {"k": "v"}],
}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    master, minion = request.param
    cluster = Cluster(
        master=master,
        minions={"web1": minion, "db1": minion},
        master_options={
            "peer": {"web1": ["test\\..*"]},
            "peer_run": {"web1": ["test\\..*", "manage\\..*"]},
        },
        minion_options={"mine_functions": MINE},
    )
    raw = str(cluster.root / "returns.json")
    for minion_id in cluster.minions:
        path = cluster.minion_dir(minion_id) / "minion"
        cluster.reconfigure(path, **{"rawfile_json.filename": raw})
    with cluster:
        cluster.start()
        yield cluster


def asked(pair: Cluster, *words: str) -> Any:
    return pair.salt(*words, "--out=json", "--static").json


def test_what_one_minion_tells_another_reads(pair: Cluster) -> None:
    asked(pair, "*", "mine.update")
    both = {"web1": "hi", "db1": "hi"}
    assert asked(pair, "*", "mine.get", "*", "test.echo") == {"web1": both, "db1": both}
    assert asked(pair, "*", "mine.get", "web1", "hidden") == {"web1": {}, "db1": {"web1": True}}
    found = asked(pair, "web1", "mine.get", "L@db1,nobody", "named,test.echo", "compound")
    assert found["web1"] == {
        "named": {"db1": {"args": ["a"], "kwargs": {"k": "v"}}},
        "test.echo": {"db1": "hi"},
    }


def test_what_is_sent_and_taken_back(pair: Cluster) -> None:
    sent = asked(pair, "*", "mine.send", "mine_own", "mine_function=test.echo", "x")
    assert sent == {"web1": True, "db1": True}
    assert asked(pair, "web1", "mine.delete", "mine_own") == {"web1": True}
    assert asked(pair, "db1", "mine.get", "*", "mine_own") == {"db1": {"db1": "x"}}


def test_peers(pair: Cluster) -> None:
    found = asked(pair, "*", "publish.publish", "*", "test.echo", "foo")
    assert found == {"web1": {"web1": "foo", "db1": "foo"}, "db1": {}}
    full = asked(pair, "web1", "publish.full_data", "db1", "test.echo", "x")
    assert full["web1"]["db1"]["ret"] == "x"
    assert asked(pair, "web1", "publish.publish", "*", "cmd.run", "id") == {"web1": {}}
    assert asked(pair, "web1", "publish.publish", "*", "test.ping,cmd.run", ", id") == {"web1": {}}


def test_runners_for_peers(pair: Cluster) -> None:
    found = asked(pair, "*", "publish.runner", "test.arg", "[1, k=v]")
    assert found == {"web1": {"args": [1], "kwargs": {"k": "v"}}, "db1": {}}
    assert asked(pair, "web1", "publish.runner", "jobs.list_jobs") == {"web1": {}}


def test_a_returner_gets_what_the_master_gets(pair: Cluster) -> None:
    if pair.minion_kinds["web1"] == SALT_3007:
        pytest.skip("a minion of 3007.17 calls no returner, under its own master either")
    assert asked(pair, "web1", "test.echo", "kept", "--return=rawfile_json") == {"web1": "kept"}
    path = pair.root / "returns.json"
    eventually(path.exists, within_s=10, what="the returner's file")
    (line,) = path.read_text().splitlines()
    kept = json.loads(line)
    assert {name: kept[name] for name in ("id", "fun", "fun_args", "return", "retcode")} == {
        "id": "web1",
        "fun": "test.echo",
        "fun_args": ["kept"],
        "return": "kept",
        "retcode": 0,
    }
