"""A minion without its sockets: what it decodes never ends it."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repository import VECTORS

from attacks import wire
from loads import BROKEN
from saltlite.channel.handshake import MasterHandshake, MinionHandshake
from saltlite.channel.publication import message_of, open_publication, seal_publication
from saltlite.core.messages import AuthRequest, Job, as_bytes
from saltlite.core.targets import MinionFacts, Target, matches
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import load_private_key
from saltlite.errors import AuthError, CryptoError, TargetError, WireError
from saltlite.minion.bus import may_go_to_master
from saltlite.minion.stream import read_map
from saltlite.transport.bus import Relay, unpack_event
from saltlite.transport.codec import pack, unpack

MASTER, MINION = (load_private_key(VECTORS / f"{name}.pem") for name in ("master", "minion"))
AES = new_key_string()
checked = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
broken = st.sampled_from(list(BROKEN.values()))
anything = broken | st.binary(max_size=40) | st.text(st.characters(codec="utf-8"), max_size=20)


def test_the_honest_reply_is_accepted() -> None:
    """The harness itself."""
    handshake, reply = _exchange({})
    assert handshake.accept(reply).aes == AES


def _exchange(changes: dict[str, Any]) -> tuple[MinionHandshake, bytes]:
    """A handshake, and the accepted reply to it with fields changed and signed all the same."""
    handshake = MinionHandshake(MINION, "a")
    envelope: Any = unpack(handshake.request())
    request = AuthRequest.from_wire(envelope["load"])
    reply = MasterHandshake(MASTER).accept(
        request, MINION.public, aes=AES, session=new_key_string(), publish_port=4505
    )
    outer: Any = unpack(reply)
    inner: Any = unpack(as_bytes(outer["load"], "load"))
    load = wire({**inner, **changes})
    return handshake, wire({**outer, "load": load, "sig": MASTER.sign(load, request.sig_algo)})


INNER = ["enc", "pub_key", "publish_port", "aes", "session", "sig", "nonce", "token", "pub_sig",
         "ret", "x"]  # fmt: skip


@checked
@given(changes=st.dictionaries(st.sampled_from(INNER), anything, max_size=3))
def test_an_auth_reply_signed_by_somebody_who_means_harm(changes: dict[str, Any]) -> None:
    handshake, reply = _exchange(changes)
    with contextlib.suppress(AuthError, CryptoError, WireError):
        accepted = handshake.accept(reply)
        assert isinstance(accepted.publish_port, int)
        assert accepted.aes == AES


JOB = {"jid": "20240101000000000000", "fun": "test.ping", "arg": [], "tgt": "a", "ret": "",
       "tgt_type": "glob", "user": "root"}  # fmt: skip
FIELDS = [*JOB, "delimiter", "metadata", "to", "id", "serial", "module_executors", "ret_kwargs"]
FACTS = MinionFacts("a", {"os": "Debian", "n": 1, "l": [1, {"x": None}]}, {"p": {"q": "r"}})


@checked
@given(changes=st.dictionaries(st.sampled_from(FIELDS), anything, max_size=3))
def test_a_signed_publication_with_any_fields(changes: dict[str, Any]) -> None:
    """From the frame to the decision whether it is meant for us."""
    with contextlib.suppress(WireError, CryptoError, TargetError):
        frame = seal_publication({**JOB, **changes}, aes=AES, serial=5, signer=MASTER)
        fields, serial = open_publication(
            message_of([frame]), crypticle=Crypticle(AES), last_serial=4,
            master_key=MASTER.public, require_signature=True,
        )  # fmt: skip
        assert serial == 5
        job = Job.from_wire(fields)
        assert matches(Target(job.tgt, job.tgt_type, job.delimiter), FACTS) in (True, False)


expressions = st.text("abGPEILSJNR@*?[]()|. ,:andornot\\^$+1/24-", max_size=24)
KINDS = ["glob", "list", "pcre", "grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact",
         "compound", "compound_pillar_exact", "nodegroup", "ipcidr", "range",
         "data", "x", ""]  # fmt: skip


@checked
@given(tgt=expressions | st.lists(expressions, max_size=3), kind=st.sampled_from(KINDS))
def test_any_target(tgt: Any, kind: str) -> None:
    with contextlib.suppress(TargetError):
        assert matches(Target(tgt, kind), FACTS) in (True, False)


@checked
@given(frames=st.lists(st.binary(max_size=100), max_size=4))
def test_any_message_on_the_publish_port(frames: list[bytes]) -> None:
    with contextlib.suppress(WireError, CryptoError):
        open_publication(
            message_of(frames), crypticle=Crypticle(AES), last_serial=0,
            master_key=MASTER.public, require_signature=True,
        )  # fmt: skip


@checked
@given(frames=st.lists(st.binary(max_size=100), min_size=1, max_size=3))
def test_any_message_on_a_bus(frames: list[bytes]) -> None:
    relay = Relay()
    for passed_on in (relay.event(frames), relay.subscription(frames)):
        assert passed_on is None or len(passed_on) == 2
    with contextlib.suppress(WireError):
        unpack_event(frames[0])


@checked
@given(tag=anything)
def test_any_tag_for_the_master(tag: Any) -> None:
    allowed = may_go_to_master(tag, "a")
    assert not (allowed and str(tag).lower().startswith("salt/"))


def read(stream: bytes) -> dict[str, Any] | None:
    async def one() -> dict[str, Any] | None:
        reader = asyncio.StreamReader()
        reader.feed_data(stream)
        reader.feed_eof()
        return await read_map(reader)

    return asyncio.run(one())


@checked
@given(body=st.binary(max_size=100), announced=st.none() | st.integers(0, 2**32 - 1))
def test_any_frame_in_a_jobs_pipe(body: bytes, announced: int | None) -> None:
    length = len(body) if announced is None else announced
    with contextlib.suppress(WireError):
        message = read(struct.pack(">I", length) + body)
        assert message is None or isinstance(message, dict)


@checked
@given(stream=st.binary(max_size=20))
def test_any_bytes_in_a_jobs_pipe(stream: bytes) -> None:
    with contextlib.suppress(WireError):
        read(stream)


def test_a_map_comes_through_a_pipe() -> None:
    body = pack({"op": "started", "pid": 5})
    assert read(struct.pack(">I", len(body)) + body) is not None
