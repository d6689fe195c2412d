"""Somebody who holds one accepted minion key and will use it for anything.

``Rogue`` authenticates as an honest minion does and then forges at will: every part of a request,
outside and inside the encryption, can be replaced, left out or repeated.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import zmq

from attacks import NO_REPLY, Stranger, wire
from cluster import Cluster
from saltlite.channel.handshake import Accepted, MinionHandshake
from saltlite.channel.payload import open_sealed, seal
from saltlite.core.messages import as_bytes
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, WireError
from saltlite.transport.codec import unpack, unpack_bytes

BAD_LOAD = "bad load"


class _LeftOut:
    """Says its name, which is part of those of tests."""

    def __repr__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT = _LeftOut()
"""As the value of a field: the field is not sent."""


@dataclass(frozen=True)
class Sealed:
    """A reply that was encrypted to this very request; ``value`` is what the master answered."""

    value: Any


@dataclass(frozen=True)
class Made:
    """A request ready to be sent, and what is needed to read its reply."""

    frame: bytes
    nonce: Any


class Rogue:
    """A minion by its key, not by its manners."""

    def __init__(
        self,
        cluster: Cluster,
        stranger: Stranger,
        minion_id: str,
        key: PrivateKey | None = None,
    ) -> None:
        self.cluster = cluster
        self.stranger = stranger
        self.id = minion_id
        self.key = key or PrivateKey.generate(2048)
        self.tok = self.key.x931_sign(b"salt")
        self.accepted: Accepted | None = None

    @property
    def pem(self) -> str:
        return self.key.public.pem

    def accept(self) -> Rogue:
        """What an operator does; key files may be moved by anybody.

        Source: docs/architecture.md#who-owns-which-file-on-disk.
        """
        folder = self.cluster.pki_dir / "minions"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / self.id).write_text(self.pem)
        return self

    def authenticate(self) -> Accepted:
        """The honest handshake; raises what the handshake raises."""
        handshake = MinionHandshake(self.key, self.id)
        reply = self.stranger.exchange([handshake.request()])[0]
        assert reply is not NO_REPLY
        self.accepted = handshake.accept(reply)
        return self.accepted

    @property
    def session(self) -> str:
        assert self.accepted is not None
        return self.accepted.session

    def make(
        self,
        load: Any,
        *,
        outer: Mapping[str, Any] | None = None,
        session: str | None = None,
        plain: bytes | None = None,
        **inner: Any,
    ) -> Made:
        """A request around ``load``.

        ``outer`` replaces fields of the envelope, ``inner`` those of the load (``LEFT_OUT`` drops
        one), ``session`` is another key, ``plain`` is encrypted instead of everything.
        """
        whole: Any = load
        if isinstance(load, Mapping):
            whole = {"id": self.id, "ts": int(time.time()), "nonce": uuid.uuid4().hex}
            whole = _without({**whole, "tok": self.tok, **load, **inner})
        crypticle = Crypticle(session or self.session)
        sealed = _seal(crypticle, whole) if plain is None else crypticle.encrypt(plain)
        envelope = {
            "enc": "aes",
            "load": sealed,
            "version": 3,
            "id": self.id,
            "enc_algo": "OAEP-SHA1",
            "sig_algo": "PKCS1v15-SHA1",
            **(outer or {}),
        }
        nonce = whole.get("nonce") if isinstance(whole, Mapping) else None
        return Made(wire(_without(envelope)), nonce)

    def send(self, load: Any, **forged: Any) -> Any:
        """Make and send; ``Sealed``, a clear reply, or ``NO_REPLY``."""
        return self.send_many([self.make(load, **forged)])[0]

    def send_many(self, requests: Sequence[Made], *, within_s: float = 10.0) -> list[Any]:
        """All at once; the replies in order."""
        replies = self.stranger.exchange([one.frame for one in requests], within_s=within_s)
        pairs = zip(requests, replies, strict=True)
        return [self._open(reply, made.nonce) for made, reply in pairs]

    @contextlib.contextmanager
    def listening(self) -> Iterator[Ear]:
        """Hear what the master publishes.

        A key that an earlier test deleted may have changed the publication key since this one
        signed in, or change it in a moment: like an honest minion it signs in anew for what it
        cannot read.
        """
        ear = Ear(self.stranger.context, self.authenticate)
        try:
            yield ear
        finally:
            ear.close()

    def _open(self, reply: Any, nonce: Any) -> Any:
        if reply is NO_REPLY:
            return NO_REPLY
        try:
            sealed = unpack_bytes(reply)
            if isinstance(sealed, bytes) and isinstance(nonce, str):
                return Sealed(open_sealed(Crypticle(self.session), sealed, nonce))
        except (CryptoError, WireError):
            pass
        return unpack(reply)


class Ear:
    """A subscriber to 4505 that can read what all accepted minions can."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], authenticate: Callable[[], Accepted]
    ) -> None:
        self._authenticate = authenticate
        accepted = authenticate()
        self._crypticle = Crypticle(accepted.aes)
        self._socket = context.socket(zmq.SUB)
        self._socket.linger = 0
        self._socket.setsockopt(zmq.SUBSCRIBE, b"")
        monitor = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        self._socket.connect(f"tcp://127.0.0.1:{accepted.publish_port}")
        assert monitor.poll(5_000), "no connection to the publish port"
        self._socket.disable_monitor()
        time.sleep(0.1)  # the subscription follows the handshake at once, and nothing tells of it

    def frames(self, within_s: float) -> bytes | None:
        """The next message as it is."""
        return self._socket.recv() if self._socket.poll(int(within_s * 1000)) else None

    def next(self, within_s: float) -> dict[str, Any] | None:
        """The next job."""
        frame = self.frames(within_s)
        if frame is None:
            return None
        message: Any = unpack(frame)
        job = self._open(as_bytes(message["load"], "load"))
        assert isinstance(job, dict)
        return job

    def _open(self, sealed: bytes) -> Any:
        try:
            return open_sealed(self._crypticle, sealed)
        except CryptoError:
            self._crypticle = Crypticle(self._authenticate().aes)
            return open_sealed(self._crypticle, sealed)

    def close(self) -> None:
        self._socket.close(0)


def _without(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not LEFT_OUT}


def _seal(crypticle: Crypticle, value: Any) -> bytes:
    """``seal`` for values that the codec would not write."""
    try:
        return seal(crypticle, value)
    except WireError:
        return crypticle.encrypt(b"pickle::" + wire(value))
