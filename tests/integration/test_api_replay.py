"""Recorded exchanges with real salt-api, answered by ours. See tests/cases/data/api/README.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from api import ApiCluster, recorded_cluster
from programs import missing
from replay import CASES, DIFFER, FILES, Replay

LEFT_OUT = ("pam", *(["minions: connected"] if missing("ip") else []))
"""Logins by pam need accounts of their own, and are tested with them.

Who is connected is told by addresses, which a minion without the program ``ip`` does not know.
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    with recorded_cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_answered_as_recorded(cluster: ApiCluster, name: str) -> None:
    replay = Replay(cluster.client, name, ours=True, app_file=cluster.app_file)
    if name == "saltgui":
        cluster.prepare_saltgui()
    problems = []
    for exchange in replay.exchanges():
        if exchange["name"].startswith(LEFT_OUT):
            continue
        wrong = replay.play(exchange)
        problems += [f"{name}: {exchange['name']}: {line}" for line in wrong]
    assert not problems, "\n".join(problems)


def test_every_departure_names_an_exchange_and_says_why() -> None:
    for name, rows in DIFFER.items():
        known = {one["name"] for one in Replay(None, name, True, Path()).exchanges()}
        assert set(rows) <= known
        assert all(row.get("why") for row in rows.values())
    assert CASES.is_dir()
