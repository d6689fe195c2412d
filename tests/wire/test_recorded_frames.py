"""Frames recorded from real Salt: understood, and written again byte for byte with the same IV.

The recordings come from record/record.py. What is random in a frame (IVs, nonces, OAEP ciphertexts)
is taken from the recording; everything else saltlite has to arrive at by itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from saltlite.channel.handshake import MasterHandshake, MinionHandshake, digest_of
from saltlite.channel.master import (
    OpenedRequest,
    TokenCache,
    open_request,
    read_envelope,
    seal_reply,
)
from saltlite.channel.minion import MinionChannel
from saltlite.channel.payload import open_sealed, seal
from saltlite.channel.publication import open_publication, seal_publication
from saltlite.core.messages import (
    AuthRequest,
    Envelope,
    Job,
    JobReturn,
    MinionEvents,
    PublishLoad,
    PublishReply,
    as_bytes,
)
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import load_private_key
from saltlite.errors import CryptoError, KeyPending
from saltlite.transport.codec import pack, unpack

HERE = Path(__file__).parent
MASTER = load_private_key(HERE / "vectors" / "master.pem")
MINION = load_private_key(HERE / "vectors" / "minion.pem")


@dataclass(frozen=True)
class Exchange:
    release: str
    number: str
    name: str
    request: bytes
    reply: bytes


@cache
def recording(release: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads((HERE / "frames" / f"{release}.json").read_text())
    return whole


def exchanges(*names: str) -> list[Any]:
    """Every recorded request with one of these names, and its reply."""
    found = []
    for path in sorted((HERE / "frames").glob("*.json")):
        frames = recording(path.stem)["frames"]
        replies = {one["exchange"]: one["hex"] for one in frames if one["kind"] == "reply"}
        for one in frames:
            if one["kind"] != "request" or (names and one["name"] not in names):
                continue
            found.append(
                pytest.param(
                    Exchange(
                        path.stem,
                        one["exchange"],
                        one["name"],
                        bytes.fromhex(one["hex"]),
                        bytes.fromhex(replies[one["exchange"]]),
                    ),
                    id=f"{path.stem}-{one['exchange']}-{one['name'].rpartition('/')[2]}",
                )
            )
    return found


EVENTS = ("minion_start", "salt/minion/recorded.minion/start")
SEALED = ("_pillar", "_return", "_register_resources", *EVENTS)
RELEASES = sorted(path.stem for path in (HERE / "frames").glob("*.json"))


def sessions(release: str) -> set[str]:
    return {keys["session"] for keys in recording(release)["keys"]}


def opened(exchange: Exchange) -> OpenedRequest:
    """The request as a saltlite master sees it."""
    envelope = read_envelope(exchange.request)
    problems = []
    for session in sessions(exchange.release):
        try:
            return open_request(
                envelope,
                lambda _id, session=session: session,
                lambda _id: MINION.public.pem,
                tokens=TokenCache(),
                now_s=0,
                ttl_s=0,
            )
        except CryptoError as error:
            problems.append(error)
    raise problems[-1]


def session_of(exchange: Exchange) -> str:
    for session in sessions(exchange.release):
        try:
            open_sealed(Crypticle(session), as_bytes(read_envelope(exchange.request).load, "load"))
        except CryptoError:
            continue
        return session
    raise AssertionError("no session key fits")


def test_recordings_of_both_generations_are_there():
    assert RELEASES == ["3006.30", "3008.5"]


# --- authentication -----------------------------------------------------------------------


@pytest.mark.parametrize("exchange", exchanges("_auth"))
def test_auth_request_is_written_again(exchange):
    request = AuthRequest.from_wire(read_envelope(exchange.request).load)
    assert (request.id, request.problem) == ("recorded.minion", "")
    assert pack(Envelope(enc="clear", load=request.to_wire()).to_wire()) == exchange.request
    if request.token is None:
        ours = MinionHandshake(MINION, "recorded.minion").request(request.nonce)
        assert ours == exchange.request
    else:
        assert len(MASTER.decrypt(request.token, request.enc_algo)) == 76


@pytest.mark.parametrize("exchange", [one for one in exchanges("_auth") if "-1-" in str(one.id)])
def test_pending_reply_is_written_again(exchange):
    request = AuthRequest.from_wire(read_envelope(exchange.request).load)
    assert MasterHandshake(MASTER).pending(request) == exchange.reply
    handshake = MinionHandshake(MINION, "recorded.minion")
    handshake.request(request.nonce)
    with pytest.raises(KeyPending):
        handshake.accept(exchange.reply)


@pytest.mark.parametrize(
    "exchange", [one for one in exchanges("_auth") if "-1-" not in str(one.id)]
)
def test_accepted_reply_is_believed_and_written_again(exchange):
    request = AuthRequest.from_wire(read_envelope(exchange.request).load)
    token = None
    if request.token is not None:
        token = MASTER.decrypt(request.token, request.enc_algo).decode()
    pinned = None if token is None else MASTER.public
    handshake = MinionHandshake(MINION, "recorded.minion", pinned=pinned, token=token)
    handshake.request(request.nonce)
    accepted = handshake.accept(exchange.reply)
    assert {"aes": accepted.aes, "session": accepted.session} in recording(exchange.release)["keys"]
    outer = unpack(exchange.reply)
    load = as_bytes(outer["load"], "load")
    assert pack(unpack(load)) == load
    assert MASTER.sign(load, request.sig_algo) == outer["sig"]
    assert MASTER.x931_sign(digest_of(accepted.aes)) == unpack(load)["sig"]
    assert pack(unpack(exchange.reply)) == exchange.reply
    ours = unpack(
        MasterHandshake(MASTER).accept(
            request,
            MINION.public,
            aes=accepted.aes,
            session=accepted.session,
            publish_port=accepted.publish_port,
        )
    )
    assert list(unpack(ours["load"])) == list(unpack(load))


# --- encrypted requests -------------------------------------------------------------------


@pytest.mark.parametrize("exchange", exchanges(*SEALED))
def test_sealed_request_is_opened_and_written_again(exchange):
    request = opened(exchange)
    assert request.id == request.load["id"] == "recorded.minion"
    envelope = read_envelope(exchange.request)
    sealed = as_bytes(envelope.load, "load")
    session = Crypticle(session_of(exchange))
    inner = open_sealed(session, sealed)
    assert seal(session, inner, iv=sealed[:16]) == sealed
    assert pack(envelope.to_wire()) == exchange.request
    assert MINION.x931_sign(b"salt") == inner["tok"]


@pytest.mark.parametrize("exchange", exchanges("_return"))
def test_our_own_minion_seals_the_same_return(exchange):
    request = opened(exchange)
    channel = MinionChannel("recorded.minion", MINION, session_of(exchange))
    sealed = as_bytes(read_envelope(exchange.request).load, "load")
    load = {key: value for key, value in request.load.items() if key != "ts"}
    frame, _ = channel.seal(load, nonce=request.nonce, now_s=request.ts, iv=sealed[:16])
    assert frame == exchange.request


@pytest.mark.parametrize("exchange", exchanges("_return", "_register_resources", *EVENTS))
def test_reply_is_opened_and_written_again(exchange):
    request = opened(exchange)
    session = session_of(exchange)
    value = MinionChannel("recorded.minion", MINION, session).open(exchange.reply, request.nonce)
    iv = as_bytes(unpack(exchange.reply), "reply")[:16]
    assert seal_reply(session, request.nonce, value, iv=iv) == exchange.reply
    with pytest.raises(CryptoError):
        MinionChannel("recorded.minion", MINION, session).open(exchange.reply, "0" * 32)


@pytest.mark.parametrize("exchange", exchanges("_return"))
def test_return_is_understood(exchange):
    load = opened(exchange).load
    result = JobReturn.from_wire(load)
    assert (result.return_, result.retcode, result.success) == (True, 0, True)
    assert (result.fun, result.fun_args) == ("test.ping", [])
    assert {**result.to_wire(), "ts": load["ts"]} == load


@pytest.mark.parametrize("exchange", exchanges(*EVENTS))
def test_start_event_is_understood(exchange):
    load = opened(exchange).load
    events = MinionEvents.from_wire(load)
    assert events.single
    assert [event.tag for event in events.events] == [exchange.name]
    assert events.events[0].data == load
    assert events.to_wire() == load


@pytest.mark.parametrize("exchange", exchanges("_pillar"))
def test_pillar_is_opened_and_written_again(exchange):
    request = opened(exchange)
    assert request.load["grains"]["id"] == "recorded.minion"
    channel = MinionChannel(
        "recorded.minion", MINION, session_of(exchange), master_key=MASTER.public
    )
    pillar = channel.open_pillar(exchange.reply, request.nonce)
    outer = unpack(exchange.reply)
    key_string = MINION.decrypt(as_bytes(outer["key"], "key"), request.enc_algo).decode()
    sealed = as_bytes(outer["pillar"], "pillar")
    data = pack({"key": outer["key"], "pillar": pillar, "nonce": request.nonce})
    signed = {"data": data, "sig": MASTER.sign(data, request.sig_algo)}
    assert seal(Crypticle(key_string), signed, iv=sealed[:16]) == sealed
    assert pack(outer) == exchange.reply


# --- publish ------------------------------------------------------------------------------


@pytest.mark.parametrize("exchange", exchanges("publish"))
def test_publish_is_understood_and_written_again(exchange):
    load = PublishLoad.from_wire(read_envelope(exchange.request).load)
    assert (load.tgt, load.fun, load.arg, load.tgt_type) == ("*", "test.ping", [], "glob")
    assert load.to_wire() == read_envelope(exchange.request).load
    reply = PublishReply.from_wire(unpack(exchange.reply))
    assert reply.minions == ["recorded.minion"]
    assert pack(reply.to_wire()) == exchange.reply


@pytest.mark.parametrize("release", RELEASES)
def test_publication_is_opened_and_written_again(release):
    (frame,) = (
        bytes.fromhex(one["hex"])
        for one in recording(release)["frames"]
        if one["kind"] == "publication"
    )
    aes = recording(release)["keys"][0]["aes"]
    job, serial = open_publication(
        frame,
        crypticle=Crypticle(aes),
        last_serial=0,
        master_key=MASTER.public,
        require_signature=True,
    )
    assert serial == 1
    assert Job.from_wire(job).functions == ["test.ping"]
    assert Job.from_wire(job).to_wire() == job
    iv = as_bytes(unpack(frame)["load"], "load")[:16]
    assert seal_publication(job, aes=aes, serial=serial, signer=MASTER, iv=iv) == frame
