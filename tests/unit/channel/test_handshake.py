"""``_auth``: each rule of docs/wire.md#_auth, and each way of getting it wrong."""

from __future__ import annotations

import base64
from functools import cache

import pytest
from repository import VECTORS

from saltlite.channel.handshake import (
    Accepted,
    MasterHandshake,
    MinionHandshake,
    digest_of,
    sign_public_key,
)
from saltlite.channel.master import read_envelope
from saltlite.core.messages import AuthRequest
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey, load_private_key
from saltlite.errors import (
    AuthError,
    CryptoError,
    KeyPending,
    KeyRejected,
    MasterFull,
    MasterUntrusted,
)
from saltlite.transport.codec import pack, unpack

AES, SESSION = new_key_string(), new_key_string()


@cache
def key(name: str) -> PrivateKey:
    return load_private_key(VECTORS / f"{name}.pem")


MINION, MASTER, SIGNER = key("minion"), key("master"), key("master_sign")
STRANGER = SIGNER  # any key that is not the master's


def handshake(**options) -> MinionHandshake:
    return MinionHandshake(MINION, "web1", **options)


def asked(minion: MinionHandshake) -> AuthRequest:
    return AuthRequest.from_wire(read_envelope(minion.request()).load)


def answered(request: AuthRequest, master: PrivateKey = MASTER, **options) -> bytes:
    return MasterHandshake(master).accept(
        request, MINION.public, aes=AES, session=SESSION, publish_port=4505, **options
    )


def accepted(minion: MinionHandshake, master: PrivateKey = MASTER, **options) -> Accepted:
    return minion.accept(answered(asked(minion), master, **options))


def resigned(reply: bytes, master: PrivateKey = MASTER, **changes) -> bytes:
    """A reply with some fields changed (``None``: removed), signed again."""
    inner = {**unpack(unpack(reply)["load"]), **changes}
    load = pack({name: value for name, value in inner.items() if value is not None})
    return pack({"enc": "clear", "load": load, "sig": master.sign(load, "PKCS1v15-SHA1")})


# --- what is sent -------------------------------------------------------------------------


def test_first_request_has_no_token():
    request = asked(handshake())
    assert (request.id, request.token, request.problem) == ("web1", None, "")
    assert request.pub == MINION.public.pem
    assert len(request.nonce) == 32


def test_token_is_encrypted_to_the_pinned_key():
    minion = handshake(pinned=MASTER.public, token=AES, enc_algo="OAEP-SHA224")
    request = asked(minion)
    assert request.token is not None
    assert MASTER.decrypt(request.token, "OAEP-SHA224") == AES.encode()


def test_every_request_has_a_nonce_of_its_own():
    minion = handshake()
    assert asked(minion).nonce != asked(minion).nonce


def test_autosign_grains_travel():
    assert asked(handshake(autosign_grains={"uuid": "x"})).autosign_grains == {"uuid": "x"}


# --- accepted -----------------------------------------------------------------------------


@pytest.mark.parametrize("enc_algo", ["OAEP-SHA1", "OAEP-SHA224"])
@pytest.mark.parametrize("sig_algo", ["PKCS1v15-SHA1", "PKCS1v15-SHA224"])
@pytest.mark.parametrize("pinned", [False, True])
def test_accepted(enc_algo, sig_algo, pinned):
    minion = handshake(
        enc_algo=enc_algo, sig_algo=sig_algo, pinned=MASTER.public if pinned else None
    )
    result = accepted(minion)
    assert (result.aes, result.session, result.publish_port) == (AES, SESSION, 4505)
    assert result.master_key.pem == MASTER.public.pem
    assert not result.replaces_pinned
    assert AES not in repr(result) and SESSION not in repr(result)


def test_keys_of_different_length_can_shake_hands():
    large = PrivateKey.generate(3072)
    minion = MinionHandshake(MINION, "web1", pinned=large.public)
    assert accepted(minion, large).aes == AES


# --- refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("pinned", [None, MASTER.public])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (MasterHandshake.pending, KeyPending),
        (MasterHandshake.refuse, KeyRejected),
        (MasterHandshake.full, MasterFull),
    ],
)
def test_refusals(answer, error, pinned):
    minion = handshake(pinned=pinned)
    reply = answer(MasterHandshake(MASTER), asked(minion))
    with pytest.raises(error):
        minion.accept(reply)


def test_a_refusal_signed_by_another_is_not_believed_once_a_key_is_pinned():
    minion = handshake(pinned=MASTER.public)
    reply = MasterHandshake(STRANGER).refuse(asked(minion))
    with pytest.raises(
        CryptoError, match=r"not the one this minion knows.*remove minion_master\.pub"
    ):
        minion.accept(reply)


def test_an_old_refusal_is_not_believed():
    minion = handshake()
    reply = MasterHandshake(MASTER).refuse(asked(minion))
    asked(minion)
    with pytest.raises(CryptoError, match="another request"):
        minion.accept(reply)


@pytest.mark.parametrize("field", ["enc", "sig"])
def test_unknown_algorithm(field):
    minion = handshake()
    asked(minion)
    with pytest.raises(AuthError, match=f"bad {field} algo"):
        minion.accept(MasterHandshake(MASTER).bad_algorithm(field))


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"\xc1",
        pack("bad load"),
        pack([]),
        pack({}),
        pack({"load": None}),
        pack({"load": b"\xc1"}),
        pack({"load": 5}),
        pack({"load": {"ret": True}}),
        pack({"load": pack({"ret": 7, "nonce": "x"}), "sig": b""}),
        pack({"load": pack([1])}),
        pack({"enc": "clear", "load": pack({"pub_key": 5})}),
        pack({1: 2}),
    ],
)
@pytest.mark.parametrize("pinned", [None, MASTER.public])
def test_junk_is_an_error_and_no_more(reply, pinned):
    minion = handshake(pinned=pinned)
    asked(minion)
    with pytest.raises((AuthError, CryptoError)):
        minion.accept(reply)


def test_neither_yes_nor_no():
    minion = handshake()
    request = asked(minion)
    reply = resigned(MasterHandshake(MASTER).pending(request), ret="perhaps")
    with pytest.raises(AuthError, match="neither"):
        minion.accept(reply)


# --- who is the master? -------------------------------------------------------------------


def test_another_key_than_the_pinned_one():
    with pytest.raises(MasterUntrusted):
        accepted(handshake(pinned=MASTER.public), STRANGER)


def test_open_mode_believes_another_key():
    result = accepted(handshake(pinned=MASTER.public, open_mode=True), STRANGER)
    assert result.replaces_pinned
    assert result.master_key.pem == STRANGER.public.pem


def test_the_pinned_key_with_another_signature():
    minion = handshake(pinned=MASTER.public)
    reply = resigned(answered(asked(minion)), STRANGER)
    with pytest.raises(CryptoError, match="signature"):
        minion.accept(reply)


@pytest.mark.parametrize("token", [None, b"x", b"\xff" * 256, "other"])
def test_the_token_must_come_back(token):
    minion = handshake(pinned=MASTER.public)
    reply = answered(asked(minion))
    if token == "other":
        token = MINION.public.encrypt(new_key_string().encode(), "OAEP-SHA1")
    with pytest.raises(MasterUntrusted, match="token"):
        minion.accept(resigned(reply, token=token))


@pytest.mark.parametrize("colons", [True, False])
def test_fingerprint(colons):
    finger = MASTER.public.fingerprint()
    if not colons:
        finger = finger.replace(":", "").upper()
    assert accepted(handshake(master_finger=finger)).aes == AES
    with pytest.raises(MasterUntrusted, match="fingerprint"):
        accepted(handshake(master_finger=finger), STRANGER)
    with pytest.raises(MasterUntrusted, match="fingerprint"):
        accepted(handshake(master_finger=finger, open_mode=True), STRANGER)


def test_fingerprint_of_another_hash():
    finger = MASTER.public.fingerprint("md5")
    assert accepted(handshake(master_finger=finger, hash_type="md5")).aes == AES


# --- pub_sig ------------------------------------------------------------------------------

PUB_SIG = sign_public_key(SIGNER, MASTER.public, "PKCS1v15-SHA1")


def test_signed_key_at_first_contact():
    assert accepted(handshake(sign_key=SIGNER.public), pub_sig=PUB_SIG).aes == AES


def test_signature_wanted_but_missing_or_there_but_not_wanted():
    with pytest.raises(MasterUntrusted):
        accepted(handshake(sign_key=SIGNER.public))
    with pytest.raises(MasterUntrusted):
        accepted(handshake(), pub_sig=PUB_SIG)


@pytest.mark.parametrize(
    "pub_sig",
    [
        "",
        "x",
        base64.b64encode(b"x" * 256).decode(),
        sign_public_key(SIGNER, MINION.public, "PKCS1v15-SHA1"),
        sign_public_key(MASTER, MASTER.public, "PKCS1v15-SHA1"),
    ],
)
def test_a_signature_that_does_not_hold(pub_sig):
    with pytest.raises(MasterUntrusted):
        accepted(handshake(sign_key=SIGNER.public), pub_sig=pub_sig)


def test_a_signature_lets_a_changed_key_replace_the_pinned_one():
    minion = handshake(pinned=MINION.public, sign_key=SIGNER.public)
    result = accepted(minion, pub_sig=PUB_SIG)
    assert result.replaces_pinned
    assert result.master_key.pem == MASTER.public.pem


def test_the_pinned_key_needs_its_signature_checked_only_on_demand():
    wrong = sign_public_key(SIGNER, MINION.public, "PKCS1v15-SHA1")
    pinned = {"pinned": MASTER.public, "sign_key": SIGNER.public}
    assert accepted(handshake(**pinned), pub_sig=wrong).aes == AES
    with pytest.raises(MasterUntrusted):
        accepted(handshake(**pinned, always_verify=True), pub_sig=wrong)
    assert accepted(handshake(**pinned, always_verify=True), pub_sig=PUB_SIG).aes == AES


# --- what is inside -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": None},
        {"nonce": "0" * 32},
        {"aes": None},
        {"aes": b"\xff" * 256},
        {"aes": MINION.public.encrypt(SESSION.encode(), "OAEP-SHA1")},  # sig is over another
        {"session": None},
        {"session": MINION.public.encrypt(b"short", "OAEP-SHA1")},
        {"sig": None},
        {"sig": b"\xff" * 256},
        {"sig": MASTER.x931_sign(digest_of(SESSION))},
        {"sig": STRANGER.x931_sign(digest_of(AES))},
        {"publish_port": None},
        {"publish_port": "4505"},
        {"publish_port": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_field_that_is_wrong_or_missing(changes):
    minion = handshake()
    reply = resigned(answered(asked(minion)), **changes)
    with pytest.raises((AuthError, CryptoError)):
        minion.accept(reply)


def test_a_reply_to_the_request_before():
    minion = handshake()
    reply = answered(asked(minion))
    asked(minion)
    with pytest.raises(CryptoError, match="another request"):
        minion.accept(reply)


def test_a_reply_before_any_request():
    reply = answered(asked(handshake()))
    with pytest.raises(CryptoError):
        handshake().accept(reply)


def test_a_weak_master_key():
    minion = handshake()
    reply = resigned(answered(asked(minion)), pub_key="-----BEGIN PUBLIC KEY-----")
    with pytest.raises(CryptoError):
        minion.accept(reply)


# --- the master's end ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "token",
    [b"", b"x", b"\xff" * 256, MASTER.public.encrypt(b"", "OAEP-SHA1"), "long", "foreign"],
    ids=["empty", "short", "junk", "of nothing", "too long to echo", "for another key"],
)
def test_a_token_that_cannot_be_read_is_left_out(token):
    if token == "long":
        token = MASTER.public.encrypt(b"x" * 200, "OAEP-SHA1")
    elif token == "foreign":
        token = STRANGER.public.encrypt(AES.encode(), "OAEP-SHA1")
    request = AuthRequest("web1", "0" * 32, MINION.public.pem, token=token)
    inner = unpack(unpack(answered(request))["load"])
    assert "token" not in inner
    assert inner["enc"] == "pub"


def test_replies_repeat_the_nonce():
    request = asked(handshake())
    master = MasterHandshake(MASTER)
    for reply in (master.pending(request), master.refuse(request), master.full(request)):
        assert unpack(unpack(reply)["load"])["nonce"] == request.nonce
