"""A master that says whatever a test wants, to a real minion.

It holds real keys and knows the honest answer to everything; a test puts other answers in front of
those, by minion and command, each used once. What minions asked is kept, decrypted.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import zmq

from saltlite.channel.handshake import MasterHandshake
from saltlite.channel.master import seal_pillar, seal_reply
from saltlite.channel.payload import open_sealed
from saltlite.channel.publication import seal_publication
from saltlite.core.messages import AuthRequest, as_bytes
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import CryptoError
from saltlite.transport.codec import pack, unpack


@dataclass(frozen=True)
class Asked:
    """One request of a minion, opened."""

    id: str
    cmd: str
    load: Mapping[str, Any]
    envelope: Mapping[str, Any]

    @property
    def nonce(self) -> str:
        return str(self.load.get("nonce"))


Answer: TypeAlias = "bytes | Callable[[FakeMaster, Asked], bytes]"


@dataclass
class FakeMaster:
    """Binds both ports of a master and answers in a thread of its own."""

    publish_port: int
    ret_port: int
    key: PrivateKey = field(default_factory=lambda: PrivateKey.generate(2048))
    aes: str = field(default_factory=new_key_string)
    sessions: dict[str, str] = field(default_factory=dict)
    minion_keys: dict[str, PublicKey] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    serial: int = 0

    def __post_init__(self) -> None:
        self._answers: dict[tuple[str, str], deque[Answer]] = defaultdict(deque)
        self._changed = threading.Condition()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._router.bind(f"tcp://127.0.0.1:{self.ret_port}")
        self._publisher = self._context.socket(zmq.XPUB)
        self._publisher.bind(f"tcp://127.0.0.1:{self.publish_port}")
        self._stopping = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._stopping = True
        self._thread.join()
        self._context.destroy(0)

    # --- answering ---------------------------------------------------------------------------

    def script(self, minion_id: str, cmd: str, *answers: Answer) -> None:
        """The next answers to this command of this minion; then honest ones again."""
        self._answers[minion_id, cmd].extend(answers)

    def scripted(self, minion_id: str, cmd: str) -> int:
        """How many of them are left."""
        return len(self._answers[minion_id, cmd])

    def _serve(self) -> None:
        while not self._stopping:
            if not self._router.poll(50):
                continue
            identity, _, frame = self._router.recv_multipart()
            asked = self._opened(frame)
            reply = pack("bad load") if asked is None else self._reply(asked)
            if asked is not None:  # before the reply, which may end whoever asked and the test
                with self._changed:
                    self.asked.append(asked)
                    self._changed.notify_all()
            self._router.send_multipart([identity, b"", reply])

    def _opened(self, frame: bytes) -> Asked | None:
        """What a frame asks; ``None`` for one of an earlier session, as a busy minion may send."""
        envelope: Any = unpack(frame)
        load = envelope["load"]
        if envelope["enc"] == "aes":
            session = self.sessions.get(envelope["id"])
            if session is None:
                return None
            try:
                load = open_sealed(Crypticle(session), as_bytes(load, "load"))
            except CryptoError:
                return None
        return Asked(load["id"], load["cmd"], load, envelope)

    def _reply(self, asked: Asked) -> bytes:
        waiting = self._answers[asked.id, asked.cmd]
        answer: Answer = waiting.popleft() if waiting else FakeMaster.honest
        return answer(self, asked) if callable(answer) else answer

    def honest(self, asked: Asked) -> bytes:
        """What a good master says."""
        if asked.cmd == "_auth":
            return self.let_in(asked)
        if asked.cmd == "_pillar":
            return self.pillar(asked)
        return self.sealed(asked, None)

    def let_in(self, asked: Asked, **changes: Any) -> bytes:
        """The accepted reply, with a new session every time; ``changes`` spoil it inside."""
        request = AuthRequest.from_wire(asked.load)
        minion_key = PublicKey.from_pem(request.pub)
        self.sessions[asked.id], self.minion_keys[asked.id] = new_key_string(), minion_key
        honest = MasterHandshake(self.key).accept(
            request,
            minion_key,
            aes=self.aes,
            session=self.sessions[asked.id],
            publish_port=self.publish_port,
        )
        return self.resigned(honest, request.sig_algo, **changes) if changes else honest

    def resigned(self, reply: bytes, algorithm: str, **changes: Any) -> bytes:
        """A signed reply with other fields inside, signed again as if all were well."""
        outer: Any = unpack(reply)
        inner: Any = unpack(as_bytes(outer["load"], "load"))
        load = pack({**inner, **changes})
        return pack({**outer, "load": load, "sig": self.key.sign(load, algorithm)})

    def pillar(self, asked: Asked, **changes: Any) -> bytes:
        """The pillar reply; ``changes`` are other arguments of ``seal_pillar``."""
        fields: dict[str, Any] = {
            "nonce": asked.nonce,
            "minion_key": self.minion_keys[asked.id],
            "signer": self.key,
            "enc_algo": asked.envelope["enc_algo"],
            "sig_algo": asked.envelope["sig_algo"],
        }
        return seal_pillar({"a": 1}, **{**fields, **changes})

    def sealed(self, asked: Asked, value: Any, **changes: Any) -> bytes:
        """An ordinary encrypted reply."""
        session = changes.get("session", self.sessions[asked.id])
        return seal_reply(session, changes.get("nonce", asked.nonce), value)

    # --- publishing --------------------------------------------------------------------------

    def wait_for_subscriber(self, within_s: float) -> None:
        """Until one more minion has subscribed."""
        assert self._publisher.poll(int(within_s * 1000)), "nobody subscribed"
        self._publisher.recv()

    def job(self, jid: str, tgt: str, **fields: Any) -> dict[str, Any]:
        job = {"fun": "test.ping", "arg": [], "tgt": tgt, "jid": jid, "ret": "",
               "tgt_type": "glob", "user": "root"}  # fmt: skip
        return {**job, **fields}

    def publication(self, job: Mapping[str, Any], **changes: Any) -> bytes:
        """A frame that minions believe, unless ``changes`` spoil it."""
        self.serial += 1
        fields = {"aes": self.aes, "serial": self.serial, "signer": self.key, **changes}
        return seal_publication(job, **fields)

    def send(self, *frames: bytes) -> None:
        """Put one message on 4505."""
        self._publisher.send_multipart(list(frames))

    # --- what minions did ----------------------------------------------------------------------

    def requests(self, minion_id: str, cmd: str) -> list[Asked]:
        with self._changed:
            return [one for one in self.asked if one.id == minion_id and one.cmd == cmd]

    def returned(self, minion_id: str) -> dict[str, Any]:
        """Job id → what the minion returned."""
        returns = self.requests(minion_id, "_return")
        return {one.load["jid"]: one.load["return"] for one in returns}

    def wait(self, condition: Callable[[], Any], within_s: float, what: str) -> Any:
        """The first true value of ``condition``, looked at after every request."""
        deadline = time.monotonic() + within_s
        while not (value := condition()):
            left_s = deadline - time.monotonic()
            assert left_s > 0, f"not within {within_s:g} s: {what}"
            with self._changed:
                self._changed.wait(min(left_s, 0.2))
        return value
