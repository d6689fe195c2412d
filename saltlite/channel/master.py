"""The master's end of requests: from a frame to a load whose author is proven, and back.

Every step is a function that gives the next type or raises; the order is that of
docs/wire.md#requests. Whatever is raised here, the caller answers ``bad load`` (or
:data:`NOT_A_MAP`), says no more, and goes on. What has been seen before (nonces, step 9) is the
caller's memory.
Source: docs/wire.md#requests; docs/security.md#impersonation, #replay-and-clocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from saltlite.channel.minion import TOKEN_MESSAGE, part_to_sign
from saltlite.channel.payload import open_sealed, seal
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_minion_id
from saltlite.core.messages import (
    NONCE_LENGTH,
    PROTOCOL_VERSION,
    Envelope,
    LoadNotAMap,
    as_bytes,
    as_map,
    as_text,
)
from saltlite.core.plain import Plain
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import CryptoError, WireError
from saltlite.transport.codec import DEFAULT_LIMITS, Limits, pack, unpack

BAD_LOAD: Final = "bad load"
"""The one refusal that minions act upon: they authenticate again.

Source: docs/wire.md#crypticle.
"""

NOT_A_MAP: Final = LoadNotAMap.reply

CLEAR_LIMIT_BYTES: Final = 4 * 1024 * 1024
AUTH_LIMIT_BYTES: Final = 64 * 1024

# Room for an envelope: six fields that are scalars, the sealed load among them.
_WRAPPER_LIMITS = Limits(depth=2, keys=16, items=16, text_bytes=DEFAULT_LIMITS.text_bytes)


@dataclass(frozen=True, slots=True)
class OpenedRequest:
    """A request whose author is proven to be ``id``.

    ``load`` is what handlers and events see: without ``tok`` and ``nonce``, with ``cmd``, ``id``
    and ``ts``. ``ts`` is the sender's clock in seconds.
    """

    id: str
    cmd: str
    load: dict[str, Any]
    nonce: str
    ts: float
    enc_algo: str
    sig_algo: str


class Proofs(Protocol):
    """What other workers have found proven: a memory of (key, ``tok``) pairs."""

    def holds(self, pem: str, tok: bytes) -> bool:
        """Whether the pair is remembered; no does not mean that it is no proof."""

    def add(self, pem: str, tok: bytes) -> None:
        """Remember a pair that is proven."""


class TokenCache:
    """The one valid ``tok`` of each accepted key, so that RSA is done once per key.

    Holds nothing a stranger sent: an entry is made only after the proof. ``proofs`` is shared with
    other workers.
    """

    def __init__(self, size: int = 20_000, proofs: Proofs | None = None) -> None:
        self._size = size
        self._proofs = proofs
        self._valid: dict[tuple[str, bytes], None] = {}

    def check(self, pem: str, tok: bytes) -> None:
        """Return if ``tok`` was made with the private half of the key.

        Raises:
            CryptoError: it was not, or ``pem`` is no usable key.
        """
        # X9.31 signs without chance: a key has one tok, and the same bytes prove the same again.
        if (pem, tok) in self._valid:
            return
        if self._proofs is None:
            _check_token(pem, tok)
        elif not self._proofs.holds(pem, tok):
            _check_token(pem, tok)
            self._proofs.add(pem, tok)
        # The oldest goes; if it was still in use, one RSA operation brings it back.
        if len(self._valid) >= self._size:
            self._valid.pop(next(iter(self._valid)))
        self._valid[pem, tok] = None


def _check_token(pem: str, tok: bytes) -> None:
    if PublicKey.from_pem(pem).x931_recover(tok) != TOKEN_MESSAGE:
        raise CryptoError("tok is no proof")


def read_envelope(frame: bytes, *, minimum_version: int = PROTOCOL_VERSION) -> Envelope:
    """Steps 1 to 3: decode, check the form, the version and the size.

    Of a frame larger than a clear request may be, nothing but the wrapper is decoded.

    Raises:
        LoadNotAMap: a clear load that is not a map; answered with :data:`NOT_A_MAP`.
        WireError: anything else; answered with :data:`BAD_LOAD`.
    """
    # A stranger can send this: what decodes a large frame whole is for proven minions only.
    limits = _WRAPPER_LIMITS if len(frame) > CLEAR_LIMIT_BYTES else DEFAULT_LIMITS
    envelope = Envelope.from_wire(unpack(frame, limits))
    if envelope.version < minimum_version:
        raise WireError(f"version {str(envelope.version)[:20]} is too low")
    if isinstance(envelope.load, Mapping):
        _check_clear_size(envelope.load, len(frame))
    return envelope


def _check_clear_size(load: Mapping[str, Plain], size: int) -> None:
    # A key and some grains: anything larger is no login, and strangers may send it.
    limit = AUTH_LIMIT_BYTES if load.get("cmd") == "_auth" else CLEAR_LIMIT_BYTES
    if size > limit:
        raise WireError("too large for a clear request")


def open_request(
    envelope: Envelope,
    session_of: Callable[[str], str | Crypticle],
    public_key_of: Callable[[str], str | None],
    *,
    tokens: TokenCache,
    now_s: float,
    ttl_s: float,
) -> OpenedRequest:
    """Steps 4 to 8: who sent this, and is it fresh?

    Args:
        envelope: with ``enc: aes``.
        session_of: the session key of a minion, best as the cipher that was made of it.
        public_key_of: the **accepted** public key of a minion, ``None`` if it has none.
        tokens: kept between calls.
        now_s: Unix time.
        ttl_s: how far the sender's clock may be from ``now_s``, either way; 0 for no matter.

    Raises:
        LoadNotAMap: answered with :data:`NOT_A_MAP`.
        WireError: a field is missing or wrong.
        CryptoError: it does not decrypt or the proof does not hold.
    """
    minion_id = envelope.id
    if not valid_minion_id(minion_id) or minion_id is None:
        raise WireError("outer id is not a minion id")
    # The key before anything is decrypted: a deleted minion may still have its session key.
    pem = public_key_of(minion_id)
    if pem is None:
        raise CryptoError("no accepted key")
    load = _open_load(envelope, _take_cipher(session_of(minion_id)))
    nonce = _read_nonce(load.pop("nonce", None))
    # The outer id only chose the key; without this a minion could speak in another's name.
    if load.get("id") != minion_id:
        raise WireError("inner id is not the outer id")
    # Last, since RSA is what costs most; only who has the session key gets so far.
    tokens.check(pem, as_bytes(load.pop("tok", None), "tok"))
    return OpenedRequest(
        id=minion_id,
        cmd=as_text(load.get("cmd"), "cmd"),
        load=load,
        nonce=nonce,
        ts=_read_time(load.get("ts"), now_s, ttl_s),
        enc_algo=envelope.enc_algo,
        sig_algo=envelope.sig_algo,
    )


def _take_cipher(session: str | Crypticle) -> Crypticle:
    return Crypticle(session) if isinstance(session, str) else session


def _open_load(envelope: Envelope, session: Crypticle) -> dict[str, Any]:
    if not isinstance(envelope.load, bytes):
        raise WireError("load is not sealed")
    load = open_sealed(session, envelope.load)
    if not isinstance(load, dict):
        raise LoadNotAMap("load is not a map")
    return as_map(load, "load")


def _read_nonce(value: object) -> str:
    nonce = as_text(value, "nonce")
    if len(nonce) != NONCE_LENGTH or not nonce.isascii():
        raise WireError("nonce is not 32 characters")
    return nonce


class StaleRequest(WireError):
    """The sender's clock is too far from this one; ``skew_s`` is how far, positive if behind."""

    def __init__(self, skew_s: float) -> None:
        self.skew_s = skew_s
        super().__init__(f"clock of the sender differs by {skew_s:.0f} s")


def _read_time(value: object, now_s: float, ttl_s: float) -> float:
    """The request's time, if it is inside the window.

    Source: docs/security.md#replay-and-clocks.
    """
    # Not isinstance, for which a bool is a number.
    if type(value) is not int and type(value) is not float:
        raise WireError("ts is not a number")
    # NaN is neither inside nor outside of any window, and compares false with both ends.
    if not math.isfinite(value) or abs(value) >= 2**53:
        raise WireError("ts is not a time")
    if ttl_s > 0 and abs(now_s - value) > ttl_s:
        raise StaleRequest(now_s - value)
    return float(value)


def verify_signed_load(load: Mapping[str, object], key: PublicKey, algorithm: str) -> bool | None:
    """Whether a load's own ``sig`` holds; ``None`` if it has none. Source: docs/wire.md#_return."""
    if "sig" not in load:
        return None
    try:
        return key.verify(part_to_sign(load), as_bytes(load["sig"], "sig"), algorithm)
    except (WireError, CryptoError):
        return False


def seal_reply(
    session: str | Crypticle, nonce: str, value: object, *, iv: bytes | None = None
) -> bytes:
    """The frame that answers an encrypted request. Source: docs/wire.md#requests.

    Raises:
        WireError: the value cannot travel.
    """
    return pack(seal(_take_cipher(session), value, nonce, iv=iv))


def seal_pillar(
    pillar: Mapping[str, object],
    *,
    nonce: str,
    minion_key: PublicKey,
    signer: PrivateKey,
    enc_algo: str,
    sig_algo: str,
    key_string: str | None = None,
    iv: bytes | None = None,
) -> bytes:
    """The frame that answers ``_pillar``. Source: docs/wire.md#_pillar.

    The algorithms are those of the request's envelope. ``key_string`` and ``iv`` are fresh unless a
    test fixes them.

    Raises:
        CryptoError: an algorithm is unknown.
        WireError: the pillar holds something that cannot travel.
    """
    key_string = key_string or new_key_string()
    # The key is in the signed part too, so that the pillar fits no other reply.
    wrapped = minion_key.encrypt(key_string.encode(), enc_algo)
    data = pack({"key": wrapped, "pillar": pillar, "nonce": nonce})
    sealed = seal(Crypticle(key_string), {"data": data, "sig": signer.sign(data, sig_algo)}, iv=iv)
    return pack({"key": wrapped, "pillar": sealed})
