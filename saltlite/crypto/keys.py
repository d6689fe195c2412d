"""RSA keys and the four things Salt does with them.

OAEP encryption and PKCS#1 v1.5 signatures come from ``cryptography``. The X9.31 operation is in no
library saltlite uses; it is one exponentiation around a fixed padding, written out here.

Only the two pairs of algorithms Salt knows exist; a key that could be broken or that would cost
unreasonable time is refused on reading. Source: docs/wire.md#rsa; docs/security.md#impersonation.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import stat
from functools import lru_cache
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from saltlite.core.lazyregex import regex
from saltlite.errors import CryptoError

ENCRYPTION_ALGORITHMS: Final = ("OAEP-SHA1", "OAEP-SHA224")
SIGNING_ALGORITHMS: Final = ("PKCS1v15-SHA1", "PKCS1v15-SHA224")

MINIMUM_BITS: Final = 2048
MAXIMUM_BITS: Final = 16_384
PUBLIC_EXPONENT: Final = 65_537
LARGEST_EXPONENT: Final = 2**32
PEM_LIMIT: Final = 8 * 1024
"""Characters a public key may have."""

_KEY_FILE_LIMIT = 64 * 1024
_HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    # Salt's defaults are SHA-1; a peer of 3006 to 3008 speaks nothing else unless told to.
    "SHA1": hashes.SHA1(),  # noqa: S303 - the wire is what it is
    "SHA224": hashes.SHA224(),
}
_PKCS1V15: Final = padding.PKCS1v15()
_OAEP: Final = {
    algorithm: padding.OAEP(padding.MGF1(one), one, None)
    for algorithm, one in ((f"OAEP-{name}", one) for name, one in _HASHES.items())
}


def _small_primes(limit: int) -> list[int]:
    return [n for n in range(3, limit, 2) if all(n % d for d in range(3, math.isqrt(n) + 1, 2))]


_SMALL_PRIMES = math.prod(_small_primes(2000))


_PUBLIC_PEM: Final = regex(
    r"-----BEGIN [A-Z ]{1,40}-----\n[A-Za-z0-9+/=\n]+\n-----END [A-Z ]{1,40}-----"
)
"""One key and nothing else: the text is kept as it came, and shown to operators."""


def normalise_pem(text: str) -> str:
    r"""A PEM in the form in which keys are compared and sent.

    Lines end in ``\n``, no white space around the whole, no newline at the end.
    Source: docs/wire.md#_auth, #which-key-is-let-in.
    """
    return _normalise_short_pem(text) if len(text) <= PEM_LIMIT else _strip_lines(text)


def _strip_lines(text: str) -> str:
    return "\n".join([line.rstrip() for line in text.strip().splitlines()])


_normalise_short_pem = lru_cache(maxsize=32)(_strip_lines)
"""A sign-in compares the same few texts several times."""


def check_form(text: str) -> str:
    """The PEM in the form of :func:`normalise_pem`; what it holds is not looked at.

    Raises:
        CryptoError: it is no PEM, or cannot be that of a public key.
    """
    pem = normalise_pem(text)
    if len(pem) > PEM_LIMIT or not pem.isascii():
        raise CryptoError("not a public key: too long or not ASCII")
    if not _PUBLIC_PEM.fullmatch(pem):
        raise CryptoError("not a public key: no PEM, or more than one")
    return pem


def same_pem(one: str, other: str) -> bool:
    """Whether two PEM texts are the same key, in constant time."""
    return hmac.compare_digest(normalise_pem(one).encode(), normalise_pem(other).encode())


class PublicKey:
    """A peer's RSA key. Immutable."""

    __slots__ = ("_e", "_key", "_n", "bits", "pem")

    def __init__(self, key: rsa.RSAPublicKey, pem: str) -> None:
        numbers = key.public_numbers()
        _refuse_weak(numbers)
        self._key = key
        self._n = numbers.n
        self._e = numbers.e
        self.bits: Final = numbers.n.bit_length()
        self.pem: Final = normalise_pem(pem)
        """The key as text, without a newline at the end."""

    def __repr__(self) -> str:
        return f"PublicKey({self.bits} bits)"

    @classmethod
    def from_pem(cls, text: str) -> PublicKey:
        """Read a peer's key.

        Raises:
            CryptoError: not an RSA public key in PEM, or one that must not be used.
        """
        pem = check_form(text)
        try:
            key = serialization.load_pem_public_key(pem.encode("ascii"))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise CryptoError("not a public key: unreadable") from error
        if not isinstance(key, rsa.RSAPublicKey):
            raise CryptoError("not a public key: not RSA")
        return cls(key, pem)

    def verify(self, message: bytes, signature: bytes, algorithm: str) -> bool:
        """Whether ``signature`` over ``message`` was made with the private key.

        Raises:
            CryptoError: no such algorithm.
        """
        hash_algorithm = _hash_of(algorithm, SIGNING_ALGORITHMS)
        try:
            self._key.verify(signature, message, _PKCS1V15, hash_algorithm)
        except InvalidSignature:
            return False
        return True

    def encrypt(self, plain: bytes, algorithm: str) -> bytes:
        """OAEP.

        Raises:
            CryptoError: no such algorithm, or ``plain`` is too long for the key.
        """
        oaep = _oaep_padding(algorithm)
        try:
            return self._key.encrypt(plain, oaep)
        except ValueError as error:
            raise CryptoError("too long to encrypt with this key") from error

    def x931_recover(self, signature: bytes) -> bytes:
        """The message inside an X9.31 signature. Compare it; do not search it.

        The whole block must have its one possible form. Source: docs/wire.md#rsa.

        Raises:
            CryptoError: it is no such signature.
        """
        size = (self._n.bit_length() + 7) // 8
        number = int.from_bytes(signature, "big")
        if len(signature) != size or not 1 < number < self._n:
            raise CryptoError("not an X9.31 signature")
        block = pow(number, self._e, self._n)
        if block & 0xF != 0xC:
            block = self._n - block
        return _x931_message(block.to_bytes(size, "big"))

    def fingerprint(self, hash_type: str = "sha256") -> str:
        """Hex in colon-separated pairs over the lines between BEGIN and END.

        Source: docs/wire.md#what-the-minion-does-next.

        Raises:
            CryptoError: no such hash.
        """
        return pem_fingerprint(self.pem, hash_type)


def pem_fingerprint(pem: str, hash_type: str = "sha256") -> str:
    """:meth:`PublicKey.fingerprint` of a text that need not be a key.

    Raises:
        CryptoError: no such hash.
    """
    body = "".join(line + "\n" for line in normalise_pem(pem).split("\n")[1:-1])
    try:
        digest = hashlib.new(hash_type, body.encode(), usedforsecurity=False).hexdigest()
    except ValueError as error:
        raise CryptoError(f"no such hash: {hash_type}") from error
    return ":".join(digest[i : i + 2] for i in range(0, len(digest), 2))


class PrivateKey:
    """One's own RSA key.

    ``sign`` and ``decrypt`` are OpenSSL's. ``x931_sign`` is not constant in time; it is applied
    only to what this side chose (``salt``, the digest of its own key), and each result is kept.
    """

    __slots__ = ("_key", "_numbers", "_x931", "pem", "public")

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._key = key
        self._numbers = key.private_numbers()
        self._x931: dict[bytes, bytes] = {}
        self.pem: Final = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        """PKCS#1 PEM, unencrypted, with a newline at the end: what goes into the key file."""
        public = key.public_key()
        self.public: Final = PublicKey(
            public,
            public.public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            ).decode("ascii"),
        )

    def __repr__(self) -> str:
        return "PrivateKey(***)"

    @classmethod
    def generate(cls, bits: int) -> PrivateKey:
        """A new key; takes seconds for 4096 bits.

        Raises:
            CryptoError: fewer than 2048 or more than 16384 bits.
        """
        if not MINIMUM_BITS <= bits <= MAXIMUM_BITS:
            raise CryptoError(f"keys have {MINIMUM_BITS} to {MAXIMUM_BITS} bits, not {bits}")
        return cls(rsa.generate_private_key(PUBLIC_EXPONENT, bits))

    @classmethod
    def from_pem(cls, pem: bytes, passphrase: str | None = None) -> PrivateKey:
        """Read one's own key.

        Raises:
            CryptoError: unreadable, not RSA, weak, or the passphrase does not fit.
        """
        password = passphrase.encode() if passphrase else None
        try:
            # OpenSSL's own check proves p and q prime again, 30 ms at each start of a minion. A key
            # of one's own need not be suspected of more than damage, which _refuse_damaged finds.
            key = serialization.load_pem_private_key(
                pem, password, unsafe_skip_rsa_key_validation=True
            )
        except TypeError as error:
            wanted = "needs a passphrase" if password is None else "has no passphrase"
            raise CryptoError(f"the key {wanted}") from error
        except (ValueError, UnsupportedAlgorithm) as error:
            raise CryptoError("not a private key, or the passphrase is wrong") from error
        if not isinstance(key, rsa.RSAPrivateKey):
            raise CryptoError("not an RSA key")
        _refuse_damaged(key.private_numbers())
        return cls(key)

    def encrypt_pem(self, passphrase: str) -> bytes:
        """:attr:`pem` under a passphrase, for ``key_pass``."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.BestAvailableEncryption(passphrase.encode()),
        )

    def sign(self, message: bytes, algorithm: str) -> bytes:
        """PKCS#1 v1.5.

        Raises:
            CryptoError: no such algorithm.
        """
        return self._key.sign(message, _PKCS1V15, _hash_of(algorithm, SIGNING_ALGORITHMS))

    def decrypt(self, ciphertext: bytes, algorithm: str) -> bytes:
        """OAEP.

        Raises:
            CryptoError: no such algorithm, or it does not decrypt; never says why.
        """
        oaep = _oaep_padding(algorithm)
        try:
            return self._key.decrypt(ciphertext, oaep)
        except ValueError as error:
            raise CryptoError("does not decrypt with this key") from error

    def x931_sign(self, message: bytes) -> bytes:
        """The X9.31 signature without hash. Always the same for the same message.

        Raises:
            CryptoError: the message does not fit.
        """
        known = self._x931.get(message)
        if known is not None:
            return known
        signature = self._x931_sign(message)
        if len(self._x931) >= 16:  # a process signs "salt" and, now and then, a new AES key
            self._x931.clear()
        self._x931[message] = signature
        return signature

    def _x931_sign(self, message: bytes) -> bytes:
        numbers = self._numbers
        modulus = numbers.public_numbers.n
        size = (modulus.bit_length() + 7) // 8
        block = int.from_bytes(_x931_block(message, size), "big")
        # Chinese remainder theorem: two exponentiations of half the length, a quarter of the time.
        in_p = pow(block, numbers.dmp1, numbers.p)
        in_q = pow(block, numbers.dmq1, numbers.q)
        power = in_q + (numbers.iqmp * (in_p - in_q) % numbers.p) * numbers.q
        if (
            pow(power, numbers.public_numbers.e, modulus) != block
        ):  # a fault here would leak the key
            raise CryptoError("the key does not sign")
        return min(power, modulus - power).to_bytes(size, "big")


def load_private_key(path: Path, passphrase: str | None = None) -> PrivateKey:
    """Read a key file; it is never written or replaced here.

    Raises:
        CryptoError: not there, not readable or no usable key; the text names the file.
    """
    pem = _read_key_file(path)
    try:
        return PrivateKey.from_pem(pem, passphrase)
    except CryptoError as error:
        raise CryptoError(f"{path}: {error}") from error


def _read_key_file(path: Path) -> bytes:
    """The bytes of a key file. A link is followed: ``master.pem`` of Salt 3008 is one."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _KEY_FILE_LIMIT:
            raise CryptoError(f"{path}: not a key file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CryptoError(f"{path}: no such key file") from error
    except OSError as error:
        raise CryptoError(f"{path}: {error.strerror}") from error


def _refuse_damaged(numbers: rsa.RSAPrivateNumbers) -> None:
    """Refuse a private key whose parts do not belong together. Source: RFC 8017, 3.2."""
    p, q, e = numbers.p, numbers.q, numbers.public_numbers.e
    belong = (
        p > 1
        and q > 1
        and p * q == numbers.public_numbers.n
        and (e * numbers.d) % (p - 1) == 1
        and (e * numbers.d) % (q - 1) == 1
        and numbers.dmp1 == numbers.d % (p - 1)
        and numbers.dmq1 == numbers.d % (q - 1)
        and (q * numbers.iqmp) % p == 1
    )
    if not belong:
        raise CryptoError("the key is damaged")


def _refuse_weak(numbers: rsa.RSAPublicNumbers) -> None:
    """Refuse what can be broken, or would cost too much.

    Source: docs/security.md#impersonation, CVE-2013-2228.
    """
    bits = numbers.n.bit_length()
    if not MINIMUM_BITS <= bits <= MAXIMUM_BITS:
        raise CryptoError(f"the key has {bits} bits; {MINIMUM_BITS} to {MAXIMUM_BITS} are allowed")
    if not PUBLIC_EXPONENT <= numbers.e <= LARGEST_EXPONENT or numbers.e % 2 == 0:
        raise CryptoError("the key's public exponent is not allowed")
    if numbers.n % 2 == 0 or math.gcd(numbers.n, _SMALL_PRIMES) != 1:
        raise CryptoError("the key's modulus has a small factor")


def _hash_of(algorithm: str, allowed: tuple[str, ...]) -> hashes.HashAlgorithm:
    if algorithm not in allowed:
        raise CryptoError("no such algorithm")
    return _HASHES[algorithm.rpartition("-")[2]]


def _oaep_padding(algorithm: str) -> padding.OAEP:
    if algorithm not in ENCRYPTION_ALGORITHMS:
        raise CryptoError("no such algorithm")
    return _OAEP[algorithm]


def _x931_block(message: bytes, size: int) -> bytes:
    """``6B BB…BB BA message CC``, ``size`` bytes."""
    filling = size - len(message) - 2
    if filling < 0:
        raise CryptoError("too long to sign with this key")
    head = b"\x6b" + b"\xbb" * (filling - 1) + b"\xba" if filling else b"\x6a"
    return head + message + b"\xcc"


def _x931_message(block: bytes) -> bytes:
    """What :func:`_x931_block` was given, if the block is of that form throughout."""
    if block[-1] != 0xCC:
        raise CryptoError("not an X9.31 signature")
    if block[0] == 0x6A:
        return block[1:-1]
    end = len(block) - len(block[1:].lstrip(b"\xbb"))
    if block[0] != 0x6B or end >= len(block) or block[end] != 0xBA:
        raise CryptoError("not an X9.31 signature")
    return block[end + 1 : -1]
