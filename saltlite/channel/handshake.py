"""Both ends of ``_auth``: how a minion and a master come to believe each other.

Neither end touches a socket or a file. The minion's side decides whether a reply is to be trusted
and hands back the two symmetric keys; its caller stores the master's key. The master's side only
words the replies; which one is due is decided in ``master/``. Source: docs/wire.md#_auth.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.messages import (
    DEFAULT_ENCRYPTION,
    DEFAULT_SIGNING,
    AuthRequest,
    Envelope,
    as_bytes,
    as_int,
    as_map,
    as_text,
)
from saltlite.core.plain import Plain
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import (
    AuthError,
    CryptoError,
    KeyPending,
    KeyRejected,
    MasterFull,
    MasterUntrusted,
    WireError,
)
from saltlite.transport.codec import pack, unpack

TOKEN_LIMIT: Final = 128
"""Bytes of a decrypted ``token`` a master echoes; Salt's are 76."""


REJECTED: Final = (
    "the master has rejected this minion's key: somebody rejected it, or another key is known "
    "there for the id {id} (a second machine with this id, or this one before its key was made "
    "anew). If this machine is the right one: salt-key -d {id} on the master, then accept the new "
    "key; if not, give it an id of its own"
)
KEY_CHANGED: Final = (
    "the master's key is not the one this minion knows: the master was set up anew, or somebody "
    "answers in its place. Compare its fingerprint (salt-key -F master); if that is right, remove "
    "{path}, and the minion trusts the next key it is shown"
)
"""What an administrator needs to know: the cause, and what to do."""


@dataclass(frozen=True, slots=True, repr=False)
class Accepted:
    """What a minion has after the master let it in.

    ``aes`` opens publications, ``session`` seals and opens requests. ``replaces_pinned`` is true if
    ``master_key`` is not the one that was pinned and is to be stored in its place.
    """

    aes: str
    session: str
    publish_port: int
    master_key: PublicKey
    replaces_pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthReply:
    """What a master has signed, unread: nothing of it is believed yet. ``None`` is not there."""

    ret: object = None
    nonce: object = None
    pub_key: object = None
    pub_sig: object = None
    token: object = None
    aes: object = None
    session: object = None
    sig: object = None
    publish_port: object = None


class MinionHandshake:
    """The minion's end. One object for one ``request`` and its reply, or for several in turn."""

    def __init__(
        self,
        key: PrivateKey,
        minion_id: str,
        *,
        enc_algo: str = DEFAULT_ENCRYPTION,
        sig_algo: str = DEFAULT_SIGNING,
        pinned: PublicKey | None = None,
        sign_key: PublicKey | None = None,
        always_verify: bool = False,
        open_mode: bool = False,
        master_finger: str = "",
        hash_type: str = "sha256",
        autosign_grains: Mapping[str, Plain] | None = None,
        token: str | None = None,
        pinned_path: object = "minion_master.pub",
    ) -> None:
        """Prepare.

        Args:
            key: the minion's own.
            minion_id: the minion's id.
            enc_algo: of the pairs in ``crypto/keys.py``; the master encrypts with it.
            sig_algo: likewise; the master signs with it.
            pinned: the master key stored at first contact, ``None`` at first contact.
            sign_key: the signing key's public half, with ``verify_master_pubkey_sign`` only.
            always_verify: check ``pub_sig`` also where the key is the pinned one.
            open_mode: believe any master.
            master_finger: fingerprint the master's key must have, ``""`` for any.
            hash_type: of ``master_finger``.
            autosign_grains: sent along for the master to accept the key by.
            token: what the master must give back; random unless a test fixes it.
            pinned_path: where ``pinned`` is kept, for what is said to the administrator.
        """
        self._key = key
        self._id = minion_id
        self._enc_algo = enc_algo
        self._sig_algo = sig_algo
        self._pinned = pinned
        self._sign_key = sign_key
        self._always_verify = always_verify
        self._open_mode = open_mode
        self._finger = master_finger.replace(":", "").strip().lower()
        self._hash_type = hash_type
        self._autosign_grains = dict(autosign_grains or {})
        self._token = token or new_key_string()
        self._pinned_path = pinned_path
        self._nonce = ""

    def request(self, nonce: str | None = None) -> bytes:
        """The frame to send; every call has a fresh nonce, unless a test fixes it."""
        self._nonce = nonce or os.urandom(16).hex()
        # Only the pinned key's owner can read it; at first contact there is nobody to ask.
        token = None
        if self._pinned is not None:
            token = self._pinned.encrypt(self._token.encode(), self._enc_algo)
        request = AuthRequest(
            id=self._id,
            nonce=self._nonce,
            pub=self._key.public.pem,
            token=token,
            enc_algo=self._enc_algo,
            sig_algo=self._sig_algo,
            autosign_grains=self._autosign_grains,
        )
        return pack(Envelope(enc="clear", load=request.to_wire()).to_wire())

    def accept(self, reply: bytes) -> Accepted:
        """Judge the reply to the last :meth:`request`.

        Raises:
            KeyPending: an operator has to accept the key; ask again later.
            KeyRejected: the key was rejected or denied.
            MasterFull: ``max_minions`` are served already.
            MasterUntrusted: this is not the master it should be.
            CryptoError: a signature, digest, nonce or ciphertext in the reply does not hold.
            AuthError: no reply to ``_auth`` at all.
        """
        try:
            return self._read_reply(reply)
        except WireError as error:
            raise AuthError(f"the master's reply makes no sense: {error}") from error

    def _read_reply(self, reply: bytes) -> Accepted:
        outer = as_map(unpack(reply), "reply")
        # Only the refusal of an unknown algorithm is a plain map: there is none to sign it with.
        if isinstance(outer.get("load"), dict):
            raise AuthError(f"the master cannot answer: {str(outer['load'].get('ret'))[:100]!r}")
        signed = as_bytes(outer.get("load"), "load")
        signature = as_bytes(outer.get("sig", b""), "sig")
        inner = read_fields(AuthReply, as_map(unpack(signed), "load"))
        # A reply without a key is a refusal, and has rules of its own for what is believed.
        if inner.pub_key is None:
            self._raise_refusal(inner, signed, signature)
        # The key first: a signature that fits the key beside it could be anybody's.
        master_key = self._check_master_key(inner)
        self._check_signed(master_key, signed, signature)
        self._check_nonce(inner)
        return self._read_keys(inner, master_key)

    def _raise_refusal(self, inner: AuthReply, signed: bytes, signature: bytes) -> None:
        """Raise what the master's refusal means; it is only as good as the pinned key."""
        if self._pinned is not None and not self._pinned.verify(signed, signature, self._sig_algo):
            raise CryptoError(KEY_CHANGED.format(path=self._pinned_path))
        self._check_nonce(inner)
        ret = inner.ret
        if ret is True:
            raise KeyPending("the master has not accepted this key yet")
        if ret is False:
            raise KeyRejected(REJECTED.format(id=self._id))
        if ret == "full":
            raise MasterFull("the master serves as many minions as it may")
        raise AuthError("the master answered neither yes nor no")

    def _check_master_key(self, inner: AuthReply) -> PublicKey:
        """The key in the reply, if this minion may believe it.

        Source: docs/wire.md#what-the-minion-does-next.
        """
        key = PublicKey.from_pem(as_text(inner.pub_key, "pub_key"))
        if self._finger and key.fingerprint(self._hash_type).replace(":", "") != self._finger:
            raise MasterUntrusted("the master's key does not have the fingerprint demanded")
        same = self._pinned is not None and self._pinned.pem == key.pem
        # Before open_mode: it also raises where only one of the two sides has signing switched on.
        vouched = self._is_vouched_for(inner, needed=self._always_verify or not same)
        if self._pinned is None or self._open_mode:
            return key
        if not same and not vouched:
            changed = KEY_CHANGED.format(path=self._pinned_path)
            raise MasterUntrusted(f"{changed}. Offered: {key.fingerprint(self._hash_type)}")
        # A changed key that was vouched for cannot open the token, which was for the pinned one.
        if same:
            self._check_token(inner)
        return key

    def _is_vouched_for(self, inner: AuthReply, *, needed: bool) -> bool:
        """Whether the signing key has vouched for the master's key."""
        # A signature that is missing could have been cut out on the way, so it is never optional.
        if (inner.pub_sig is not None) != (self._sign_key is not None):
            wants = "wants" if self._sign_key is not None else "does not want"
            raise MasterUntrusted(f"this minion {wants} a signature on the master's key")
        if self._sign_key is None or not needed:
            return False
        try:
            signature = base64.b64decode(as_bytes(inner.pub_sig, "pub_sig"))
        except (binascii.Error, ValueError) as error:
            raise MasterUntrusted("the signature on the master's key is unreadable") from error
        text = as_text(inner.pub_key, "pub_key").encode()
        if not self._sign_key.verify(text, signature, self._sig_algo):
            raise MasterUntrusted("the signature on the master's key does not hold")
        return True

    def _check_token(self, inner: AuthReply) -> None:
        """The master must prove that it could read what was encrypted to the pinned key."""
        try:
            token = self._key.decrypt(as_bytes(inner.token, "token"), self._enc_algo)
        except (WireError, CryptoError) as error:
            raise MasterUntrusted("the master could not read this minion's token") from error
        if not hmac.compare_digest(token, self._token.encode()):
            raise MasterUntrusted("the master gave back another token")

    def _check_signed(self, key: PublicKey, signed: bytes, signature: bytes) -> None:
        if not key.verify(signed, signature, self._sig_algo):
            raise CryptoError("the signature on the master's reply does not hold")

    def _check_nonce(self, inner: AuthReply) -> None:
        # Before the first request the nonce is empty, and no reply may match that.
        if not self._nonce or inner.nonce != self._nonce:
            raise CryptoError("the master's reply belongs to another request")

    def _read_keys(self, inner: AuthReply, master_key: PublicKey) -> Accepted:
        aes = self._key_string(inner.aes, "aes")
        # Salt encrypts the digest with the private key, so it comes out of the signature whole.
        digest = master_key.x931_recover(as_bytes(inner.sig, "sig"))
        if not hmac.compare_digest(digest, digest_of(aes)):
            raise CryptoError("the digest of the publication key does not hold")
        return Accepted(
            aes=aes,
            session=self._key_string(inner.session, "session"),
            publish_port=as_int(inner.publish_port, "publish_port"),
            master_key=master_key,
            replaces_pinned=self._pinned is not None and self._pinned.pem != master_key.pem,
        )

    def _key_string(self, sealed: object, name: str) -> str:
        plain = self._key.decrypt(as_bytes(sealed, name), self._enc_algo)
        key_string = plain.decode("ascii", "replace")
        Crypticle(key_string)  # only to see that it is one
        return key_string


class MasterHandshake:
    """The master's end: words the replies and signs them."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key

    def pending(self, request: AuthRequest) -> bytes:
        """The key waits for an operator."""
        return self._sign_reply(request, {"ret": True, "nonce": request.nonce})

    def refuse(self, request: AuthRequest) -> bytes:
        """The key is rejected or denied, or the request has a ``problem``."""
        return self._sign_reply(request, {"ret": False, "nonce": request.nonce})

    def full(self, request: AuthRequest) -> bytes:
        """``max_minions`` are served already."""
        return self._sign_reply(request, {"ret": "full", "nonce": request.nonce})

    def accept(
        self,
        request: AuthRequest,
        minion_key: PublicKey,
        *,
        aes: str,
        session: str,
        publish_port: int,
        pub_sig: str | None = None,
    ) -> bytes:
        """The minion is in. ``pub_sig`` is what :func:`sign_public_key` made, or ``None``."""
        inner: dict[str, Plain] = {
            "enc": "pub",
            "pub_key": self._key.public.pem,
            "publish_port": publish_port,
        }
        if pub_sig is not None:
            inner["pub_sig"] = pub_sig
        echo = self._return_token(request, minion_key)
        if echo is not None:
            inner["token"] = echo
        inner["aes"] = minion_key.encrypt(aes.encode(), request.enc_algo)
        inner["session"] = minion_key.encrypt(session.encode(), request.enc_algo)
        # Besides the signature of the whole: Salt's minions prove the key by this one.
        inner["sig"] = self._key.x931_sign(digest_of(aes))
        inner["nonce"] = request.nonce
        return self._sign_reply(request, inner)

    def bad_algorithm(self, field: str) -> bytes:
        """``enc`` or ``sig`` names an algorithm that does not exist; this reply is not signed."""
        return pack({"enc": "clear", "load": {"ret": f"bad {field} algo"}})

    def _return_token(self, request: AuthRequest, minion_key: PublicKey) -> bytes | None:
        """The token, encrypted back; ``None`` if there is none or it was not meant for this key.

        Both ways cost the same, so that time does not tell whether a guess at a ciphertext had
        proper padding. Source: docs/security.md#impersonation.
        """
        if request.token is None:
            return None
        try:
            token = self._key.decrypt(request.token, request.enc_algo)
        except CryptoError:
            token = b""
        # Longer is no token: the master must not decrypt for a peer whatever it brings.
        readable = 0 < len(token) <= TOKEN_LIMIT
        # As long as a token of Salt, so that what is thrown away takes the same time.
        echo = minion_key.encrypt(token if readable else os.urandom(76), request.enc_algo)
        return echo if readable else None

    def _sign_reply(self, request: AuthRequest, inner: Mapping[str, Plain]) -> bytes:
        load = pack(inner)
        return pack({"enc": "clear", "load": load, "sig": self._key.sign(load, request.sig_algo)})


def digest_of(aes: str) -> bytes:
    """What the master's X9.31 signature in the reply covers. Source: docs/wire.md#_auth."""
    return hashlib.sha256(aes.encode()).hexdigest().encode()


def sign_public_key(signing_key: PrivateKey, master_key: PublicKey, sig_algo: str) -> str:
    """``pub_sig``: base64 and a newline, as it goes on the wire. Source: docs/wire.md#_auth."""
    return binascii.b2a_base64(signing_key.sign(master_key.pem.encode(), sig_algo)).decode("ascii")
