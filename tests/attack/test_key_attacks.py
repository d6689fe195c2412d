"""Keys that come, change and go.

Source: docs/security.md#ids-jids-and-paths, #impersonation, #keys-that-come-change-and-go.
"""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from attacks import Stranger, Victim, auth_answer, clear, unharmed
from cluster import Cluster, eventually
from rogue import BAD_LOAD, Ear, Rogue, Sealed
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, KeyPending, KeyRejected


def offer(pem: Any, minion_id: str, **fields: Any) -> dict[str, Any]:
    load = {"cmd": "_auth", "id": minion_id, "nonce": uuid.uuid4().hex, "pub": pem,
            "enc_algo": "OAEP-SHA1", "sig_algo": "PKCS1v15-SHA1"}  # fmt: skip
    return clear({**load, **fields})


def files_of(cluster: Cluster, minion_id: str) -> list[str]:
    """Every file of the master that is named after a minion."""
    below = cluster.root / "master"
    names = {minion_id, f"{minion_id}.p"}
    return sorted(str(p.relative_to(below)) for p in below.rglob("*") if p.name in names)


@pytest.fixture(scope="module")
def other_pem() -> str:
    return PrivateKey.generate(2048).public.pem


# --- keys that are none -------------------------------------------------------------------------


def der(tag: int, body: bytes) -> bytes:
    """One element of DER."""
    if len(body) < 128:
        return bytes((tag, len(body))) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + body


def integer(value: int) -> bytes:
    return der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def rsa_pem(modulus: int, exponent: int) -> str:
    """A public key that no library would make."""
    key = der(0x30, integer(modulus) + integer(exponent))
    algorithm = der(0x30, bytes.fromhex("06092a864886f70d010101") + b"\x05\x00")
    info = der(0x30, algorithm + der(3, b"\0" + key))
    text = base64.encodebytes(info).decode().strip()
    return f"-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----"


def pem_of(key: Any) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode().strip()


def weak_keys() -> dict[str, Any]:
    honest = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    n = honest.public_key().public_numbers().n
    private = honest.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()
    pem = pem_of(honest)
    return {
        "e = 1": rsa_pem(n, 1), "e = 3": rsa_pem(n, 3), "e = 17": rsa_pem(n, 17),
        "e even": rsa_pem(n, 65536), "e = 0": rsa_pem(n, 0), "n even": rsa_pem(n - 1, 65537),
        "n = 0": rsa_pem(0, 65537), "small factor": rsa_pem(3 * (1 << 2046 | n >> 8 | 1), 65537),
        "1024 bits": pem_of(rsa.generate_private_key(public_exponent=65537, key_size=1024)),
        "20,000 bits": rsa_pem((1 << 20_000) - 1, 65537),
        "huge e": rsa_pem(n, (1 << 4000) + 1),
        "escapes": f"{pem}\n\x1b[2J\n-----",
        "elliptic": pem_of(ec.generate_private_key(ec.SECP256R1())),
        "ed25519": pem_of(ed25519.Ed25519PrivateKey.generate()), "private": private,
        "cut": pem[:-60], "two keys": f"{pem}\n{pem}", "empty": "", "text": "not a key",
        "NUL": pem.replace("\n", "\n\0", 1), "bytes": b"\xff\xfe", "a list": [pem], "null": None,
        "a number": 5, "a map": {"pem": pem}, "10 KiB": pem + " " * 10_000,
        "certificate": pem.replace("PUBLIC KEY", "CERTIFICATE"),
    }  # fmt: skip


def test_weak_keys_and_what_is_none_are_not_filed(victim: Victim) -> None:
    """CVE-2013-2228 and its kind: refused, signed, and nothing in pending."""
    keys = weak_keys()
    requests = [offer(pem, "weakling") for pem in keys.values()]
    with unharmed(victim):
        replies = victim.stranger.send_many(requests, within_s=10)
    answers = {name: auth_answer(reply) for name, reply in zip(keys, replies, strict=True)}
    taken = {name: one for name, one in answers.items() if one.get("ret") is not False}
    assert not taken


@pytest.mark.parametrize(
    "fields",
    [{"enc_algo": "OAEP-MD5"}, {"enc_algo": "none"}, {"enc_algo": ""}, {"sig_algo": "PKCS1v15-MD5"},
     {"sig_algo": ""}, {"enc_algo": "OAEP-SHA1", "sig_algo": "none"}],
    ids=str,
)  # fmt: skip
def test_algorithms_come_from_a_list(
    victim: Victim, other_pem: str, fields: dict[str, Any]
) -> None:
    with unharmed(victim):
        reply = victim.stranger.send(offer(other_pem, "newcomer", **fields))
    assert reply["load"]["ret"] in ("bad enc algo", "bad sig algo")
    assert "sig" not in reply


@pytest.mark.parametrize(
    "nonce", ["", "x" * 31, "x" * 33, None, 5, ["x" * 32], "\u00e9" * 32, b"\xff" * 32]
)
def test_a_nonce_has_its_form(victim: Victim, other_pem: str, nonce: Any) -> None:
    with unharmed(victim):
        assert victim.stranger.send(offer(other_pem, "newcomer", nonce=nonce)) == BAD_LOAD


# --- another key for an id ------------------------------------------------------------------------


def test_another_key_for_an_accepted_id_is_denied(
    victim: Victim, bystander: Rogue, other_pem: str
) -> None:
    cluster = victim.cluster
    with unharmed(victim, written=r"/minions_denied/(b)?$", events="salt/auth"):
        answer = auth_answer(victim.stranger.send(offer(other_pem, bystander.id)))
    assert answer["ret"] is False
    assert (cluster.pki_dir / "minions" / bystander.id).read_text() == bystander.pem
    assert (cluster.pki_dir / "minions_denied" / bystander.id).is_file()
    assert bystander.send({"cmd": "_file_envs"}) == Sealed(["base"])


def test_another_key_for_a_pending_id_is_denied(
    victim: Victim, rogue: Rogue, other_pem: str
) -> None:
    cluster = victim.cluster
    own = r"/minions_(denied|pre)/(waits)?$"
    with unharmed(victim, written=own, events="salt/auth"):
        assert auth_answer(victim.stranger.send(offer(rogue.pem, "waits")))["ret"] is True
        assert auth_answer(victim.stranger.send(offer(other_pem, "waits")))["ret"] is False
        assert auth_answer(victim.stranger.send(offer(rogue.pem, "waits")))["ret"] is True
    assert (cluster.pki_dir / "minions_pre" / "waits").read_text().strip() == rogue.pem.strip()


def test_a_rejected_key_stays_rejected(victim: Victim, other_pem: str) -> None:
    folder = victim.cluster.pki_dir / "minions_rejected"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "outcast").write_text(other_pem)
    with unharmed(victim, events="salt/auth"):
        answers = [auth_answer(victim.stranger.send(offer(other_pem, "outcast"))) for _ in range(5)]
    assert [one["ret"] for one in answers] == [False] * 5


# --- keys that go ---------------------------------------------------------------------------------

GONE_S = 2.0


def minion(victim: Victim, name: str) -> Rogue:
    one = Rogue(victim.cluster, victim.stranger, name).accept()
    one.authenticate()
    return one


@pytest.mark.parametrize("how", ["file", "salt-key -d", "salt-key -r"])
def test_a_key_that_goes_takes_its_access_along(victim: Victim, how: str) -> None:
    """CVE-2016-9639: in every worker, within two seconds."""
    cluster = victim.cluster
    one = minion(victim, f"gone{how[-1]}")
    for load in ({"cmd": "_mine", "data": {"x": 1}}, {"cmd": "_pillar", "grains": {"a": 1}}):
        one.send(load)
    assert one.send({"cmd": "_file_envs"}) == Sealed(["base"])
    if how == "file":
        (cluster.pki_dir / "minions" / one.id).unlink()
    else:
        ran = cluster.salt_key(how[-2:], one.id, "-y", *(["--include-accepted"] * (how[-1] == "r")))
        assert ran.exit_code == 0, ran.stderr + ran.stdout
    deadline = time.monotonic() + GONE_S
    eventually(lambda: one.send({"cmd": "_file_envs"}) == BAD_LOAD, within_s=GONE_S, what="refusal")
    replies = one.send_many([one.make({"cmd": "_mine", "data": {"y": 1}}) for _ in range(20)])
    assert replies == [BAD_LOAD] * 20
    assert time.monotonic() < deadline + GONE_S
    if how != "salt-key -r":
        with pytest.raises(KeyPending):
            one.authenticate()
        assert (cluster.pki_dir / "minions_pre" / one.id).is_file()
        (cluster.pki_dir / "minions_pre" / one.id).unlink()
    else:
        with pytest.raises(KeyRejected):
            one.authenticate()


def test_the_next_one_of_that_name_inherits_nothing(victim: Victim, bystander: Rogue) -> None:
    """Neither session nor mine nor grains; and others see nothing of the old one either."""
    cluster = victim.cluster
    old = minion(victim, "heir")
    assert old.send({"cmd": "_mine", "data": {"secret": "old"}}) == Sealed(True)
    old.send({"cmd": "_pillar", "grains": {"role": "old"}})
    assert len(files_of(cluster, "heir")) >= 3
    assert cluster.salt_key("-d", "heir", "-y").exit_code == 0
    eventually(
        lambda: not files_of(cluster, "heir"), within_s=GONE_S, what="no file of the old one"
    )
    new = minion(victim, "heir")
    asked = {"cmd": "_mine_get", "tgt": "heir", "tgt_type": "glob", "fun": "secret"}
    assert new.session != old.session
    assert old.send({"cmd": "_file_envs"}) == BAD_LOAD
    assert new.send(asked) == Sealed({})
    assert bystander.send(asked) == Sealed({})


def test_the_shared_key_changes_when_a_minion_is_deleted(victim: Victim) -> None:
    """The deleted one can read nothing that is published from then on."""
    staying, going = minion(victim, "stays"), minion(victim, "goes")
    assert staying.accepted is not None and going.accepted is not None
    before = going.accepted.aes
    assert victim.cluster.salt_key("-d", going.id, "-y").exit_code == 0
    eventually(lambda: staying.authenticate().aes != before, within_s=5, what="another key")


def test_what_is_published_right_after_a_deletion_is_not_for_the_deleted_one(
    victim: Victim,
) -> None:
    """Not even what is sent before the master has done its chores of that second."""
    minion(victim, "receiver")
    for number in range(3):
        going = minion(victim, f"leaves{number}")
        accepted = going.accepted
        assert accepted is not None
        ear = Ear(going.stranger.context, lambda: accepted)  # noqa: B023 - called at once
        try:
            assert victim.cluster.salt_key("-d", going.id, "-y").exit_code == 0
            sent = victim.cluster.salt("*", "test.ping", "--async")
            assert sent.exit_code == 0, sent.stderr + sent.stdout
            with pytest.raises(CryptoError):
                ear.next(within_s=5.0)
        finally:
            ear.close()


def test_keys_that_move_while_their_owners_ask(victim: Victim) -> None:
    """Operators at work: every answer is one of those that there are."""
    cluster, one = victim.cluster, minion(victim, "mover")
    accepted, rejected = (cluster.pki_dir / f / one.id for f in ("minions", "minions_rejected"))
    rejected.parent.mkdir(exist_ok=True, mode=0o700)
    seen = set()
    written = r"/(minions|minions_rejected|sessions|minions_pre)/(mover)?$|/cache/[.]dfn$"
    # a sweep that comes while the key is away takes it for deleted, and rotates
    with unharmed(victim, written=written, events="salt/auth|key"):
        for number in range(60):
            source, target = (accepted, rejected) if number % 2 == 0 else (rejected, accepted)
            source.rename(target)
            answer = auth_answer(victim.stranger.send(offer(one.pem, one.id)))
            seen.add(answer.get("ret", "let in"))
    assert seen == {"let in", False}
    assert accepted.read_text() == one.pem


# --- how many -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> Iterator[tuple[Cluster, Stranger]]:
    options = {"worker_threads": 1, "max_pending_keys": 3, "max_minions": 2}
    with Cluster(minions=0, master_options=options, auto_accept=False) as cluster:
        cluster.start_master()
        stranger = Stranger(cluster.ret_port)
        yield cluster, stranger
        stranger.close()


def test_a_flood_of_keys_cannot_fill_the_disk(
    small: tuple[Cluster, Stranger], other_pem: str
) -> None:
    """``max_pending_keys``; those who wait already and those who are accepted are served."""
    cluster, stranger = small
    old = Rogue(cluster, stranger, "old").accept()
    old.authenticate()
    replies = stranger.send_many([offer(other_pem, f"flood{n}") for n in range(50)])
    answers = [auth_answer(reply)["ret"] for reply in replies]
    assert answers.count(True) == 3
    assert answers.count("full") == 47
    assert len(list((cluster.pki_dir / "minions_pre").iterdir())) == 3
    assert old.authenticate()
    assert old.send({"cmd": "_file_envs"}) == Sealed(["base"])


def test_no_more_minions_than_allowed(small: tuple[Cluster, Stranger], other_pem: str) -> None:
    cluster, stranger = small
    for name in ("one", "two"):
        (cluster.pki_dir / "minions" / name).write_text(other_pem)
    reply = stranger.send(offer(other_pem, "three"))
    assert auth_answer(reply)["ret"] == "full"
    assert "aes" in auth_answer(stranger.send(offer(other_pem, "one")))


# --- several at the same time --------------------------------------------------------------------

PAIRS = 300
AT_ONCE = 25


@pytest.fixture(scope="module")
def trusting() -> Iterator[tuple[Cluster, Stranger]]:
    """Accepts what comes first."""
    options = {"worker_threads": 5, "max_minions": PAIRS + 20}
    with Cluster(minions=0, master_options=options) as cluster:
        cluster.start_master()
        stranger = Stranger(cluster.ret_port)
        yield cluster, stranger
        stranger.close()


def offer_pairs(stranger: Stranger, names: list[str], pems: list[str]) -> list[list[Any]]:
    """Each id with every key, at the same time; what each was told."""
    answers = []
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        replies = stranger.send_many([offer(pem, one) for one in some for pem in pems], within_s=30)
        told = [auth_answer(reply).get("ret", "let in") for reply in replies]
        answers += [told[at : at + len(pems)] for at in range(0, len(told), len(pems))]
    return answers


def test_of_two_keys_for_one_new_id_one_is_accepted(
    trusting: tuple[Cluster, Stranger], other_pem: str
) -> None:
    cluster, stranger = trusting
    pems = [other_pem, PrivateKey.generate(2048).public.pem]
    names = [f"twin{number}" for number in range(PAIRS)]
    answers = offer_pairs(stranger, names, pems)
    assert [sorted(map(str, told)) for told in answers] == [["False", "let in"]] * PAIRS
    for name, told in zip(names, answers, strict=True):
        winner, loser = (pems[told.index(word)] for word in ("let in", False))
        assert (cluster.pki_dir / "minions" / name).read_text().strip() == winner.strip()
        assert (cluster.pki_dir / "minions_denied" / name).read_text().strip() == loser.strip()
        assert not (cluster.pki_dir / "minions_pre" / name).exists()


def test_no_more_minions_than_allowed_at_the_same_time(
    trusting: tuple[Cluster, Stranger], other_pem: str
) -> None:
    cluster, stranger = trusting
    accepted = cluster.pki_dir / "minions"
    most = PAIRS + 20
    for number in range(most - 5 - len(list(accepted.iterdir()))):
        (accepted / f"filler{number}").write_text(other_pem)
    replies = stranger.send_many([offer(other_pem, f"late{n}") for n in range(100)], within_s=30)
    told = [auth_answer(reply).get("ret", "let in") for reply in replies]
    assert (told.count("let in"), told.count("full")) == (5, 95)
    assert len(list(accepted.iterdir())) == most


def test_no_more_keys_wait_than_allowed_at_the_same_time(other_pem: str) -> None:
    """``max_pending_keys`` holds for all workers together."""
    options = {"worker_threads": 5, "max_pending_keys": 7}
    with Cluster(minions=0, master_options=options, auto_accept=False) as cluster:
        cluster.start_master()
        stranger = Stranger(cluster.ret_port)
        pending = cluster.pki_dir / "minions_pre"
        for turn in range(10):
            offers = [offer(other_pem, f"crowd{turn}-{n}") for n in range(60)]
            replies = stranger.send_many(offers, within_s=30)
            told = [auth_answer(reply)["ret"] for reply in replies]
            assert (told.count(True), told.count("full")) == (7, 53)
            for path in pending.iterdir():
                path.unlink()
        stranger.close()


def test_of_two_keys_for_one_new_id_one_waits(victim: Victim, other_pem: str) -> None:
    """Nobody is accepted unseen: one key waits for the operator, the other one is denied."""
    cluster = victim.cluster
    pems = [other_pem, PrivateKey.generate(2048).public.pem]
    names = [f"pair{number}" for number in range(100)]
    answers = offer_pairs(victim.stranger, names, pems)
    for name in names:
        (cluster.pki_dir / "minions_pre" / name).unlink()
    assert [sorted(told) for told in answers] == [[False, True]] * len(names)


def test_a_marker_counts_once(victim: Victim, other_pem: str) -> None:
    """``minions_autosign``: of several keys that come at once the marker lets one in."""
    cluster = victim.cluster
    pems = [other_pem, *(PrivateKey.generate(2048).public.pem for _ in range(2))]
    names = [f"marked{number}" for number in range(30)]
    for name in names:
        (cluster.pki_dir / "minions_autosign" / name).touch()
    answers = offer_pairs(victim.stranger, names, pems)
    for name in names:
        assert not (cluster.pki_dir / "minions_autosign" / name).exists()
        (cluster.pki_dir / "minions" / name).unlink()
    assert [sorted(map(str, told)) for told in answers] == [["False", "False", "let in"]] * 30


NO_KEYS = {
    "empty": "",
    "text": "no key at all\n",
    "private": PrivateKey.generate(2048).pem.decode(),
    "cut": "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEF\n",
    "binary": "\x00\x1b[31m\x07" * 50,
}


@pytest.mark.parametrize("kind", NO_KEYS)
@pytest.mark.parametrize("words", [("-a", "void"), ("-A",)])
def test_what_is_no_key_is_not_accepted(
    victim: Victim, cluster: Cluster, kind: str, words: tuple[str, ...]
) -> None:
    """It stays pending, and whoever meant to accept it is told."""
    pending = cluster.pki_dir / "minions_pre" / "void"
    pending.parent.mkdir(exist_ok=True, mode=0o700)
    pending.write_text(NO_KEYS[kind])
    try:
        ran = cluster.salt_key(*words, "-y")
        assert pending.exists()
        assert not (cluster.pki_dir / "minions" / "void").exists()
        told = ran.stdout + ran.stderr
        assert "void" in told and "minion void accepted" not in told, ran
        assert "Traceback" not in told and "\x1b" not in told
        listed = cluster.salt_key("-L", "--out=json").json
        assert "void" in listed["minions_pre"]
        assert "\x1b" not in cluster.salt_key("-p", "void").stdout
    finally:
        pending.unlink()
    victim.honest()
