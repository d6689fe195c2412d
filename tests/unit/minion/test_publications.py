"""Publications of a master whose key changes, read at once and late."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from saltlite.channel.publication import StalePublication, seal_publication
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, WireError
from saltlite.minion.publications import EARLIER_S, KEPT_MOST, KEPT_S, Publications

MASTER, STRANGER = PrivateKey.generate(2048), PrivateKey.generate(2048)
FIRST, SECOND, THIRD = new_key_string(), new_key_string(), new_key_string()


@dataclass
class Clock:
    at_s: float = 1000.0

    def __call__(self) -> float:
        return self.at_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def heard(clock: Clock) -> Publications:
    return Publications(require_signature=True, now_s=clock)


def make_frame(aes: str, serial: int, signer: PrivateKey | None = MASTER) -> bytes:
    job = {
        "jid": f"20260101000000{serial:06}", "fun": "test.ping", "arg": [], "ret": "",
        "tgt": "*", "tgt_type": "glob", "user": "root",
    }  # fmt: skip
    return seal_publication(job, aes=aes, serial=serial, signer=signer)


def read(heard: Publications, frame: bytes) -> int:
    return int(heard.open(frame).jid[-6:])


def test_before_a_sign_in_nothing_opens(heard: Publications) -> None:
    with pytest.raises(CryptoError):
        heard.open(make_frame(FIRST, 1))


def test_the_earlier_key_opens_what_comes_late_once(heard: Publications) -> None:
    heard.take_key(FIRST, MASTER.public)
    assert read(heard, make_frame(FIRST, 5)) == 5
    heard.take_key(SECOND, MASTER.public)
    assert read(heard, make_frame(SECOND, 1)) == 1
    late = make_frame(FIRST, 6)
    assert read(heard, late) == 6
    for frame in (late, make_frame(FIRST, 5), make_frame(SECOND, 1)):
        with pytest.raises(StalePublication):
            heard.open(frame)
    assert read(heard, make_frame(SECOND, 2)) == 2


def test_the_same_key_again_is_no_new_one(heard: Publications) -> None:
    heard.take_key(FIRST, MASTER.public)
    heard.take_key(SECOND, MASTER.public)
    assert read(heard, make_frame(SECOND, 3)) == 3
    heard.take_key(SECOND, MASTER.public)
    with pytest.raises(StalePublication):
        heard.open(make_frame(SECOND, 3))
    assert read(heard, make_frame(FIRST, 1)) == 1


@pytest.mark.parametrize("later_s", [1.0, 2 * EARLIER_S])
def test_the_key_of_a_node_that_is_behind_goes_on_with_its_serials(
    heard: Publications, clock: Clock, later_s: float
) -> None:
    heard.take_key(FIRST, MASTER.public)
    assert read(heard, make_frame(FIRST, 5)) == 5
    heard.take_key(SECOND, MASTER.public)
    assert read(heard, make_frame(SECOND, 3)) == 3
    clock.at_s += later_s
    heard.take_key(FIRST, MASTER.public)
    for frame in (make_frame(FIRST, 5), make_frame(SECOND, 3)):
        with pytest.raises(StalePublication):
            heard.open(frame)
    assert read(heard, make_frame(FIRST, 6)) == 6
    assert read(heard, make_frame(SECOND, 4)) == 4


def test_only_the_last_of_the_earlier_keys_counts_and_not_for_long(
    heard: Publications, clock: Clock
) -> None:
    for aes in (FIRST, SECOND, THIRD):
        heard.take_key(aes, MASTER.public)
    with pytest.raises(CryptoError):
        heard.open(make_frame(FIRST, 1))
    clock.at_s += EARLIER_S - 1
    assert read(heard, make_frame(SECOND, 1)) == 1
    clock.at_s += 1
    with pytest.raises(CryptoError):
        heard.open(make_frame(SECOND, 2))


def test_who_was_shut_out_cannot_publish_with_the_key_that_it_had(heard: Publications) -> None:
    heard.take_key(FIRST, MASTER.public)
    heard.take_key(SECOND, MASTER.public)
    for signer in (None, STRANGER):
        with pytest.raises(WireError):
            heard.open(make_frame(FIRST, 1, signer))


def test_without_signatures_the_earlier_key_opens_nothing(clock: Clock) -> None:
    heard = Publications(require_signature=False, now_s=clock)
    heard.take_key(FIRST, MASTER.public)
    heard.take_key(SECOND, MASTER.public)
    with pytest.raises(CryptoError):
        heard.open(make_frame(FIRST, 1))
    assert read(heard, make_frame(SECOND, 1, None)) == 1


def test_what_is_kept_comes_back_in_order_until_it_is_too_old(
    heard: Publications, clock: Clock
) -> None:
    assert heard.keep(b"1")
    clock.at_s += 1
    assert heard.keep(b"2")
    taken = heard.take_kept()
    assert [message for message, _ in taken] == [b"1", b"2"]
    assert not heard.has_kept
    clock.at_s += KEPT_S - 1
    assert [heard.keep(*one) for one in taken] == [False, True]
    assert heard.take_kept() == taken[1:]


def test_what_is_kept_is_bounded(heard: Publications) -> None:
    for number in range(KEPT_MOST + 1):
        heard.keep(b"%d" % number)
    kept = heard.take_kept()
    assert (len(kept), kept[0][0]) == (KEPT_MOST, b"1")


def test_who_is_shut_out_forgets_what_was_published(heard: Publications) -> None:
    heard.take_key(FIRST, MASTER.public)
    heard.take_key(SECOND, MASTER.public)
    heard.keep(b"1")
    heard.forget()
    assert not heard.has_kept
    with pytest.raises(CryptoError):
        heard.open(make_frame(FIRST, 1))
