"""Several nodes at once: the locks of one machine hold nobody back, and nothing comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from store_kinds import ClusterPlace, do_at_once, kind_of_place

from saltlite.cluster.engine import fetch
from saltlite.cluster.stores import ClusterStores
from saltlite.crypto.keys import PrivateKey
from saltlite.master.keystore import KeyState
from saltlite.master.minioncache import MINE

PEMS = [PrivateKey.generate(2048).public.pem for _ in range(2)]
PROCESSES = 6
"""On as many nodes."""

ROUNDS = 25


@pytest.fixture(scope="module")
def place() -> Iterator[ClusterPlace]:
    with kind_of_place("postgres") as make:
        made = make()
        assert isinstance(made, ClusterPlace)
        yield made
        made.close()


def open_nodes(place: ClusterPlace) -> list[ClusterStores]:
    """One for each process, opened before the fork: what is in there is connected after it."""
    return [place.open_elsewhere(f"n{number}") for number in range(PROCESSES)]


def offer_keys(stores: ClusterStores, prefix: str, number: int) -> list[bool]:
    """In each round accept a key for an id that has none; whether this process did."""
    done = []
    for name in (f"{prefix}{one}" for one in range(ROUNDS)):
        with stores.keys.hold(name):
            is_free = stores.keys.look_up(name) == (None, None)
            if is_free:
                stores.keys.put(name, KeyState.ACCEPTED, PEMS[number % 2])
        done.append(is_free)
    return done


def test_of_two_new_keys_on_two_nodes_one_is_let_in(place: ClusterPlace) -> None:
    nodes = open_nodes(place)
    told = do_at_once(PROCESSES, lambda one: offer_keys(nodes[one], "pair", one))
    assert [sum(each) for each in zip(*told, strict=True)] == [1] * ROUNDS


def test_without_the_lock_of_the_id_several_are(
    place: ClusterPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the test above tries what matters."""

    def fetch_without_locks(transaction, statement, values=()):  # type: ignore[no-untyped-def]
        if "pg_advisory_xact_lock" in statement:
            return []
        return fetch(transaction, statement, values)

    monkeypatch.setattr("saltlite.cluster.engine.fetch", fetch_without_locks)
    nodes = open_nodes(place)
    told = do_at_once(PROCESSES, lambda one: offer_keys(nodes[one], "loose", one))
    assert max(sum(each) for each in zip(*told, strict=True)) > 1


@pytest.mark.parametrize("is_counted", [True, False])
def test_the_last_free_place_of_a_cluster_is_given_once(
    place: ClusterPlace, is_counted: bool
) -> None:
    nodes = open_nodes(place)
    before = len(nodes[0].engine.execute("SELECT 1 FROM keys WHERE state = 'unaccepted'"))
    most = before + 3

    def offer(number: int) -> int:
        keys, filed = nodes[number].keys, 0
        for name in (f"m{is_counted}-{number}-{one}" for one in range(ROUNDS)):
            with keys.hold(name), keys.hold_count() if is_counted else nullcontext():
                if len(keys.ids(KeyState.UNACCEPTED)) < most:
                    keys.put(name, KeyState.UNACCEPTED, PEMS[0])
                    filed += 1
        return filed

    filed = sum(do_at_once(PROCESSES, offer))
    # Without the count's lock several find the same place free.
    assert filed == 3 if is_counted else filed >= 3


def test_a_mine_that_all_nodes_add_to_loses_nothing(place: ClusterPlace) -> None:
    nodes = open_nodes(place)

    def add(number: int) -> int:
        names = [f"f{number}-{one}" for one in range(ROUNDS)]
        add_one = nodes[number].facts.update
        return sum(
            add_one(MINE, "web1", lambda kept, name=name: {**kept, name: 1}) for name in names
        )

    assert do_at_once(PROCESSES, add) == [ROUNDS] * PROCESSES
    last = place.open_elsewhere("last")
    assert not last.facts.update(MINE, "web1", lambda kept: kept)
    assert len(last.facts.read(MINE, "web1") or {}) == PROCESSES * ROUNDS


def test_crossing_holds_and_forgetting_do_not_wait_for_one_another_for_ever(
    place: ClusterPlace,
) -> None:
    """An id, then its facts; and facts of the same minion alone."""
    nodes = open_nodes(place)

    def work(number: int) -> bool:
        stores = nodes[number]
        for _ in range(ROUNDS):
            if number % 2:
                with stores.keys.hold("web9"):
                    stores.keys.put("web9", KeyState.ACCEPTED, PEMS[0])
                    stores.facts.forget("web9")
                    stores.keys.delete("web9", KeyState.ACCEPTED)
            else:
                stores.facts.update(MINE, "web9", lambda kept: {**kept, str(number): 1})
        return True

    assert all(do_at_once(PROCESSES, work))
