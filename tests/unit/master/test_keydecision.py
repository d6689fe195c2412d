"""The table of docs/wire.md#which-key-is-let-in, every combination of facts once."""

from __future__ import annotations

import itertools

import pytest

from saltlite.master.keydecision import (
    DENY,
    FULL,
    LET_IN,
    PEND,
    REJECT,
    SIGN,
    STILL_PENDING,
    STILL_REJECTED,
    AuthAnswer,
    Decision,
    Filing,
    KeyOnFile,
    Offer,
    decide,
)

FLAGS = ("same_key", "auto_sign", "auto_reject", "open_mode", "full", "pending_full")
ALL = [
    Offer(known, **dict(zip(FLAGS, values, strict=True)))
    for known in KeyOnFile
    for values in itertools.product((False, True), repeat=len(FLAGS))
]


def expected(o: Offer) -> Decision:
    """The page's table, row by row, as data a reader can lay beside it."""
    rows = [
        (o.open_mode and o.known is KeyOnFile.ACCEPTED and o.same_key, LET_IN),
        (o.open_mode, SIGN),
        (o.full and o.known is not KeyOnFile.ACCEPTED, FULL),
        (o.known is KeyOnFile.REJECTED, STILL_REJECTED),
        (o.known is KeyOnFile.ACCEPTED and o.same_key, LET_IN),
        (o.known is KeyOnFile.ACCEPTED, DENY),
        (o.known is KeyOnFile.NOTHING and o.auto_reject, REJECT),
        (o.known is KeyOnFile.NOTHING and o.auto_sign, SIGN),
        (o.known is KeyOnFile.NOTHING and o.pending_full, FULL),
        (o.known is KeyOnFile.NOTHING, PEND),
        (o.auto_reject, REJECT),
        (not o.same_key, DENY),
        (o.auto_sign, SIGN),
        (True, STILL_PENDING),
    ]
    return next(decision for holds, decision in rows if holds)


@pytest.mark.parametrize("offer", ALL)
def test_every_combination_of_facts(offer: Offer) -> None:
    assert decide(offer) == expected(offer)


def test_an_accepted_key_is_never_overwritten_outside_open_mode() -> None:
    filings = {decide(o).filing for o in ALL if o.known is KeyOnFile.ACCEPTED and not o.open_mode}
    assert filings == {Filing.NOTHING, Filing.DENY}


def test_auto_reject_beats_auto_sign() -> None:
    for known in (KeyOnFile.NOTHING, KeyOnFile.UNACCEPTED):
        offer = Offer(known, same_key=True, auto_sign=True, auto_reject=True)
        assert decide(offer).answer is AuthAnswer.NO


def test_full_never_turns_an_accepted_minion_away() -> None:
    offer = Offer(KeyOnFile.ACCEPTED, same_key=True, full=True, pending_full=True)
    assert decide(offer).answer is AuthAnswer.LET_IN
