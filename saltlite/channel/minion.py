"""The minion's end of encrypted requests.

Pure: the caller sends the frame and brings the reply. Source: docs/wire.md#requests, #_pillar.
"""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Mapping
from typing import Any, Final

from saltlite.channel.payload import open_sealed, seal
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.messages import (
    DEFAULT_ENCRYPTION,
    DEFAULT_SIGNING,
    Envelope,
    as_bytes,
    as_map,
)
from saltlite.core.plain import Plain
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import CryptoError, WireError
from saltlite.transport.codec import pack, pack_bin, unpack, unpack_bytes

TOKEN_MESSAGE: Final = b"salt"
"""What a minion signs to prove in every request that it has its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PillarReply:
    """The reply to ``_pillar``, unread: a key for this minion, and what is sealed with it."""

    key: object = None
    pillar: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedPillar:
    """What is sealed: bytes and the master's signature of them."""

    data: object = None
    sig: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedPillar:
    """What is signed: the pillar, and of which reply to which request it is."""

    key: object = None
    nonce: object = None
    pillar: object = None


class MinionChannel:
    """Seals requests and opens replies, as long as one session key lasts."""

    def __init__(
        self,
        minion_id: str,
        key: PrivateKey,
        session: str,
        enc_algo: str = DEFAULT_ENCRYPTION,
        sig_algo: str = DEFAULT_SIGNING,
        master_key: PublicKey | None = None,
        *,
        sign_messages: bool = False,
    ) -> None:
        """Prepare.

        Args:
            minion_id: the minion's id; every load gets it.
            key: the minion's own RSA key.
            session: the session key string of the last ``_auth``.
            enc_algo: as in ``_auth``.
            sig_algo: as in ``_auth``.
            master_key: the pinned key; needed for :meth:`open_pillar` only.
            sign_messages: ``minion_sign_messages``: add a signature to every load.

        Raises:
            CryptoError: ``session`` is no key string.
        """
        self._id = minion_id
        self._key = key
        self._session = Crypticle(session)
        self._enc_algo = enc_algo
        self._sig_algo = sig_algo
        self._master_key = master_key
        self._sign_messages = sign_messages

    def seal(
        self,
        load: Mapping[str, object],
        *,
        nonce: str | None = None,
        now_s: float | None = None,
        iv: bytes | None = None,
    ) -> tuple[bytes, str]:
        """The frame to send for ``load``, and the nonce to open its reply with.

        Call it again for every retry: a repeated nonce is refused. ``nonce``, ``now_s`` (Unix time)
        and ``iv`` are fresh unless a test fixes them.

        Raises:
            WireError: the load holds something that cannot travel.
        """
        nonce = nonce or os.urandom(16).hex()
        # A load that is sent again has the signature of its first time, which covered another ts.
        whole = {name: value for name, value in load.items() if name != "sig"}
        whole |= {"id": self._id, "nonce": nonce}
        whole |= {"ts": int(time.time() if now_s is None else now_s)}
        # The same bytes each time, since X9.31 signs without chance: a master checks them once.
        whole |= {"tok": self._key.x931_sign(TOKEN_MESSAGE)}
        if self._sign_messages:
            whole["sig"] = self._key.sign(part_to_sign(whole), self._sig_algo)
        envelope = Envelope(
            enc="aes",
            load=seal(self._session, whole, iv=iv),
            id=self._id,
            enc_algo=self._enc_algo,
            sig_algo=self._sig_algo,
        )
        return pack(envelope.to_wire()), nonce

    def open(self, reply: bytes, nonce: str, *, text: bool = True) -> Plain:
        """The value a master answered with; ``text=False`` for file chunks.

        Raises:
            CryptoError: not sealed with this session key (``bad load`` among others): authenticate
                again and repeat the request.
        """
        return open_sealed(self._session, _open_reply_part(reply), nonce, text=text)

    def open_pillar(self, reply: bytes, nonce: str) -> dict[str, Any]:
        """The pillar in a reply to ``_pillar``. Source: docs/wire.md#_pillar.

        Raises:
            CryptoError: not a pillar sealed for this minion and signed by its master, or the answer
                to another request: authenticate again and repeat once.
        """
        try:
            return self._open_pillar(reply, nonce)
        except WireError as error:
            raise CryptoError(f"not a pillar: {error}") from error

    def _open_pillar(self, reply: bytes, nonce: str) -> dict[str, Any]:
        if self._master_key is None:
            raise CryptoError("the master's key is not known")
        outer = read_fields(PillarReply, as_map(unpack(reply), "reply"))
        wrapped = as_bytes(outer.key, "key")
        # What is not ASCII is no key string either; Crypticle says so as a CryptoError.
        key = Crypticle(self._key.decrypt(wrapped, self._enc_algo).decode("ascii", "replace"))
        opened = as_map(open_sealed(key, as_bytes(outer.pillar, "pillar")), "pillar")
        sealed = read_fields(SealedPillar, opened)
        data = as_bytes(sealed.data, "data")
        signature = as_bytes(sealed.sig, "sig")
        if not self._master_key.verify(data, signature, self._sig_algo):
            raise CryptoError("the signature on the pillar does not hold")
        signed = read_fields(SignedPillar, as_map(unpack(data), "data"))
        # Nobody signed the outer copy of the key: it has to be the one that the master signed.
        if not hmac.compare_digest(as_bytes(signed.key, "key"), wrapped):
            raise CryptoError("the pillar was sealed for another reply")
        if signed.nonce != nonce:
            raise CryptoError("the pillar belongs to another request")
        return as_map_of_any_keys(signed.pillar)


def as_map_of_any_keys(value: object) -> dict[str, Any]:
    """A pillar: a map whose keys are the user's, so numbers too.

    Raises:
        WireError: no map.
    """
    if not isinstance(value, dict):
        raise WireError("pillar is not a map")
    return value


def part_to_sign(load: Mapping[str, object]) -> bytes:
    """The bytes a load's ``sig`` covers: the load without ``sig``, ``nonce`` and ``tok``.

    Source: docs/wire.md#_return.
    """
    # The master takes nonce and tok out of a load before it looks at sig.
    left_out = ("sig", "nonce", "tok")
    return pack_bin({name: value for name, value in load.items() if name not in left_out})


def _open_reply_part(reply: bytes) -> bytes:
    """The Crypticle message in a reply; anything else, such as ``bad load``, is a refusal."""
    try:
        # Not unpack: sealed bytes may be UTF-8 by chance. A bare `bad load` fails when opened.
        sealed = unpack_bytes(reply)
    except WireError as error:
        raise CryptoError("the reply is not sealed") from error
    if not isinstance(sealed, bytes):
        raise CryptoError("the reply is not sealed")
    return sealed
