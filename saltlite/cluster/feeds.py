"""What other nodes have written since the last look: returns for jobs of this node, and events.

A writer numbers its rows in the order of its commits, so one place for each writer is enough, and
what a reader has not seen is never behind its place.
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.portions import read_portions, select_portion
from saltlite.core.dataclasses import dataclass
from saltlite.core.lazyregex import regex
from saltlite.master.jobcache import unpack_map
from saltlite.master.shared import SharedArea
from saltlite.transport.bus import TAG_END, TAG_LIMIT_BYTES

READ_MOST: Final = 1000

EVENTS_LOCK: Final = 0x5A17_0006
"""Advisory, with a node's number: as for returns."""

OWN_MOST: Final = 20_000
"""Events from other nodes that are known again when our own bus brings them."""

_NEW_RETURNS: Final = select_portion(
    "returns.seq, returns.jid, returns.id, returns.ret",
    "FROM returns JOIN jobs ON jobs.jid = returns.jid "
    "WHERE returns.node = %s AND returns.seq > %s AND returns.seq <= %s AND jobs.node = %s",
    place="returns.seq",
    data="returns.ret",
)

_ADD_EVENTS: Final = """
WITH gate AS MATERIALIZED (
    SELECT number, pg_advisory_xact_lock(%s, number::integer) FROM nodes WHERE node = %s
)
INSERT INTO events (node, seq, frame)
SELECT gate.number, one.seq, one.frame
FROM gate, unnest(%s::bigint[], %b::bytea[]) AS one (seq, frame)
ON CONFLICT DO NOTHING
"""

_TAKE_PLACES: Final = "SELECT nextval('event_places') FROM generate_series(1, %s)"

_NEW_EVENTS: Final = select_portion(
    "seq, frame", "FROM events WHERE node = %s AND seq > %s", place="seq", data="frame"
)


class ReturnPlaces:
    """What has been read of each node's returns, in memory that outlives the bridge's process."""

    _NODES: Final = 1 << 15
    """More than a node's number, which is a ``smallint``; 0 is nobody's."""

    def __init__(self) -> None:
        self._area = SharedArea("saltlite-places", self._NODES * 8)

    def is_first_look(self) -> bool:
        """Whether nothing was read since the master's start; not asked twice."""
        is_first = not self._area.words[0]
        self._area.words[0] = 1
        return is_first

    def get(self, number: int) -> int:
        """The place in a node's returns; 0 for one that is new."""
        return self._area.words[number]

    def set(self, number: int, place: int) -> None:
        """What is up to ``place`` has been read."""
        self._area.words[number] = place

    def close(self) -> None:
        """Unmap; others keep theirs."""
        self._area.close()


@dataclass(frozen=True, slots=True)
class NewReturn:
    """What a minion returned to another node, of a job of this one."""

    jid: str
    id: str
    ret: dict[str, Any]


class ReturnFeed:
    """Returns that came to other nodes and that somebody here may wait for."""

    def __init__(self, engine: ClusterEngine, number: int, places: ReturnPlaces) -> None:
        self._engine = engine
        self._number = number
        self._places = places

    def read(self) -> Iterator[NewReturn]:
        """Those that have come since the last call; at the master's first look, none.

        Raises:
            ServerAway: the rest comes with the next call.
        """
        heads = self._engine.execute(
            "SELECT number, (SELECT coalesce(max(seq), 0) FROM returns WHERE returns.node = number)"
            " FROM nodes WHERE number <> %s",
            [self._number],
        )
        if self._places.is_first_look():
            for number, head in heads:
                self._places.set(number, head)
            return
        for number, head in heads:
            if head > self._places.get(number):
                yield from self._read_node(number, head)

    def _read_node(self, number: int, head: int) -> Iterator[NewReturn]:
        def values() -> list[object]:
            return [number, self._places.get(number), head, self._number]

        for seq, jid, minion_id, ret in read_portions(
            self._engine, _NEW_RETURNS, values, READ_MOST
        ):
            yield NewReturn(jid, minion_id, unpack_map(ret))
            self._places.set(number, seq)
        self._places.set(number, head)


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """An event of this node as the bus has it, and its place among them."""

    place: int
    frame: bytes


class EventExchange:
    """Events of this node that others hear, and theirs that this one does."""

    def __init__(
        self, engine: ClusterEngine, node: str, number: int, wanted: Sequence[str]
    ) -> None:
        self._engine = engine
        self._node = node
        self._number = number
        self._wanted = regex("|".join(fnmatch.translate(one) for one in wanted) or r"(?!)")
        self._places: dict[int, int] | None = None
        self._theirs: deque[bytes] = deque(maxlen=OWN_MOST)
        self._known: set[bytes] = set()

    def is_for_all(self, frame: bytes) -> bool:
        """Whether other nodes are to hear an event of the bus; not if it came from one."""
        tag = frame[: TAG_LIMIT_BYTES + 2].partition(TAG_END)[0].decode("utf-8", "replace")
        if not self._wanted.match(tag):
            return False
        digest = hashlib.sha1(frame, usedforsecurity=False).digest()
        if digest in self._known:
            self._known.discard(digest)
            return False
        return True

    def give_places(self, frames: Sequence[bytes]) -> list[PlacedEvent]:
        """Their places among the events of this node, behind all that have one.

        Raises:
            ServerAway: they have none.
        """
        places = sorted(place for (place,) in self._engine.execute(_TAKE_PLACES, [len(frames)]))
        return list(map(PlacedEvent, places, frames))

    def send(self, events: Sequence[PlacedEvent]) -> None:
        """Have the other nodes hear these events.

        Raises:
            ServerAway: they may hear them all the same. The same ones sent again are heard once,
                since each has its place.
        """
        values = [[one.place for one in events], [one.frame for one in events]]
        self._engine.execute(_ADD_EVENTS, [EVENTS_LOCK, self._node, *values])

    def read(self) -> Iterator[bytes]:
        """The events of other nodes since the last call; at the first look, none."""
        heads = self._engine.execute(
            "SELECT number, (SELECT coalesce(max(seq), 0) FROM events WHERE events.node = number)"
            " FROM nodes WHERE number <> %s",
            [self._number],
        )
        if self._places is None:
            self._places = dict(heads)
            return
        for number, head in heads:
            if head > self._places.get(number, 0):
                yield from self._read_node(number, self._places)

    def _read_node(self, number: int, places: dict[int, int]) -> Iterator[bytes]:
        def values() -> list[object]:
            return [number, places.get(number, 0)]

        for seq, frame in read_portions(self._engine, _NEW_EVENTS, values, READ_MOST):
            self._remember(frame)
            yield frame
            places[number] = seq

    def _remember(self, frame: bytes) -> None:
        """Know the event when the bus brings it back."""
        digest = hashlib.sha1(frame, usedforsecurity=False).digest()
        if len(self._theirs) == OWN_MOST:
            self._known.discard(self._theirs[0])
        self._theirs.append(digest)
        self._known.add(digest)
