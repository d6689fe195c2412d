"""ZMTP 3, as far as a master's ports need it: what they say, and what they hear from one peer.

libzmq keeps 27 KiB for each connection; a master with ten thousand minions needs none of that.
Here are frames, commands and the state of one connection, without a socket: bytes come in, the
bytes to send go out, and who is no subscriber, or no caller, is a ``WireError``. Only the NULL
mechanism, as Salt's. Source: rfc.zeromq.org/spec/23 and /37; docs/wire.md#the-masters-ports.
"""

from __future__ import annotations

import struct
from typing import Final

from saltlite.errors import WireError
from saltlite.transport.tcp import MAX_MESSAGE_BYTES

MORE: Final = 1
LONG: Final = 2
COMMAND: Final = 4

GREETING_BYTES: Final = 64
GREETING: Final = (
    b"\xff" + bytes(7) + b"\x01\x7f" + b"\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
)
"""Version 3.1: peers that know it ask for topics by a command, others by a message."""

FRAME_LIMIT_BYTES: Final = 4096
"""What a subscriber may send at once: topics are 40 bytes, so anything large is junk."""

PARTS_MOST: Final = 8
"""Frames of a request: the empty one and its body are two."""

COMMANDS_MOST: Final = 256
"""What a caller may say at once beside messages: each costs more to hear than to say."""

TOPICS_MOST: Final = 100
TOPICS_LIMIT_BYTES: Final = 8192
"""What one subscriber may ask for; a minion has two topics at most."""

_MECHANISM: Final = GREETING[12:32]
_SHORT_BYTES: Final = 255
_TTL_BYTES: Final = 2
_CONTEXT_MOST_BYTES: Final = 16
_PIECE_BYTES: Final = 41
"""What a piece takes beside its bytes, so that who sends single ones gains nothing."""
_EVERYTHING: Final = (b"",)


def encode_frame(body: bytes, flags: int = 0) -> bytes:
    """One frame; ``flags`` are ``MORE`` and ``COMMAND``."""
    if len(body) <= _SHORT_BYTES:
        return bytes((flags, len(body))) + body
    return bytes((flags | LONG,)) + struct.pack(">Q", len(body)) + body


def encode_message(*parts: bytes) -> bytes:
    """The frames of one message."""
    *first, last = parts
    return b"".join([*(encode_frame(part, MORE) for part in first), encode_frame(last)])


def encode_command(name: bytes, data: bytes = b"") -> bytes:
    """The frame of a command."""
    return encode_frame(bytes((len(name),)) + name + data, COMMAND)


def _encode_property(name: bytes, value: bytes) -> bytes:
    return bytes((len(name),)) + name + struct.pack(">I", len(value)) + value


READY: Final = encode_command(b"READY", _encode_property(b"Socket-Type", b"PUB"))
READY_TO_ANSWER: Final = encode_command(
    b"READY", _encode_property(b"Socket-Type", b"ROUTER") + _encode_property(b"Identity", b"")
)
PING: Final = encode_command(b"PING", bytes(_TTL_BYTES))


class CallerState:
    """One connection to a port that answers requests, as its protocol sees it.

    One message at a time: what follows it is not looked into before it is taken. A frame of many
    pieces is put together once, when the last of them is there.
    """

    __slots__ = ("_at", "_greeted", "_parts", "_parts_bytes", "_pieces", "_pieces_bytes", "_wanted",
                 "has_message", "is_ready")  # fmt: skip

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0
        self._at = 0
        """Bytes of the first piece that have been looked into."""
        self._wanted = 1
        """Nothing more can be said before there are so many bytes."""
        self._greeted = False
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self.is_ready = False
        """Whether the handshake is done."""
        self.has_message = False
        """Whether a message has come whole, and waits to be taken."""

    @property
    def held_bytes(self) -> int:
        """What has come and was not taken yet."""
        return self._pieces_bytes + len(self._pieces) * _PIECE_BYTES + self._parts_bytes

    def take_message(self) -> list[bytes]:
        """The frames of the message that has come; go on with what follows by ``take(b"")``."""
        message, self._parts, self._parts_bytes = self._parts, [], 0
        self.has_message = False
        return message

    def take(self, data: bytes) -> bytes:
        """Go on with what has come in; what is to be sent in answer.

        Raises:
            WireError: this is no caller of version 3; the connection is to be closed.
        """
        if data:
            self._pieces.append(data)
            self._pieces_bytes += len(data)
        if self.has_message or self._pieces_bytes < self._wanted:
            return b""
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        answers = []
        at, wanted, commands = self._at, 0, 0
        if not self._greeted:
            # With every piece: junk is refused by its first byte, not when it is long enough.
            _check_greeting(data)
            if len(data) < GREETING_BYTES:
                self._keep_rest(data, 0, len(data) + 1)
                return b""
            self._greeted = True
            at = GREETING_BYTES
            answers.append(READY_TO_ANSWER)
        while not self.has_message:
            start, end = self._find_frame(data, at)
            if len(data) < end:
                # Cut off: what is before it is done with.
                data, at, wanted = data[at:], 0, end - at
                break
            commands += bool(data[at] & COMMAND)
            if commands > COMMANDS_MOST:
                raise WireError("too many commands")
            answers.append(self._take_frame(data[at], data[start:end]))
            at = end
        self._keep_rest(data, at, wanted)
        return b"".join(answers)

    def _keep_rest(self, data: bytes, at: int, wanted: int) -> None:
        if at == len(data):
            self._pieces, self._pieces_bytes, self._at, self._wanted = [], 0, 0, 1
        else:
            self._pieces, self._pieces_bytes, self._at, self._wanted = [data], len(data), at, wanted

    def _find_frame(self, data: bytes, at: int) -> tuple[int, int]:
        """Where the body of the frame at ``at`` begins and ends, or what is needed to say so."""
        if len(data) < at + 2:
            return at, at + 2
        start = at + (9 if data[at] & LONG else 2)
        if len(data) < start:
            return at, start
        size = int.from_bytes(data[at + 1 : start], "big")
        is_message = self.is_ready and not data[at] & COMMAND
        # Before the body is waited for: who announces a gigabyte is not to be believed.
        if size > (MAX_MESSAGE_BYTES - self._parts_bytes if is_message else FRAME_LIMIT_BYTES):
            raise WireError("a frame that is too large")
        return start, start + size

    def _take_frame(self, flags: int, body: bytes) -> bytes:
        if flags & COMMAND:
            name, data = _split_command(body)
            if self.is_ready:
                # What a later version adds is passed over, as libzmq does.
                return _answer_ping(data) if name == b"PING" else b""
            self._shake_hands(name, data)
            return b""
        if not self.is_ready:
            raise WireError("a message before READY")
        if len(self._parts) >= PARTS_MOST:
            raise WireError("a message of too many frames")
        self._parts.append(body)
        self._parts_bytes += len(body)
        self.has_message = not flags & MORE
        return b""

    def _shake_hands(self, name: bytes, data: bytes) -> None:
        if name != b"READY":
            raise WireError("no READY")
        if _read_properties(data).get(b"socket-type") not in (b"REQ", b"DEALER", b"ROUTER"):
            raise WireError("no caller")
        self.is_ready = True


def _answer_ping(data: bytes) -> bytes:
    if not _TTL_BYTES <= len(data) <= _TTL_BYTES + _CONTEXT_MOST_BYTES:
        raise WireError("a malformed PING")
    return encode_command(b"PONG", data[_TTL_BYTES:])


class SubscriberState:
    """One connection to a publisher, as its protocol sees it."""

    __slots__ = ("_greeted", "_in_message", "_rest", "is_ready", "topics")

    def __init__(self) -> None:
        self._rest = b""
        self._greeted = False
        self._in_message = False
        self.is_ready = False
        """Whether the handshake is done."""
        self.topics: tuple[bytes, ...] = ()
        """What it has subscribed to: the first frame of a message begins with one of these."""

    def take(self, data: bytes) -> bytes:
        """Go on with what has come in; what is to be sent in answer.

        Raises:
            WireError: this is no subscriber of version 3; the connection is to be closed.
        """
        data = self._rest + data if self._rest else data
        answers = []
        if not self._greeted:
            # With every piece: junk is refused by its first byte, not when it is long enough.
            _check_greeting(data)
            if len(data) < GREETING_BYTES:
                self._rest = data
                return b""
            self._greeted = True
            data = data[GREETING_BYTES:]
            answers.append(READY)
        at = 0
        while (bounds := _find_frame(data, at)) is not None:
            start, end = bounds
            answers.append(self._take_frame(data[at], data[start:end]))
            at = end
        self._rest = data[at:]
        return b"".join(answers)

    def _take_frame(self, flags: int, body: bytes) -> bytes:
        if flags & COMMAND:
            name, data = _split_command(body)
            return (
                self._take_command(name, data) if self.is_ready else self._shake_hands(name, data)
            )
        if not self.is_ready:
            raise WireError("a message before READY")
        # Of a message of several frames only the first can be a subscription, as in libzmq.
        is_first, self._in_message = not self._in_message, bool(flags & MORE)
        if is_first and body[:1] == b"\x01":
            self._subscribe(body[1:])
        elif is_first and body[:1] == b"\x00":
            self._cancel(body[1:])
        return b""

    def _shake_hands(self, name: bytes, data: bytes) -> bytes:
        if name != b"READY":
            raise WireError("no READY")
        if _read_properties(data).get(b"socket-type") not in (b"SUB", b"XSUB"):
            raise WireError("no subscriber")
        self.is_ready = True
        return b""

    def _take_command(self, name: bytes, data: bytes) -> bytes:
        if name == b"SUBSCRIBE":
            self._subscribe(data)
        elif name == b"CANCEL":
            self._cancel(data)
        elif name == b"PING":
            return _answer_ping(data)
        # What a later version adds is passed over, as libzmq does.
        return b""

    def _subscribe(self, topic: bytes) -> None:
        if topic in self.topics:
            return
        topics = (*self.topics, topic)
        if len(topics) > TOPICS_MOST or sum(map(len, topics)) > TOPICS_LIMIT_BYTES:
            raise WireError("too many topics")
        # One object for all who want everything, which are nearly all.
        self.topics = _EVERYTHING if topics == _EVERYTHING else topics

    def _cancel(self, topic: bytes) -> None:
        self.topics = tuple(one for one in self.topics if one != topic)


def _check_greeting(data: bytes) -> None:
    """Refuse what is not the beginning of a greeting of version 3 with the NULL mechanism."""
    # Byte for byte as far as they have come; what is not there yet cannot be wrong.
    is_sound = (
        data[:1] in (b"", b"\xff")
        and (len(data) < 10 or data[9] & 1)
        and (len(data) < 11 or data[10] >= 3)
        and data[12:32] == _MECHANISM[: max(0, min(len(data), 32) - 12)]
    )
    if not is_sound:
        raise WireError("no greeting of ZMTP 3 without a mechanism")


def _find_frame(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the body of the frame at ``at`` begins and ends; ``None`` if it is not whole yet."""
    if len(data) < at + 2:
        return None
    start = at + (9 if data[at] & LONG else 2)
    if len(data) < start:
        return None
    # Before the body is waited for: who announces a gigabyte is not to be believed.
    size = int.from_bytes(data[at + 1 : start], "big")
    if size > FRAME_LIMIT_BYTES:
        raise WireError("a frame that is too large")
    return (start, start + size) if len(data) >= start + size else None


def _split_command(body: bytes) -> tuple[bytes, bytes]:
    size = body[0] if body else 0
    if not size or len(body) < 1 + size:
        raise WireError("a command without a name")
    return body[1 : 1 + size], body[1 + size :]


def _read_properties(data: bytes) -> dict[bytes, bytes]:
    """The properties of READY; names without regard to case."""
    found = {}
    at = 0
    while at < len(data):
        value_at = at + 1 + data[at] + 4
        name, size = data[at + 1 : value_at - 4], data[value_at - 4 : value_at]
        end = value_at + int.from_bytes(size, "big")
        if not name or len(data) < max(value_at, end):
            raise WireError("malformed properties")
        found[name.lower()] = data[value_at:end]
        at = end
    return found
