"""A master for tests of the minion: both ports, and moods."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import zmq
import zmq.asyncio

from saltlite.channel.handshake import MasterHandshake
from saltlite.channel.payload import open_sealed, seal
from saltlite.channel.publication import seal_publication
from saltlite.core.messages import AuthRequest
from saltlite.core.plain import Plain
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import CryptoError
from saltlite.transport.codec import pack, unpack

JID = "20240102030405000678"


def job(jid: str = JID) -> dict[str, Plain]:
    return {"jid": jid, "fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "ret": ""}


class FakeMaster:
    """Both ports of a master; tests change its mood."""

    def __init__(self, context: zmq.asyncio.Context, key: PrivateKey) -> None:
        self.key = key
        self.aes = new_key_string()
        self.session = new_key_string()
        self.serial = 0
        self.mood = "accept"
        self.auths = 0
        self.loads: list[dict[str, Any]] = []
        self.replies: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.router = context.socket(zmq.ROUTER)
        self.port = self.router.bind_to_random_port("tcp://127.0.0.1")
        self.pub = context.socket(zmq.XPUB)
        self.pub_port = self.pub.bind_to_random_port("tcp://127.0.0.1")

    async def serve(self) -> None:
        while True:
            *envelope, frame = await self.router.recv_multipart()
            reply = self.answer(frame)
            if reply is not None:
                await self.router.send_multipart([*envelope, reply])

    def answer(self, frame: bytes) -> bytes | None:
        request: Any = unpack(frame)
        if request["enc"] == "clear" and request["load"]["cmd"] == "ping":
            return pack(request["load"])
        if request["enc"] == "clear":
            self.auths += 1
            return self.authenticate(AuthRequest.from_wire(request["load"]))
        try:
            load: Any = open_sealed(Crypticle(self.session), request["load"])
        except CryptoError:
            return pack("bad load")
        self.loads.append(load)
        if load["cmd"] == "_pillar":
            return self.pillar_reply(load)
        if self.mood == "deaf":
            return None
        value = self.replies.get(load["cmd"], lambda _load: None)(load)  # type: ignore[no-untyped-call]
        return pack(seal(Crypticle(self.session), value, load["nonce"]))

    def pillar_reply(self, load: Mapping[str, Any]) -> bytes:
        """The pillar ``{"from": "master"}`` for the minion that asked last to be let in."""
        key = new_key_string()
        wrapped = self.minion_key.encrypt(key.encode(), "OAEP-SHA1")
        data = pack({"key": wrapped, "pillar": {"from": "master"}, "nonce": load["nonce"]})
        signed = {"data": data, "sig": self.key.sign(data, "PKCS1v15-SHA1")}
        return pack({"key": wrapped, "pillar": seal(Crypticle(key), signed)})

    def authenticate(self, request: AuthRequest) -> bytes | None:
        handshake = MasterHandshake(self.key)
        if self.mood == "silent":
            return None
        if self.mood == "pending":
            return handshake.pending(request)
        if self.mood == "rejected":
            return handshake.refuse(request)
        if self.mood == "junk":
            return random.Random(self.auths).randbytes(50)
        self.minion_key = PublicKey.from_pem(request.pub)
        return handshake.accept(
            request,
            self.minion_key,
            aes=self.aes,
            session=self.session,
            publish_port=self.pub_port,
        )

    async def publish(self, fields: Mapping[str, Any], **changes: Any) -> None:
        self.serial += 1
        sealing = {"aes": self.aes, "serial": self.serial, "signer": self.key, **changes}
        await self.pub.send(seal_publication(fields, **sealing))

    def close(self) -> None:
        self.router.close(linger=0)
        self.pub.close(linger=0)
