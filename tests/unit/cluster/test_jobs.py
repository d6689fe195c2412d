"""The job cache of a node while PostgreSQL is away, and after that."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.job_spool import JobSpool
from saltlite.cluster.jobs import ClusterJobStore
from saltlite.cluster.postgres_jobs import PostgresJobStore
from saltlite.core.jid import jid_time
from saltlite.errors import ServerAway, StoreError
from saltlite.master.jobcache import Stored

LOAD = {"cmd": "publish", "tgt": "*", "fun": "test.ping", "user": "root"}
SPOOL_BYTES = 1 << 20


def jid(number: int) -> str:
    return f"20260102030405{number:06}"


class Switch(ClusterEngine):
    """An engine that may be away."""

    is_away = False

    def _run_work(self, work):  # type: ignore[no-untyped-def]
        if self.is_away:
            raise ServerAway("cluster engine away: switched off")
        return super()._run_work(work)


@pytest.fixture
def switch(database: dict[str, str]) -> Iterator[Switch]:
    one = Switch(database, timeout_s=10)
    yield one
    one.close()


def open_store(switch: Switch, tmp_path: Path, *, serves: bool = True) -> ClusterJobStore:
    spool = JobSpool(tmp_path, most_bytes=SPOOL_BYTES)
    return ClusterJobStore(PostgresJobStore(switch, "a"), spool, serves=serves)


def test_nothing_is_kept_here_while_postgresql_is_there(switch: Switch, tmp_path: Path) -> None:
    store = open_store(switch, tmp_path)
    assert store.new_job(jid(1), LOAD, ["a"])
    assert store.add_return(jid(1), "a", {"return": 1}) is Stored.NEW
    assert store.returns(jid(1)) == {"a": {"return": 1}}
    assert store.minions(jid(2)) is None
    store.clean(jid(2))
    store.checkpoint()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("days", "serves", "may"),
    [(0.0, True, True), (0.99, True, True), (-0.99, True, True), (1.01, True, False),
     (-1.01, True, False), (0.0, False, False)],
)  # fmt: skip
def test_a_job_of_a_day_may_come_later_if_nodes_publish_alone(
    switch: Switch, tmp_path: Path, days: float, serves: bool, may: bool
) -> None:
    store = open_store(switch, tmp_path, serves=serves)
    now = jid_time(jid(1)) + timedelta(days=days)
    assert store.may_come_later(jid(1), now) is may
    assert not store.may_come_later("x/new", now)


def test_returns_and_jobs_are_taken_alone(switch: Switch, tmp_path: Path) -> None:
    store = open_store(switch, tmp_path)
    store.new_job(jid(1), LOAD, ["a", "b"])
    store.add_return(jid(1), "b", {"return": 0})
    switch.is_away = True
    # The job is in PostgreSQL; who asks for its return has it in memory.
    assert store.add_return(jid(1), "a", {"return": 1}) is Stored.NEW
    assert store.add_return(jid(1), "a", {"return": 1}) is Stored.REPEAT
    assert store.new_job(jid(2), LOAD, ["a"])
    assert not store.new_job(jid(2), LOAD, ["a"])
    assert store.minions(jid(2)) == ["a"]
    assert store.add_return(jid(2), "a", {"return": 2}) is Stored.NEW
    assert store.returns(jid(2)) == {"a": {"return": 2}}
    assert store.last_jids() == [jid(2), jid(1)]
    with pytest.raises(ServerAway):
        list(store.jobs())


def test_who_was_asked_is_not_guessed(switch: Switch, tmp_path: Path) -> None:
    """A return of whose job nothing is known here is kept by its minion, and sent again."""
    store = open_store(switch, tmp_path)
    store.new_job(jid(1), LOAD, ["a", "b"])
    switch.is_away = True
    store.add_return(jid(1), "a", {"return": 1})  # by a worker that has the job in memory
    other = open_store(switch, tmp_path)
    for number in (1, 2):
        with pytest.raises(ServerAway):
            other.minions(jid(number))
    switch.is_away = False
    assert other.minions(jid(1)) == ["a", "b"]
    assert other.minions(jid(2)) is None


def test_a_return_to_a_job_that_has_yet_to_go_up(switch: Switch, tmp_path: Path) -> None:
    store = open_store(switch, tmp_path)
    switch.is_away = True
    store.new_job(jid(1), LOAD, ["a", "b"])
    switch.is_away = False
    assert store.minions(jid(1)) == ["a", "b"]
    batch = [(jid(1), "a", {"return": 1}), (jid(2), "a", {"return": 1})]
    assert store.add_returns(batch) == [Stored.NEW, Stored.FORGOTTEN]
    assert store.returns(jid(1)) == {"a": {"return": 1}}


def test_without_leave_to_serve_all_is_refused(switch: Switch, tmp_path: Path) -> None:
    store = open_store(switch, tmp_path, serves=False)
    store.new_job(jid(1), LOAD, ["a"])
    switch.is_away = True
    for call in (
        lambda: store.new_job(jid(2), LOAD, ["a"]),
        lambda: store.add_return(jid(1), "a", {"return": 1}),
        lambda: store.minions(jid(1)),
    ):
        with pytest.raises(ServerAway):
            call()
    assert not list(tmp_path.iterdir())


def test_what_is_kept_has_a_bound(switch: Switch, tmp_path: Path) -> None:
    store = open_store(switch, tmp_path)
    switch.is_away = True
    store.new_job(jid(1), LOAD, [f"m{n}" for n in range(100)])
    with pytest.raises(StoreError, match="cluster_spool_max"):
        for number in range(100):
            store.add_return(jid(1), f"m{number}", {"return": "x" * 50_000})
    taken = store.returns(jid(1))
    assert 15 <= len(taken) <= 25  # a MiB of them
    with pytest.raises(StoreError, match="cluster_spool_max"):
        store.new_job(jid(2), LOAD, ["a"])


def test_an_answer_that_was_lost_makes_no_second_row(
    switch: Switch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has committed, and nobody knows: what goes up afterwards is a repeat."""
    store = open_store(switch, tmp_path)
    store.new_job(jid(1), LOAD, ["a"])
    real = Switch._run_work

    def lose(self: Switch, work: object) -> object:
        real(self, work)
        raise ServerAway("no answer")

    monkeypatch.setattr(Switch, "_run_work", lose)
    assert store.add_return(jid(1), "a", {"return": 1}) is Stored.NEW
    monkeypatch.setattr(Switch, "_run_work", real)
    spool = JobSpool(tmp_path, most_bytes=SPOOL_BYTES)
    rows = [row for _one, row in spool.read_rows(spool.read_new(10), 1000) if row is not None]
    assert PostgresJobStore(switch, "a").add_rows(rows) == [Stored.REPEAT]
    assert store.returns(jid(1)) == {"a": {"return": 1}}
