"""Private and public keys: made, read, written. No key and no passphrase gets into an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

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
Digest = hashes.SHA224 | hashes.SHA256 | hashes.SHA384 | hashes.SHA512
DIGESTS: Final[dict[str, Digest]] = {
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}
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
    """A private key that was read, and whether it was encrypted; or why it could not be."""

    key: PrivateKey | None
    encrypted: bool
    complaint: str = ""


def _rsa(size: int | None) -> PrivateKey:
    return rsa.generate_private_key(65537, size or RSA_SIZES[0])


def _ec(size: int | None) -> PrivateKey:
    return ec.generate_private_key(CURVES[size or 256])


_MAKERS: Final[dict[str, Callable[[int | None], PrivateKey]]] = {
    "rsa": _rsa,
    "ec": _ec,
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


def private_pem(key: PrivateKey, passphrase: str | None = None) -> str:
    """PKCS#8; encrypted if there is a passphrase."""
    how: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        how = serialization.BestAvailableEncryption(passphrase.encode())
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, how).decode()


def public_pem(key: PublicKey) -> str:
    """SubjectPublicKeyInfo."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def read_private(data: bytes, passphrase: str | None = None) -> Read:
    """A private key, in PEM or DER."""
    is_pem = b"-----BEGIN" in data
    load = serialization.load_pem_private_key if is_pem else serialization.load_der_private_key
    password = passphrase.encode() if passphrase else None
    try:
        return Read(_known(load(data, password)), encrypted=password is not None)
    except TypeError:
        if password is None:
            return Read(None, encrypted=True, complaint=ENCRYPTED)
        return Read(read_private(data).key, encrypted=False)  # it is not encrypted at all
    except (ValueError, UnsupportedAlgorithm):
        encrypted = b"ENCRYPTED" in data
        why = NOT_DECRYPTED if encrypted and password else NO_KEY
        return Read(None, encrypted=encrypted, complaint=why)


def _known(key: object) -> PrivateKey:
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
    """The public key of a private or public one, a certificate or a request.

    Raises:
        FunctionError: it is none of them.
    """
    try:
        if b"BEGIN CERTIFICATE REQUEST" in data:
            found: object = x509.load_pem_x509_csr(data).public_key()
        elif b"BEGIN CERTIFICATE" in data:
            found = x509.load_pem_x509_certificate(data).public_key()
        elif b"PRIVATE KEY-----" in data:
            return private_key(data, passphrase).public_key()
        else:
            found = serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise FunctionError("Could not load PEM-encoded public key.") from None
    if isinstance(found, PublicKey):
        return found
    raise FunctionError("This kind of public key is not supported")


def digest_for(key: PrivateKey, name: str) -> Digest | None:
    """What is hashed with before ``key`` signs; ``None`` for keys that bring their own."""
    if name.lower() not in DIGESTS:
        raise FunctionError(f"digest is {name}; allowed are {', '.join(DIGESTS)}")
    return None if algorithm(key) in ("ed25519", "ed448") else DIGESTS[name.lower()]
