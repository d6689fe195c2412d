"""The event bus: its frames, its relay, and both ends over real Unix sockets."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import zmq

from saltlite.errors import WireError
from saltlite.transport.bus import (
    READY,
    TRIMMED,
    Event,
    EventPusher,
    EventSubscriber,
    Relay,
    bind_bus,
    list_changes,
    pack_event,
    stamp,
    take_subscription,
    unpack_event,
)
from saltlite.transport.codec import pack_bin, unpack_bin

NOW = datetime(2026, 1, 2, 5, 4, 5, 6, timezone(timedelta(hours=2)))
STAMP = "2026-01-02T03:04:05.000006"

# --- frames -------------------------------------------------------------------------------


def test_an_event_is_tag_two_newlines_and_a_map_with_bin_types():
    frame = pack_event("salt/x", {"a": b"\xff"}, NOW)
    assert frame == b"salt/x\n\n" + pack_bin({"a": b"\xff", "_stamp": STAMP})
    assert unpack_event(frame) == Event("salt/x", {"a": b"\xff", "_stamp": STAMP})


def test_stamps_have_microseconds_always_and_no_zone():
    assert stamp(NOW) == STAMP
    assert stamp(datetime(2026, 1, 2, tzinfo=timezone.utc)) == "2026-01-02T00:00:00.000000"


def test_a_stamp_that_is_there_stays():
    assert unpack_event(pack_event("x", {"_stamp": "then"}, NOW)).data == {"_stamp": "then"}


@pytest.mark.parametrize("tag", ["", "a\n\nb", "a\n", "\n", "x" * 1025, "\ud800"])
def test_no_tag(tag):
    with pytest.raises(WireError):
        pack_event(tag, {}, NOW)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"tag",
        b"tag\n\n",
        b"\n\n\x80",
        b"tag\n\n\x90",
        b"tag\n\n\xc1",
        b"\xff\n\n\x80",
        b"x" * 2000 + b"\n\n\x80",
    ],
)
def test_no_event(frame):
    with pytest.raises(WireError):
        unpack_event(frame)


def test_large_values_give_way_largest_first():
    data = {"jid": "1", "return": "x" * 5000, "other": "y" * 300}
    event = unpack_event(pack_event("t", data, NOW, max_bytes=1000))
    assert event.data == {"jid": "1", "return": TRIMMED, "other": "y" * 300, "_stamp": STAMP}
    assert unpack_event(pack_event("t", data, NOW, max_bytes=10_000)).data["return"] == "x" * 5000
    assert data["return"] == "x" * 5000


# --- relay --------------------------------------------------------------------------------


def test_relay_numbers_events_and_drops_what_is_none():
    relay = Relay()
    first, second = pack_event("a", {}, NOW), pack_event("b", {}, NOW)
    assert relay.event([first]) == [first, (1).to_bytes(8, "big")]
    for junk in ([b""], [b"x"], [b"\n\nbody"], [first, second], [b"x" * 2000 + b"\n\n"]):
        assert relay.event(junk) is None
    assert relay.event([second]) == [second, (2).to_bytes(8, "big")]
    assert (relay.sequence, relay.dropped) == (2, 5)


def test_relay_answers_the_last_subscription_only():
    relay = Relay()
    token = b"0" * 32
    assert relay.subscription([b"\x01" + READY + token]) == [READY + token, bytes(8)]
    for other in (b"", b"\x01", b"\x01salt/", b"\x00" + READY + token, b"\x01" + READY + b"0" * 33):
        assert relay.subscription([other]) is None


def test_who_wants_everything_asks_for_all_that_a_tag_can_begin_with():
    option, prefixes = list_changes([b"\x01"])
    assert option == zmq.SUBSCRIBE
    assert set(prefixes) == {chr(point).encode()[:1] for point in range(0x110000) if
                             not 0xD800 <= point < 0xE000}  # fmt: skip
    assert list_changes([b"\x00"]) == (zmq.UNSUBSCRIBE, prefixes)
    assert list_changes([b"\x01salt/"]) == (zmq.SUBSCRIBE, (b"salt/",))
    assert list_changes([b"\x00salt/"]) == (zmq.UNSUBSCRIBE, (b"salt/",))
    for junk in (b"", b"x", b"\x02salt/"):
        assert not list_changes([junk])[1]


# --- sockets ------------------------------------------------------------------------------


class Bus:
    """A bus whose publisher can be stopped and started."""

    def __init__(self, directory: Path) -> None:
        self.pull = directory / "pull.ipc"
        self.pub = directory / "pub.ipc"

    @contextmanager
    def running(self, relay: Relay | None = None) -> Iterator[Relay]:
        relay = relay or Relay()
        context = zmq.Context()
        pull, publisher = bind_bus(context, self.pull, self.pub)
        stop = threading.Event()

        def loop() -> None:
            poller = zmq.Poller()
            poller.register(pull, zmq.POLLIN)
            poller.register(publisher, zmq.POLLIN)
            while not stop.is_set():
                for socket, _ in poller.poll(20):
                    frames = socket.recv_multipart()
                    if socket is pull:
                        answer = relay.event(frames)
                    else:
                        answer = take_subscription(relay, publisher, frames)
                    if answer is not None:
                        publisher.send_multipart(answer)

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield relay
        finally:
            stop.set()
            thread.join()
            context.destroy(linger=0)


@pytest.fixture
def bus(tmp_path):
    return Bus(tmp_path)


def test_socket_files_are_private(bus):
    with bus.running():
        for path in (bus.pull, bus.pub):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_fired_after_the_confirmation_is_heard(bus):
    with bus.running(), EventPusher(bus.pull) as pusher:
        for number in range(30):
            with EventSubscriber(bus.pub, ("salt/job/", "other")) as subscriber:
                assert subscriber.connect_confirmed(5)
                assert pusher.fire("salt/auth", {})
                assert pusher.fire("salt/job/1/ret/a", {"n": number})
                event = subscriber.get(5)
                assert event is not None
                assert (event.tag, event.data["n"]) == ("salt/job/1/ret/a", number)


def hear_everything(bus, context):
    """A plain SUB on all tags, as any tool would have it; it is in force when this returns."""
    plain = context.socket(zmq.SUB)
    plain.setsockopt(zmq.RCVTIMEO, 5000)
    plain.setsockopt(zmq.SUBSCRIBE, b"")
    plain.connect(f"ipc://{bus.pub}")
    with EventPusher(bus.pull) as pusher:
        while not plain.poll(20):
            pusher.fire("begin", {})
        pusher.fire("ça/commence", {})
    while unpack_event(plain.recv_multipart()[0]).tag != "ça/commence":
        pass
    return plain


def test_who_hears_everything_hears_events_only(bus):
    with bus.running(), EventPusher(bus.pull) as pusher, zmq.Context() as context:
        plain = hear_everything(bus, context)
        for _ in range(3):
            with EventSubscriber(bus.pub, ("", "salt/")) as another:
                assert another.connect_confirmed(5)
        pusher.fire("salt/x", {})
        assert unpack_event(plain.recv_multipart()[0]).tag == "salt/x"
        plain.close(linger=0)


def test_everything_can_be_unsubscribed(bus):
    with bus.running(), EventPusher(bus.pull) as pusher, zmq.Context() as context:
        plain = hear_everything(bus, context)
        plain.setsockopt(zmq.SUBSCRIBE, b"salt/")
        plain.setsockopt(zmq.UNSUBSCRIBE, b"")
        with EventSubscriber(bus.pub, ("other",)) as another:
            assert another.connect_confirmed(5)
            pusher.fire("other", {})
            assert another.get(5) is not None
        pusher.fire("salt/x", {})
        assert unpack_event(plain.recv_multipart()[0]).tag == "salt/x"
        plain.close(linger=0)


def test_subscribers_that_come_and_go(bus):
    """Their subscriptions are read after they have gone; those who stay lose nothing."""
    with bus.running(), EventPusher(bus.pull) as pusher, EventSubscriber(bus.pub) as lasting:
        assert lasting.connect_confirmed(5)
        for number in range(200):
            with EventSubscriber(bus.pub, ("", "salt/")):
                pass
            pusher.fire("salt/x", {"n": number})
        heard = [lasting.get(5) for _ in range(200)]
        assert [event.data["n"] for event in heard if event] == list(range(200))
        assert lasting.lost == 0


def test_several_prefixes(bus):
    with (
        bus.running(),
        EventPusher(bus.pull) as pusher,
        EventSubscriber(bus.pub, ("a/", "b/")) as subscriber,
    ):
        assert subscriber.connect_confirmed(5)
        for tag in ("a/1", "c/1", "b/1"):
            pusher.fire(tag, {})
        assert [event.tag for event in (subscriber.get(5), subscriber.get(5)) if event] == [
            "a/1",
            "b/1",
        ]
        assert subscriber.get(0) is None
        assert subscriber.lost == 0


def test_no_publisher_no_confirmation(bus):
    with EventSubscriber(bus.pub) as subscriber:
        assert not subscriber.connect_confirmed(0.05)
        assert subscriber.get(0.01) is None


def test_a_subscriber_may_come_before_the_publisher(bus):
    with EventSubscriber(bus.pub) as subscriber, EventPusher(bus.pull) as pusher:
        pusher.fire("early", {})
        with bus.running():
            assert subscriber.connect_confirmed(5)
            pusher.fire("late", {})
            tags = set()
            while "late" not in tags:
                event = subscriber.get(5)
                assert event is not None
                tags.add(event.tag)
            assert tags <= {"early", "late"}


def test_a_new_publisher_is_noticed(bus):
    with EventSubscriber(bus.pub) as subscriber:
        with bus.running():
            assert subscriber.connect_confirmed(5)
        assert subscriber.connections == 1
        with bus.running(), EventPusher(bus.pull) as pusher:
            pusher.fire("x", {})
            for _ in range(500):
                subscriber.get(0.01)
                if subscriber.connections == 2:
                    break
        assert subscriber.connections == 2


def test_a_gap_is_counted(bus):
    relay = Relay()
    with (
        bus.running(relay),
        EventPusher(bus.pull) as pusher,
        EventSubscriber(bus.pub) as subscriber,
    ):
        assert subscriber.connect_confirmed(5)
        relay.sequence += 3
        pusher.fire("x", {})
        assert subscriber.get(5) is not None
        assert subscriber.lost == 3


def test_junk_on_the_bus_is_passed_over(bus):
    with (
        bus.running() as relay,
        EventPusher(bus.pull) as pusher,
        EventSubscriber(bus.pub) as subscriber,
    ):
        assert subscriber.connect_confirmed(5)
        for junk in (b"no tag", b"tag\n\n\xc1", b"", b"x" * 1_000_000):
            pusher.push(junk)
        pusher.fire("good", {})
        event = subscriber.get(5)
        assert event is not None and event.tag == "good"
        assert relay.dropped == 3


def test_events_heard_while_confirming_are_kept(bus):
    subscriber = EventSubscriber(bus.pub)
    with bus.running(), EventPusher(bus.pull) as pusher, subscriber:
        pusher.fire("x", {"n": 1})
        assert subscriber.connect_confirmed(5)
        pusher.fire("x", {"n": 2})
        event = subscriber.get(5)
        assert event is not None and event.data["n"] in (1, 2)


def test_a_full_bus_is_an_error_in_the_log_and_no_wait(bus, caplog, monkeypatch):
    monkeypatch.setattr("saltlite.transport.bus._SUBSCRIBER_HWM", 1)
    pusher = EventPusher(bus.pull, timeout_s=0.01)
    assert [pusher.fire("x", {}) for _ in range(3)].count(False) >= 1
    assert "event lost" in caplog.text
    pusher._socket.close(linger=0)
    pusher.close()


def test_a_path_too_long_is_said_so(tmp_path):
    context = zmq.Context()
    with pytest.raises(ValueError, match="longer than"):
        bind_bus(context, tmp_path / ("x" * 120), tmp_path / "p")
    context.destroy(linger=0)


def test_the_body_is_not_unpacked_on_the_way():
    frame = b"tag\n\n\xc1"
    assert Relay().event([frame]) == [frame, (1).to_bytes(8, "big")]
    with pytest.raises(WireError):
        unpack_bin(b"\xc1")
