"""Nothing a peer sends gets anything but WireError or CryptoError out of the channel."""

from __future__ import annotations

import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repository import VECTORS

from saltlite.channel.handshake import MinionHandshake
from saltlite.channel.master import TokenCache, open_request, read_envelope, seal_reply
from saltlite.channel.minion import MinionChannel
from saltlite.channel.payload import open_sealed, seal
from saltlite.channel.publication import open_publication
from saltlite.core.messages import (
    AuthRequest,
    Envelope,
    Job,
    JobReturn,
    MinionEvents,
    PublishLoad,
    PublishReply,
)
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PublicKey, load_private_key
from saltlite.errors import AuthError, CryptoError, WireError
from saltlite.transport.bus import unpack_event
from saltlite.transport.codec import pack

MINION, MASTER = (load_private_key(VECTORS / f"{name}.pem") for name in ("minion", "master"))
SESSION = new_key_string()
CRYPTICLE = Crypticle(SESSION)
TOK = MINION.x931_sign(b"salt")
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec="utf-8"), max_size=20)
    | st.binary(max_size=40)
    | st.sampled_from(
        ["web1", "aes", "clear", TOK, "0" * 32, 3, 2**63, "_return", "20240102030405000678"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=4)
    ),
    max_leaves=15,
)


def maps_with(*names: str):
    """Maps with any values under names a handler looks at."""
    return st.dictionaries(st.sampled_from(names) | st.text(max_size=5), anything, max_size=8)


envelopes = maps_with("enc", "load", "version", "id", "enc_algo", "sig_algo")
loads = maps_with(
    "cmd", "id", "nonce", "ts", "tok", "pub", "token", "jid", "fun", "arg", "tgt", "return",
    "retcode", "success", "fun_args", "events", "tag", "data", "pretag", "autosign_grains",
    "kwargs", "tgt_type", "minions", "missing",
)  # fmt: skip


@quick
@given(st.binary(max_size=200), st.binary(min_size=16, max_size=16))
def test_what_was_encrypted_decrypts(plain, iv):
    assert CRYPTICLE.decrypt(CRYPTICLE.encrypt(plain, iv=iv)) == plain


@quick
@given(st.binary(max_size=200))
def test_decrypt_of_arbitrary_bytes(message):
    try:
        CRYPTICLE.decrypt(message)
    except CryptoError:
        return
    raise AssertionError("a forged message was taken")


@quick
@given(st.binary(max_size=120))
def test_an_honest_mac_around_arbitrary_bytes(plain):
    try:
        open_sealed(CRYPTICLE, CRYPTICLE.encrypt(plain))
    except CryptoError:
        return
    assert plain.startswith(b"pickle::")


@quick
@given(anything, st.text("0123456789abcdef", min_size=32, max_size=32))
def test_a_reply_opens_with_its_nonce_only(value, nonce):
    try:
        frame = seal_reply(SESSION, nonce, value)
    except WireError:
        return
    channel = MinionChannel("web1", MINION, SESSION)
    try:
        channel.open(frame, nonce)
    except CryptoError:  # a value that packs but is not read: keys that fall together
        return
    try:
        channel.open(frame, "g" * 32)
    except CryptoError:
        return
    raise AssertionError("a reply to another request was taken")


def opened(frame: bytes) -> None:
    try:
        envelope = read_envelope(frame)
        open_request(
            envelope,
            lambda _id: SESSION,
            lambda _id: MINION.public.pem,
            tokens=TokenCache(),
            now_s=0,
            ttl_s=300,
        )
    except (WireError, CryptoError):
        return


@quick
@given(envelopes | anything)
def test_any_envelope(value):
    try:
        frame = pack(value)
    except WireError:
        return
    opened(frame)


@quick
@given(loads | anything)
def test_any_load_from_one_with_the_session_key(load):
    if isinstance(load, dict):
        load = {"id": "web1", "nonce": "0" * 32, "tok": TOK, "ts": 0, **load}
    try:
        frame = pack({"enc": "aes", "load": seal(CRYPTICLE, load), "version": 3, "id": "web1"})
    except WireError:
        return
    opened(frame)


@quick
@given(loads | envelopes | anything)
def test_any_message(value):
    for message in (
        Envelope,
        AuthRequest,
        Job,
        JobReturn,
        MinionEvents,
        PublishLoad,
        PublishReply,
    ):
        try:
            message.from_wire(value).to_wire()
        except WireError:
            continue


@quick
@given(maps_with("enc", "load", "sig", "sig_algo") | anything, st.booleans())
def test_any_publication(value, required):
    try:
        frame = pack(value)
    except WireError:
        return
    try:
        open_publication(
            frame,
            crypticle=CRYPTICLE,
            last_serial=0,
            master_key=MASTER.public,
            require_signature=required,
        )
    except (WireError, CryptoError):
        return


@quick
@given(
    maps_with(
        "ret", "nonce", "pub_key", "aes", "session", "sig", "token", "publish_port", "pub_sig"
    ),
    st.booleans(),
)
def test_any_signed_reply_from_the_true_master(inner, pinned):
    handshake = MinionHandshake(MINION, "web1", pinned=MASTER.public if pinned else None)
    handshake.request("0" * 32)
    try:
        load = pack({"nonce": "0" * 32, "pub_key": MASTER.public.pem, **inner})
    except WireError:
        return
    frame = pack({"enc": "clear", "load": load, "sig": MASTER.sign(load, "PKCS1v15-SHA1")})
    try:
        handshake.accept(frame)
    except (AuthError, CryptoError):
        return
    raise AssertionError("accepted without keys")


@quick
@given(st.binary(max_size=300))
def test_any_reply_to_a_minion(frame):
    handshake = MinionHandshake(MINION, "web1")
    handshake.request("0" * 32)
    with contextlib.suppress(AuthError, CryptoError):
        handshake.accept(frame)
    with contextlib.suppress(CryptoError):
        MinionChannel("web1", MINION, SESSION, master_key=MASTER.public).open_pillar(
            frame, "0" * 32
        )


@quick
@given(st.binary(min_size=256, max_size=256))
def test_any_x931_signature(signature):
    try:
        recovered = MINION.public.x931_recover(signature)
    except CryptoError:
        return
    assert recovered != b"salt"


@quick
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")))
def test_any_public_key(text):
    for pem in (text, f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----"):
        try:
            PublicKey.from_pem(pem)
        except CryptoError:
            continue


@quick
@given(st.binary(max_size=200), st.binary(max_size=20))
def test_any_event(body, tag):
    for frame in (body, tag + b"\n\n" + body):
        try:
            unpack_event(frame)
        except WireError:
            continue
