"""Publications: who may say what to a minion."""

from __future__ import annotations

import pytest
from repository import VECTORS

from saltlite.channel.payload import seal
from saltlite.channel.publication import (
    BROADCAST,
    StalePublication,
    message_of,
    open_publication,
    seal_publication,
    subscriptions,
    topic_of,
    topics,
)
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import load_private_key
from saltlite.errors import CryptoError, WireError
from saltlite.transport.codec import pack, unpack

MASTER, ROGUE = (load_private_key(VECTORS / f"{name}.pem") for name in ("master", "minion"))
AES = new_key_string()
JOB = {"fun": "test.ping", "arg": [], "tgt": "*", "jid": "1" * 20, "ret": "", "tgt_type": "glob"}


def sealed(serial: int = 1, signer=MASTER, **options) -> bytes:
    return seal_publication(JOB, aes=AES, serial=serial, signer=signer, **options)


def opened(frame: bytes, *, last_serial: int = 0, required: bool = True, aes: str = AES):
    return open_publication(
        frame,
        crypticle=Crypticle(aes),
        last_serial=last_serial,
        master_key=MASTER.public,
        require_signature=required,
    )


@pytest.mark.parametrize("sig_algo", ["PKCS1v15-SHA1", "PKCS1v15-SHA224"])
def test_signed(sig_algo):
    assert opened(sealed(7, sig_algo=sig_algo)) == (JOB, 7)
    assert "serial" not in JOB


def test_unsigned_only_where_allowed():
    frame = sealed(signer=None)
    assert set(unpack(frame)) == {"enc", "load"}
    assert opened(frame, required=False) == (JOB, 1)
    with pytest.raises(WireError):
        opened(frame)


@pytest.mark.parametrize("serial", [5, 4, 0, -1])
def test_serial_must_grow(serial):
    with pytest.raises(StalePublication):
        opened(sealed(serial), last_serial=5)
    assert opened(sealed(6), last_serial=5)[1] == 6


def test_no_serial_as_in_a_master_cluster():
    load = seal(Crypticle(AES), JOB)
    frame = pack({"enc": "aes", "load": load})
    assert opened(frame, required=False, last_serial=9) == (JOB, 0)


def changed(**fields) -> bytes:
    message = {**unpack(sealed()), **fields}
    return pack({name: value for name, value in message.items() if value is not None})


@pytest.mark.parametrize(
    "frame",
    [
        changed(enc="clear", load=JOB),
        changed(enc=None),
        changed(enc="clear"),
        changed(load=None),
        changed(load=5),
        changed(sig=None),
        changed(sig=b""),
        changed(sig=b"\xff" * 256),
        changed(sig=5),
        changed(sig_algo=None),
        changed(sig_algo="none"),
        changed(sig_algo="PKCS1v15-SHA224"),
        changed(sig_algo=5),
        changed(load=unpack(sealed())["load"][:-1] + b"\0\0"),
        sealed(signer=ROGUE),
        pack([]),
        pack("text"),
        b"",
        b"\xc1",
    ],
)
def test_dropped_without_authenticating_again(frame):
    with pytest.raises(WireError):
        opened(frame)


def test_another_key_is_an_invitation_to_authenticate_again():
    with pytest.raises(CryptoError):
        opened(sealed(), aes=new_key_string())


def test_a_stranger_cannot_send_minions_back_to_the_master():
    with pytest.raises(WireError):
        opened(sealed(signer=ROGUE), aes=new_key_string())


def test_the_masters_key_is_needed():
    with pytest.raises(WireError):
        open_publication(
            sealed(),
            crypticle=Crypticle(AES),
            last_serial=0,
            master_key=None,
            require_signature=True,
        )


@pytest.mark.parametrize("job", [[], "text", {1: 2}, {"serial": "1"}, {"serial": 1.5}])
def test_a_signed_load_that_is_no_job(job):
    load = seal(Crypticle(AES), job)
    frame = {"enc": "aes", "load": load, "sig_algo": "PKCS1v15-SHA1"}
    with pytest.raises(WireError):
        opened(pack({**frame, "sig": MASTER.sign(load, "PKCS1v15-SHA1")}))


# --- topics -------------------------------------------------------------------------------


def test_topics():
    ids = ["a", "b"]
    assert topics("glob", "*", ids) == topics("pcre", ".*", ids) == [topic_of("a"), topic_of("b")]
    assert topics("list", ["a", "x"], ["a"]) == [topic_of("a"), topic_of("x")]
    assert topics("list", "a, x", ["a"]) == [topic_of("a"), topic_of("x")]
    for tgt_type in ("grain", "compound", "pillar", "ipcidr"):
        assert topics(tgt_type, "x", ids) == [BROADCAST]


def test_subscriptions():
    assert subscriptions("a", filtering=False) == [b""]
    assert subscriptions("a", filtering=True) == [BROADCAST, topic_of("a")]


def test_message_with_and_without_topic():
    assert message_of([b"m"]) == message_of([b"topic", b"m"]) == b"m"
    for frames in ([], [b"a", b"b", b"c"]):
        with pytest.raises(WireError):
            message_of(frames)
