"""Encrypted requests between a minion's channel and a master's: what opens, and what must not."""

from __future__ import annotations

import tracemalloc
from functools import cache

import pytest
from repository import VECTORS

from saltlite.channel.master import (
    AUTH_LIMIT_BYTES,
    CLEAR_LIMIT_BYTES,
    OpenedRequest,
    StaleRequest,
    TokenCache,
    open_request,
    read_envelope,
    seal_pillar,
    seal_reply,
    verify_signed_load,
)
from saltlite.channel.minion import MinionChannel
from saltlite.channel.payload import PREFIX, open_sealed, seal
from saltlite.core.messages import Envelope, LoadNotAMap
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey, PublicKey, load_private_key
from saltlite.errors import CryptoError, WireError
from saltlite.master.shared import Proofs
from saltlite.transport.codec import pack, unpack

SESSION = new_key_string()
NONCE = "0123456789abcdef" * 2
NOW = 1_700_000_000


@cache
def key(name: str) -> PrivateKey:
    return load_private_key(VECTORS / f"{name}.pem")


MINION, MASTER = key("minion"), key("master")
CHANNEL = MinionChannel("web1", MINION, SESSION, master_key=MASTER.public)
HONEST = {
    "cmd": "_file_envs",
    "id": "web1",
    "nonce": NONCE,
    "ts": NOW,
    "tok": MINION.x931_sign(b"salt"),
}


def keys_of(accepted: dict[str, str]):
    return accepted.get


def opened(frame: bytes, *, session: str = SESSION, now_s: float = NOW, ttl_s: float = 300):
    return open_request(
        read_envelope(frame),
        {"web1": session, "web2": new_key_string()}.__getitem__,
        keys_of({"web1": MINION.public.pem, "web2": MASTER.public.pem}),
        tokens=TokenCache(),
        now_s=now_s,
        ttl_s=ttl_s,
    )


def framed(load, **envelope) -> bytes:
    """A frame around any load, sealed with web1's session key."""
    return raw_framed(seal(Crypticle(SESSION), load), **envelope)


def raw_framed(sealed: bytes, **envelope) -> bytes:
    return pack({"enc": "aes", "load": sealed, "version": 3, "id": "web1", **envelope})


# --- requests -----------------------------------------------------------------------------


def test_an_honest_request():
    frame, nonce = CHANNEL.seal({"cmd": "_return", "jid": "1"}, now_s=NOW)
    assert opened(frame) == OpenedRequest(
        id="web1",
        cmd="_return",
        load={"cmd": "_return", "jid": "1", "id": "web1", "ts": NOW},
        nonce=nonce,
        ts=NOW,
        enc_algo="OAEP-SHA1",
        sig_algo="PKCS1v15-SHA1",
    )


def test_the_channel_overwrites_the_id():
    frame, _ = CHANNEL.seal({"cmd": "x", "id": "web2"}, now_s=NOW)
    assert opened(frame).load["id"] == "web1"


def test_every_seal_has_a_nonce_of_its_own():
    assert CHANNEL.seal({"cmd": "x"})[1] != CHANNEL.seal({"cmd": "x"})[1]


@pytest.mark.parametrize(
    "change",
    [
        {"id": "web2"},
        {"id": None},
        {"id": 5},
        {"id": "web1\0"},
        {"nonce": None},
        {"nonce": "short"},
        {"nonce": "0" * 33},
        {"nonce": "ü" * 32},
        {"nonce": 5},
        {"tok": None},
        {"tok": b""},
        {"tok": b"x"},
        {"tok": b"x" * 10_000},
        {"tok": ["x"]},
        {"tok": MASTER.x931_sign(b"salt")},
        {"tok": MINION.x931_sign(b"pepper")},
        {"ts": None},
        {"ts": "1700000000"},
        {"ts": True},
        {"ts": float("nan")},
        {"ts": float("inf")},
        {"ts": 2**63},
        {"ts": NOW - 301},
        {"ts": NOW + 301},
        {"cmd": None},
        {"cmd": 5},
        {"cmd": ["_return"]},
        {"cmd": {}},
    ],
    ids=str,
)
def test_one_field_wrong(change):
    with pytest.raises((WireError, CryptoError)):
        opened(framed({**HONEST, **change}))
    (name,) = change
    missing = {field: value for field, value in HONEST.items() if field != name}
    with pytest.raises((WireError, CryptoError)):
        opened(framed(missing))


def test_the_window_can_be_wide_open():
    assert opened(framed({**HONEST, "ts": 1}), ttl_s=0).ts == 1
    with pytest.raises(WireError):
        opened(framed({**HONEST, "ts": "1"}), ttl_s=0)


def test_the_skew_is_told():
    with pytest.raises(StaleRequest) as caught:
        opened(framed({**HONEST, "ts": NOW - 600}))
    assert caught.value.skew_s == 600


@pytest.mark.parametrize(
    "envelope",
    [
        {"id": "web2"},
        {"id": "../x"},
        {"id": None},
        {"id": ""},
        {"enc_algo": 5},
        {"sig_algo": None},
    ],
    ids=str,
)
def test_wrong_envelope(envelope):
    with pytest.raises((WireError, CryptoError)):
        opened(framed(HONEST, **envelope))


def test_an_id_without_an_accepted_key_costs_no_session_key():
    def never(_id: str) -> str:
        raise AssertionError("a stranger got a session key")

    with pytest.raises(CryptoError):
        open_request(
            read_envelope(framed(HONEST, id="web9")),
            never,
            keys_of({}),
            tokens=TokenCache(),
            now_s=NOW,
            ttl_s=0,
        )


@pytest.mark.parametrize(
    "plain",
    [b"", b"x" * 15, b"pickle::", b"pickle::\xc1", b"pickle::\xc0\xc0", b"PICKLE::\x80", b"\x80"],
)
def test_encrypted_junk(plain):
    with pytest.raises((WireError, CryptoError)):
        opened(raw_framed(Crypticle(SESSION).encrypt(plain)))


@pytest.mark.parametrize("load", [None, [], "text", 5, b"\xff"])
def test_a_load_that_is_not_a_map_has_its_own_answer(load):
    with pytest.raises(LoadNotAMap):
        opened(framed(load))


def test_another_session_key():
    with pytest.raises(CryptoError):
        opened(framed(HONEST), session=new_key_string())


@pytest.fixture
def proven(monkeypatch):
    """The tokens that were looked at with RSA, in order."""
    seen = []
    recover = PublicKey.x931_recover

    def noted(self, signature):
        seen.append(signature)
        return recover(self, signature)

    monkeypatch.setattr(PublicKey, "x931_recover", noted)
    return seen


def test_the_proof_is_computed_once_for_each_key(proven):
    tokens = TokenCache(size=2)
    tok = HONEST["tok"]
    tokens.check(MINION.public.pem, tok)
    tokens.check(MINION.public.pem, tok)
    assert proven == [tok]
    with pytest.raises(CryptoError):
        tokens.check(MASTER.public.pem, tok)
    tokens.check(MASTER.public.pem, MASTER.x931_sign(b"salt"))
    signer = key("master_sign")
    tokens.check(signer.public.pem, signer.x931_sign(b"salt"))
    proven.clear()
    tokens.check(MINION.public.pem, tok)
    assert proven == [tok]  # two others have taken its place


def test_what_another_worker_has_proven_is_not_computed_again(proven):
    proofs = Proofs()
    one, other = TokenCache(proofs=proofs), TokenCache(proofs=proofs)
    tok = HONEST["tok"]
    for _ in range(2):  # what is no proof is not remembered
        with pytest.raises(CryptoError):
            one.check(MASTER.public.pem, tok)
    one.check(MINION.public.pem, tok)
    proven.clear()
    other.check(MINION.public.pem, tok)
    assert proven == []
    for pem, wrong in ((MASTER.public.pem, tok), (MINION.public.pem, tok[:-1] + b"x")):
        with pytest.raises(CryptoError):
            other.check(pem, wrong)
    proofs.close()


# --- envelopes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "version",
    [0, 1, 2, "3", 3.0, -1, None, [], {}, True, float("nan"), float("inf")],
    ids=repr,
)
@pytest.mark.parametrize("enc", ["aes", "clear"])
def test_no_downgrade(version, enc):
    load = b"\xff" if enc == "aes" else {"cmd": "ping"}
    with pytest.raises(WireError):
        read_envelope(pack({"enc": enc, "load": load, "version": version, "id": "web1"}))


@pytest.mark.parametrize("version", [3, 4, 2**63])
def test_newer_versions_are_taken_for_ours(version):
    frame = pack({"enc": "clear", "load": {}, "version": version})
    assert read_envelope(frame).version == version


def test_missing_version():
    with pytest.raises(WireError):
        read_envelope(pack({"enc": "clear", "load": {}}))


@pytest.mark.parametrize("enc", ["AES", "aes ", "pub", "", 5, None, [], "x" * 1_000_000])
def test_wrong_enc(enc):
    with pytest.raises(WireError):
        read_envelope(pack({"enc": enc, "load": {}, "version": 3}))


@pytest.mark.parametrize("load", [None, [], "text", 5, b"\xff"])
def test_clear_load_that_is_not_a_map(load):
    with pytest.raises(LoadNotAMap):
        read_envelope(pack({"enc": "clear", "load": load, "version": 3}))


def test_size_limits():
    auth = {"cmd": "_auth", "pub": "x" * AUTH_LIMIT_BYTES}
    with pytest.raises(WireError):
        read_envelope(pack({"enc": "clear", "load": auth, "version": 3}))
    large = {"cmd": "publish", "arg": ["x" * CLEAR_LIMIT_BYTES]}
    with pytest.raises(WireError):
        read_envelope(pack({"enc": "clear", "load": large, "version": 3}))
    fitting = {"cmd": "publish", "arg": ["x" * (CLEAR_LIMIT_BYTES - 100)]}
    assert read_envelope(pack({"enc": "clear", "load": fitting, "version": 3})).load == fitting
    sealed = b"\xff" * (2 * CLEAR_LIMIT_BYTES)
    assert read_envelope(raw_framed(sealed)).load == sealed


def test_of_a_large_clear_frame_only_the_wrapper_is_decoded():
    load = {"cmd": "publish", "arg": [[0]] * CLEAR_LIMIT_BYTES}
    with pytest.raises(WireError, match=r"items|ValueError|deeply"):
        read_envelope(pack({"enc": "clear", "load": load, "version": 3}))


def test_of_a_large_frame_no_constant_is_decoded():
    """A stranger's megabytes of empty lists would take seventy times as many."""
    count = CLEAR_LIMIT_BYTES.to_bytes(4, "big")
    inner = b"\x92\xa1n\xdd" + count + b"\x90" * CLEAR_LIMIT_BYTES
    constant = b"\xc9" + len(inner).to_bytes(4, "big") + b"\x4f" + inner
    frame = b"\x83\xa3enc\xa3aes\xa7version\x03\xa4load" + constant
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            read_envelope(frame)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(frame)
    finally:
        tracemalloc.stop()


# --- replies ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "", {}, False, True, {"a": [1, "ü", b"\xff"]}, ["base"]])
def test_reply(value):
    assert CHANNEL.open(seal_reply(SESSION, NONCE, value), NONCE) == value
    assert CHANNEL.open(seal_reply(Crypticle(SESSION), NONCE, value), NONCE) == value


def test_file_chunks_stay_bytes():
    reply = seal_reply(SESSION, NONCE, {"data": b"text", "dest": "a"})
    assert CHANNEL.open(reply, NONCE, text=False) == {b"data": b"text", b"dest": b"a"}


@pytest.mark.parametrize(
    "reply",
    [
        pack("bad load"),
        pack("payload and load must be a dict"),
        b"",
        b"\xc1",
        pack({}),
        pack(None),
        pack(b"x" * 100),
        pack("Some exception handling minion payload, which is longer than a MAC"),
    ],
)
def test_a_refusal_is_one_error_whatever_its_form(reply):
    with pytest.raises(CryptoError):
        CHANNEL.open(reply, NONCE)
    with pytest.raises(CryptoError):
        CHANNEL.open_pillar(reply, NONCE)


def test_a_reply_to_another_request():
    with pytest.raises(CryptoError):
        CHANNEL.open(seal_reply(SESSION, "f" * 32, None), NONCE)
    with pytest.raises(CryptoError):
        CHANNEL.open(seal_reply(SESSION, "", None), NONCE)


def test_payload_prefix():
    assert Crypticle(SESSION).decrypt(seal(Crypticle(SESSION), None)) == PREFIX + b"\xc0"
    with pytest.raises(CryptoError):
        open_sealed(Crypticle(SESSION), Crypticle(SESSION).encrypt(b"\xc0"))


# --- pillar -------------------------------------------------------------------------------


def pillar(value=None, **options) -> bytes:
    whole = {
        "nonce": NONCE,
        "minion_key": MINION.public,
        "signer": MASTER,
        "enc_algo": "OAEP-SHA1",
        "sig_algo": "PKCS1v15-SHA1",
        **options,
    }
    return seal_pillar({"a": 1} if value is None else value, **whole)


def test_pillar():
    assert CHANNEL.open_pillar(pillar(), NONCE) == {"a": 1}
    assert CHANNEL.open_pillar(pillar({7.4: "php"}), NONCE) == {7.4: "php"}


@pytest.mark.parametrize(
    "options",
    [
        {"nonce": "0" * 32},
        {"minion_key": MASTER.public},
        {"signer": MINION},
        {"enc_algo": "OAEP-SHA224"},
        {"sig_algo": "PKCS1v15-SHA224"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_pillar_made_otherwise(options):
    with pytest.raises(CryptoError):
        CHANNEL.open_pillar(pillar(**options), NONCE)


def test_pillar_from_another_reply():
    one, other = unpack(pillar()), unpack(pillar({"b": 2}))
    with pytest.raises(CryptoError):
        CHANNEL.open_pillar(pack({"key": one["key"], "pillar": other["pillar"]}), NONCE)


def test_pillar_that_is_no_map():
    for value in ([1], "text", 5):
        with pytest.raises(CryptoError):
            CHANNEL.open_pillar(pillar(value), NONCE)


def test_pillar_before_the_masters_key_is_known():
    with pytest.raises(CryptoError):
        MinionChannel("web1", MINION, SESSION).open_pillar(pillar(), NONCE)


@pytest.mark.parametrize("name", ["enc_algo", "sig_algo"])
def test_pillar_with_an_unknown_algorithm(name):
    with pytest.raises(CryptoError):
        pillar(**{name: "none"})


# --- signed loads -------------------------------------------------------------------------


def test_signed_messages_verify_after_the_journey():
    channel = MinionChannel("web1", MINION, SESSION, sign_messages=True)
    frame, _ = channel.seal({"cmd": "_return", "return": {"a": "ü" * 40}}, now_s=NOW)
    load = opened(frame).load
    assert verify_signed_load(load, MINION.public, "PKCS1v15-SHA1") is True
    assert verify_signed_load(load, MASTER.public, "PKCS1v15-SHA1") is False
    assert verify_signed_load({**load, "return": 1}, MINION.public, "PKCS1v15-SHA1") is False
    assert verify_signed_load({**load, "sig": 5}, MINION.public, "PKCS1v15-SHA1") is False
    assert verify_signed_load(load, MINION.public, "none") is False


def test_a_load_sent_twice_signs_afresh():
    channel = MinionChannel("web1", MINION, SESSION, sign_messages=True)
    load = opened(channel.seal({"cmd": "x"}, now_s=NOW)[0]).load
    again = opened(channel.seal(load, now_s=NOW + 1)[0], now_s=NOW + 1).load
    assert verify_signed_load(again, MINION.public, "PKCS1v15-SHA1") is True


def test_envelope_of_the_channel():
    frame, _ = CHANNEL.seal({"cmd": "x"})
    assert list(unpack(frame)) == ["enc", "load", "version", "id", "enc_algo", "sig_algo"]
    assert Envelope.from_wire(unpack(frame)).id == "web1"
