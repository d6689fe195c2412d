"""RSA keys: what is refused, and that signatures are compared whole."""

from __future__ import annotations

from functools import cache

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from repository import VECTORS

from saltlite.crypto import keys
from saltlite.crypto.keys import PrivateKey, PublicKey, load_private_key, normalise_pem, same_pem
from saltlite.errors import CryptoError


@cache
def key() -> PrivateKey:
    return load_private_key(VECTORS / "minion.pem")


@cache
def other() -> PrivateKey:
    return load_private_key(VECTORS / "master.pem")


def pem_of(n: int, e: int) -> str:
    public = rsa.RSAPublicNumbers(e, n).public_key()
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def modulus() -> int:
    return serialization.load_pem_public_key(key().public.pem.encode()).public_numbers().n


# --- reading ------------------------------------------------------------------------------


def test_pem_is_normalised():
    pem = key().public.pem
    assert not pem.endswith("\n")
    for text in (pem + "\n", "\n " + pem + " \r\n\n", pem.replace("\n", "\r\n"), pem):
        assert PublicKey.from_pem(text).pem == pem
        assert normalise_pem(text) == pem
        assert same_pem(text, pem)
    assert not same_pem(pem, other().public.pem)


def test_a_text_of_any_length_is_normalised():
    lines = ["a" * 60] * 200
    assert normalise_pem(" \r\n".join(lines) + " \n") == "\n".join(lines)


def test_small_modulus_is_refused():
    small = rsa.generate_private_key(65537, 1024).public_key().public_numbers()
    with pytest.raises(CryptoError, match="1024 bits"):
        PublicKey.from_pem(pem_of(small.n, small.e))


@pytest.mark.parametrize("e", [3, 17, 65_535, 2**33 + 1, 2**2000 + 1])
def test_other_exponents_are_refused(e):
    with pytest.raises(CryptoError, match="exponent"):
        PublicKey.from_pem(pem_of(modulus(), e))


def test_a_larger_odd_exponent_is_let_in():
    assert PublicKey.from_pem(pem_of(modulus(), 65_539)).bits == 2048


def test_modulus_with_a_small_factor_is_refused():
    n = modulus()
    n -= n % 3
    if n % 2 == 0:
        n += 3
    with pytest.raises(CryptoError):
        PublicKey.from_pem(pem_of(n, 65537))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "ssh-rsa AAAA",
        "\0",
        "ü",
        "-----BEGIN PUBLIC KEY-----\n" + "A" * 9000 + "\n-----END PUBLIC KEY-----",
    ],
)
def test_junk_is_refused(text):
    with pytest.raises(CryptoError):
        PublicKey.from_pem(text)


def test_keys_around_a_key_are_refused():
    pem = key().public.pem
    for text in ("junk\n" + pem, pem + "\njunk"):
        with pytest.raises(CryptoError):
            PublicKey.from_pem(text)


def test_keys_of_other_kinds_are_refused():
    curve = ec.generate_private_key(ec.SECP256R1())
    pem = curve.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(CryptoError, match="not RSA"):
        PublicKey.from_pem(pem.decode())
    private = curve.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(CryptoError):
        PrivateKey.from_pem(private)


def test_a_private_key_where_a_public_one_belongs_is_refused():
    with pytest.raises(CryptoError):
        PublicKey.from_pem(key().pem.decode())


# --- private keys -------------------------------------------------------------------------


def test_generated_key_is_written_as_salt_writes_it():
    fresh = PrivateKey.generate(2048)
    assert fresh.pem.startswith(b"-----BEGIN RSA PRIVATE KEY-----\n")
    assert fresh.public.pem.startswith("-----BEGIN PUBLIC KEY-----\n")
    assert PrivateKey.from_pem(fresh.pem).public.pem == fresh.public.pem
    assert "BEGIN" not in repr(fresh)
    message = b"salt"
    assert fresh.public.x931_recover(fresh.x931_sign(message)) == message


@pytest.mark.parametrize("bits", [512, 2047, 20_000])
def test_generate_refuses_sizes_it_would_not_read(bits):
    with pytest.raises(CryptoError):
        PrivateKey.generate(bits)


def test_passphrase():
    sealed = key().encrypt_pem("open sesame")
    assert b"BEGIN RSA PRIVATE KEY" in sealed
    assert PrivateKey.from_pem(sealed, "open sesame").pem == key().pem
    with pytest.raises(CryptoError):
        PrivateKey.from_pem(sealed, "wrong")
    with pytest.raises(CryptoError, match="needs a passphrase"):
        PrivateKey.from_pem(sealed)


def test_a_bad_key_file_is_named_and_left_alone(tmp_path):
    path = tmp_path / "master.pem"
    with pytest.raises(CryptoError, match=r"master\.pem: no such key file"):
        load_private_key(path)
    for content in (b"", b"junk", key().pem[:100]):
        path.write_bytes(content)
        with pytest.raises(CryptoError, match=r"master\.pem"):
            load_private_key(path)
        assert path.read_bytes() == content
    path.unlink()
    path.mkdir()
    with pytest.raises(CryptoError, match="not a key file"):
        load_private_key(path)


def test_a_linked_key_file_is_read_as_salt_3008_lays_it_out(tmp_path):
    (tmp_path / "host.pem").write_bytes(key().pem)
    (tmp_path / "master.pem").symlink_to("host.pem")
    assert load_private_key(tmp_path / "master.pem").pem == key().pem


# --- operations ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "OAEP-SHA256", "PKCS1v15-SHA1", "none", "oaep-sha1"])
def test_only_known_encryption(name):
    with pytest.raises(CryptoError):
        key().public.encrypt(b"x", name)
    with pytest.raises(CryptoError):
        key().decrypt(b"x" * 256, name)


@pytest.mark.parametrize("name", ["", "PKCS1v15-SHA256", "OAEP-SHA1", "none"])
def test_only_known_signatures(name):
    with pytest.raises(CryptoError):
        key().sign(b"x", name)
    with pytest.raises(CryptoError):
        key().public.verify(b"x", b"x" * 256, name)


@pytest.mark.parametrize("ciphertext", [b"", b"x", b"x" * 256, b"\xff" * 256, b"x" * 10_000])
def test_decrypt_says_only_that_it_does_not(ciphertext):
    with pytest.raises(CryptoError, match=r"^does not decrypt with this key$"):
        key().decrypt(ciphertext, "OAEP-SHA1")


@pytest.mark.parametrize("signature", [b"", b"x", b"\0" * 256, b"\xff" * 256, b"x" * 257])
def test_verify_says_no_to_junk(signature):
    assert key().public.verify(b"m", signature, "PKCS1v15-SHA1") is False


def test_too_long_to_encrypt():
    with pytest.raises(CryptoError):
        key().public.encrypt(b"x" * 300, "OAEP-SHA1")


# --- x9.31 --------------------------------------------------------------------------------


def raw_sign(block: bytes) -> bytes:
    """The bare private operation on a block of one's own making."""
    numbers = serialization.load_pem_private_key(key().pem, None).private_numbers()
    n = numbers.public_numbers.n
    power = pow(int.from_bytes(block, "big"), numbers.d, n)
    return min(power, n - power).to_bytes(256, "big")


def test_either_root_recovers():
    signature = key().x931_sign(b"salt")
    mirrored = (modulus() - int.from_bytes(signature, "big")).to_bytes(256, "big")
    assert key().public.x931_recover(mirrored) == b"salt"


def test_the_shortest_padding():
    message = b"m" * 254
    assert key().public.x931_recover(key().x931_sign(message)) == message
    with pytest.raises(CryptoError):
        key().x931_sign(b"m" * 255)


@pytest.mark.parametrize(
    "block",
    [
        b"\x6b" + b"\xbb" * 249 + b"\xba" + b"salt" + b"\xdc",  # wrong trailer
        b"\x5b" + b"\xbb" * 249 + b"\xba" + b"salt" + b"\xcc",  # wrong header
        b"\x6b" + b"\xbb" * 248 + b"\xbc\xba" + b"salt" + b"\xcc",  # broken padding
        b"\x6b" + b"\xbb" * 254 + b"\xcc",  # padding without an end
        b"\x00" * 200 + b"salt" + b"\x00" * 51 + b"\xcc",  # the message somewhere inside
    ],
)
def test_the_block_is_compared_whole(block):
    assert len(block) == 256
    with pytest.raises(CryptoError):
        key().public.x931_recover(raw_sign(block))


def test_garbage_behind_the_message_is_part_of_the_message():
    block = b"\x6b" + b"\xbb" * 245 + b"\xba" + b"saltmore" + b"\xcc"
    assert key().public.x931_recover(raw_sign(block)) == b"saltmore"


@pytest.mark.parametrize("change", ["short", "long", "zero", "one", "too large", "modulus"])
def test_numbers_that_are_no_signature(change):
    signature = key().x931_sign(b"salt")
    wrong = {
        "short": signature[:-1],
        "long": b"\0" + signature,
        "zero": bytes(256),
        "one": (1).to_bytes(256, "big"),
        "too large": b"\xff" * 256,
        "modulus": modulus().to_bytes(256, "big"),
    }[change]
    with pytest.raises(CryptoError):
        key().public.x931_recover(wrong)


def test_another_key_signs_in_vain():
    try:
        recovered = key().public.x931_recover(other().x931_sign(b"salt"))
    except CryptoError:
        return
    assert recovered != b"salt"


def test_signing_is_remembered_but_not_for_ever():
    fresh = PrivateKey.from_pem(key().pem)
    first = fresh.x931_sign(b"salt")
    for number in range(40):
        fresh.x931_sign(b"%d" % number)
    assert len(fresh._x931) <= 16
    assert fresh.x931_sign(b"salt") == first


def test_a_fault_in_the_private_operation_is_not_sent_out(monkeypatch):
    fresh = PrivateKey.from_pem(key().pem)
    monkeypatch.setattr(keys, "_x931_block", lambda _m, size: b"\xff" * size)
    with pytest.raises(CryptoError, match="does not sign"):
        fresh.x931_sign(b"salt")


def test_unknown_hash_for_a_fingerprint():
    with pytest.raises(CryptoError):
        key().public.fingerprint("sha0")
