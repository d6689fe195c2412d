"""What several processes of a master do at once with a store comes out as if one did it alone.

Each test holds for every implementation; one call after another is compared with a model in
``tests/property/test_stores_as_models.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from report_runs import make_row, make_run
from store_kinds import KINDS, Place, do_at_once, kind_of_place

from saltlite.core.state_reports import ReportQuery
from saltlite.crypto.keys import PrivateKey
from saltlite.master.jobcache import Stored
from saltlite.master.keystore import KeyState
from saltlite.master.minioncache import MINE

JID = "20260101000000000000"
LOAD = {"fun": "test.ping", "tgt": "*", "tgt_type": "glob", "user": "root"}
PEMS = [PrivateKey.generate(2048).public.pem for _ in range(2)]
PROCESSES = 6


@pytest.fixture(scope="module", params=KINDS)
def make_place(request: pytest.FixtureRequest) -> Iterator[Callable[[], Place]]:
    with kind_of_place(request.param) as make:
        yield make


@pytest.fixture
def place(make_place: Callable[[], Place]) -> Iterator[Place]:
    made = make_place()
    yield made
    made.close()


def test_a_jid_is_one_process_s(place: Place) -> None:
    told = do_at_once(PROCESSES, lambda _number: place.open().open_jobs().new_job(JID, LOAD, []))
    assert sorted(told) == [False] * (PROCESSES - 1) + [True]


def test_a_return_that_comes_to_all_is_new_once(place: Place) -> None:
    place.open().open_jobs().new_job(JID, LOAD, ["web1"])

    def add(_number: int) -> str:
        return place.open().open_jobs().add_return(JID, "web1", {"return": True}).name

    told = do_at_once(PROCESSES, add)
    assert sorted(told) == [Stored.NEW.name] + [Stored.REPEAT.name] * (PROCESSES - 1)


def test_of_two_contradicting_returns_the_first_stays(place: Place) -> None:
    place.open().open_jobs().new_job(JID, LOAD, ["web1"])

    def add(number: int) -> str:
        return place.open().open_jobs().add_return(JID, "web1", {"return": number}).name

    told = do_at_once(PROCESSES, add)
    kept = place.open().open_jobs().returns(JID)["web1"]["return"]
    assert told[kept] == Stored.NEW.name
    assert told.count(Stored.CONFLICT.name) == PROCESSES - 1


def test_batches_that_cross_do_not_wait_for_one_another_for_ever(place: Place) -> None:
    """Each has the others' returns in another order: a lock for each row would be a deadlock."""
    ids = [f"m{number}" for number in range(40)]
    place.open().open_jobs().new_job(JID, LOAD, ids)

    def add(number: int) -> int:
        turned = ids[number * 7 :] + ids[: number * 7]
        ordered = turned if number % 2 else turned[::-1]
        told = place.open().open_jobs().add_returns([(JID, one, {"return": 1}) for one in ordered])
        return told.count(Stored.NEW)

    assert sum(do_at_once(PROCESSES, add)) == len(ids)


def test_who_holds_an_id_decides_about_its_key(place: Place) -> None:
    def offer(number: int) -> bool:
        keys = place.open().keys
        with keys.hold("web1"):
            if keys.look_up("web1") != (None, None):
                return False
            keys.put("web1", KeyState.ACCEPTED, PEMS[number % 2])
            return True

    told = do_at_once(PROCESSES, offer)
    assert told.count(True) == 1
    assert place.open().keys.key("web1", KeyState.ACCEPTED) == PEMS[told.index(True) % 2]


def test_the_last_free_place_is_given_once(place: Place) -> None:
    def offer(number: int) -> bool:
        keys, name = place.open().keys, f"web{number}"
        with keys.hold(name), keys.hold_count():
            if len(keys.ids(KeyState.UNACCEPTED)) >= 2:
                return False
            keys.put(name, KeyState.UNACCEPTED, PEMS[0])
            return True

    assert do_at_once(PROCESSES, offer).count(True) == 2
    assert len(place.open().keys.ids(KeyState.UNACCEPTED)) == 2


def test_a_move_is_done_by_one(place: Place) -> None:
    keys = place.open().keys
    with keys.hold("web1"):
        keys.put("web1", KeyState.UNACCEPTED, PEMS[0])

    def move(number: int) -> bool:
        target = KeyState.ACCEPTED if number % 2 else KeyState.REJECTED
        own = place.open().keys
        with own.hold("web1"):
            return own.move("web1", KeyState.UNACCEPTED, target)

    told = do_at_once(PROCESSES, move)
    winner = KeyState.ACCEPTED if told.index(True) % 2 else KeyState.REJECTED
    assert told.count(True) == 1
    assert place.open().keys.look_up("web1") == (winner, PEMS[0])


def test_what_fails_while_an_id_is_held_lets_it_go(place: Place) -> None:
    keys, others = place.open().keys, place.open().keys
    with pytest.raises(ZeroDivisionError), keys.hold("web1"):
        1 / 0  # noqa: B018 - it is what fails
    with others.hold("web1"):
        others.put("web1", KeyState.ACCEPTED, PEMS[0])
    assert keys.look_up("web1") == (KeyState.ACCEPTED, PEMS[0])


@pytest.mark.parametrize("name", ["../web1", "", "a/b", "x\0y", ".hidden", "a b\n"])
def test_what_is_no_id_is_no_key(place: Place, name: str) -> None:
    keys = place.open().keys
    for do in (
        lambda: keys.has(name, KeyState.ACCEPTED),
        lambda: keys.key(name, KeyState.ACCEPTED),
        lambda: keys.put(name, KeyState.ACCEPTED, PEMS[0]),
        lambda: keys.delete(name, KeyState.ACCEPTED),
    ):
        with keys.hold("web1"), pytest.raises(ValueError, match="id"):
            do()
    assert keys.load_accepted(name) is None
    assert keys.ids(KeyState.ACCEPTED) == frozenset()


def test_ids_are_the_same_object_until_one_comes(place: Place) -> None:
    keys, others = place.open().keys, place.open().keys
    before = keys.ids(KeyState.ACCEPTED)
    with others.hold("web1"):
        others.put("web1", KeyState.ACCEPTED, PEMS[0])
    after = keys.ids(KeyState.ACCEPTED)
    assert (before, after) == (frozenset(), frozenset({"web1"}))


def test_a_session_is_of_one_key_and_known_to_all(place: Place) -> None:
    one, other = place.open(), place.open()

    def sign_in(stores: Any, pem: str) -> str:
        with stores.keys.hold("web1"):
            if stores.keys.key("web1", KeyState.ACCEPTED) != pem:
                stores.sessions.delete("web1")
                stores.keys.put("web1", KeyState.ACCEPTED, pem)
            accepted = stores.keys.load_accepted("web1")
            assert accepted is not None
            return str(stores.sessions.get_or_make("web1", accepted=accepted).key)

    first = sign_in(one, PEMS[0])
    assert sign_in(other, PEMS[0]) == first
    found = other.sessions.get("web1")
    assert found is not None
    assert found.key == first
    assert first not in repr(found)
    second = sign_in(other, PEMS[1])
    assert second != first
    seen = one.sessions.get("web1")
    assert seen is not None
    assert seen.key == second


def test_a_session_ends_with_its_key(place: Place) -> None:
    one, other = place.open(), place.open()
    with one.keys.hold("web1"):
        one.keys.put("web1", KeyState.ACCEPTED, PEMS[0])
        accepted = one.keys.load_accepted("web1")
        assert accepted is not None
        one.sessions.get_or_make("web1", accepted=accepted)
    with other.keys.hold("web1"):
        other.keys.delete("web1", KeyState.ACCEPTED)
        other.sessions.delete("web1")
    assert one.sessions.get("web1") is None


def test_what_all_put_into_a_mine_is_there(place: Place) -> None:
    def add(number: int) -> bool:
        return place.open().facts.update(MINE, "web1", lambda kept: {**kept, f"f{number}": number})

    assert do_at_once(PROCESSES, add) == [True] * PROCESSES
    assert place.open().facts.read(MINE, "web1") == {f"f{one}": one for one in range(PROCESSES)}


def test_a_serial_is_given_once(place: Place) -> None:
    place.open_ring().rotate("k" * 96, 0.0)

    def take(_number: int) -> list[int]:
        ring = place.open_ring()
        return [ring.next_serial()[1] for _ in range(50)]

    taken = [one for each in do_at_once(PROCESSES, take) for one in each]
    assert sorted(taken) == [*range(1, PROCESSES * 50 + 1)]


def test_a_rotation_that_all_ask_for_is_one_if_it_is_asked_once(place: Place) -> None:
    ring = place.open_ring()
    before = ring.rotate("a" * 96, 0.0)
    ring.next_serial()
    assert not ring.rotate_if(lambda: False, lambda: "b" * 96, 1.0)
    assert ring.rotate_if(lambda: True, lambda: "b" * 96, 1.0)
    key, _serial = ring.next_serial()
    assert (key.generation, key.key) == (before + 1, "b" * 96)
    assert ring.current() == key


def test_a_run_of_states_that_comes_to_all_is_kept_once(place: Place) -> None:
    """And what each has besides is kept too, whoever holds the file while it is begun."""

    def add(number: int) -> int:
        reports = place.open().reports
        reports.add_runs([make_run(1000.0, "m1"), make_run(2000.0 + number, "m2")])
        return len(reports.list_rows(ReportQuery(path="/etc/motd")))

    do_at_once(PROCESSES, add)
    kept = list(place.open().reports.read_runs(ReportQuery()))
    assert [run.minion for run in kept] == ["m1", *["m2"] * PROCESSES]
    assert kept[0] == make_run(1000.0, "m1")


def test_a_minion_that_reports_too_much_forgets_its_own_first(place: Place) -> None:
    reports = place.open().reports
    long = tuple(make_row(number, comment="x" * 1000) for number in range(20))
    reports.add_runs([make_run(1.0, f"honest{number}") for number in range(10)])
    reports.add_runs([make_run(float(at), "greedy", rows=long) for at in range(2, 62)])
    assert reports.clean_to_bytes(300_000) > 0
    left = [run.minion for run in reports.read_runs(ReportQuery())]
    assert [one for one in left if one != "greedy"] == [f"honest{number}" for number in range(10)]
    assert "greedy" in left


def test_reports_beyond_their_bytes_go_the_oldest_first(place: Place) -> None:
    reports = place.open().reports
    long = tuple(make_row(number, comment="x" * 1000) for number in range(20))
    reports.add_runs([make_run(float(at), rows=long) for at in range(1, 31)])
    assert reports.clean_to_bytes(10**9) == 0
    gone = reports.clean_to_bytes(300_000)
    left = [run.at_s for run in reports.read_runs(ReportQuery())]
    assert 0 < gone < 30
    assert left == [float(at) for at in range(gone + 1, 31)]
    assert len(reports.list_rows(ReportQuery(limit=10_000))) == 20 * len(left)
    reports.checkpoint()
    reports.close()


def test_a_return_waits_for_the_master_above_until_it_is_there(place: Place) -> None:
    jobs, waiting = place.open().open_jobs(), place.open().open_forwarded()
    waiting.begin()
    jobs.new_job(JID, LOAD, ["web1", "web2", "web3"])
    for number in (1, 2):
        jobs.add_return(JID, f"web{number}", {"return": number})
    first = waiting.read_new(1)
    rest = waiting.read_new(10)
    assert [one.id for one in first + rest] == ["web1", "web2"]
    assert waiting.read_new(10) == []
    found = waiting.read_returns(first + rest, 1 << 20)
    assert [fields for _one, fields in found] == [{"return": 1}, {"return": 2}]
    record = waiting.job(JID)
    assert record is not None
    assert record.load["fun"] == LOAD["fun"]
    waiting.drop(first)
    # Another process, and a return that came while none was there.
    jobs.add_return(JID, "web3", {"return": 3})
    again = place.open().open_forwarded()
    assert [one.id for one in again.read_new(10)] == ["web2", "web3"]


def test_a_return_that_comes_again_goes_up_once(place: Place) -> None:
    jobs, waiting = place.open().open_jobs(), place.open().open_forwarded()
    waiting.begin()
    jobs.new_job(JID, LOAD, ["web1"])
    for _ in range(2):
        jobs.add_return(JID, "web1", {"return": True})
    assert [one.id for one in waiting.read_new(10)] == ["web1"]
