"""Returns and the signature of their own that minions may add."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from worker import Minion, World, worker_world

from saltlite.crypto.keys import PrivateKey

DOES_NOT_HOLD = "The signature on a return of minion web1 does not hold"
REFUSED = "Refused: return: signature, minion web1"
WANTED = "require_minion_sign_messages: True\n"
DROPPED = "drop_messages_signature_fail: True\n"


@pytest.fixture(scope="module")
def rsa() -> list[PrivateKey]:
    return [PrivateKey.generate(2048) for _ in range(2)]


@pytest.fixture
def options() -> str:
    return ""


@pytest.fixture
def world(tmp_path: Path, rsa: list[PrivateKey], options: str) -> Iterator[World]:
    with worker_world(tmp_path, rsa[0], f"auto_accept: True\n{options}") as one:
        yield one


@pytest.fixture
def minion(
    world: World, rsa: list[PrivateKey], signature: str, monkeypatch: pytest.MonkeyPatch
) -> Minion:
    """``web1``, which signs its returns, does not, or signs something else."""
    if signature == "forged":
        monkeypatch.setattr("saltlite.channel.minion.part_to_sign", lambda _load: b"another load")
    return world.minion("web1", rsa[1], signs=signature != "none")


@pytest.mark.parametrize(
    ("options", "signature", "is_taken", "said"),
    [
        ("", "none", True, []),
        ("", "right", True, []),
        ("", "forged", True, [DOES_NOT_HOLD]),
        (DROPPED, "none", True, []),
        (DROPPED, "right", True, []),
        (DROPPED, "forged", False, [REFUSED]),
        (WANTED, "none", False, [REFUSED]),
        (WANTED, "right", True, []),
        (WANTED, "forged", True, [DOES_NOT_HOLD]),
        (WANTED + DROPPED, "none", False, [REFUSED]),
        (WANTED + DROPPED, "right", True, []),
        (WANTED + DROPPED, "forged", False, [REFUSED]),
    ],
)
def test_a_signature_on_a_return(
    world: World,
    minion: Minion,
    is_taken: bool,
    said: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    jid = world.publish(tgt="web1", fun="test.ping")["load"]["jid"]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        answer = minion.ask("_return", jid=jid, fun="test.ping", **{"return": True})
    assert answer is (None if is_taken else False)
    assert ("web1" in world.ctx.jobs.returns(jid)) is is_taken
    assert [record.getMessage() for record in caplog.records] == said


@pytest.mark.parametrize("signature", ["forged"])
def test_signatures_that_do_not_hold_fill_no_log(
    world: World,
    minion: Minion,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusals = world.ctx.refusals
    monkeypatch.setattr(refusals, "_clock", lambda: refusals._counted_s)
    jid = world.publish(tgt="web1", fun="test.ping")["load"]["jid"]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(50):  # the same again, as after a timeout
            assert minion.ask("_return", jid=jid, fun="test.ping", **{"return": True}) is None
    # Within one moment, a worker's part of ten lines a second.
    assert 1 <= len(caplog.records) <= 10
