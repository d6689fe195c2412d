"""Every vector of tests/wire, read and written byte for byte, and through the messages."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from saltlite.channel.handshake import MasterHandshake, MinionHandshake, digest_of, sign_public_key
from saltlite.channel.master import (
    TokenCache,
    open_request,
    read_envelope,
    seal_pillar,
    seal_reply,
    verify_signed_load,
)
from saltlite.channel.minion import MinionChannel, part_to_sign
from saltlite.channel.payload import open_sealed, seal
from saltlite.channel.publication import open_publication, seal_publication, topic_of
from saltlite.core.messages import AuthRequest, Envelope, Job, JobReturn, as_bytes
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import PrivateKey, PublicKey, load_private_key
from saltlite.transport.codec import pack, unpack

HERE = Path(__file__).parent / "vectors"
VECTORS = json.loads((HERE / "vectors.json").read_text())
KEY = VECTORS["crypticle"]["key_string"]
IV = bytes.fromhex(VECTORS["crypticle"]["iv"])


@cache
def private(name: str) -> PrivateKey:
    return load_private_key(HERE / name)


def public(name: str) -> PublicKey:
    return PublicKey.from_pem((HERE / name).read_text())


def packed(name_start: str) -> bytes:
    (hexed,) = [one["hex"] for one in VECTORS["msgpack"] if one["name"].startswith(name_start)]
    return bytes.fromhex(hexed)


# --- crypticle ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", VECTORS["crypticle"]["cases"], ids=lambda case: case["name"])
def test_crypticle(case):
    crypticle = Crypticle(KEY)
    plain, message = bytes.fromhex(case["plaintext"]), bytes.fromhex(case["ciphertext"])
    assert crypticle.encrypt(plain, iv=IV) == message
    assert crypticle.decrypt(message) == plain


@pytest.mark.parametrize(
    "case",
    [case for case in VECTORS["crypticle"]["cases"] if "object" in case],
    ids=lambda case: case["name"],
)
def test_crypticle_object(case):
    crypticle, message = Crypticle(KEY), bytes.fromhex(case["ciphertext"])
    assert seal(crypticle, case["object"], case.get("nonce", ""), iv=IV) == message
    assert open_sealed(crypticle, message, case.get("nonce")) == case["object"]


# --- rsa ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", VECTORS["x931"], ids=lambda case: case["name"])
def test_x931(case):
    message, signature = bytes.fromhex(case["message"]), bytes.fromhex(case["signature"])
    assert private(case["key"]).x931_sign(message) == signature
    assert private(case["key"]).public.x931_recover(signature) == message
    if "aes_key_string" in case:
        assert digest_of(case["aes_key_string"]) == message


@pytest.mark.parametrize("case", VECTORS["pkcs1v15"], ids=lambda case: case["algorithm"])
def test_pkcs1v15(case):
    key, message = private(case["key"]), bytes.fromhex(case["message"])
    signature = bytes.fromhex(case["signature"])
    assert key.sign(message, case["algorithm"]) == signature
    assert key.public.verify(message, signature, case["algorithm"])
    assert not key.public.verify(message + b"x", signature, case["algorithm"])


def test_pub_sig_is_the_signature_over_the_master_key_as_base64_line():
    case = VECTORS["pkcs1v15"][2]
    pub_sig = sign_public_key(private(case["key"]), public("master.pub"), case["algorithm"])
    assert pub_sig.endswith("\n") and pub_sig.count("\n") == 1
    assert base64.b64decode(pub_sig) == bytes.fromhex(case["signature"])


@pytest.mark.parametrize("case", VECTORS["oaep"], ids=lambda case: case["algorithm"])
def test_oaep(case):
    key, plain = private(case["key"]), bytes.fromhex(case["plaintext"])
    assert key.decrypt(bytes.fromhex(case["ciphertext"]), case["algorithm"]) == plain
    assert key.decrypt(key.public.encrypt(plain, case["algorithm"]), case["algorithm"]) == plain


@pytest.mark.parametrize("name", ["master.pub", "minion.pub"])
def test_fingerprint(name):
    for hash_type, fingerprint in VECTORS["fingerprint"][name].items():
        assert public(name).fingerprint(hash_type) == fingerprint


@pytest.mark.parametrize("name", ["master", "minion", "master_sign"])
def test_public_half_is_written_as_salt_writes_it(name):
    assert private(f"{name}.pem").public.pem + "\n" == (HERE / f"{name}.pub").read_text()
    assert private(f"{name}.pem").pem == (HERE / f"{name}.pem").read_bytes()


# --- msgpack ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("str of", [c * n for c, n in zip("abcde", (5, 31, 32, 200, 300), strict=True)]),
        ("bytes", b"\xff\x00"),
        ("datetime", datetime(2024, 1, 2, 3, 4, 5, 678)),  # noqa: DTZ001 - naive on the wire
        ("[None", [None, True, False, -1, 1.5, {}, []]),
    ],
)
def test_msgpack(name, value):
    assert pack(value) == packed(name)
    assert unpack(packed(name)) == value


def test_an_integer_too_large_becomes_its_digits():
    assert pack(2**64) == packed("int 2**64")
    assert unpack(packed("int 2**64")) == str(2**64)


def test_clear_auth_envelope():
    frame = packed("clear _auth")
    envelope = read_envelope(frame)
    request = AuthRequest.from_wire(envelope.load)
    assert (request.id, request.problem, request.token) == ("minion.example", "", None)
    assert request.pub == private("minion.pem").public.pem
    assert request.nonce == VECTORS["auth_reply"]["nonce"]
    assert pack(Envelope(enc="clear", load=request.to_wire()).to_wire()) == frame
    made = MinionHandshake(private("minion.pem"), "minion.example").request(request.nonce)
    assert made == frame


def test_encrypted_envelope():
    frame = packed("aes envelope")
    envelope = read_envelope(frame)
    assert pack(envelope.to_wire()) == frame
    inner = open_sealed(Crypticle(KEY), as_bytes(envelope.load, "load"))
    assert seal(Crypticle(KEY), inner, iv=IV) == envelope.load
    opened = open_request(
        envelope,
        lambda minion_id: {"minion.example": KEY}[minion_id],
        lambda minion_id: {"minion.example": private("minion.pem").public.pem}[minion_id],
        tokens=TokenCache(),
        now_s=inner["ts"],
        ttl_s=1,
    )
    assert opened.nonce == inner["nonce"]
    assert "tok" not in opened.load and "nonce" not in opened.load
    assert opened.cmd == inner["cmd"] and opened.load["id"] == "minion.example"


# --- messages of the handshake, the publish channel, the pillar ------------------------------


def test_auth_reply():
    vector = VECTORS["auth_reply"]
    handshake = MinionHandshake(
        private("minion.pem"),
        "minion.example",
        pinned=public("master.pub"),
        token=vector["token"],
    )
    handshake.request(vector["nonce"])
    accepted = handshake.accept(bytes.fromhex(vector["hex"]))
    assert accepted.aes == vector["aes"]
    assert accepted.session == vector["session"]
    assert accepted.publish_port == 4505
    assert accepted.master_key.pem == public("master.pub").pem
    assert not accepted.replaces_pinned


def test_auth_reply_is_written_with_the_same_fields_in_the_same_order():
    vector = VECTORS["auth_reply"]
    handshake = MinionHandshake(
        private("minion.pem"), "minion.example", pinned=public("master.pub"), token=vector["token"]
    )
    request = AuthRequest.from_wire(read_envelope(handshake.request(vector["nonce"])).load)
    ours = MasterHandshake(private("master.pem")).accept(
        request,
        public("minion.pub"),
        aes=vector["aes"],
        session=vector["session"],
        publish_port=4505,
    )
    theirs = unpack(bytes.fromhex(vector["hex"]))
    mine = unpack(ours)
    assert list(mine) == list(theirs)
    ours_inner, theirs_inner = unpack(mine["load"]), unpack(theirs["load"])
    assert set(ours_inner) == set(theirs_inner)
    for fixed in ("enc", "pub_key", "publish_port", "sig", "nonce"):
        assert ours_inner[fixed] == theirs_inner[fixed]
    assert handshake.accept(ours).session == vector["session"]


def test_publication():
    vector = VECTORS["publish"]
    job = dict(vector["job"])
    serial = job.pop("serial")
    frame = bytes.fromhex(vector["frame"])
    assert (
        seal_publication(job, aes=KEY, serial=serial, signer=private("master.pem"), iv=IV) == frame
    )
    opened = open_publication(
        frame,
        crypticle=Crypticle(KEY),
        last_serial=0,
        master_key=public("master.pub"),
        require_signature=True,
    )
    assert opened == (job, serial)
    assert Job.from_wire(opened[0]).to_wire() == job


def test_topic():
    vector = VECTORS["publish"]["topic_for_id"]
    assert topic_of(vector["id"]).decode() == vector["topic"]


def test_pillar_reply():
    vector = VECTORS["pillar_reply"]
    frame = bytes.fromhex(vector["hex"])
    channel = MinionChannel(
        "minion.example", private("minion.pem"), KEY, master_key=public("master.pub")
    )
    assert channel.open_pillar(frame, vector["nonce"]) == vector["pillar"]
    outer = unpack(frame)
    sealed = as_bytes(outer["pillar"], "pillar")
    crypticle = Crypticle(vector["key_string"])
    inner = open_sealed(crypticle, sealed)
    assert seal(crypticle, inner, iv=sealed[:16]) == sealed
    data = as_bytes(inner["data"], "data")
    assert pack(unpack(data)) == data
    assert private("master.pem").sign(data, "PKCS1v15-SHA1") == inner["sig"]
    ours = seal_pillar(
        vector["pillar"],
        nonce=vector["nonce"],
        minion_key=public("minion.pub"),
        signer=private("master.pem"),
        enc_algo="OAEP-SHA1",
        sig_algo="PKCS1v15-SHA1",
    )
    assert channel.open_pillar(ours, vector["nonce"]) == vector["pillar"]
    assert list(unpack(ours)) == list(outer)


def test_signed_return():
    vector = VECTORS["signed_return"]
    load = vector["load_without_sig"]
    assert part_to_sign(load) == bytes.fromhex(vector["to_sign"])
    signature = private(vector["key"]).sign(part_to_sign(load), vector["algorithm"])
    assert signature == bytes.fromhex(vector["sig"])
    signed = {**load, "sig": signature, "nonce": "n" * 32, "tok": b"t"}
    assert verify_signed_load(signed, public("minion.pub"), vector["algorithm"]) is True
    assert (
        verify_signed_load({**signed, "retcode": 1}, public("minion.pub"), "PKCS1v15-SHA1") is False
    )
    assert verify_signed_load(load, public("minion.pub"), vector["algorithm"]) is None
    assert JobReturn.from_wire(load).return_ is True


def test_reply_frame_is_one_packed_byte_string():
    case = VECTORS["crypticle"]["cases"][3]
    frame = seal_reply(KEY, case["nonce"], case["object"], iv=IV)
    assert frame == pack(bytes.fromhex(case["ciphertext"]))
    channel = MinionChannel("minion.example", private("minion.pem"), KEY)
    assert channel.open(frame, case["nonce"]) == case["object"]
