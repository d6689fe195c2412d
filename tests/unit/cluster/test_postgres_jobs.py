"""The job cache in PostgreSQL answers as the one in SQLite does, and holds where nodes meet."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltlite.cluster import postgres_jobs
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.feeds import ReturnFeed, ReturnPlaces
from saltlite.cluster.postgres_jobs import PostgresJobStore, translate_glob
from saltlite.core.job_query import JobQuery
from saltlite.master import jobcache
from saltlite.master.jobcache import SqliteJobStore, Stored

LOAD = {
    "cmd": "publish",
    "tgt": "*",
    "tgt_type": "glob",
    "fun": "test.ping",
    "arg": [],
    "user": "root",
    "key": "s3cr3t",
}
MANY = [f"web-{number:05}.example.com" for number in range(1000)]


def jid(number: int) -> str:
    return f"20260102030405{number:06}"


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[SqliteJobStore | PostgresJobStore]:
    if request.param == "sqlite":
        yield SqliteJobStore(tmp_path)
        return
    yield PostgresJobStore(request.getfixturevalue("engine"), "a")


# --- the same of both ------------------------------------------------------------------------


def test_a_job_comes_back_without_the_users_key(store: Any) -> None:
    assert store.new_job(jid(1), LOAD, ["a", "b"])
    job = store.job(jid(1))
    assert job.minions == ["a", "b"]
    assert job.load == {name: value for name, value in LOAD.items() if name != "key"}


def test_a_jid_is_given_once(store: Any) -> None:
    assert store.new_job(jid(1), LOAD, ["a"])
    assert not store.new_job(jid(1), {**LOAD, "fun": "cmd.run"}, ["b"])
    assert not store.new_job(jid(1), LOAD, MANY)
    assert store.minions(jid(1)) == ["a"]


def test_an_unknown_job(store: Any) -> None:
    assert store.job(jid(1)) is None
    assert store.minions(jid(1)) is None
    assert store.returns(jid(1)) == {}
    assert store.last_jids() == []
    assert store.add_return(jid(1), "a", {"return": 1}) is Stored.FORGOTTEN


def test_the_first_return_wins(store: Any) -> None:
    store.new_job(jid(1), LOAD, ["a"])
    one = {"return": b"\xff\x00", "retcode": 0, "success": True}
    assert store.add_return(jid(1), "a", one) is Stored.NEW
    assert store.add_return(jid(1), "a", one) is Stored.REPEAT
    assert store.add_return(jid(1), "a", {**one, "return": "x"}) is Stored.CONFLICT
    assert store.returns(jid(1)) == {"a": one}


def test_returns_that_meet_in_one_batch(store: Any) -> None:
    store.new_job(jid(1), LOAD, ["a", "b", "c"])
    store.add_return(jid(1), "c", {"return": 0})
    batch = [("b", 1), ("a", 1), ("b", 2), ("a", 1), ("c", 0), ("c", 1)]
    outcomes = store.add_returns([(jid(1), one, {"return": value}) for one, value in batch])
    new, repeat, conflict = Stored.NEW, Stored.REPEAT, Stored.CONFLICT
    assert outcomes == [new, new, conflict, repeat, repeat, conflict]
    assert store.returns(jid(1)) == {
        one: {"return": value} for one, value in (("a", 1), ("b", 1), ("c", 0))
    }


def test_too_large_a_return_is_cut(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobcache, "RETURN_LIMIT_BYTES", 100)
    store.new_job(jid(1), LOAD, ["a"])
    store.add_return(jid(1), "a", {"return": "x" * 1000, "retcode": 3})
    kept = store.returns(jid(1))["a"]
    assert kept["retcode"] == 3
    assert kept["return"].startswith("[cut")


@pytest.fixture
def full(store: Any) -> Any:
    for number in range(10):
        load = {
            **LOAD,
            "fun": "test.ping" if number % 2 else ["test.ping", "cmd.run"],
            "tgt": "web*" if number < 5 else ["a", "b"],
            "user": "alice" if number == 3 else "root",
            "kwargs": {"metadata": {"n": number % 3}},
        }
        store.new_job(jid(number), load, ["a"] if number % 4 else MANY)
        store.add_return(jid(number), "a", {"return": number})
    return store


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (JobQuery(), range(10)),
        (JobQuery(fun="test.ping"), (1, 3, 5, 7, 9)),
        (JobQuery(fun="*cmd*"), (0, 2, 4, 6, 8)),
        (JobQuery(tgt="a,b"), (5, 6, 7, 8, 9)),
        (JobQuery(tgt="web[*]"), (0, 1, 2, 3, 4)),
        (JobQuery(user="alice"), (3,)),
        (JobQuery(since=jid(3), until=jid(5)), (3, 4, 5)),
        (JobQuery(until="20260102"), range(10)),
        (JobQuery(until="20260101"), ()),
        (JobQuery(metadata={"n": "2"}), (2, 5, 8)),
        (JobQuery(fun="test.ping", metadata={"n": "2"}), (5,)),
        (JobQuery(limit=2), (0, 1)),
        (JobQuery(limit=2, newest_first=True), (9, 8)),
    ],
)
def test_jobs_are_found(full: Any, query: JobQuery, numbers: range | tuple[int, ...]) -> None:
    assert [job.jid for job in full.jobs(query)] == [jid(number) for number in numbers]


def test_results_longer_than_a_chunk(full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (jobcache, postgres_jobs):
        monkeypatch.setattr(module, "CLEAN_CHUNK", 3)
        monkeypatch.setattr(module, "RETURNED_CHUNK", 3)
    assert len(list(full.jobs())) == 10
    newest = [job.jid for job in full.jobs(JobQuery(newest_first=True, limit=7))]
    assert newest == [jid(number) for number in range(9, 2, -1)]
    returned = [(job.jid, ret["return"]) for job, ret in full.list_returned("a", since=jid(2))]
    assert returned == [(jid(number), number) for number in range(9, 1, -1)]
    assert full.clean(jid(7)) == 7


def test_old_jobs_go_with_all_that_belongs_to_them(full: Any) -> None:
    assert full.clean(jid(8)) == 8
    assert full.returns(jid(7)) == {}
    assert [job.jid for job in full.jobs()] == [jid(8), jid(9)]
    assert full.minions(jid(8)) == MANY
    assert list(full.jobs(JobQuery(metadata={"n": "1"}))) == []
    assert full.clean_to(1) == 1
    assert full.count() == 1
    assert full.last_jids() == [jid(9)]


def test_returns_by_bytes(store: Any) -> None:
    store.new_job(jid(1), LOAD, ["a", "b", "c", "d"])
    store.add_returns([(jid(1), one, {"return": one * 1000}) for one in "abcd"])
    found, size_bytes = store.returns_except(jid(1), {"b"}, 2100)
    assert sorted(found) == ["a", "c"]
    assert 2000 < size_bytes <= 2100
    assert list(store.returns_except(jid(1), {"a"}, 1)[0]) == ["b"]
    assert store.returns_except(jid(1), set("abcd"), 9999) == ({}, 0)
    assert store.count_returns(jid(1)) == 4


def test_syndics_name_more_minions_later(store: Any) -> None:
    store.new_job(jid(1), LOAD, ["b"])
    store.add_minions(jid(1), ["a", "b"])
    assert store.minions(jid(1)) == ["b", "a"]
    store.add_minions(jid(1), MANY)
    assert store.minions(jid(1)) == ["b", "a", *MANY]
    store.add_minions(jid(2), ["a"])
    assert store.minions(jid(2)) is None


def unasked(store: Any, number: int, text: str = "x", most_bytes: int = 0) -> int:
    """One return of ``web1`` that nobody asked for; how many older ones went."""
    assert store.new_job(jid(number), {"cmd": "_return", "fun": "a.b", "tgt": "web1"}, ["web1"])
    forgotten: int = store.make_room(jid(number), "web1", {"return": text}, most_bytes)
    store.add_return(jid(number), "web1", {"return": text})
    return forgotten


def test_of_what_a_minion_returns_unasked_the_newest_bytes_are_kept(store: Any) -> None:
    store.new_job(jid(0), {"fun": "a.b", "tgt": "web1"}, ["web1"])  # asked for: not counted
    store.add_return(jid(0), "web1", {"return": "x" * 1000})
    forgotten = [unasked(store, number, "x" * 1000, 3500) for number in range(1, 7)]
    assert forgotten == [0, 0, 0, 1, 1, 1]
    assert [one.jid for one in store.jobs()] == [jid(one) for one in (0, 4, 5, 6)]
    assert store.returns(jid(1)) == {}
    assert unasked(store, 7, "x" * 9000, 3500) == 3
    assert store.returns(jid(7))["web1"]["return"] == "x" * 9000  # the newest is kept, whatever


def test_the_oldest_jobs_go_when_they_take_too_much(store: Any) -> None:
    for number in range(40):
        store.new_job(jid(number), LOAD, ["a"])
        store.add_return(jid(number), "a", {"return": os.urandom(100_000)})
    assert store.count_bytes() > 4_000_000
    assert 20 <= store.clean_to_bytes(2_000_000) <= 25
    assert store.count_bytes() <= 2_000_000
    assert store.clean_to_bytes(2_000_000) == 0
    store.clean_to_bytes(1)
    assert [job.jid for job in store.jobs()] == [jid(39)]  # the last one stays


TEXTS = st.text(st.characters(codec=None), max_size=8)
IDS = st.sampled_from(["a", "b", "web-1"])
JIDS = st.integers(0, 3).map(jid)
CALLS = st.one_of(
    st.tuples(
        st.just("new_job"),
        JIDS,
        st.fixed_dictionaries(
            {
                "fun": TEXTS | st.lists(TEXTS, max_size=2),
                "tgt": TEXTS,
                "user": st.sampled_from(["root", "x\0y"]),
            }
        ),
        st.lists(IDS, max_size=3, unique=True) | st.just(MANY),
    ),
    st.tuples(
        st.just("add_returns"),
        st.lists(
            st.tuples(JIDS, IDS, st.fixed_dictionaries({"return": st.integers(0, 2)})),
            min_size=1,
            max_size=5,
        ),
    ),
    st.tuples(st.just("add_minions"), JIDS, st.lists(IDS, max_size=2)),
    st.tuples(st.just("make_room"), JIDS, IDS, st.just({"return": 1}), st.sampled_from([0, 40])),
    st.tuples(st.just("clean"), JIDS),
    st.tuples(st.just("clean_to"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["job", "minions", "returns", "count_returns"]), JIDS),
    st.tuples(st.sampled_from(["count", "last_jids"])),
    st.tuples(st.just("returns_except"), JIDS, st.just(frozenset("a")), st.integers(1, 40)),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(calls=st.lists(CALLS, max_size=25))
def test_both_answer_the_same(
    engine: ClusterEngine, tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[Any, ...]]
) -> None:
    sqlite = SqliteJobStore(tmp_path_factory.mktemp("jobs"), sync="never")
    postgres = PostgresJobStore(engine, "a")
    engine.execute("TRUNCATE jobs, returns, metadata, unasked, target_sets")
    for name, *given_ in calls:
        answers = [_call(store, name, given_) for store in (sqlite, postgres)]
        assert answers[0] == answers[1], (name, given_)
    assert list(sqlite.jobs()) == list(postgres.jobs())
    sqlite.close()


def _call(store: Any, name: str, given_: list[Any]) -> object:
    try:
        return getattr(store, name)(*given_)
    except jobcache.StoreError as error:
        return type(error)


# --- what only PostgreSQL has ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "text", "fits"),
    [
        ("a*c", "abc", True),
        ("a*c", "abcd", False),
        ("a?c", "a\nc", True),
        ("a.c", "abc", False),
        ("[ab]x", "bx", True),
        ("[^ab]x", "bx", False),
        ("[a", "[a", True),
        ("[]a]", "]", True),
        ("[[]x", "[x", True),
        ("(a+)+$", "aaa", False),
        ("\\d", "1", False),
        ("ü*", "über", True),
    ],
)
def test_globs(engine: ClusterEngine, glob: str, text: str, fits: bool) -> None:
    assert engine.execute("SELECT %s::text ~ %s", [text, translate_glob(glob)]) == [(fits,)]


def test_equal_lists_of_minions_are_stored_once(engine: ClusterEngine) -> None:
    store = PostgresJobStore(engine, "a")
    for number in range(50):
        store.new_job(jid(number), LOAD, MANY)
    store.new_job(jid(50), LOAD, MANY[:500])
    store.new_job(jid(51), LOAD, ["a"])
    sets = "SELECT count(*) FROM target_sets"
    assert engine.execute(sets) == [(2,)]
    fresh = PostgresJobStore(engine, "b")
    assert [job.minions for job in fresh.jobs()] == [MANY] * 50 + [MANY[:500], ["a"]]
    store.clean(jid(50))
    assert engine.execute(sets) == [(1,)]
    assert fresh.minions(jid(50)) == MANY[:500]
    store.clean(jid(51))
    assert engine.execute(sets) == [(0,)]


def in_threads(work: Callable[[int], None], count: int) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def test_nodes_that_take_the_same_returns_at_once(
    database: dict[str, str], engine: ClusterEngine
) -> None:
    PostgresJobStore(engine, "a").new_job(jid(1), LOAD, MANY)
    outcomes: list[Stored] = []

    def write(number: int) -> None:
        mine = PostgresJobStore(ClusterEngine(database, timeout_s=30), "ab"[number % 2])
        order = MANY if number < 2 else list(reversed(MANY))
        for begin in range(0, 1000, 50):
            batch = [(jid(1), one, {"return": one}) for one in order[begin : begin + 50]]
            outcomes.extend(mine.add_returns(batch))
        mine.close()

    in_threads(write, 4)
    assert outcomes.count(Stored.NEW) == 1000
    assert outcomes.count(Stored.REPEAT) == 3000


def test_a_reader_misses_no_return_of_any_node(
    database: dict[str, str], engine: ClusterEngine
) -> None:
    """ReturnPlaces are given in the order of commits: none shows up behind the reader's place."""
    PostgresJobStore(engine, "b").new_job(jid(1), LOAD, MANY)
    feed = ReturnFeed(engine, 2, ReturnPlaces())  # of node b, whose job it is
    assert list(feed.read()) == []
    done = threading.Event()
    heard: list[str] = []

    def read() -> None:
        while not done.is_set():
            heard.extend(one.id for one in feed.read())

    def write(number: int) -> None:
        mine = PostgresJobStore(ClusterEngine(database, timeout_s=30), "a")
        for at in range(number, 1000, 4):
            mine.add_return(jid(1), MANY[at], {"return": at})
        mine.close()

    reader = threading.Thread(target=read)
    reader.start()
    in_threads(write, 4)
    done.set()
    reader.join()
    heard.extend(one.id for one in feed.read())
    assert sorted(heard) == MANY


def test_sets_of_minions_and_the_cleaner(database: dict[str, str], engine: ClusterEngine) -> None:
    """A set that is about to be used again is not taken away."""

    def publish(number: int) -> None:
        mine = PostgresJobStore(ClusterEngine(database, timeout_s=30), "a")
        for at in range(40):
            assert mine.new_job(jid(number * 100 + at), LOAD, MANY)
        mine.close()

    def clean(number: int) -> None:
        mine = PostgresJobStore(ClusterEngine(database, timeout_s=30), "b")
        for at in range(40):
            mine.clean(jid(at))
        mine.close()

    in_threads(lambda number: clean(number) if number == 2 else publish(number), 3)
    fresh = PostgresJobStore(engine, "b")
    assert {tuple(job.minions) for job in fresh.jobs()} == {tuple(MANY)}


def test_a_node_that_is_not_registered_writes_nothing(engine: ClusterEngine) -> None:
    store = PostgresJobStore(engine, "stranger")
    with pytest.raises(jobcache.StoreError):
        store.new_job(jid(1), LOAD, ["a"])
    PostgresJobStore(engine, "a").new_job(jid(1), LOAD, ["a"])
    assert store.add_return(jid(1), "a", {"return": 1}) is Stored.FORGOTTEN


def test_old_returns_go_in_small_steps(
    engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of minions' returns of hundreds of jobs are more than one statement may take."""
    monkeypatch.setattr(postgres_jobs, "RETURNS_SWEPT", 7)
    store = PostgresJobStore(engine, "a")
    for number in range(4):
        store.new_job(jid(number), LOAD, MANY[:10])
        store.add_returns([(jid(number), one, {"return": True}) for one in MANY[:10]])
    assert store.clean(jid(3)) == 3
    assert [record.jid for record in store.jobs()] == [jid(3)]
    assert engine.execute("SELECT count(*) FROM returns") == [(10,)]
    # A cleaner that died between has left returns of no job.
    engine.execute("DELETE FROM jobs")
    assert store.clean(jid(9)) == 0
    assert engine.execute("SELECT count(*) FROM returns") == [(0,)]
