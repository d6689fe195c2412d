"""Keys of a cluster: what is done on one node is so on all, in the table and in each copy."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltlite.cluster import keys
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.keys import PLACE, ClusterKeys, KeyFeed, read_filed
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import ServerAway
from saltlite.master.keystore import DENIED_LIMIT, KeyState, KeyStore

PEMS = [PrivateKey.generate(2048).public.pem for _ in range(3)]
ACCEPTED, UNACCEPTED, REJECTED, DENIED = (
    KeyState.ACCEPTED,
    KeyState.UNACCEPTED,
    KeyState.REJECTED,
    KeyState.DENIED,
)


class Node:
    """A node's keys and its bridge's part."""

    def __init__(self, database: dict[str, str], pki_dir: Path) -> None:
        self.engine = ClusterEngine(database, timeout_s=10)
        self.pki_dir = pki_dir
        self.copy = KeyStore(pki_dir)
        self.keys = ClusterKeys(self.engine, self.copy)
        self.keys.prepare()
        self.rotations = 0
        self.begin_again()

    def put(self, minion: str, state: KeyState, pem: str = PEMS[0]) -> None:
        with self.keys.hold(minion):
            self.keys.put(minion, state, pem)

    def move(self, minion: str, source: KeyState, target: KeyState) -> bool:
        with self.keys.hold(minion):
            return self.keys.move(minion, source, target)

    def delete(self, minion: str, state: KeyState) -> bool:
        with self.keys.hold(minion):
            return self.keys.delete(minion, state)

    def files(self) -> dict[str, dict[str, str | None]]:
        """By state, the keys in the files."""
        return {
            state.value: {one: self.copy.key(one, state) for one in self.copy.ids(state)}
            for state in KeyState
        }

    def path(self, minion: str, state: KeyState) -> Path:
        return self.copy.path(minion, state)

    def begin_again(self) -> None:
        """Another process takes the place of the bridge."""
        self.feed = KeyFeed(self.engine, self.pki_dir, rotate=self.rotate)

    def rotate(self) -> None:
        self.rotations += 1


@pytest.fixture
def nodes(database: dict[str, str], tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    made = Node(database, tmp_path / "a"), Node(database, tmp_path / "b")
    yield made
    for one in made:
        one.engine.close()


Nodes = tuple[Node, Node]


def test_an_accepted_key_counts_on_another_node_at_once(nodes: Nodes) -> None:
    one, other = nodes
    one.put("web1", ACCEPTED)
    assert other.keys.load_accepted("web1") is None  # its copy is a moment behind
    assert other.keys.look_up("web1") == (ACCEPTED, PEMS[0])
    accepted = other.keys.load_accepted("web1")
    assert accepted is not None
    assert accepted.pem == PEMS[0]


def test_changes_come_to_the_copy_of_another_node(nodes: Nodes) -> None:
    one, other = nodes
    for number, state in enumerate((ACCEPTED, UNACCEPTED, REJECTED, DENIED)):
        one.put(f"m{number}", state)
    assert other.feed.catch_up() == 4
    assert other.files() == one.files()
    assert other.feed.catch_up() == 0
    assert one.move("m0", ACCEPTED, REJECTED)
    assert one.delete("m1", UNACCEPTED)
    assert one.delete("m3", DENIED)
    other.feed.catch_up()
    assert other.files() == one.files()
    assert other.files() == {
        "accepted": {}, "unaccepted": {}, "denied": {},
        "rejected": {"m0": PEMS[0], "m2": PEMS[0]},
    }  # fmt: skip


def test_many_keys_are_taken_in_steps(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge that is busy with keys for long would be taken for dead."""
    monkeypatch.setattr(keys, "BUSY_S", 0.0)
    one, other = nodes
    names = [f"m{number}" for number in range(5)]
    for name in names:
        one.copy.put(name, ACCEPTED, PEMS[0])
    assert [one.feed.send_orders() for _ in range(6)] == [1] * 5 + [0]
    assert [other.feed.catch_up() for _ in range(6)] == [1] * 5 + [0]
    assert sorted(other.files()["accepted"]) == names
    assert other.feed.send_orders() == 0


def test_a_bridge_that_was_away_hears_of_keys_that_went(nodes: Nodes) -> None:
    one, other = nodes
    one.put("web1", ACCEPTED)
    other.feed.catch_up()
    one.delete("web1", ACCEPTED)
    one.put("web2", ACCEPTED)
    other.begin_again()
    assert other.feed.send_orders() == 0
    other.feed.catch_up()
    assert other.files() == one.files()


@pytest.mark.parametrize("target", [ACCEPTED, REJECTED, None])
def test_a_file_that_is_moved_by_hand_is_an_order(nodes: Nodes, target: KeyState | None) -> None:
    one, other = nodes
    one.put("web1", UNACCEPTED)
    other.feed.catch_up()
    path = other.path("web1", UNACCEPTED)
    if target is None:
        path.unlink()
    else:
        os.rename(path, other.path("web1", target))
    assert other.feed.send_orders() == 1
    one.feed.catch_up()
    assert one.keys.look_up("web1") == (target, PEMS[0] if target else None)
    assert one.files() == other.files()


@pytest.mark.parametrize(
    "state, replaces, asked", [(ACCEPTED, False, 1), (ACCEPTED, True, 1), (UNACCEPTED, False, 0)]
)
def test_an_accepted_key_that_goes_by_hand_takes_the_publication_key_along(
    nodes: Nodes, state: KeyState, replaces: bool, asked: int
) -> None:
    one, other = nodes
    for name in ("m1", "m2"):
        one.put(name, state)
    other.feed.catch_up()
    other.feed.send_orders()
    for name in ("m1", "m2"):
        other.path(name, state).unlink()
        if replaces:
            other.path(name, state).write_text(PEMS[1])
    assert other.feed.send_orders() == 2
    assert other.rotations == asked
    assert one.rotations == 0


def fall_behind(one: Node, other: Node) -> None:
    """Eight keys are accepted at one node, whose files went at the other."""
    names = [f"m{number}" for number in range(8)]
    for name in names:
        one.put(name, UNACCEPTED)
    other.feed.catch_up()
    other.feed.send_orders()
    for name in names:
        other.path(name, UNACCEPTED).unlink()
        one.move(name, UNACCEPTED, ACCEPTED)


def test_thousands_of_files_that_are_behind_are_one_line(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = nodes
    fall_behind(one, other)
    with caplog.at_level(logging.WARNING):
        other.feed.catch_up()
    assert other.files() == one.files()
    (line,) = caplog.messages
    assert line.endswith("which counts: m0, m1, m2, m3, m4 and 3 more")


def test_passes_soon_after_a_line_are_said_together(
    nodes: Nodes, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = nodes
    fall_behind(one, other)
    monkeypatch.setattr(keys, "BUSY_S", -1.0)  # one id in each pass
    with caplog.at_level(logging.WARNING):
        assert [other.feed.catch_up() for _ in range(8)] == [1] * 8
        other.feed.send_orders()
        assert [line.endswith("which counts: m0") for line in caplog.messages] == [True]
        other.feed._say_again_s = 0.0  # as later
        other.feed.send_orders()
    assert len(caplog.messages) == 2
    assert caplog.messages[1].endswith("which counts: m1, m2, m3, m4, m5 and 2 more")


def test_a_key_that_is_put_there_by_hand_is_an_order(nodes: Nodes) -> None:
    one, other = nodes
    other.feed.send_orders()
    other.path("new", ACCEPTED).write_text(PEMS[1])
    assert other.feed.send_orders() == 1
    assert other.feed.send_orders() == 0
    assert one.keys.look_up("new") == (ACCEPTED, PEMS[1])


@pytest.mark.parametrize("target", [REJECTED, None])
def test_a_sign_in_does_not_undo_what_was_done_by_hand(
    nodes: Nodes, target: KeyState | None
) -> None:
    one, other = nodes
    one.put("web1", ACCEPTED)
    other.feed.catch_up()
    path = other.path("web1", ACCEPTED)
    path.unlink() if target is None else os.rename(path, other.path("web1", target))
    assert other.keys.look_up("web1") == (target, PEMS[0] if target else None)
    assert other.feed.send_orders() == 1
    assert one.keys.look_up("web1") == (ACCEPTED, PEMS[0])  # until its bridge hears of it
    one.feed.catch_up()
    assert one.keys.look_up("web1") == (target, PEMS[0] if target else None)


def test_what_a_process_of_the_node_has_done_is_no_order(nodes: Nodes) -> None:
    one, other = nodes
    one.put("web1", ACCEPTED)
    assert one.feed.send_orders() == 0
    other.feed.catch_up()
    other.move("web1", ACCEPTED, REJECTED)
    assert (one.feed.send_orders(), other.feed.send_orders()) == (0, 0)
    one.feed.catch_up()
    assert one.files() == other.files()


def test_where_file_and_table_both_changed_the_table_counts(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = nodes
    one.put("web1", UNACCEPTED)
    other.feed.catch_up()
    one.move("web1", UNACCEPTED, REJECTED)
    os.rename(other.path("web1", UNACCEPTED), other.path("web1", ACCEPTED))
    with caplog.at_level(logging.WARNING):
        assert other.feed.send_orders() == 0
    assert "not what was agreed, of minions whose keys have changed in the cluster" in caplog.text
    assert other.keys.load_accepted("web1") is None
    assert other.files() == one.files()


def test_a_new_node_brings_its_keys_and_takes_those_of_the_cluster(
    nodes: Nodes,
) -> None:
    """It was a single master: what nobody else knows is an order."""
    one, other = nodes
    one.put("known", REJECTED)
    for name in ("known", "own"):
        other.path(name, ACCEPTED).write_text(PEMS[1])
    assert not (other.pki_dir / PLACE).exists()
    other.begin_again()
    other.feed.send_orders()
    other.feed.catch_up()
    one.feed.catch_up()
    assert one.files() == other.files()
    assert one.keys.look_up("own") == (ACCEPTED, PEMS[1])
    assert one.keys.look_up("known") == (REJECTED, PEMS[0])


def test_while_the_engine_is_away_accepted_keys_serve_and_nothing_is_decided(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _other = nodes
    one.put("web1", ACCEPTED)

    def fail() -> None:
        raise ServerAway("cluster engine away: switched off")

    monkeypatch.setattr(one.engine, "_get_connection", fail)
    assert one.keys.look_up("web1") == (ACCEPTED, PEMS[0])
    assert one.keys.load_accepted("web1") is not None
    assert one.keys.look_up("web2") == (None, None)
    with pytest.raises(ServerAway):
        one.put("web2", UNACCEPTED)
    assert one.files()["unaccepted"] == {}


def test_a_decision_that_fails_leaves_key_and_copy(nodes: Nodes) -> None:
    one, _other = nodes
    one.put("web1", UNACCEPTED)
    with pytest.raises(ZeroDivisionError), one.keys.hold("web1"):
        one.keys.move("web1", UNACCEPTED, ACCEPTED)
        1 / 0  # noqa: B018 - it is what fails
    assert one.keys.look_up("web1") == (UNACCEPTED, PEMS[0])
    assert one.files()["unaccepted"] == {"web1": PEMS[0]}


def test_a_process_that_dies_after_its_commit_leaves_the_copy_to_the_bridge(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _other = nodes
    one.put("web1", UNACCEPTED)
    one.feed.catch_up()
    with monkeypatch.context() as patch:
        patch.setattr("saltlite.cluster.keys.apply_to_copy", lambda *_words: None)
        one.move("web1", UNACCEPTED, ACCEPTED)
    assert one.files()["unaccepted"] == {"web1": PEMS[0]}
    assert one.feed.send_orders() == 0
    one.feed.catch_up()
    assert one.files()["accepted"] == {"web1": PEMS[0]}


def test_denied_keys_are_bounded(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = nodes
    assert DENIED_LIMIT > 3
    monkeypatch.setattr("saltlite.cluster.keys.DENIED_LIMIT", 3)
    for number in range(5):
        one.put(f"m{number}", DENIED, PEMS[number % 3])
    other.feed.catch_up()
    assert other.keys.list(DENIED) == ["m2", "m3", "m4"]


def test_a_table_out_of_a_backup_counts(nodes: Nodes, caplog: pytest.LogCaptureFixture) -> None:
    one, _other = nodes
    one.put("kept", ACCEPTED)
    one.put("later", UNACCEPTED)
    backup = one.engine.execute("SELECT * FROM keys")
    one.move("later", UNACCEPTED, ACCEPTED)
    one.move("kept", ACCEPTED, REJECTED)
    for node in nodes:
        node.feed.catch_up()
        node.feed.send_orders()
    one.engine.execute("DELETE FROM keys")
    for row in backup:
        one.engine.execute("INSERT INTO keys VALUES (%s, %s, %s, %s, %s)", row)
    one.engine.execute("UPDATE counters SET value = 2 WHERE name = 'keys'")
    for node in nodes:
        node.begin_again()
        node.feed.catch_up()
        assert node.feed.send_orders() == 0
        assert node.files()["accepted"] == {"kept": PEMS[0]}
        assert node.files()["unaccepted"] == {"later": PEMS[0]}
    assert "is older than this node's copy" in caplog.text


FORGED = [
    ("../../x", "accepted", PEMS[0]),
    ("x" * 300, "accepted", PEMS[0]),
    ("web1", "'; DROP TABLE keys", PEMS[0]),
    ("web2", "accepted", "x" * 70_000),
    ("", "accepted", PEMS[0]),
]


def test_rows_that_somebody_has_forged_are_passed_over_and_hold_up_nothing(nodes: Nodes) -> None:
    one, other = nodes
    for number, (minion, state, pem) in enumerate(FORGED, 1):
        one.engine.execute("INSERT INTO keys VALUES (%s, %s, %s, %s)", [minion, state, pem, number])
        one.engine.execute(
            "INSERT INTO denied_keys VALUES (%s, 'x', %s, %s)", [minion, pem, number + 10]
        )
    one.engine.execute("UPDATE counters SET value = 20 WHERE name = 'keys'")
    one.put("good", ACCEPTED)
    other.feed.catch_up()
    other.feed.send_orders()
    files = other.files()
    assert (files["accepted"], files["denied"]) == ({"good": PEMS[0]}, {"web1": PEMS[0]})
    assert (files["unaccepted"], files["rejected"]) == ({}, {})
    assert other.keys.look_up("web1") == (None, None)
    assert sorted(one.name for one in other.pki_dir.parent.iterdir()) == ["a", "b"]
    # An id with such a row can be decided about like any other.
    other.put("web1", ACCEPTED)
    assert one.keys.look_up("web1") == (ACCEPTED, PEMS[0])


DOINGS = st.one_of(
    st.tuples(
        st.just("put"), st.integers(0, 1), st.sampled_from(["m1", "m2"]),
        st.sampled_from(KeyState), st.sampled_from(PEMS),
    ),
    st.tuples(
        st.just("move"), st.integers(0, 1), st.sampled_from(["m1", "m2"]),
        st.sampled_from(KeyState), st.sampled_from(KeyState),
    ),
    st.tuples(
        st.just("by hand"), st.integers(0, 1), st.sampled_from(["m1", "m2"]),
        st.sampled_from(KeyState), st.sampled_from([*KeyState, None]),
    ),
    st.tuples(
        st.sampled_from(["catch_up", "send_orders", "begin_again"]), st.integers(0, 1),
        st.none(), st.none(), st.none(),
    ),
)  # fmt: skip


def do_one(node: Node, what: str, minion: str, one: object, other: object) -> None:
    if what == "put":
        node.put(minion, one, other)  # type: ignore[arg-type]
    elif what == "move" and one is not other:
        node.move(minion, one, other)  # type: ignore[arg-type]
    elif what == "by hand" and node.path(minion, one).exists() and one is not other:  # type: ignore[arg-type]
        path = node.path(minion, one)  # type: ignore[arg-type]
        path.unlink() if other is None else os.rename(path, node.path(minion, other))  # type: ignore[arg-type]
    elif what in ("catch_up", "send_orders"):
        getattr(node.feed, what)()
    elif what == "begin_again":
        node.begin_again()


@given(st.lists(DOINGS, max_size=12))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_all_copies_come_to_be_what_the_table_is(
    nodes: Nodes, doings: list[tuple[str, int, str, object, object]]
) -> None:
    for what, number, minion, one, other in doings:
        do_one(nodes[number], what, minion, one, other)
    # Each tells what was done by hand there, and then hears of what the other told.
    for _ in range(2):
        for node in nodes:
            node.feed.send_orders()
            node.feed.catch_up()
    first, second = nodes
    assert first.files() == second.files()
    for minion in ("m1", "m2"):
        filed = first.engine.transact(lambda made, name=minion: read_filed(made, name))
        states = [state.value for state in KeyState if filed.text_in(state) is not None]
        assert states == [name for name, kept in first.files().items() if minion in kept]
