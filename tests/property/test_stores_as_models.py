"""Each implementation of a store answers every call as a dictionary would, whoever calls.

Two processes of one master call in any order; the model is one, so what one of them changes the
other sees at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from report_runs import make_row, make_run
from store_kinds import KINDS, Place, kind_of_place
from store_models import ModelFacts, ModelJobs, ModelKeys, ModelReports

from saltlite.core import dataclasses
from saltlite.core.job_query import JobQuery
from saltlite.core.state_reports import PropertyChange, ReportQuery, StateRow, StateRun
from saltlite.crypto.keys import PrivateKey
from saltlite.master.keystore import KeyState
from saltlite.master.minioncache import GRAINS, MINE, PILLAR

IDS = st.sampled_from(["web1", "web2", "db", "A.example", "m-3"])
JIDS = st.integers(1, 9).map(lambda number: f"2026010{number}000000000000")
BEGINNINGS = st.sampled_from(["", "20260103", "20260105000000000000", "2026", "20270101", "3"])
FUNS = st.sampled_from(["test.ping", "state.apply", "cmd.run"])
GLOBS = st.sampled_from(["", "test.ping", "*", "*.run", "state.*", "[ct]*", "none"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**40)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
RETS = st.dictionaries(st.sampled_from(["return", "retcode", "success"]), VALUES, max_size=3)
MANY = [f"minion-{number:04}.example.org" for number in range(40)]
"""A list so long that equal ones are stored once."""
MINIONS = st.lists(IDS, unique=True, max_size=4) | st.just(MANY)
PEMS = [PrivateKey.generate(2048).public.pem for _ in range(2)]
STATES = st.sampled_from(KeyState)
BANKS = st.sampled_from([GRAINS, PILLAR, MINE])
MAPS = st.dictionaries(st.sampled_from(["os", "roles", "x"]), VALUES, max_size=3)
WHO = st.integers(0, 1)
"""Which process calls."""

LONG_AGO_NS = 10**18
"""When a question may have been asked, by the wall clock."""


class Compared(RuleBasedStateMachine):
    """Two processes and a model."""

    make_place: Callable[[], Place]

    def __init__(self) -> None:
        super().__init__()
        self.place = self.make_place()
        self.processes = [self.place.open() for _ in range(2)]

    def teardown(self) -> None:
        self.place.close()


class ComparedJobs(Compared):
    def __init__(self) -> None:
        super().__init__()
        self.model = ModelJobs()
        self.stores = [one.open_jobs() for one in self.processes]

    def teardown(self) -> None:
        for one in self.stores:
            one.close()
        super().teardown()

    def both(self, who: int, name: str, *words: Any, **named: Any) -> None:
        given = getattr(self.stores[who], name)(*words, **named)
        wanted = getattr(self.model, name)(*words, **named)
        assert given == wanted, name

    @rule(who=WHO, jid=JIDS, fun=FUNS, tgt=IDS, minions=MINIONS, colour=st.sampled_from("rgb"))
    def new_job(self, who: int, jid: str, fun: str, tgt: str, minions: Any, colour: str) -> None:
        load = {"fun": fun, "tgt": tgt, "user": "root", "key": "x", "metadata": {"colour": colour}}
        self.both(who, "new_job", jid, load, minions)

    @rule(who=WHO, jid=JIDS, minions=st.lists(IDS, max_size=3))
    def add_minions(self, who: int, jid: str, minions: list[str]) -> None:
        self.both(who, "add_minions", jid, minions)

    @rule(who=WHO, returns=st.lists(st.tuples(JIDS, IDS, RETS), min_size=1, max_size=5))
    def add_returns(self, who: int, returns: Any) -> None:
        self.both(who, "add_returns", returns)

    @rule(who=WHO, jid=JIDS, minion=IDS, ret=RETS, most=st.sampled_from([0, 20, 100]))
    def make_room(self, who: int, jid: str, minion: str, ret: Any, most: int) -> None:
        self.both(who, "make_room", jid, minion, ret, most)

    @rule(who=WHO, jid=JIDS)
    def clean(self, who: int, jid: str) -> None:
        self.both(who, "clean", jid)

    @rule(who=WHO, most=st.integers(3, 8))
    def clean_to(self, who: int, most: int) -> None:
        self.both(who, "clean_to", most)

    @rule(who=WHO, jid=JIDS, had=st.lists(IDS, max_size=2), most=st.sampled_from([0, 30, 10**6]))
    def look_at_one(self, who: int, jid: str, had: list[str], most: int) -> None:
        for name in ("job", "minions", "returns", "count_returns", "last_jids"):
            self.both(who, name, jid)
        self.both(who, "returns_except", jid, had, most)

    @rule(
        who=WHO, fun=GLOBS, tgt=GLOBS, since=BEGINNINGS, until=BEGINNINGS, limit=st.integers(0, 4),
        newest_first=st.booleans(), colour=st.sampled_from(["", "r", "g"]),
    )  # fmt: skip
    def search(self, who: int, colour: str, **wanted: Any) -> None:
        query = JobQuery(metadata={"colour": colour} if colour else {}, **wanted)
        assert list(self.stores[who].jobs(query)) == list(self.model.jobs(query))

    @rule(who=WHO, minion=IDS, since=BEGINNINGS)
    def list_returned(self, who: int, minion: str, since: str) -> None:
        given = self.stores[who].list_returned(minion, since=since)
        assert list(given) == list(self.model.list_returned(minion, since=since))


class ComparedKeys(Compared):
    def __init__(self) -> None:
        super().__init__()
        self.model = ModelKeys()

    def change(self, who: int, name: str, minion: str, *words: Any) -> None:
        store = self.processes[who].keys
        with store.hold(minion):
            given = getattr(store, name)(minion, *words)
        assert given == getattr(self.model, name)(minion, *words), name
        for one in self.processes:
            self.compare(one.keys, minion)

    def compare(self, store: Any, minion: str) -> None:
        assert store.look_up(minion) == self.model.look_up(minion)
        for state in KeyState:
            for name in ("has", "key"):
                given = getattr(store, name)(minion, state)
                assert given == getattr(self.model, name)(minion, state)
            assert store.list(state) == self.model.list(state)
            assert store.ids(state) == self.model.ids(state)
        accepted = store.load_accepted(minion)
        pem = self.model.key(minion, KeyState.ACCEPTED)
        assert (accepted and accepted.pem) == (pem if pem in PEMS else None)

    @rule(who=WHO, minion=IDS, state=STATES, pem=st.sampled_from([*PEMS, "no key"]))
    def put(self, who: int, minion: str, state: KeyState, pem: str) -> None:
        self.change(who, "put", minion, state, pem)

    @rule(who=WHO, minion=IDS, source=STATES, to=STATES)
    def move(self, who: int, minion: str, source: KeyState, to: KeyState) -> None:
        if source is not to:
            self.change(who, "move", minion, source, to)

    @rule(who=WHO, minion=IDS, state=STATES)
    def delete(self, who: int, minion: str, state: KeyState) -> None:
        self.change(who, "delete", minion, state)


class ComparedFacts(Compared):
    def __init__(self) -> None:
        super().__init__()
        self.model = ModelFacts()

    def compare(self, bank: str, minion: str) -> None:
        for one in self.processes:
            assert one.facts.read(bank, minion) == self.model.read(bank, minion)
            assert one.facts.ids(bank) == self.model.ids(bank)

    @rule(who=WHO, bank=BANKS, minion=IDS, data=MAPS)
    def add(self, who: int, bank: str, minion: str, data: Any) -> None:
        for store in (self.processes[who].facts, self.model):
            store.update(bank, minion, lambda kept: {**kept, **data})
        self.compare(bank, minion)

    @rule(who=WHO, bank=BANKS, minion=IDS, name=st.sampled_from(["os", "roles"]))
    def take_out(self, who: int, bank: str, minion: str, name: str) -> None:
        def without(kept: dict[str, Any]) -> dict[str, Any] | None:
            return kept if kept.pop(name, None) is not None else None

        given = self.processes[who].facts.update(bank, minion, without)
        assert given == self.model.update(bank, minion, without)
        self.compare(bank, minion)

    @rule(who=WHO, bank=BANKS, minion=IDS, data=MAPS, asked_s=st.integers(0, 5))
    def write_newest(self, who: int, bank: str, minion: str, data: Any, asked_s: int) -> None:
        moments = LONG_AGO_NS + asked_s * 10**9, LONG_AGO_NS + 10**10
        with self.processes[who].facts.hold_lock(minion):
            given = self.processes[who].facts.write_newest(bank, minion, data, *moments)
        assert given == self.model.write_newest(bank, minion, data, *moments)
        self.compare(bank, minion)

    @rule(who=WHO, bank=BANKS, minion=IDS)
    def delete(self, who: int, bank: str, minion: str) -> None:
        for store in (self.processes[who].facts, self.model):
            store.delete(minion, bank)
        self.compare(bank, minion)

    @rule(who=WHO, minion=IDS)
    def forget(self, who: int, minion: str) -> None:
        for store in (self.processes[who].facts, self.model):
            store.forget(minion)
        for bank in (GRAINS, PILLAR, MINE):
            self.compare(bank, minion)

    @rule(who=WHO, name=st.sampled_from(["os", "roles", "x"]))
    def find(self, who: int, name: str) -> None:
        ids = ["web1", "web2", "db"]
        for seen in self.processes[who].facts.facts(ids):
            for bank, view in ((GRAINS, seen.grains), (PILLAR, seen.pillar)):
                kept = self.model.read(bank, seen.id)
                assert (view is None) == (kept is None)
                assert view is None or kept is None or view.get(name) == kept.get(name)


NAMES = st.sampled_from(["/etc/motd", "/etc/issue", "nginx", "ü[x]"])
CHANGES = st.lists(
    st.sampled_from(
        [
            PropertyChange("mode", "0600", "0644"),
            PropertyChange("/etc/app/a:diff", None, "New file\n'\"\\%"),
            PropertyChange("", "ä", None),
        ]
    ),
    max_size=2,
).map(tuple)
ROWS = st.builds(
    make_row,
    name=NAMES,
    function=st.sampled_from(["file.managed", "service.running"]),
    ident=NAMES,
    sls=st.sampled_from(["motd", "web.nginx"]),
    result=st.sampled_from([True, False, None]),
    duration_ms=st.floats(0, 1e6),
    comment=st.sampled_from(["", "no: ä"]),
    changes=CHANGES,
)
RUNS = st.builds(
    make_run,
    st.integers(1, 9).map(float),
    IDS,
    jid=JIDS,
    place=st.integers(0, 1),
    user=st.sampled_from(["root", "alice", "sudo_alice", ""]),
    test=st.booleans(),
    rows=st.lists(ROWS, max_size=3).map(
        lambda rows: tuple(dataclasses.replace(row, number=at) for at, row in enumerate(rows))
    ),
)
QUERIES = st.builds(
    ReportQuery,
    since_s=st.integers(0, 9).map(float),
    until_s=st.none() | st.integers(1, 9).map(float),
    minions=st.none() | st.frozensets(IDS, max_size=2),
    user=st.sampled_from(["", "", "alice", "r*", "nobody"]),
    path=st.sampled_from(["", "", "/etc/motd", "/etc/*", "/etc/app/a", "[n]ginx", "ü[[]x]"]),
    sls=st.sampled_from(["", "", "web.*", "motd"]),
    ident=st.sampled_from(["", "", "nginx"]),
    function=st.sampled_from(["", "", "file.*"]),
    jid=st.just("") | JIDS,
    only=st.sampled_from(["", "changed", "would", "either", "failed"]),
    test=st.sampled_from([None, None, True, False]),
    slowest=st.booleans(),
    limit=st.integers(1, 1000),
)


class ComparedReports(Compared):
    def __init__(self) -> None:
        super().__init__()
        self.model = ModelReports()
        self.stores = [one.reports for one in self.processes]

    def teardown(self) -> None:
        for one in self.stores:
            one.close()
        super().teardown()

    @rule(who=WHO, runs=st.lists(RUNS, max_size=3, unique_by=lambda run: (run.jid, run.place)))
    def add_runs(self, who: int, runs: list[StateRun]) -> None:
        self.stores[who].add_runs(runs)
        self.model.add_runs(runs)

    @rule(who=WHO, before_s=st.integers(0, 5).map(float))
    def clean(self, who: int, before_s: float) -> None:
        assert self.stores[who].clean(before_s) == self.model.clean(before_s)

    @rule(who=WHO, query=QUERIES)
    def list_rows(self, who: int, query: ReportQuery) -> None:
        given = self.stores[who].list_rows(query)
        wanted = self.model.list_rows(query)
        assert len(given) == min(query.limit, len(wanted))
        assert all(one in wanted for one in given)
        key = rank_by_duration if query.slowest else rank_by_time
        assert list(map(key, given)) == sorted(map(key, wanted))[: len(given)]

    @rule(who=WHO, query=QUERIES)
    def read_runs(self, who: int, query: ReportQuery) -> None:
        given = list(self.stores[who].read_runs(query))
        wanted = self.model.read_runs(query)
        assert [(one.minion, one.at_s) for one in given] == sorted(
            (one.minion, one.at_s) for one in wanted
        )
        assert all(one in wanted for one in given)


def rank_by_duration(found: tuple[StateRun, StateRow]) -> float:
    return -found[1].duration_ms


def rank_by_time(found: tuple[StateRun, StateRow]) -> float:
    return -found[0].at_s


@pytest.mark.parametrize("compared", [ComparedJobs, ComparedKeys, ComparedFacts, ComparedReports])
@pytest.mark.parametrize("kind", KINDS)
def test_a_store_answers_as_its_model(kind: str, compared: type[Compared]) -> None:
    how = settings(
        max_examples=30 if kind == "embedded" else 15,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    with kind_of_place(kind) as make:
        machine = type("Kind", (compared,), {"make_place": staticmethod(make)})
        run_state_machine_as_test(machine, settings=how)
