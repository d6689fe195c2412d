"""What people do all day, with minions of three kinds under one master of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import OURS, SALT_3006, SALT_3008, Cluster, eventually, running
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.bus import EventSubscriber

KINDS = {"ours": OURS, "salt6": SALT_3006, "salt8": SALT_3008}


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the minions' returners write to."""
    return tmp_path_factory.mktemp("returners") / "returned.json"


@pytest.fixture(scope="module")
def fleet(returned: Path) -> Iterator[Cluster]:
    options = {"rawfile_json.filename": str(returned)}
    with running(minions=KINDS, minion_options=options) as cluster:
        yield cluster


@pytest.mark.parametrize("size", ["1", "2", "50%", "100%"])
def test_a_batch_reaches_everyone_once(fleet: Cluster, size: str) -> None:
    ran = fleet.salt("*", "-b", size, "test.echo", "hello", "--out=json", "--static")
    assert {name: ran.json[name] for name in KINDS} == dict.fromkeys(KINDS, "hello")
    assert ran.exit_code == 0


def test_a_batch_that_fails_stops(fleet: Cluster) -> None:
    ran = fleet.salt("*", "-b", "1", "--failhard", "test.retcode", "3", "--out=txt")
    assert ran.exit_code != 0
    answered = [name for name in KINDS if f"{name}: True" in ran.stdout]
    assert len(answered) == 1, ran.stdout


def test_a_subset_is_of_its_size(fleet: Cluster) -> None:
    ran = fleet.salt("*", "--subset", "2", "test.ping", "--out=json", "--static")
    assert len(ran.json) == 2
    assert set(ran.json) < set(KINDS)


def test_every_kind_runs_the_returner_that_is_asked_for(fleet: Cluster, returned: Path) -> None:
    marker = "for the returner"
    fleet.salt("*", "test.echo", marker, "--return", "rawfile_json", "--out=json", "--static")

    def written() -> dict[str, str]:
        lines = returned.read_text().splitlines() if returned.exists() else []
        rows = [json.loads(line) for line in lines]
        return {row["id"]: row["return"] for row in rows if row["return"] == marker}

    eventually(lambda: set(written()) == set(KINDS), within_s=20, what="all have written")


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_of_a_minion_is_heard_on_the_master(fleet: Cluster, kind: str) -> None:
    bus = MasterSockets(fleet.sock_dir).event_pub
    with EventSubscriber(bus, prefixes=(f"everyday/{kind}",)) as events:
        assert events.connect_confirmed(timeout_s=10)
        fleet.salt(kind, "event.send", f"everyday/{kind}", '{"a": [1, "ä"]}')
        event = events.get(timeout_s=20)
    assert event is not None
    assert event.data["id"] == kind
    assert event.data["data"]["a"] == [1, "ä"]


def test_compound_functions_answer_alike(fleet: Cluster) -> None:
    ran = fleet.salt("*", "test.ping,test.echo", ",x", "--out=json", "--static")
    assert ran.json == {key: {"test.ping": True, "test.echo": "x"} for key in KINDS}
