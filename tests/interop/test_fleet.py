"""One master of ours, three kinds of minion, one command; and filtering of publications."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster import OURS, SALT_3006, SALT_3008, Cluster, eventually, running

KINDS = {"ours": OURS, "salt6": SALT_3006, "salt8": SALT_3008}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Cluster]:
    with running(minions=KINDS) as cluster:
        yield cluster


def test_everyone_answers_in_one_command(fleet: Cluster) -> None:
    ran = fleet.salt("*", "test.echo", "hello", "--out=json", "--static")
    assert ran.json == dict.fromkeys(KINDS, "hello")
    assert ran.exit_code == 0


def test_every_kind_shows_the_same_shape_of_failure(fleet: Cluster) -> None:
    ran = fleet.salt("*", "nosuch.function", "--out=json")
    assert ran.json == dict.fromkeys(KINDS, "'nosuch.function' is not available.")
    assert ran.exit_code == 1


@pytest.mark.parametrize("expression", ["os:Debian", "os_family:Debian", "cpuarch:x86_64"])
def test_grain_target_selects_all_kinds(fleet: Cluster, expression: str) -> None:
    ran = fleet.salt("-G", expression, "test.ping", "--out=json", "--static")
    assert ran.json == dict.fromkeys(KINDS, True)


@pytest.mark.parametrize(
    "grain", ["os", "osrelease", "osfinger", "kernel", "cpuarch", "num_cpus", "host", "init"]
)
def test_grains_are_equal_on_the_same_machine(fleet: Cluster, grain: str) -> None:
    got = fleet.salt("*", "grains.get", grain, "--out=json", "--static").json
    assert got["ours"] == got["salt6"] == got["salt8"]


def test_a_stopped_minion_is_named_with_the_reason(fleet: Cluster) -> None:
    fleet.minions["salt6"].stop()
    try:
        ran = fleet.salt("*", "test.ping", "-t", "1")
        assert "salt6:\n    Minion did not return." in ran.stdout
        assert "ours:\n    True" in ran.stdout
        assert ran.exit_code == 1
    finally:
        fleet.minions["salt6"].start()
        fleet.wait_for_ping("salt6")


@pytest.mark.parametrize(
    ("master", "minions"),
    [
        pytest.param(OURS, KINDS, id="our-master"),
        pytest.param(SALT_3008, {"ours": OURS}, id="3008-master"),
    ],
)
def test_filtered_publications(master: str, minions: dict[str, str]) -> None:
    filtering = {"zmq_filtering": True}
    with running(
        master=master, minions=minions, master_options=filtering, minion_options=filtering
    ) as cluster:
        for target in (["*"], ["-L", ",".join(minions)], ["-G", "kernel:Linux"]):
            eventually(
                lambda target=target: (
                    cluster.salt(*target, "test.ping", "--out=json", "--static", "-t", "3").json
                    == dict.fromkeys(minions, True)
                ),
                what=f"all answer {target}",
            )
