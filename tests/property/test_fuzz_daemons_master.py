"""A worker without its sockets: a frame goes in, one reply comes out, whatever the frame was.

The loads are made from the honest ones of ``tests/support/loads.py``, so that a command is covered
from the day it is added. An error of a handler is a finding: the worker would survive it, but it
was not foreseen.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repository import VECTORS

from attacks import wire
from loads import BROKEN, CLEAR, ENCRYPTED
from saltlite.channel.payload import seal
from saltlite.config.load import load_master
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import load_private_key
from saltlite.errors import WireError
from saltlite.master.acl import write_keys
from saltlite.master.context import Shared, make_context
from saltlite.master.dispatch import Dispatcher
from saltlite.transport.codec import unpack, unpack_bytes

MASTER_KEY, MINION_KEY = (load_private_key(VECTORS / f"{n}.pem") for n in ("master", "minion"))
TOK = MINION_KEY.x931_sign(b"salt")
HANDLER_FAILED = "Some exception handling minion payload"
checked = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@dataclass
class Heard:
    """Takes events and jobs in the place of the other processes."""

    tags: list[str] = field(default_factory=list)
    jobs: list[Any] = field(default_factory=list)

    def fire(self, tag: str, data: Any) -> None:
        self.tags.append(tag)

    def publish(self, job: Any, topics: list[bytes]) -> None:
        self.jobs.append(job)


@dataclass
class Desk:
    """A dispatcher with one accepted minion, ``a``."""

    dispatcher: Dispatcher
    heard: Heard
    session: Crypticle
    pki_dir: Path

    def answer(self, frame: bytes) -> Any:
        """The decoded reply; it has to be one frame that decodes."""
        reply = self.dispatcher.answer(frame)
        assert isinstance(reply, bytes)
        return unpack(reply)

    def ask(self, load: dict[str, Any], **envelope: Any) -> Any:
        """An encrypted request of ``a`` that proves who it is, if ``load`` does not spoil that."""
        whole = {"id": "a", "nonce": uuid.uuid4().hex, "ts": int(time.time()), "tok": TOK, **load}
        try:
            sealed = seal(self.session, whole)
        except WireError:
            sealed = self.session.encrypt(b"pickle::" + wire(whole))
        outer = {"enc": "aes", "load": sealed, "version": 3, "id": "a", **envelope}
        return self.answer(wire(outer))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    root = tmp_path_factory.mktemp("master")
    (root / "etc").mkdir()
    (root / "etc" / "master").write_text(f"root_dir: {root}\n")
    config = load_master(root / "etc")
    shared = Shared(config=config, key=MASTER_KEY, sign_key=None, pub_sig=None, user="root")
    shared.publication.rotate(new_key_string(), time.monotonic())
    heard = Heard()
    ctx = make_context(shared, events=heard, publisher=heard)
    ctx.keys.prepare()
    shared.cachedir.mkdir(parents=True, exist_ok=True)
    write_keys(shared.cachedir, ["root"], new_key_string)
    (shared.pki_dir / "minions" / "a").write_text(MINION_KEY.public.pem)
    session = ctx.sessions.get_or_make("a")
    yield Desk(Dispatcher(ctx), heard, session.crypticle, shared.pki_dir)
    ctx.jobs.close()


@pytest.fixture(autouse=True)
def no_error_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.ERROR)
    yield
    assert not [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(st.characters(codec="utf-8"), max_size=30)
    | st.binary(max_size=30)
    | st.sampled_from(["a", "*", "..", "req", "20240101000000000000", "base", "glob", "salt/key"])
)
values = st.sampled_from(list(BROKEN.values())) | st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def spoilt(draw: st.DrawFn, honest: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A load of one of the commands with some fields replaced, left out or added."""
    cmd = draw(st.sampled_from(sorted(honest)))
    load = {"cmd": cmd, **honest[cmd]}
    for name in draw(st.lists(st.sampled_from(sorted(load)), max_size=3)):
        load[name] = draw(values)
    for name in draw(st.lists(st.sampled_from(sorted(load)), max_size=1)):
        del load[name]
    extra = ["id", "tok", "nonce", "ts", "user", "key", "kwargs", "pretag", "events", "sig", "x"]
    for name in draw(st.lists(st.sampled_from(extra), max_size=2)):
        load[name] = draw(values)
    return load


@checked
@given(frame=st.binary(max_size=300))
def test_any_bytes(desk: Desk, frame: bytes) -> None:
    assert desk.answer(frame) != HANDLER_FAILED


@checked
@given(value=values)
def test_any_value(desk: Desk, value: Any) -> None:
    assert desk.answer(wire([value])[1:]) != HANDLER_FAILED


@checked
@given(
    envelope=st.dictionaries(
        st.sampled_from(["enc", "load", "version", "id", "enc_algo", "sig_algo"]),
        values | st.sampled_from(["aes", "clear", 3, {"cmd": "ping"}]),
    )
)
def test_any_envelope(desk: Desk, envelope: dict[str, Any]) -> None:
    assert desk.answer(wire(envelope)) != HANDLER_FAILED


@checked
@given(load=spoilt(CLEAR))
def test_any_clear_load(desk: Desk, load: dict[str, Any]) -> None:
    """And whatever it is, no job comes of it and no key is filed under an odd name."""
    jobs = len(desk.heard.jobs)
    assert desk.answer(wire({"enc": "clear", "load": load, "version": 3})) != HANDLER_FAILED
    assert len(desk.heard.jobs) == jobs
    assert [one.name for one in (desk.pki_dir / "minions").iterdir()] == ["a"]


@checked
@given(load=spoilt(ENCRYPTED))
def test_any_load_of_an_accepted_minion(desk: Desk, load: dict[str, Any]) -> None:
    """Sealed or refused; a minion's event never has another's or the master's own tag."""
    desk.heard.tags.clear()
    reply = desk.ask(load)
    assert reply != HANDLER_FAILED
    forged = [tag for tag in desk.heard.tags if tag.startswith("salt/") and "/a" not in tag]
    assert not forged
    assert not desk.heard.jobs


@checked
@given(plain=st.binary(max_size=200) | values.map(lambda one: b"pickle::" + wire([one])[1:]))
def test_any_plaintext_under_the_right_key(desk: Desk, plain: bytes) -> None:
    frame = wire({"enc": "aes", "load": desk.session.encrypt(plain), "version": 3, "id": "a"})
    assert desk.answer(frame) != HANDLER_FAILED


@checked
@given(message=st.binary(max_size=200))
def test_any_ciphertext(desk: Desk, message: bytes) -> None:
    frame = wire({"enc": "aes", "load": message, "version": 3, "id": "a"})
    assert desk.answer(frame) == "bad load"


@checked
@given(position=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_any_flipped_bit_of_a_sealed_load(desk: Desk, position: int, bit: int) -> None:
    whole = {"cmd": "_mine", "data": {"x": 1}, "id": "a", "nonce": uuid.uuid4().hex,
             "ts": int(time.time()), "tok": TOK}  # fmt: skip
    sealed = bytearray(seal(desk.session, whole))
    sealed[position % len(sealed)] ^= 1 << bit
    frame = wire({"enc": "aes", "load": bytes(sealed), "version": 3, "id": "a"})
    assert desk.answer(frame) == "bad load"


def test_an_honest_request_is_sealed(desk: Desk) -> None:
    """The harness itself: without spoiling, the minion is served."""
    nonce = uuid.uuid4().hex
    load = {"cmd": "_file_envs", "id": "a", "nonce": nonce, "ts": int(time.time()), "tok": TOK}
    frame = wire({"enc": "aes", "load": seal(desk.session, load), "version": 3, "id": "a"})
    reply = desk.dispatcher.answer(frame)
    assert isinstance(unpack_bytes(reply), bytes)
