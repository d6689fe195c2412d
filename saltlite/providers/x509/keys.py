"""Private and public keys: made, read, written. No key and no passphrase gets into an error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError

PrivateKey = (
    rsa.RSAPrivateKey
    | ec.EllipticCurvePrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
)
PublicKey = (
    rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | ed448.Ed448PublicKey
)

RSA_SIZES: Final = (2048, 3072, 4096)
CURVES: Final[dict[int, ec.EllipticCurve]] = {
    256: ec.SECP256R1(),
    384: ec.SECP384R1(),
    521: ec.SECP521R1(),
}
Digest = (
    hashes.SHA224
    | hashes.SHA256
    | hashes.SHA384
    | hashes.SHA512
    | hashes.SHA3_224
    | hashes.SHA3_256
    | hashes.SHA3_384
    | hashes.SHA3_512
)
DIGESTS: Final[dict[str, Digest]] = {
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
    "sha3_224": hashes.SHA3_224(),
    "sha3_256": hashes.SHA3_256(),
    "sha3_384": hashes.SHA3_384(),
    "sha3_512": hashes.SHA3_512(),
}
ENCODINGS: Final = ("pem", "der", "pkcs12")
NO_KEY = (
    "The existing file does not seem to be a private key formatted as DER, PEM or embedded in "
    "PKCS12. Pass overwrite: true to force regeneration"
)
ENCRYPTED = (
    "The existing file is encrypted. Pass overwrite: true to force regeneration without passphrase"
)
NOT_DECRYPTED = (
    "The provided passphrase cannot decrypt the private key. Pass overwrite: true to force "
    "regeneration"
)


@dataclass(frozen=True, slots=True)
class Read:
    """A private key that was read, and whether it was encrypted; or why it could not be.

    ``encoding`` is one of ``ENCODINGS``, empty if it could not be read.
    """

    key: PrivateKey | None
    encrypted: bool
    complaint: str = ""
    encoding: str = ""


def _generate_rsa(size: int | None) -> PrivateKey:
    return rsa.generate_private_key(65537, size or RSA_SIZES[0])


def _generate_ec(size: int | None) -> PrivateKey:
    return ec.generate_private_key(CURVES[size or 256])


_MAKERS: Final[dict[str, Callable[[int | None], PrivateKey]]] = {
    "rsa": _generate_rsa,
    "ec": _generate_ec,
    "ed25519": lambda _: ed25519.Ed25519PrivateKey.generate(),
    "ed448": lambda _: ed448.Ed448PrivateKey.generate(),
}


def require_algorithm(algo: str, size: int | None) -> None:
    """Raises FunctionError if there are no such keys."""
    if algo not in _MAKERS:
        raise FunctionError(
            f"Invalid algorithm specified for generating private key: {algo}. "
            f"Valid: {', '.join(_MAKERS)}"
        )
    if algo == "rsa" and size is not None and size not in RSA_SIZES:
        raise FunctionError("RSA key size must be either 2048, 3072 or 4096 bits.")
    if algo == "ec" and size is not None and size not in CURVES:
        raise FunctionError("EC key size must be either 256, 384, 521 bits.")


def generate(algo: str = "rsa", size: int | None = None) -> PrivateKey:
    """A new key; ``size`` in bits is for ``rsa`` (2048) and ``ec`` (256)."""
    require_algorithm(algo, size)
    return _MAKERS[algo](size)


def algorithm(key: PrivateKey | PublicKey) -> str:
    """``rsa``, ``ec``, ``ed25519`` or ``ed448``."""
    if isinstance(key, (rsa.RSAPrivateKey, rsa.RSAPublicKey)):
        return "rsa"
    if isinstance(key, (ec.EllipticCurvePrivateKey, ec.EllipticCurvePublicKey)):
        return "ec"
    if isinstance(key, (ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey)):
        return "ed25519"
    return "ed448"


def size_of(key: PrivateKey | PublicKey) -> int | None:
    """In bits; ``None`` where all keys have one size."""
    if isinstance(key, (rsa.RSAPrivateKey, rsa.RSAPublicKey)):
        return key.key_size
    if isinstance(key, (ec.EllipticCurvePrivateKey, ec.EllipticCurvePublicKey)):
        return key.key_size
    return None


def encryption(
    passphrase: str | None, encoding: str, *, compat: bool = False
) -> serialization.KeySerializationEncryption:
    """Return how something is encrypted: not at all without a passphrase.

    ``compat`` is for readers of PKCS#12 that do not know what OpenSSL 3 writes.
    """
    if not passphrase:
        return serialization.NoEncryption()
    if encoding != "pkcs12" or not compat:
        return serialization.BestAvailableEncryption(passphrase.encode())
    return (
        serialization.PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(50000)
        .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC)
        .hmac_hash(hashes.SHA1())  # noqa: S303 - all that such readers know
        .build(passphrase.encode())
    )


def require_encoding(encoding: str, known: Sequence[str] = ENCODINGS) -> None:
    """Raises FunctionError if there is no such encoding."""
    if encoding not in known:
        raise FunctionError(
            f"Invalid value '{encoding}' for encoding. Valid: {', '.join(sorted(known))}"
        )


def encode_private(
    key: PrivateKey, passphrase: str | None = None, encoding: str = "pem", *, compat: bool = False
) -> bytes:
    """Return a private key as PKCS#8 in PEM or DER, or in PKCS#12.

    Raises:
        FunctionError: there is no such encoding.
    """
    require_encoding(encoding)
    how = encryption(passphrase, encoding, compat=compat)
    if encoding == "pkcs12":
        return pkcs12.serialize_key_and_certificates(None, key, None, None, how)
    form = serialization.Encoding.PEM if encoding == "pem" else serialization.Encoding.DER
    return key.private_bytes(form, serialization.PrivateFormat.PKCS8, how)


def public_pem(key: PublicKey) -> str:
    """SubjectPublicKeyInfo."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def read_private(data: bytes, passphrase: str | None = None) -> Read:
    """Read a private key in PEM, DER or PKCS#12."""
    password = passphrase.encode() if passphrase else None
    if b"-----BEGIN" in data:
        return _read_pkcs8(data, password, "pem")
    found = _read_pkcs12(data, password)
    return _read_pkcs8(data, password, "der") if found is None else found


def _read_pkcs8(data: bytes, password: bytes | None, encoding: str) -> Read:
    is_pem = encoding == "pem"
    load = serialization.load_pem_private_key if is_pem else serialization.load_der_private_key
    try:
        return Read(_check_kind(load(data, password)), password is not None, encoding=encoding)
    except TypeError:
        if password is None:
            return Read(None, encrypted=True, complaint=ENCRYPTED)
        plain = _read_pkcs8(data, None, encoding)  # it is not encrypted at all
        return Read(plain.key, encrypted=False, encoding=encoding)
    except (ValueError, UnsupportedAlgorithm):
        if password is None:
            return Read(None, encrypted=b"ENCRYPTED" in data, complaint=NO_KEY)
        # Not from the error: what about one wrong passphrase in 256 makes passes for decrypted.
        encrypted = _read_pkcs8(data, None, encoding).encrypted
        return Read(None, encrypted=encrypted, complaint=NOT_DECRYPTED if encrypted else NO_KEY)


def _read_pkcs12(data: bytes, password: bytes | None) -> Read | None:
    """``None`` if it is no PKCS#12; one without a passphrase counts as read with any."""
    try:
        found = pkcs12.load_pkcs12(data, password)
    except (ValueError, UnsupportedAlgorithm) as error:
        if "password" not in str(error).lower():
            return None
        why = NOT_DECRYPTED if password else ENCRYPTED
        return Read(None, encrypted=True, complaint=why, encoding="pkcs12")
    if found.key is None:
        return Read(None, encrypted=False, complaint=NO_KEY)
    return Read(_check_kind(found.key), password is not None, encoding="pkcs12")


def _check_kind(key: object) -> PrivateKey:
    if isinstance(key, PrivateKey):
        return key
    raise FunctionError("This kind of private key is not supported")


def private_key(data: bytes, passphrase: str | None = None) -> PrivateKey:
    """A private key that has to be one.

    Raises:
        FunctionError: it is none, or it is encrypted and this is not its passphrase.
    """
    found = read_private(data, passphrase)
    if found.key is not None:
        return found.key
    if found.encrypted:
        raise FunctionError(
            "Bad decrypt - is the password correct?"
            if passphrase
            else "Private key is encrypted. Please provide a password."
        )
    raise FunctionError("Could not load PEM-encoded private key.")


def public_key(data: bytes, passphrase: str | None = None) -> PublicKey:
    """Return the public key of a private or public one, a certificate or a request.

    Raises:
        FunctionError: it is none of them.
    """
    found = _public_in_pem(data, passphrase) if b"-----BEGIN" in data else _public_in_der(data)
    if isinstance(found, PublicKey):
        return found
    if found is None:
        raise FunctionError("Could not load PEM-encoded public key.")
    raise FunctionError("This kind of public key is not supported")


def _public_in_pem(data: bytes, passphrase: str | None) -> object:
    try:
        if b"BEGIN CERTIFICATE REQUEST" in data:
            return x509.load_pem_x509_csr(data).public_key()
        if b"BEGIN CERTIFICATE" in data:
            return x509.load_pem_x509_certificate(data).public_key()
        if b"PRIVATE KEY-----" in data:
            return private_key(data, passphrase).public_key()
        return serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        return None


def _public_in_der(data: bytes) -> object:
    loaders: tuple[Callable[[bytes], object], ...] = (
        serialization.load_der_public_key,
        lambda given: x509.load_der_x509_certificate(given).public_key(),
        lambda given: x509.load_der_x509_csr(given).public_key(),
    )
    for load in loaders:
        with contextlib.suppress(ValueError, UnsupportedAlgorithm):
            return load(data)
    found = read_private(data).key
    return None if found is None else found.public_key()


def digest_for(key: PrivateKey, name: str) -> Digest | None:
    """What is hashed with before ``key`` signs; ``None`` for keys that bring their own."""
    if name.lower() not in DIGESTS:
        raise FunctionError(f"digest is {name}; allowed are {', '.join(DIGESTS)}")
    return None if algorithm(key) in ("ed25519", "ed448") else DIGESTS[name.lower()]
