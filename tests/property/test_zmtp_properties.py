"""The master's ports against libzmq's peers, and against anything else."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
import zmq
from hypothesis import HealthCheck, given, settings

import zmtp
from saltlite.errors import WireError
from saltlite.transport.publish_port import PublishPort
from saltlite.transport.request_port import RequestPort
from saltlite.transport.zmtp import (
    FRAME_LIMIT_BYTES,
    TOPICS_MOST,
    CallerState,
    SubscriberState,
    encode_frame,
    encode_message,
)

DEADLINE_S = 20.0

FRAMES = st.builds(
    zmtp.frame, st.binary(max_size=300), flags=st.integers(0, 255), announced=st.none()
)
COMMANDS = st.builds(
    lambda name, data: zmtp.frame(bytes((len(name),)) + name + data, flags=zmtp.COMMAND),
    st.sampled_from([b"READY", b"SUBSCRIBE", b"CANCEL", b"PING", b"PONG", b"ERROR", b"x"]),
    st.binary(max_size=40),
)
STREAMS = st.builds(
    lambda start, parts: start + b"".join(parts),
    st.sampled_from(
        [b"", zmtp.greeting(), *(zmtp.greeting() + zmtp.ready(kind) for kind in (b"SUB", b"REQ"))]
    ),
    st.lists(st.one_of(FRAMES, COMMANDS, st.binary(max_size=80)), max_size=12),
)


def take_all(pieces: list[bytes]) -> tuple[bytes, bool, tuple[bytes, ...], bool]:
    """The answers, whether ready, the topics, and whether it was refused in the end."""
    state, answers, refused = SubscriberState(), b"", False
    try:
        for piece in pieces:
            answers += state.take(piece)
    except WireError:
        refused = True
    return answers, state.is_ready, state.topics, refused


@given(STREAMS, st.lists(st.integers(0, 4000), max_size=20))
@settings(max_examples=400, deadline=None)
def test_where_bytes_are_cut_does_not_matter(stream: bytes, cuts: list[int]) -> None:
    """Anything is a state or a WireError, and nothing that is kept is large."""
    bounds = [0, *sorted(one for one in cuts if one < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(bounds)]
    whole, cut = take_all([stream]), take_all(pieces)
    assert whole[1:] == cut[1:]
    # What was answered before a refusal depends on how far the pieces went.
    assert cut[0].startswith(whole[0])
    if not whole[3]:
        assert cut[0] == whole[0]
    assert len(whole[2]) <= TOPICS_MOST


def ask_all(pieces: list[bytes]) -> tuple[bytes, list[list[bytes]], bool]:
    """The answers, the messages, and whether it was refused in the end."""
    state, answers, messages = CallerState(), b"", []
    try:
        for piece in pieces:
            answers += state.take(piece)
            while state.has_message:
                messages.append(state.take_message())
                answers += state.take(b"")
            assert state.held_bytes <= 100 * len(b"".join(pieces))
    except WireError:
        return answers, messages, True
    return answers, messages, False


@given(STREAMS, st.lists(st.integers(0, 4000), max_size=20))
@settings(max_examples=400, deadline=None)
def test_where_requests_are_cut_does_not_matter(stream: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(one for one in cuts if one < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(bounds)]
    whole, cut = ask_all([stream]), ask_all(pieces)
    assert whole[1:] == cut[1:]
    # What was answered before a refusal depends on how far the pieces went.
    assert cut[0].startswith(whole[0])
    if not whole[2]:
        assert cut[0] == whole[0]


@given(st.lists(st.binary(max_size=FRAME_LIMIT_BYTES - 1), max_size=5), st.binary(max_size=70_000))
@settings(max_examples=60, deadline=None)
def test_frames_can_be_read_again(parts: list[bytes], last: bytes) -> None:
    data = encode_message(*parts, last)
    for part in parts:
        head = len(encode_frame(part)) - len(part)
        assert data[0] & zmtp.MORE
        assert data[head : head + len(part)] == part
        data = data[head + len(part) :]
    assert data == encode_frame(last)


class Pair:
    """Our port, libzmq's PUB, and a SUB of libzmq at each of them."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self.port = PublishPort("127.0.0.1", 0)
        self.real = context.socket(zmq.PUB)
        self.real.setsockopt(zmq.SNDHWM, 0)
        real_port = self.real.bind_to_random_port("tcp://127.0.0.1")
        self.subscribers = [context.socket(zmq.SUB) for _ in range(2)]
        for subscriber, port in zip(self.subscribers, (self.port.port, real_port), strict=True):
            subscriber.setsockopt(zmq.RCVHWM, 0)
            subscriber.connect(f"tcp://127.0.0.1:{port}")
        self._markers = itertools.count(1)
        self._topics: Counter[bytes] = Counter()

    def set_option(self, option: int, topic: bytes) -> None:
        # As in libzmq: what is asked for twice is to be cancelled twice.
        if option == zmq.SUBSCRIBE:
            self._topics[topic] += 1
        elif self._topics[topic]:
            self._topics[topic] -= 1
        for subscriber in self.subscribers:
            subscriber.setsockopt(option, topic)

    def publish(self, *parts: bytes) -> None:
        self.port.publish(*parts)
        self.real.send_multipart(parts)

    def receive(self) -> list[list[list[bytes]]]:
        """What both have got up to a message that both wait for; later calls begin after it."""
        number = next(self._markers)
        marker, probe = b"\xff\xfemark%d" % number, b"\xff\xfeprobe%d" % number
        # Who hears it, and has asked for nothing that it begins with, has not been heard out yet.
        tells = not any(probe.startswith(topic) for topic in +self._topics)
        self.set_option(zmq.SUBSCRIBE, marker)
        got: list[list[list[bytes]]] = [[], []]
        waiting = {0, 1}
        until_s = time.monotonic() + DEADLINE_S
        while waiting:
            assert time.monotonic() < until_s
            self.port.take_events(time.monotonic())
            self.publish(probe)
            self.publish(marker)
            for number in tuple(waiting):
                heard = []
                while self.subscribers[number].poll(1):
                    heard.append(self.subscribers[number].recv_multipart())
                if [marker] in heard and not (tells and [probe] in heard):
                    waiting.discard(number)
                got[number] += [
                    one
                    for one in heard
                    if not one[0].startswith((b"\xff\xfemark", b"\xff\xfeprobe"))
                ]
        self.set_option(zmq.UNSUBSCRIBE, marker)
        return got

    def close(self) -> None:
        self.port.close()
        for socket in (self.real, *self.subscribers):
            socket.close(linger=0)


@pytest.fixture(scope="module")
def context() -> Iterator[zmq.Context[zmq.Socket[bytes]]]:
    made: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    yield made
    made.destroy(linger=0)


TOPICS = st.one_of(st.sampled_from([b"", b"a", b"ab", b"b"]), st.binary(max_size=300))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("subscribe"), TOPICS),
        st.tuples(st.just("unsubscribe"), TOPICS),
        st.tuples(st.just("publish"), st.lists(TOPICS, min_size=1, max_size=3)),
        st.tuples(st.just("large"), st.integers(0, 300_000)),
    ),
    max_size=12,
)


@given(STEPS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_subscriber_of_libzmq_hears_the_same_of_both(
    context: zmq.Context[zmq.Socket[bytes]], steps: list[tuple[str, object]]
) -> None:
    pair = Pair(context)
    try:
        pair.receive()
        for what, value in steps:
            if what == "publish":
                assert isinstance(value, list)
                pair.publish(*value)
            elif what == "large":
                assert isinstance(value, int)
                pair.publish(b"a", b"x" * value)
            else:
                option = zmq.SUBSCRIBE if what == "subscribe" else zmq.UNSUBSCRIBE
                assert isinstance(value, bytes)
                pair.set_option(option, value)
                # Only what is asked for before a message is published counts.
                ours, real = pair.receive()
                assert ours == real
        ours, real = pair.receive()
        assert ours == real
    finally:
        pair.close()


BODIES = st.lists(
    st.one_of(st.binary(max_size=300), st.integers(0, 300_000).map(bytes)), min_size=1, max_size=4
)
CALLS = st.lists(st.tuples(st.integers(0, 2), BODIES), max_size=12)


@given(CALLS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_dealers_of_libzmq_get_their_replies_in_order(
    context: zmq.Context[zmq.Socket[bytes]], calls: list[tuple[int, list[bytes]]]
) -> None:
    """Messages of any frames from three callers at once; the reply to each is what it has sent."""
    port = RequestPort("127.0.0.1", 0)
    callers = [context.socket(zmq.DEALER) for _ in range(3)]
    try:
        for caller in callers:
            caller.connect(f"tcp://127.0.0.1:{port.port}")
        for number, parts in calls:
            callers[number].send_multipart(parts)
        replies: list[list[list[bytes]]] = [[] for _ in callers]
        until_s = time.monotonic() + DEADLINE_S
        while sum(map(len, replies)) < len(calls):
            assert time.monotonic() < until_s
            port.take_events(time.monotonic())
            for identity, frames in port.take_requests(100):
                port.reply(identity, *frames)
            for caller, got in zip(callers, replies, strict=True):
                while caller.poll(1):
                    got.append(caller.recv_multipart())
        for number, got in enumerate(replies):
            assert got == [parts for whose, parts in calls if whose == number]
        assert port._held_bytes == 0
    finally:
        port.close()
        for caller in callers:
            caller.close(linger=0)
