"""Whatever arrives on 4506, one reply goes out, nothing is lost.

Source: docs/security.md#malformed-input.
"""

from __future__ import annotations

import contextlib
import math
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import zmtp
from attacks import NO_REPLY, Stranger, Victim, clear, decoded, unharmed, wire
from cluster import eventually
from loads import BROKEN, CLEAR, ENCRYPTED, nested
from rogue import BAD_LOAD, LEFT_OUT, Rogue, Sealed

NOT_A_MAP = "payload and load must be a dict"
UNDECODABLE = {"msg": "bad load"}
HANDLER_FAILED = "Some exception handling minion payload"
MEBIBYTE = 2**20
OWN = r"/cache/(grains|pillar|mine)/(a\.p)?$"
OWN_EVENTS = r"minion/refresh/a|myco/x|salt/job/\d{20}/ret/a|salt/job/nocache/ret/a|(?!salt)[^/]+"


def spoilt(load: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """``load`` with each field in turn missing, or replaced by each broken value."""
    for name in load:
        for value in (LEFT_OUT, *BROKEN.values()):
            yield {**load, name: value}


@pytest.fixture(scope="module", autouse=True)
def hung_up_after_s(victim: Victim) -> Iterator[Future[float]]:
    """How long the master bears a greeting without an end; the other tests run meanwhile."""
    begun_s = time.monotonic()

    def wait() -> float:
        return time.monotonic() - begun_s if zmtp.is_closed(one, within_s=40) else math.inf

    with ThreadPoolExecutor(1) as pool, zmtp.connection(victim.cluster.ret_port) as one:
        one.sendall(zmtp.greeting()[:30])
        yield pool.submit(wait)
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)  # for a run of a part of the tests


def answered(replies: list[Any]) -> None:
    assert NO_REPLY not in replies, f"{replies.count(NO_REPLY)} of {len(replies)} got no reply"
    assert HANDLER_FAILED not in replies


@pytest.mark.parametrize("cmd", sorted(ENCRYPTED))
def test_every_field_of_every_encrypted_command(victim: Victim, rogue: Rogue, cmd: str) -> None:
    requests = [rogue.make({"cmd": cmd, **load}) for load in spoilt(ENCRYPTED[cmd])]
    if not requests:
        requests = [rogue.make({"cmd": cmd, "unknown": value}) for value in BROKEN.values()]
    with unharmed(victim, written=OWN, events=OWN_EVENTS):
        replies = rogue.send_many(requests)
    answered(replies)


@pytest.mark.parametrize("cmd", sorted(ENCRYPTED))
def test_a_megabyte_in_every_field(victim: Victim, rogue: Rogue, cmd: str) -> None:
    load = ENCRYPTED[cmd]
    requests = [rogue.make({"cmd": cmd, **load, name: "x" * MEBIBYTE}) for name in load]
    with unharmed(victim, written=OWN, events=OWN_EVENTS):
        replies = rogue.send_many(requests)
    answered(replies)


def test_the_fields_that_all_encrypted_commands_share(victim: Victim, rogue: Rogue) -> None:
    load = ENCRYPTED["_file_find"]
    requests = []
    for name in ("cmd", "id", "nonce", "ts", "tok"):
        for value in (LEFT_OUT, *BROKEN.values()):
            if name == "ts" and value is not LEFT_OUT and value == 0:
                continue
            requests.append(rogue.make({"cmd": "_file_find", **load, name: value}))
    with unharmed(victim):
        replies = rogue.send_many(requests)
    answered(replies)
    assert all(reply == BAD_LOAD or reply == Sealed({}) for reply in replies)


@pytest.mark.parametrize("name", ["enc", "load", "version", "id", "enc_algo", "sig_algo", "extra"])
def test_the_envelope_of_an_encrypted_request(victim: Victim, rogue: Rogue, name: str) -> None:
    load = {"cmd": "_pillar", **ENCRYPTED["_pillar"]}
    values = (LEFT_OUT, *BROKEN.values(), "AES", "aes ", "pub", "x" * MEBIBYTE, "OAEP-MD5", "none")
    requests = [rogue.make(load, outer={name: value}) for value in values]
    with unharmed(victim, written=OWN, events=OWN_EVENTS):
        replies = rogue.send_many(requests)
    answered(replies)
    if name in ("enc", "load", "id"):
        assert all(reply in (BAD_LOAD, NOT_A_MAP, UNDECODABLE) for reply in replies), replies


@pytest.mark.parametrize("cmd", sorted(CLEAR))
def test_every_field_of_every_clear_command(victim: Victim, cmd: str) -> None:
    requests = []
    for load in spoilt({"cmd": cmd, **CLEAR[cmd]}):
        kept = {name: value for name, value in load.items() if value is not LEFT_OUT}
        requests.append(clear(kept))
    requests += [clear({"cmd": cmd, **CLEAR[cmd], name: "x" * MEBIBYTE}) for name in CLEAR[cmd]]
    with unharmed(victim):
        replies = victim.stranger.send_many(requests, within_s=10)
    answered(replies)


@pytest.mark.parametrize("name", ["enc", "load", "version", "id"])
def test_the_envelope_of_a_clear_request(victim: Victim, name: str) -> None:
    values = [*BROKEN.values(), "AES", "aes", "clear ", "CLEAR", "pub", "x" * MEBIBYTE, [{}]]
    requests = [{**clear({"cmd": "ping"}), name: value} for value in values]
    missing = {key: value for key, value in clear({"cmd": "ping"}).items() if key != name}
    with unharmed(victim):
        replies = victim.stranger.send_many([*requests, missing], within_s=10)
    answered(replies)
    fine = (BAD_LOAD, NOT_A_MAP, {}, {"cmd": "ping"})
    assert all(reply in fine for reply in replies), replies


@pytest.mark.parametrize(
    "whole",
    [None, True, 0, 3, 1.5, "x", "", [], [1], {}, {"enc": "clear"}, {"load": {}}, {"a": 1}, [{}],
     b"\xff", {"enc": "clear", "load": {}}, {"version": 3}, {1: 2}, [["enc", "clear"]]],
    ids=repr,
)  # fmt: skip
def test_a_message_that_is_no_envelope(victim: Victim, whole: Any) -> None:
    with unharmed(victim):
        replies = victim.stranger.send_many([wire_of(whole)] * (victim.workers + 1))
    assert replies == [BAD_LOAD] * (victim.workers + 1)


def wire_of(value: Any) -> bytes:
    """The packed value, also of bytes, which ``wire`` would take as a frame."""
    return wire([value])[1:]


@pytest.mark.parametrize("load", [None, True, 5, "x", [], ["ping"], b"\xff", 1.5], ids=repr)
def test_a_load_that_is_no_map(victim: Victim, rogue: Rogue, load: Any) -> None:
    packed = b"pickle::" + wire_of(load)
    with unharmed(victim):
        assert victim.stranger.send(clear(load)) == NOT_A_MAP
        assert rogue.send({}, plain=packed) in (NOT_A_MAP, BAD_LOAD)


# --- bytes --------------------------------------------------------------------------------------


def refused(replies: list[Any]) -> None:
    """Not understood, and said so in one of the ways there are."""
    answered(replies)
    odd = [one for one in replies if one not in (BAD_LOAD, UNDECODABLE, NOT_A_MAP, {})]
    assert not odd, odd[:3]


def test_random_bytes(victim: Victim) -> None:
    """4,000 on every run; the seeds differ from those of the property tests."""
    source = random.Random(4506)
    frames = [source.randbytes(source.randint(1, 4096)) for _ in range(4_000)]
    with unharmed(victim):
        refused(victim.stranger.send_many(frames, within_s=10))


def test_one_byte_and_none(victim: Victim) -> None:
    frames = [b"", *(bytes((number,)) for number in range(256))]
    with unharmed(victim):
        refused(victim.stranger.send_many(frames))


def test_every_beginning_of_an_honest_request(victim: Victim, rogue: Rogue) -> None:
    whole = [
        rogue.make({"cmd": "_file_envs"}).frame,
        wire(clear({"cmd": "ping", "x": {"a": [1, 2.5, None]}})),
        wire(clear({"cmd": "_auth", **CLEAR["_auth"]})),
    ]
    frames = [frame[:end] for frame in whole for end in range(len(frame))]
    with unharmed(victim):
        refused(victim.stranger.send_many(frames, within_s=10))


def test_every_flipped_bit_of_an_encrypted_request(victim: Victim, rogue: Rogue) -> None:
    made = rogue.make({"cmd": "_no_such_command"})
    flipped = []
    for position in range(len(made.frame) * 8):
        frame = bytearray(made.frame)
        frame[position // 8] ^= 1 << position % 8
        flipped.append(bytes(frame))
    with unharmed(victim):
        replies = victim.stranger.exchange(flipped, within_s=10)
    assert NO_REPLY not in replies
    started = made.frame.index(b"load") + 7
    sealed = [decoded(reply) for reply in replies[started * 8 : (started + 256) * 8]]
    assert set(map(repr, sealed)) == {repr(BAD_LOAD)}


def test_every_flipped_bit_of_a_clear_request(victim: Victim) -> None:
    whole = wire(clear({"cmd": "ping", "x": {"a": [1, 2.5, None]}}))
    flipped = []
    for position in range(len(whole) * 8):
        frame = bytearray(whole)
        frame[position // 8] ^= 1 << position % 8
        flipped.append(bytes(frame))
    with unharmed(victim):
        answered(victim.stranger.send_many(flipped, within_s=10))


DEPTHS = [101, 511, 600, 900, 1_024, 1_025, 100_000, 1_000_000]


@pytest.mark.parametrize("depth", DEPTHS)
def test_depth(victim: Victim, rogue: Rogue, depth: int) -> None:
    """Alone, in a load, in a map, and inside the encryption."""
    head, tail = b"\x83\xa3enc\xa5clear\xa7version\x03\xa4load", b"\x82\xa3cmd\xa4ping\xa1x"
    lists, maps = b"\x91" * depth + b"\xc0", b"\x81\xa1a" * depth + b"\xc0"
    frames = [lists, maps, head + lists, head + tail + lists, head + tail + maps]
    inside = b"pickle::\x81\xa1x" + lists
    with unharmed(victim):
        refused(victim.stranger.send_many(frames))
        assert rogue.send({}, plain=inside) == BAD_LOAD


def test_depth_that_the_reply_would_carry_back(stranger: Stranger) -> None:
    """What is taken in can also be given back: there is one limit, not two."""
    for depth in (50, 95, 96, 97, 98, 99, 100):
        load = {"cmd": "ping", "x": nested(depth)}
        assert stranger.send(clear(load)) in (load, BAD_LOAD)


HUGE = 2**32 - 1
CLAIMS = {
    "array32": b"\xdd", "map32": b"\xdf", "bin32": b"\xc6", "str32": b"\xdb", "ext32": b"\xc9",
}  # fmt: skip


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_size_that_is_only_claimed(victim: Victim, kind: str) -> None:
    claim = CLAIMS[kind] + struct.pack(">I", HUGE) + (b"\x05" if kind == "ext32" else b"")
    head = b"\x83\xa3enc\xa5clear\xa7version\x03\xa4load"
    inside = b"pickle::" + claim
    before = victim.resident_bytes()
    frames = [claim, head + claim, b"\x91" * 50 + claim, b"\xdd\x00\x0f\xff\xff" * 50 + claim]
    with unharmed(victim):
        refused(victim.stranger.send_many(frames * 10))
        refused(victim.stranger.send_many([{"enc": "aes", "version": 3, "load": inside}] * 10))
    assert victim.resident_bytes() - before < 8 * MEBIBYTE


def test_wide(victim: Victim) -> None:
    """A map of 10^6 keys, a list of 10^7 nil."""
    keys = b"".join(b"\xce" + struct.pack(">I", number) + b"\xc0" for number in range(10**6))
    head = b"\x83\xa3enc\xa5clear\xa7version\x03\xa4load\x82\xa3cmd\xa4ping\xa1x"
    million = b"\xdf" + struct.pack(">I", 10**6) + keys
    nils = b"\xdd" + struct.pack(">I", 10**7) + b"\xc0" * 10**7
    with unharmed(victim):
        frames = [million, nils, head + million, head + nils]
        replies = [victim.stranger.send(frame, within_s=10) for frame in frames]
    refused(replies)


KEYS = {
    "list": b"\x91\x01", "map": b"\x81\x01\x02", "empty list": b"\x90",
    "datetime": b"\xc7\x18\x4e20240102T03:04:05.000678", "junk": b"\xd4\x4ea",
}  # fmt: skip


@pytest.mark.parametrize("kind", KEYS)
def test_map_keys_that_are_no_scalars(victim: Victim, rogue: Rogue, kind: str) -> None:
    strange = b"\x81" + KEYS[kind] + b"\x01"
    head = b"\x83\xa3enc\xa5clear\xa7version\x03\xa4load\x82\xa3cmd\xa4ping\xa1x"
    with unharmed(victim):
        refused(victim.stranger.send_many([strange, head + strange] * 2))
        assert rogue.send({}, plain=b"pickle::\x81\xa1x" + strange) == BAD_LOAD


def test_a_key_that_comes_twice(victim: Victim, rogue: Rogue) -> None:
    """Two checkers that read different ones of them would be fooled."""
    double_enc = b"\x84\xa3enc\xa3aes\xa3enc\xa5clear\xa7version\x03\xa4load\x80"
    double_cmd = b"\x83\xa3enc\xa5clear\xa7version\x03\xa4load\x82\xa3cmd\xa4ping\xa3cmd\xa5_auth"
    with unharmed(victim):
        refused(victim.stranger.send_many([double_enc, double_cmd]))
        assert rogue.send({}, plain=b"pickle::\x82\xa1x\x01\xa1x\x02") == BAD_LOAD


@pytest.mark.parametrize(
    "ext",
    [b"\xc7\x00\x4e", b"\xc7\x04\x4ejunk", b"\xd4\x4e\xff",
     b"\xc7\x19\x4e20240102T03:04:05.0006789x",
     b"\xc7\x03\x4f\x92\xa1a", b"\xc7\x02\x4f\x91\x01", b"\xd6\xff\x00\x00\x00\x00", b"\xd4\x05a",
     b"\xc7\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\xd8\x00" + b"a" * 16],
    ids=repr,
)  # fmt: skip
def test_extension_types(victim: Victim, ext: bytes) -> None:
    head = b"\x83\xa3enc\xa5clear\xa7version\x03\xa4load\x82\xa3cmd\xa4ping\xa1x"
    with unharmed(victim):
        answered(victim.stranger.send_many([ext, head + ext, b"\x91" + ext]))


def test_one_value_and_then_another(victim: Victim, rogue: Rogue) -> None:
    honest = wire(clear({"cmd": "ping"}))
    with unharmed(victim):
        refused(victim.stranger.send_many([honest + b"\xc0", honest + honest, honest + b"\0" * 99]))
        assert rogue.send({}, plain=b"pickle::\x80\xc0") == BAD_LOAD


def test_more_than_a_clear_request_may_be(victim: Victim) -> None:
    auth = {"cmd": "_auth", **CLEAR["_auth"]}
    requests = [
        clear({"cmd": "ping", "x": "x" * (4 * MEBIBYTE)}),
        clear({**auth, "pub": "x" * 70_000}),
        clear({**auth, "extra": "x" * 70_000}),
    ]
    with unharmed(victim):
        refused(victim.stranger.send_many(requests))


# --- inside the encryption ----------------------------------------------------------------------

PLAINS = {
    "empty": b"", "short": b"pickle", "no object": b"pickle::", "wrong magic": b"pickle:;\x80",
    "15 bytes": b"x" * 15, "not msgpack": b"pickle::\xc1", "trailing": b"pickle::\x80\x80",
    "json": b'{"cmd": "_file_envs"}', "pickle": b"\x80\x04\x95\x08\x00\x00\x00\x00\x00\x00\x00",
    "in capitals": b"PICKLE::\x80", "twice": b"pickle::pickle::\x80", "cut": b"pickle::\x85\xa1",
}  # fmt: skip


@pytest.mark.parametrize("kind", PLAINS)
def test_junk_under_the_right_key(victim: Victim, rogue: Rogue, kind: str) -> None:
    with unharmed(victim):
        assert rogue.send({}, plain=PLAINS[kind]) == BAD_LOAD


def paddings(session: str, made: bytes) -> Iterator[tuple[str, bytes]]:
    """Sealed loads whose MAC holds and whose padding does not."""
    import base64
    import hmac
    import os

    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    key = base64.b64decode(session)

    def sealed(padded: bytes) -> bytes:
        iv = os.urandom(16)
        body = iv + Cipher(AES(key[:24]), CBC(iv)).encryptor().update(padded)
        return body + hmac.digest(key[24:], body, "sha256")

    whole = made + b"\0" * (-len(made) % 16)
    ends = {
        "no pad": b"x" * 16, "pad 0": b"\0" * 16, "pad 17": b"\x11" * 16,
        "pad 255": b"\xff" * 16, "uneven": b"\x01" * 14 + b"\x02\x03",
    }  # fmt: skip
    for name, end in ends.items():
        yield name, sealed(whole + end)
    yield "longer than the data", sealed(b"\x20" * 16)
    yield "no block", sealed(b"")
    yield "half a block", b"x" * 8 + hmac.digest(key[24:], b"x" * 8, "sha256")
    yield "only a MAC", hmac.digest(key[24:], b"", "sha256")


def test_padding_is_checked_in_full(victim: Victim, rogue: Rogue) -> None:
    loads = dict(paddings(rogue.session, b"pickle::\x80"))
    requests = [rogue.make({}, outer={"load": load}) for load in loads.values()]
    with unharmed(victim):
        replies = rogue.send_many(requests)
    assert dict(zip(loads, replies, strict=True)) == dict.fromkeys(loads, BAD_LOAD)


# --- frames and connections ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        [b""], [b"", b""], [b"", b"", b""], [b"x"], [b"x", b"y"], [b"x", b"", b"y"], [b""] * 1000,
        [b"x"] * 1000, [b"", b"\xc0", b"\xc0"], [b"", *[b"\xc0"] * 999], [b"\xff" * 70_000],
    ],
    ids=lambda parts: f"{len(parts)} {parts[0][:1]!r} {parts[-1][:1]!r}",
)  # fmt: skip
def test_frames_in_other_numbers(victim: Victim, parts: list[bytes]) -> None:
    """One reply if it can be addressed, none otherwise; nobody else notices."""
    with unharmed(victim):
        reply = victim.stranger.send_parts(parts, within_s=0.3)
    assert reply is NO_REPLY or reply in (BAD_LOAD, UNDECODABLE)


def test_identities(victim: Victim) -> None:
    """255 bytes, and one that somebody else has."""
    context = victim.stranger.context
    with contextlib.ExitStack() as stack, unharmed(victim):
        for identity in (b"i" * 255, b"\x01" * 255, b"twin", b"twin"):
            one = stack.enter_context(context.socket(5))  # 5: zmq.DEALER
            one.linger = 0
            one.setsockopt(5, identity)  # 5: zmq.ROUTING_ID
            one.connect(victim.stranger.address)
            one.send_multipart([b"", wire(clear({"cmd": "ping"}))])
            assert one.poll(2_000)


def said_once(data: bytes) -> Callable[[socket.socket], None]:
    return lambda one: one.sendall(data)


TLS_HELLO = b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"r" * 200
RUDE: dict[str, bytes] = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": TLS_HELLO,
    "zeros": bytes(MEBIBYTE),
    "ones": b"\xff" * MEBIBYTE,
    "half a greeting": zmtp.greeting()[:30],
    "no READY": zmtp.greeting(),
    "PLAIN": zmtp.greeting(b"PLAIN") + zmtp.frame(b"\x05HELLO\x01a\x01b", flags=zmtp.COMMAND),
    "CURVE": zmtp.greeting(b"CURVE") + b"x" * 200,
    "no mechanism": zmtp.greeting(b"NOSUCH"),
    "version 1": b"\x01\x00" + b"\x05hello",
    "version 9": zmtp.greeting(major=9) + zmtp.ready(),
    "a publisher": zmtp.greeting() + zmtp.ready(b"PUB") + zmtp.frame(b"x"),
    "no such type": zmtp.greeting() + zmtp.ready(b"NOSUCH") + zmtp.frame(b"x"),
    "long identity": zmtp.greeting() + zmtp.ready(identity=b"i" * 300) + zmtp.frame(b"x"),
    "bad READY": zmtp.greeting() + zmtp.frame(b"\x05READY\x0bSocket-Type\xff\xff\xff\xff",
                                              flags=zmtp.COMMAND),
    "unknown command": zmtp.greeting() + zmtp.ready() + zmtp.frame(b"\x04JUNKxx",
                                                                  flags=zmtp.COMMAND),
    "reserved flags": zmtp.greeting() + zmtp.ready() + b"\xf8\x05hello",
    "2 GiB announced": zmtp.greeting() + zmtp.ready() + zmtp.frame(b"", flags=zmtp.MORE)
    + zmtp.frame(b"x" * 4096, announced=2**31),
    "16 EiB announced": zmtp.greeting() + zmtp.ready() + zmtp.frame(b"", flags=zmtp.MORE)
    + zmtp.frame(b"x" * 4096, announced=2**64 - 1),
    "half a message": zmtp.greeting() + zmtp.ready() + zmtp.frame(b"", flags=zmtp.MORE)
    + zmtp.frame(b"x" * 100, announced=200),
    "first part only": zmtp.greeting() + zmtp.ready() + zmtp.frame(b"", flags=zmtp.MORE),
}  # fmt: skip


@pytest.mark.parametrize("port", ["ret_port", "publish_port"])
@pytest.mark.parametrize("kind", RUDE)
def test_a_connection_that_speaks_another_tongue(victim: Victim, port: str, kind: str) -> None:
    """Whatever it says, and while it stays, others are served."""
    with unharmed(victim), zmtp.connection(getattr(victim.cluster, port)) as one:
        with contextlib.suppress(ConnectionError):
            one.sendall(RUDE[kind])
        victim.honest()


@pytest.mark.parametrize("kind", ["2 GiB announced", "16 EiB announced"])
def test_a_message_larger_than_any_may_be_costs_the_connection(victim: Victim, kind: str) -> None:
    before = victim.resident_bytes()
    with unharmed(victim), zmtp.connection(victim.cluster.ret_port) as one:
        one.sendall(RUDE[kind])
        assert zmtp.is_closed(one)
    assert victim.resident_bytes() - before < 8 * MEBIBYTE


@pytest.mark.parametrize("port", ["ret_port", "publish_port"])
def test_connections_without_a_word(victim: Victim, port: str) -> None:
    """They cost a descriptor each, until they go; nobody waits for them."""
    before = victim.descriptors()
    with unharmed(victim), contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(zmtp.connection(getattr(victim.cluster, port)))
        victim.honest()
    eventually(lambda: victim.descriptors() <= before + 2, within_s=10, what="descriptors")


def test_subscriptions_of_no_use(victim: Victim) -> None:
    """What a subscriber may send on 4505: subscriptions, and junk instead of them."""
    frames = [b"\x01" + b"x" * 100_000, b"\x00never", b"\x02", b"", b"\x01" * 5_000, b"junk"]
    with unharmed(victim), zmtp.peer(victim.cluster.publish_port, b"SUB") as one:
        with contextlib.suppress(ConnectionError):
            for _ in range(50):
                for body in frames:
                    one.sendall(zmtp.frame(body))
        victim.honest()


@pytest.mark.slow
def test_a_greeting_that_never_ends_is_hung_up_on(hung_up_after_s: Future[float]) -> None:
    """libzmq's own handshake timer, 30 s."""
    assert 25 < hung_up_after_s.result(45) < 40
