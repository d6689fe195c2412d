"""What real minions make of our master's answer to a pattern that takes too long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster import OURS, SALT_3006, SALT_3007, SALT_3008, Cluster

PAIRS = [
    pytest.param((OURS, SALT_3006), id="our-master-3006-minion"),
    pytest.param((OURS, SALT_3007), id="our-master-3007-minion"),
    pytest.param((OURS, SALT_3008), id="our-master-3008-minion"),
]
SLOW = "evil:(a+)+$"
"""Against ``aaa…!`` each letter more doubles the work."""

LONGEST_S = 20.0
"""Far less than what the expression would take; ``publish`` waits 5 s for returns."""


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    master, minion = request.param
    cluster = Cluster(
        master=master,
        minions={"web1": minion},
        master_options={"peer": {"web1": ["test\\..*"]}},
        minion_options={
            "grains": {"evil": "a" * 60 + "!"},
            "mine_functions": {"test.echo": ["hi"]},
        },
    )
    with cluster:
        cluster.start()
        yield cluster


def asked(pair: Cluster, *words: str) -> Any:
    return pair.salt("web1", *words, "--timeout=40", "--out=json", "--static").json["web1"]


@pytest.mark.parametrize("function", ["publish.publish", "publish.full_data"])
def test_nothing_is_published(pair: Cluster, function: str) -> None:
    begun_s = time.monotonic()
    assert asked(pair, function, SLOW, "test.ping", "tgt_type=grain_pcre") is None
    assert time.monotonic() - begun_s < LONGEST_S
    assert asked(pair, "test.ping") is True


def test_the_mine_says_why(pair: Cluster) -> None:
    begun_s = time.monotonic()
    found = asked(pair, "mine.get", SLOW, "test.echo", "grain_pcre")
    assert found == "The mine was not searched: the expression '(a+)+$' takes more than 1 s"
    assert time.monotonic() - begun_s < LONGEST_S
    assert asked(pair, "test.ping") is True
