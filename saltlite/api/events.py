"""The master's events for everybody who waits for some: one reader, one encoding of each event.

:class:`EventFeed` reads the bus. A call listens to the returns of its job
(:class:`JobListener`), to one tag (:meth:`EventFeed.wait_for`), and browsers to everything
(:class:`EventStream`). What nobody waits for is not even decoded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.api import limits
from saltlite.api.negotiation import encode_json
from saltlite.api.packed import read_event
from saltlite.api.saltbus import BusPlace, SaltBus, open_bus
from saltlite.errors import MasterAbsent, WireError
from saltlite.transport.bus import TAG_END, Event, EventSubscriber, unpack_event

if TYPE_CHECKING:
    import zmq

log = logging.getLogger(__name__)

AT_ONCE_MOST: Final = 200
"""Frames read before other work gets its turn."""

EARLY_MOST: Final = 50_000
"""Returns kept for a call whose jid is not known yet."""

OWNERS_MOST: Final = 10_000
"""Jobs whose user is remembered."""

_FOR_EVERYBODY: Final = ("salt/auth", "salt/key", "salt/presence")
OVERFLOW_TAG: Final = "saltlite/api/overflow"
RETRY: Final = b"retry: 400\n"
KEEPALIVE: Final = b":\n\n"
KEEPALIVE_S: Final = 15.0

NOT_RUNNING: Final = "The salt master could not be contacted. Is master running?"


class EventFeed:
    """Reads the master's bus in the running loop, from :meth:`open` to :meth:`close`."""

    def __init__(self, path: Path, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self._path = path
        self._place = BusPlace(path)
        self._context = context
        self._bus: EventSubscriber | SaltBus | None = None
        self._early: set[JobListener] = set()
        self._by_jid: dict[str, set[JobListener]] = {}
        self._by_tag: dict[str, list[asyncio.Future[dict[str, Any]]]] = {}
        self._owners = JobOwners()
        self._runs = 0
        self._unnamed_runs = 0
        self._run_returns: deque[Event] = deque(maxlen=1000)
        self.streams: set[EventStream] = set()

    @property
    def lost(self) -> int:
        """Events known to have been missed."""
        return self._bus.lost if self._bus is not None else 0

    @property
    def connections(self) -> int:
        """How often the link to the bus came up."""
        return self._bus.connections if self._bus is not None else 0

    def open(self) -> None:
        """Subscribe; the link comes up whenever there is a master."""
        self._bus = self._find_bus()
        asyncio.get_running_loop().add_reader(self._bus.fileno, self._read)
        self._read()

    def _find_bus(self) -> EventSubscriber | SaltBus:
        try:
            return open_bus(self._path, self._context, is_salts=self._place.find_whose())
        except OSError as error:
            log.info("The bus of the master is not there yet: %s", error)
        return open_bus(self._path, self._context, is_salts=False)

    @property
    def is_salts(self) -> bool:
        """Whether the master is a real Salt's."""
        return isinstance(self._bus, SaltBus)

    @property
    def has_lengths(self) -> bool:
        """See :attr:`SaltBus.has_lengths`."""
        return not isinstance(self._bus, SaltBus) or self._bus.has_lengths

    def follow_master(self) -> None:
        """Connect anew where a real Salt master has gone, or come, since the last look."""
        bus = self._bus
        if bus is None:
            return
        is_over = isinstance(bus, SaltBus) and bus.is_over
        if not is_over and not self._place.is_another():
            return
        try:
            is_salts = self._place.find_whose()
            if not is_salts and isinstance(bus, EventSubscriber):
                return  # ZeroMQ connects anew by itself
            again = open_bus(self._path, self._context, is_salts=is_salts)
        except OSError:
            return
        again.connections = bus.connections + is_salts  # ours counts what comes up
        loop = asyncio.get_running_loop()
        if not is_over:
            loop.remove_reader(bus.fileno)
        bus.close()
        self._bus = again
        loop.add_reader(again.fileno, self._read)
        self._read()

    def close(self) -> None:
        """Stop listening; all streams end."""
        if self._bus is None:
            return
        asyncio.get_running_loop().remove_reader(self._bus.fileno)
        self._bus.close()
        self._bus = None
        for stream in list(self.streams):
            stream.end()

    async def wait_until_connected(self, timeout_s: float) -> None:
        """Wait for the first link to the bus.

        Raises:
            MasterAbsent: it does not come up in time.
        """
        deadline = time.monotonic() + timeout_s
        while not self.connections:
            if time.monotonic() >= deadline:
                raise MasterAbsent(NOT_RUNNING)
            await asyncio.sleep(0.01)

    def _read(self) -> None:
        if self._bus is None:
            return
        for _ in range(AT_ONCE_MOST):
            frame = self._bus.next_frame()
            if frame is None:
                self._leave_if_over()
                return
            try:
                self._dispatch(frame)
            except WireError as error:
                log.debug("not an event: %s", error)
        # The descriptor tells of a change only, so what is left has to be fetched unasked.
        asyncio.get_running_loop().call_soon(self._read)

    def _leave_if_over(self) -> None:
        if isinstance(self._bus, SaltBus) and self._bus.is_over:
            asyncio.get_running_loop().remove_reader(self._bus.fileno)

    def _dispatch(self, frame: bytes) -> None:
        tag = frame.partition(TAG_END)[0]
        event: Event | None = None
        if tag.startswith(b"salt/job/") and (self._early or self._by_jid):
            event = self._hand_to_jobs(tag, frame)
        elif tag.startswith(b"2") and (self._early or self._by_jid):
            event = self._hand_announcement(tag, frame)
        elif self._runs and tag.startswith((b"salt/run/", b"salt/wheel/")):
            event = read_event(frame)
            self._hand_to_runs(event)
        if self.streams:
            event = event or read_event(frame)
            chunk = StreamChunk.of(event, self._owners.owner_of(event))
            for stream in list(self.streams):
                stream.put(chunk)

    def _hand_to_jobs(self, tag: bytes, frame: bytes) -> Event | None:
        if b"/ret/" not in tag:
            return None
        return self._hand_to_listeners(tag.split(b"/", 3)[2], frame)

    def _hand_announcement(self, tag: bytes, frame: bytes) -> Event | None:
        """Hand on what syndics say: more minions of a job, under its bare jid."""
        return self._hand_to_listeners(tag, frame) if tag.isdigit() else None

    def _hand_to_listeners(self, digits: bytes, frame: bytes) -> Event | None:
        jid = digits.decode("ascii", "replace")
        listeners = self._by_jid.get(jid, set()) | self._early
        if not listeners:
            return None
        event = unpack_event(frame)
        for listener in listeners:
            listener.put(event)
        return event

    def _hand_to_runs(self, event: Event) -> None:
        if not event.tag.endswith("/ret"):
            return
        waiting = self._by_tag.get(event.tag)
        if waiting is None:
            if self._unnamed_runs:
                self._run_returns.append(event)
            return
        for future in waiting:
            if not future.done():
                future.set_result(event.data)

    # --- for one call --------------------------------------------------------------------

    def listen_to_job(self) -> JobListener:
        """Listen to the returns of a job that is not published yet."""
        listener = JobListener(self)
        self._early.add(listener)
        return listener

    def name_job(self, listener: JobListener, jid: str) -> None:
        """Narrow a listener to a jid; it may have several."""
        self._early.discard(listener)
        self._by_jid.setdefault(jid, set()).add(listener)

    def forget_job(self, listener: JobListener) -> None:
        """Hand a listener nothing any more."""
        self._early.discard(listener)
        for jid in listener.jids:
            others = self._by_jid.get(jid, set())
            others.discard(listener)
            if not others:
                self._by_jid.pop(jid, None)

    def expect_run(self) -> RunExpectation:
        """Listen to the return of a runner that is not started yet."""
        return RunExpectation(self)

    def begin_run(self) -> None:
        """Keep returns of runners: somebody is about to wait for one, and will know its tag."""
        self._runs += 1
        self._unnamed_runs += 1

    def name_run(self) -> None:
        """Keep them no more, but for others: he knows the tag, or has given up."""
        self._unnamed_runs -= 1
        if not self._unnamed_runs:
            self._run_returns.clear()

    def end_run(self) -> None:
        """The counterpart of :meth:`begin_run`."""
        self._runs -= 1

    def early_return(self, tag: str) -> dict[str, Any] | None:
        """The data of the event with a tag, if it came since :meth:`begin_run`."""
        return next((event.data for event in self._run_returns if event.tag == tag), None)

    async def wait_for(self, tag: str, timeout_s: float) -> dict[str, Any] | None:
        """The data of the event with a tag that comes now."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._by_tag.setdefault(tag, []).append(future)
        try:
            return await asyncio.wait_for(future, timeout_s)
        except asyncio.TimeoutError:
            return None
        finally:
            waiting = self._by_tag[tag]
            waiting.remove(future)
            if not waiting:
                del self._by_tag[tag]


class RunExpectation:
    """Between asking for a runner and its return: nothing is missed."""

    def __init__(self, feed: EventFeed) -> None:
        self._feed = feed
        self._is_named = False

    def __enter__(self) -> RunExpectation:
        self._feed.begin_run()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._name()
        self._feed.end_run()

    def _name(self) -> None:
        if not self._is_named:
            self._is_named = True
            self._feed.name_run()

    async def data_of(self, tag: str, timeout_s: float) -> dict[str, Any] | None:
        """The data of the event with this tag, ``None`` if it does not come in time."""
        early = self._feed.early_return(tag)
        self._name()
        return await self._feed.wait_for(tag, timeout_s) if early is None else early


class Wakeup:
    """Wakes the one task that waits for something to come; nothing is kept for who waits later."""

    __slots__ = ("_waiter",)

    def __init__(self) -> None:
        self._waiter: asyncio.Future[None] | None = None

    def give(self) -> None:
        """Wake the task that waits, if one does."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, timeout_s: float) -> None:
        """Wait until :meth:`give`, or until the time is over."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait_for(self._waiter, timeout_s)
        except asyncio.TimeoutError:
            return
        finally:
            self._waiter = None


class JobListener:
    """The returns of one job, and of the questions about it. See ``client.collect.Events``."""

    def __init__(self, feed: EventFeed) -> None:
        self._feed = feed
        self._events: deque[Event] = deque()
        self._dropped = 0
        self._wakeup = Wakeup()
        self.jids: set[str] = set()

    @property
    def lost(self) -> int:
        """Events known to have been missed, by the bus or here."""
        return self._feed.lost + self._dropped

    @property
    def connections(self) -> int:
        """How often the link came up."""
        return self._feed.connections

    def get(self, timeout_s: float) -> Event | None:
        """The next event that is here; waiting is :meth:`wait`'s."""
        del timeout_s
        return self._events.popleft() if self._events else None

    def name(self, jid: str) -> None:
        """Listen to this jid (too), and to no others from now on."""
        if not self.jids:
            mark = f"salt/job/{jid}/"
            self._events = deque(
                one for one in self._events if one.tag == jid or one.tag.startswith(mark)
            )
        self.jids.add(jid)
        self._feed.name_job(self, jid)

    def put(self, event: Event) -> None:
        """Take an event; the feed calls this."""
        if len(self._events) >= EARLY_MOST:
            self._dropped += 1
            return
        self._events.append(event)
        self._wakeup.give()

    async def wait(self, timeout_s: float) -> Event | None:
        """The next event, ``None`` if there is none in time."""
        if not self._events and timeout_s > 0:
            await self._wakeup.wait(timeout_s)
        return self.get(0.0)

    def close(self) -> None:
        """Stop listening."""
        self._feed.forget_job(self)


# --- for browsers ------------------------------------------------------------------------


class StreamChunk:
    """One event as it is sent: as an SSE block, and as a text over a websocket."""

    __slots__ = ("owner", "sse", "tag", "text")

    def __init__(self, tag: str, text: bytes, owner: str | None) -> None:
        self.tag = tag
        self.text = text
        self.sse = b"tag: " + tag.encode("utf-8", "replace") + b"\n" + text
        self.owner = owner

    @classmethod
    def of(cls, event: Event, owner: str | None = "") -> StreamChunk:
        """Encode an event, once for everybody.

        ``owner`` is whose job it is about, ``""`` for what everybody may hear, ``None`` for the
        rest.
        """
        body = encode_json({"data": event.data, "tag": event.tag})
        tag = event.tag.replace("\n", " ").replace("\r", " ")
        return cls(tag, b"data: " + body + b"\n\n", owner)


class JobOwners:
    """Whose the jobs and runs are that the bus has told of lately."""

    def __init__(self) -> None:
        self._owners: OrderedDict[str, str] = OrderedDict()

    def owner_of(self, event: Event) -> str | None:
        """See :meth:`StreamChunk.of`."""
        if event.tag.startswith(_FOR_EVERYBODY):
            return ""
        kind, _, rest = event.tag.removeprefix("salt/").partition("/")
        if kind not in ("job", "run", "wheel"):
            return None
        jid, _, what = rest.partition("/")
        if what == "new":
            self._owners[jid] = str(event.data.get("user", ""))
            while len(self._owners) > OWNERS_MOST:
                self._owners.popitem(last=False)
        return self._owners.get(jid)


class EventStream:
    """All events for one listener, through a queue with a bound.

    A listener that does not keep up gets one event that says so, and the end.
    """

    def __init__(
        self,
        feed: EventFeed,
        *,
        on_end: Callable[[], None] = lambda: None,
        heard_by: str | None = None,
        expire: float = float("inf"),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Listen.

        Args:
            feed: where events come from.
            on_end: called once, at the end.
            heard_by: the user whose jobs alone are heard; ``None`` for everything.
            expire: when the listener's login ends.
            clock: seconds since 1970.
        """
        self._feed = feed
        self._heard_by = heard_by
        self._expire = expire
        self._clock = clock
        self._on_end = on_end
        self._chunks: deque[StreamChunk] = deque()
        self._bytes = 0
        self._ended = False
        self._wakeup = Wakeup()
        feed.streams.add(self)

    def put(self, chunk: StreamChunk) -> None:
        """Take an event; the feed calls this."""
        if self._ended or not self._hears(chunk):
            return
        self._chunks.append(chunk)
        self._bytes += len(chunk.text)
        full = len(self._chunks) > limits.STREAM_EVENTS_MOST
        if full or self._bytes > limits.STREAM_BYTES_MOST:
            self._overflow()
        self._wakeup.give()

    def _hears(self, chunk: StreamChunk) -> bool:
        return self._heard_by is None or chunk.owner in ("", self._heard_by)

    def _overflow(self) -> None:
        self._chunks.clear()
        self._bytes = 0
        data = {"comment": "This listener was too slow; events are missing. Connect anew."}
        self._chunks.append(StreamChunk.of(Event(OVERFLOW_TAG, data)))
        self.end()

    def end(self) -> None:
        """No more events; what is in the queue still goes out."""
        if self._ended:
            return
        self._ended = True
        self._feed.streams.discard(self)
        self._on_end()
        self._wakeup.give()

    async def next(self, timeout_s: float) -> StreamChunk | None:
        """The next event; ``None`` if none came in time, or after the end (:attr:`ended`)."""
        left_s = self._expire - self._clock()
        if left_s <= 0:
            self.end()
        if not self._chunks and not self._ended:
            await self._wakeup.wait(min(timeout_s, left_s))
        if not self._chunks:
            return None
        chunk = self._chunks.popleft()
        self._bytes -= len(chunk.text)
        return chunk

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._ended and not self._chunks

    def blocks(self) -> SseBlocks:
        """The stream as SSE; whoever closes the blocks ends it."""
        return SseBlocks(self)


class SseBlocks:
    """A stream as SSE, with a comment where nothing happens for a while.

    No generator: one that was never begun would not end its stream when it is closed.
    """

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream

    def __aiter__(self) -> SseBlocks:
        return self

    async def __anext__(self) -> bytes:
        stream = self._stream
        while not stream.is_over:
            chunk = await stream.next(KEEPALIVE_S)
            if chunk is not None:
                return chunk.sse
            if not stream.is_over:
                return KEEPALIVE
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the stream."""
        self._stream.end()
