"""ZMTP as a master's ports need it: what they send, what they hear, and what they refuse."""

from __future__ import annotations

import pytest

import zmtp
from saltlite.errors import WireError
from saltlite.transport.tcp import MAX_MESSAGE_BYTES
from saltlite.transport.zmtp import (
    COMMANDS_MOST,
    FRAME_LIMIT_BYTES,
    GREETING,
    PARTS_MOST,
    PING,
    READY,
    READY_TO_ANSWER,
    TOPICS_LIMIT_BYTES,
    TOPICS_MOST,
    CallerState,
    SubscriberState,
    encode_frame,
    encode_message,
)

HELLO = zmtp.greeting() + zmtp.ready(b"SUB")
ASKING = zmtp.greeting() + zmtp.ready(b"REQ")


def command(name: bytes, data: bytes = b"") -> bytes:
    return zmtp.frame(bytes((len(name),)) + name + data, flags=zmtp.COMMAND)


@pytest.fixture
def state() -> SubscriberState:
    made = SubscriberState()
    assert made.take(HELLO) == READY
    assert made.is_ready
    return made


def test_what_is_sent_is_libzmqs() -> None:
    """Recorded of a PUB of libzmq 4.3.5."""
    assert GREETING.hex() == ("ff00000000000000017f03014e554c4c" + "00" * 16 + "00" + "00" * 31)
    assert READY.hex() == "04190552454144590b536f636b65742d5479706500000003505542"
    assert READY_TO_ANSWER.hex() == (
        "04290552454144590b536f636b65742d5479706500000006524f55544552084964656e7469747900000000"
    )
    assert PING.hex() == "04070450494e470000"


@pytest.mark.parametrize(
    ("body", "head"),
    [
        (b"", "0000"),
        (b"x" * 255, "00ff"),
        (b"x" * 256, "020000000000000100"),
        (b"x" * 70_000, "020000000000011170"),
    ],
)
def test_frames(body: bytes, head: str) -> None:
    assert encode_frame(body) == bytes.fromhex(head) + body
    assert encode_message(b"t", body) == b"\x01\x01t" + bytes.fromhex(head) + body


@pytest.mark.parametrize("size", [1, 2, 7, 63, 64, 65, 500])
def test_bytes_may_come_in_any_pieces(size: int) -> None:
    data = (
        HELLO + zmtp.frame(b"\x01one") + command(b"SUBSCRIBE", b"two") + command(b"PING", b"\0\0x")
    )
    state = SubscriberState()
    answers = [state.take(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join(answers) == READY + command(b"PONG", b"x")
    assert state.topics == (b"one", b"two")


@pytest.mark.parametrize("ask", [b"\x01", None])
def test_both_forms_of_subscriptions(state: SubscriberState, ask: bytes | None) -> None:
    def say(topic: bytes, *, cancel: bool = False) -> None:
        if ask:
            state.take(zmtp.frame((b"\x00" if cancel else b"\x01") + topic))
        else:
            state.take(command(b"CANCEL" if cancel else b"SUBSCRIBE", topic))

    say(b"mine")
    say(b"")
    say(b"mine")
    assert state.topics == (b"mine", b"")
    say(b"mine", cancel=True)
    say(b"never", cancel=True)
    assert state.topics == (b"",)
    say(b"", cancel=True)
    assert state.topics == ()


@pytest.mark.parametrize(
    "data",
    [
        zmtp.frame(b"junk"),
        zmtp.frame(b""),
        zmtp.frame(b"\x02"),
        zmtp.frame(b"first", flags=zmtp.MORE) + zmtp.frame(b"\x01second"),
        command(b"JUNK", b"xx"),
        command(b"PONG", b"x"),
        b"\xf8\x05hello",
    ],
)
def test_what_is_passed_over(state: SubscriberState, data: bytes) -> None:
    assert state.take(data) == b""
    assert state.topics == ()


def test_a_first_frame_of_several_is_a_subscription(state: SubscriberState) -> None:
    state.take(zmtp.frame(b"\x01a", flags=zmtp.MORE) + zmtp.frame(b"\x01b") + zmtp.frame(b"\x01c"))
    assert state.topics == (b"a", b"c")


@pytest.mark.parametrize("make", [SubscriberState, CallerState])
@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        bytes(10),
        b"\xff" + bytes(9),  # the tenth byte says that there is a version
        b"\xff" + bytes(8) + b"\x7f\x01",
        b"\xff" * 64,
        zmtp.greeting(b"PLAIN"),
        zmtp.greeting(b"CURVE"),
        zmtp.greeting(b"NULLX"),
        zmtp.greeting(major=1),
        zmtp.greeting(major=2),
        zmtp.greeting() + zmtp.frame(b"\x01too soon"),
        zmtp.greeting() + command(b"SUBSCRIBE", b"x"),
        zmtp.greeting() + command(b"ERROR", b"\x01x"),
        zmtp.greeting() + zmtp.frame(b"", flags=zmtp.COMMAND),
        zmtp.greeting() + zmtp.frame(b"\x09READY", flags=zmtp.COMMAND),
        zmtp.greeting() + zmtp.ready(b"PUB"),
        zmtp.greeting() + command(b"READY"),
        zmtp.greeting() + command(b"READY", b"\x0bSocket-Type\xff\xff\xff\xff"),
        zmtp.greeting() + command(b"READY", b"\x00\0\0\0\0"),
        zmtp.greeting() + command(b"READY", b"\x0bSock"),
    ],
)
def test_who_shakes_no_hands_is_refused(
    make: type[SubscriberState | CallerState], data: bytes
) -> None:
    with pytest.raises(WireError):
        make().take(data)


@pytest.mark.parametrize(
    "data",
    [
        zmtp.greeting() + zmtp.ready(b"DEALER"),
        zmtp.greeting() + command(b"READY", b"\x0bSocket-Type\0\0\0\x04SUB"),
        HELLO + command(b"PING", b"\0"),
        HELLO + command(b"PING", bytes(2 + 17)),
        HELLO + zmtp.frame(b"", announced=FRAME_LIMIT_BYTES + 1),
        HELLO + zmtp.frame(b"", announced=2**64 - 1),
        HELLO + b"".join(zmtp.frame(b"\x01%d" % one) for one in range(TOPICS_MOST + 1)),
        HELLO + zmtp.frame(b"\x01" + b"x" * 4000) + zmtp.frame(b"\x01" + b"y" * 4000)
        + zmtp.frame(b"\x01" + b"z" * (TOPICS_LIMIT_BYTES - 7999)),
    ],
)  # fmt: skip
def test_what_is_no_subscriber_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        SubscriberState().take(data)


@pytest.mark.parametrize("version", [(3, 0), (3, 1), (9, 9)])
def test_later_versions_are_taken_as_ours(version: tuple[int, int]) -> None:
    greeting = bytearray(zmtp.greeting())
    greeting[10:12] = version
    assert SubscriberState().take(bytes(greeting)) == READY


@pytest.mark.parametrize("kind", [b"SUB", b"XSUB"])
def test_an_identity_does_not_matter(kind: bytes) -> None:
    state = SubscriberState()
    state.take(zmtp.greeting() + zmtp.ready(kind, b"web1"))
    assert state.is_ready


# --- who asks ------------------------------------------------------------------------------------


@pytest.fixture
def asking() -> CallerState:
    made = CallerState()
    assert made.take(ASKING) == READY_TO_ANSWER
    assert made.is_ready
    return made


@pytest.mark.parametrize("size", [1, 2, 7, 63, 64, 65, 500, 100_000])
def test_requests_may_come_in_any_pieces(size: int) -> None:
    large = b"x" * 70_000
    data = (
        ASKING + encode_message(b"", b"one") + command(b"PING", b"\0\0x") + command(b"LATER", b"x")
        + encode_message(b"", large) + encode_message(b"last")
    )  # fmt: skip
    state, answers, messages = CallerState(), b"", []
    for at in range(0, len(data), size):
        answers += state.take(data[at : at + size])
        while state.has_message:
            messages.append(state.take_message())
            answers += state.take(b"")
    assert answers == READY_TO_ANSWER + command(b"PONG", b"x")
    assert messages == [[b"", b"one"], [b"", large], [b"last"]]
    assert state.held_bytes == 0


def test_nothing_behind_a_message_is_looked_into(asking: CallerState) -> None:
    asking.take(encode_message(b"", b"one") + b"\x04\x00")
    asking.take(b"more")
    assert asking.held_bytes > 5
    assert asking.take_message() == [b"", b"one"]
    with pytest.raises(WireError, match="without a name"):
        asking.take(b"")


@pytest.mark.parametrize(
    "data",
    [
        zmtp.greeting() + zmtp.ready(b"SUB"),
        zmtp.greeting() + zmtp.ready(b"REP"),
        ASKING + command(b"PING", b"\0"),
        ASKING + zmtp.frame(b"", announced=MAX_MESSAGE_BYTES + 1),
        ASKING + zmtp.frame(b"12", flags=zmtp.MORE)
        + zmtp.frame(b"", announced=MAX_MESSAGE_BYTES - 1),
        ASKING + zmtp.frame(b"", flags=zmtp.COMMAND, announced=FRAME_LIMIT_BYTES + 1),
        ASKING + zmtp.frame(b"", flags=zmtp.MORE) * (PARTS_MOST + 1),
        ASKING + command(b"PING", b"\0\0") * COMMANDS_MOST,  # READY is one, too
    ],
)  # fmt: skip
def test_what_is_no_caller_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        CallerState().take(data)


def test_pings_may_come_together(asking: CallerState) -> None:
    for _ in range(3):
        answers = asking.take(command(b"PING", b"\0\0") * COMMANDS_MOST)
        assert answers == command(b"PONG") * COMMANDS_MOST


@pytest.mark.parametrize("kind", [b"REQ", b"DEALER", b"ROUTER"])
def test_who_may_ask(kind: bytes) -> None:
    state = CallerState()
    assert state.take(zmtp.greeting() + zmtp.ready(kind, b"web1")) == READY_TO_ANSWER
    assert state.is_ready
