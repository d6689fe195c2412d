r"""The event bus: everyone pushes, one process publishes, whoever wants subscribes.

Local only, over Unix sockets. An event is one frame, ``tag``, two newlines and the packed data map
with bin types, as on Salt's own bus, so that ZeroMQ's prefix subscription works on tags. Behind it
the publisher puts a second frame, a sequence number of eight bytes.

A subscriber learns that its subscriptions are in force like this: last of all it subscribes to
``\xffready/<token>``; the publisher, an XPUB, sees each new subscription and answers that one with
a frame of the same name, which nobody else gets. When the answer comes, all the others hold too.
Tags are UTF-8 and never contain the byte ``\xff``; so it sorts last and collides with nothing. Who
subscribes to everything gets events only: the publisher puts subscriptions in force itself
(``XPUB_MANUAL``), and for an empty one it takes all bytes that a tag can begin with.

:class:`Relay` is the publisher's logic without sockets, for a blocking loop (EventPublisher) and an
asyncio loop (the minion) alike. Source: docs/wire.md#the-event-bus.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, TypeVar

import zmq

from saltlite.core.dataclasses import dataclass
from saltlite.core.plain import Plain
from saltlite.errors import WireError
from saltlite.transport.addresses import ipc
from saltlite.transport.codec import pack_bin, unpack_bin
from saltlite.transport.tcp import MAX_MESSAGE_BYTES

log = logging.getLogger(__name__)

TAG_END: Final = b"\n\n"
TAG_LIMIT_BYTES: Final = 1024
READY: Final = b"\xffready/"
TRIMMED: Final = "VALUE_TRIMMED"
"""What stands in an event for a value that was too large. Source: Salt's own word."""

_TOKEN_LENGTH = 32
_SUBSCRIBED: Final = b"\x01"
_UNSUBSCRIBED: Final = b"\x00"
"""ZeroMQ's own marks, before the prefix that a subscriber asks for, or asks for no more."""
_FIRST_BYTES: Final = tuple(bytes((byte,)) for byte in (*range(0x80), *range(0xC2, 0xF5)))
"""What UTF-8 text can begin with."""
_SEQUENCE_BYTES = 8
_SUBSCRIBER_HWM = 100_000
_PULL_HWM = 1_000_000
"""More than comes at a time: what the kernel holds for a full queue goes with its sender."""
_PUBLISHER_HWM_AT_LEAST = 20_000  # a thousand returns in one burst must not be lost on this machine

EVENTS_LINGER_MS: Final = 10_000
"""How long a process that ends waits until the bus has taken what it fired: on a busy machine
thousands of events may still be on their way. One whose bus takes all does not wait.
"""

_S = TypeVar("_S", bound="zmq.Socket[Any]")


@dataclass(frozen=True, slots=True)
class Event:
    """One event: a tag and a map."""

    tag: str
    data: dict[str, Any]


def pack_event(
    tag: str, data: Mapping[str, Plain], now: datetime, *, max_bytes: int | None = None
) -> bytes:
    """The frame of an event. ``_stamp`` (UTC) is added unless it is there.

    Args:
        tag: 1 to 1024 bytes of UTF-8 without an empty line.
        data: the map.
        now: the time for ``_stamp``, with its zone.
        max_bytes: ``max_event_size``; larger values give way to ``VALUE_TRIMMED``, largest first.

    Raises:
        WireError: no such tag, or data that cannot be packed.
    """
    head = _tag_bytes(tag)
    stamped = dict(data)
    if "_stamp" not in stamped:
        stamped["_stamp"] = stamp(now)
    body = pack_bin(stamped)
    if max_bytes is not None and len(body) > max_bytes:
        body = _pack_trimmed(stamped, max_bytes)
    return head + TAG_END + body


def stamp(now: datetime) -> str:
    """A moment as events carry it: UTC, ISO 8601, no zone. Source: docs/wire.md#versions."""
    return now.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds")


def _tag_bytes(tag: str) -> bytes:
    try:
        head = tag.encode()
    except UnicodeEncodeError as error:
        raise WireError("tag is not text") from error
    # A newline at its end would join the two that follow, and the tag be cut too early.
    if not 0 < len(head) <= TAG_LIMIT_BYTES or TAG_END in head + b"\n":
        raise WireError("not a tag")
    return head


def _pack_trimmed(data: dict[str, Plain], max_bytes: int) -> bytes:
    """Pack ``data`` with its largest values replaced until it is small enough."""
    sizes = {name: len(pack_bin(value)) for name, value in data.items()}
    total = sum(sizes.values())
    # Largest first, so that the fewest values are lost.
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True):
        if total <= max_bytes:
            break
        data[name] = TRIMMED
        total -= sizes[name] - len(TRIMMED)
    return pack_bin(data)


def unpack_event(frame: bytes) -> Event:
    """The event in a frame.

    Raises:
        WireError: it is none.
    """
    head, end, body = frame.partition(TAG_END)
    if not end or not 0 < len(head) <= TAG_LIMIT_BYTES:
        raise WireError("event has no tag")
    data = unpack_bin(body)
    if not isinstance(data, dict):
        raise WireError("event's data is not a map")
    try:
        return Event(head.decode(), data)
    except UnicodeDecodeError as error:
        raise WireError("event's tag is not text") from error


# --- the publisher's side ---------------------------------------------------------------


class Relay:
    """What the publishing process does with each frame. No socket, no clock."""

    def __init__(self) -> None:
        self.sequence = 0
        self.dropped = 0

    def event(self, frames: Sequence[bytes]) -> list[bytes] | None:
        """What to publish for a message from PULL; ``None`` for one that is no event."""
        # Only the tag is looked at: whoever subscribes unpacks, the publisher of all events never.
        if len(frames) != 1 or frames[0].find(TAG_END, 0, TAG_LIMIT_BYTES + 2) <= 0:
            self.dropped += 1
            return None
        self.sequence += 1
        # Beside each event, so that who falls behind sees how many it has missed.
        return [frames[0], self.sequence.to_bytes(_SEQUENCE_BYTES, "big")]

    def subscription(self, frames: Sequence[bytes]) -> list[bytes] | None:
        """What to publish for a message from XPUB; ``None`` for most."""
        frame = frames[0]
        token = frame[1 + len(READY) :]
        if not frame.startswith(_SUBSCRIBED + READY) or len(token) != _TOKEN_LENGTH:
            return None
        return [READY + token, self.sequence.to_bytes(_SEQUENCE_BYTES, "big")]


def list_changes(frames: Sequence[bytes]) -> tuple[int, Sequence[bytes]]:
    """What a message from XPUB changes: an option of the socket, and its values.

    An empty prefix would also match the answers to others' ``ready`` subscriptions.
    """
    mark, prefix = frames[0][:1], frames[0][1:]
    if mark not in (_SUBSCRIBED, _UNSUBSCRIBED):
        return zmq.SUBSCRIBE, ()
    option = zmq.SUBSCRIBE if mark == _SUBSCRIBED else zmq.UNSUBSCRIBE
    return option, (prefix,) if prefix else _FIRST_BYTES


def take_subscription(
    relay: Relay, publisher: zmq.Socket[Any], frames: Sequence[bytes]
) -> list[bytes] | None:
    """Put in force what the message last read from XPUB asks for; what to publish, if anything."""
    option, prefixes = list_changes(frames)
    for prefix in prefixes:
        publisher.setsockopt(option, prefix)
    return relay.subscription(frames)


def bind_bus(
    context: zmq.Context[_S], pull_path: Path, pub_path: Path, *, hwm: int = 1000, mode: int = 0o600
) -> tuple[_S, _S]:
    """Bind the PULL and the XPUB socket of a bus.

    The caller's loop hands every message of PULL to :meth:`Relay.event` and every one of XPUB to
    :func:`take_subscription`, and sends what they return on XPUB. ``hwm`` (``salt_event_pub_hwm``,
    but at least 20,000) bounds what waits for a slow subscriber; ``mode`` is that of the XPUB's
    socket file. The files stay; the caller removes them.

    Raises:
        ValueError: a path is too long for a Unix socket.
        zmq.ZMQError: a socket cannot be bound.
    """
    pull = context.socket(zmq.PULL)
    # XPUB tells of a prefix once, however many subscribe to it; each ready token is new.
    publisher = context.socket(zmq.XPUB)
    try:
        pull.setsockopt(zmq.LINGER, 0)
        pull.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        # Of each pusher: beyond that it waits, as long as its own timeout lets it.
        pull.setsockopt(zmq.RCVHWM, _PULL_HWM)
        publisher.setsockopt(zmq.LINGER, 0)
        # By hand, since an empty prefix is not to be taken as it came: see list_changes.
        publisher.setsockopt(zmq.XPUB_MANUAL, 1)
        publisher.setsockopt(zmq.SNDHWM, max(hwm, _PUBLISHER_HWM_AT_LEAST))
        publisher.setsockopt(zmq.MAXMSGSIZE, 2 * TAG_LIMIT_BYTES)  # it hears subscriptions only
        bind_private(pull, pull_path)
        bind_private(publisher, pub_path, mode)
    except BaseException:
        pull.close(linger=0)
        publisher.close(linger=0)
        raise
    return pull, publisher


def bind_private(socket: zmq.Socket[Any], path: Path, mode: int = 0o600) -> None:
    """Bind with no moment in which others could open the socket file.

    Raises:
        ValueError: the path is too long for a Unix socket.
        zmq.ZMQError: it cannot be bound.
    """
    # bind makes the file itself, so only the umask can close it from the first moment.
    before = os.umask(0o777 & ~mode)
    try:
        socket.bind(ipc(path))
    finally:
        os.umask(before)


# --- those who push, those who subscribe ------------------------------------------------


class EventPusher:
    """Puts events on a bus. Connects by itself, also again. Not for use by several threads."""

    def __init__(
        self,
        path: Path,
        *,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        timeout_s: float = 1.0,
        max_bytes: int | None = None,
    ) -> None:
        """Prepare.

        Args:
            path: the bus's PULL socket.
            context: left open if handed in.
            timeout_s: how long :meth:`fire` may wait when the bus does not take events.
            max_bytes: ``max_event_size``, see :func:`pack_event`.
        """
        self._own_context = context is None
        self._context: zmq.Context[zmq.Socket[bytes]] = (
            zmq.Context() if context is None else context
        )
        self._max_bytes = max_bytes
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.setsockopt(zmq.LINGER, EVENTS_LINGER_MS)
        # A bus that hangs must not stop who works for it: then the event is lost, with a line.
        self._socket.setsockopt(zmq.SNDTIMEO, round(timeout_s * 1000))
        self._socket.setsockopt(zmq.SNDHWM, _SUBSCRIBER_HWM)
        self._socket.connect(ipc(path))

    def fire(self, tag: str, data: Mapping[str, Plain]) -> bool:
        """Hand one event over; ``False`` (and a log line) if the bus did not take it in time.

        Raises:
            WireError: no such tag, or data that cannot be packed.
        """
        return self.push(
            pack_event(tag, data, datetime.now(timezone.utc), max_bytes=self._max_bytes)
        )

    def push(self, frame: bytes) -> bool:
        """Hand over an event that is packed already."""
        try:
            self._socket.send(frame)
        except zmq.Again:
            log.error("event lost, the bus takes none: %s", frame[:60].partition(TAG_END)[0])
            return False
        return True

    def close(self) -> None:
        """Close; what was just fired has ten seconds to leave."""
        self._socket.close()
        if self._own_context:
            # Not destroy(linger=0), which would drop what was just fired.
            self._context.term()

    def __enter__(self) -> EventPusher:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


class EventSubscriber:
    """Hears events of a bus from the moment it is made. Not for use by several threads."""

    def __init__(
        self,
        path: Path,
        prefixes: Sequence[str] = ("",),
        *,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        most: int = _SUBSCRIBER_HWM,
    ) -> None:
        """Connect and subscribe to tags that begin with one of ``prefixes``.

        ``most`` is how many events may wait here to be taken.
        """
        self._own_context = context is None
        self._context: zmq.Context[zmq.Socket[bytes]] = (
            zmq.Context() if context is None else context
        )
        self._everything = "" in prefixes
        self._last: int | None = None
        self._ready = READY + os.urandom(16).hex().encode()
        self.lost = 0
        """Events known to have been missed; always 0 unless all tags are subscribed."""
        self.connections = 0
        """How often the link came up; more than one means that events may have been missed."""
        self._socket = self._context.socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        # Beyond it events stay with the publisher, whose own mark then drops them.
        self._socket.setsockopt(zmq.RCVHWM, most)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        for prefix in prefixes:
            self._socket.setsockopt(zmq.SUBSCRIBE, prefix.encode())
        # Last of all: they are sent in order, so its answer means that the others hold.
        self._socket.setsockopt(zmq.SUBSCRIBE, self._ready)
        self._socket.connect(ipc(path))
        self._early: list[Event] = []

    def connect_confirmed(self, timeout_s: float) -> bool:
        """Wait until the publisher has all subscriptions; ``False`` if it has not in time.

        Events that come meanwhile are kept for :meth:`get`.
        """
        deadline = time.monotonic() + timeout_s
        while not self.connections:
            event = self._next_message(deadline)
            if event is None and time.monotonic() >= deadline:
                return False
            if event is not None:
                self._early.append(event)
        return True

    def get(self, timeout_s: float) -> Event | None:
        """The next event, ``None`` if there is none in ``timeout_s`` seconds (0: only look)."""
        if self._early:
            return self._early.pop(0)
        deadline = time.monotonic() + timeout_s
        while True:
            event = self._next_message(deadline)
            if event is not None or time.monotonic() >= deadline:
                return event

    def frame(self, timeout_s: float) -> bytes | None:
        """The next event as it came, for who wants to see its tag before it is unpacked."""
        if self._early:
            # connect_confirmed has unpacked it; its own _stamp stays.
            early = self._early.pop(0)
            return pack_event(early.tag, early.data, datetime.now(timezone.utc))
        deadline = time.monotonic() + timeout_s
        while True:
            frame = self._next_frame(deadline)
            if frame is not None or time.monotonic() >= deadline:
                return frame

    @property
    def fileno(self) -> int:
        """A descriptor for an event loop; it becomes readable when :meth:`next_frame` may help.

        It tells of changes only: call :meth:`next_frame` until it has nothing more.
        """
        return int(self._socket.getsockopt(zmq.FD))

    def next_frame(self) -> bytes | None:
        """The next event as it came, ``None`` if none is there; does not wait."""
        while True:
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return None
            if self._count_sequence(frames):
                return frames[0]

    def _next_message(self, deadline: float) -> Event | None:
        """One message, if it is there in time and is an event."""
        frame = self._next_frame(deadline)
        if frame is None:
            return None
        try:
            return unpack_event(frame)
        except WireError as error:
            log.debug("not an event: %s", error)
            return None

    def _next_frame(self, deadline: float) -> bytes | None:
        wait_ms = max(0, round((deadline - time.monotonic()) * 1000))
        if not self._socket.poll(wait_ms):
            return None
        frames = self._socket.recv_multipart()
        return frames[0] if self._count_sequence(frames) else None

    def _count_sequence(self, frames: list[bytes]) -> bool:
        """Keep the sequence; ``False`` for what is not an event."""
        if len(frames) != 2 or len(frames[1]) != _SEQUENCE_BYTES:
            return False
        number = int.from_bytes(frames[1], "big")
        # It comes again after each reconnection, and with the number to count on from.
        if frames[0] == self._ready:
            self.connections += 1
            self._last = number
            return False
        # Whoever takes some tags only sees gaps all the time; they say nothing.
        if self._everything and self._last is not None and number > self._last + 1:
            self.lost += number - self._last - 1
        self._last = number
        return True

    def close(self) -> None:
        """Stop listening."""
        self._socket.close(linger=0)
        if self._own_context:
            self._context.destroy(linger=0)

    def __enter__(self) -> EventSubscriber:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
