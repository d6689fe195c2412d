"""What becomes of a key that a minion offers. Source: docs/wire.md#which-key-is-let-in.

Pure: the facts are gathered by ``commands/auth.py`` and the files are moved by ``keystore.py``.
"""

from __future__ import annotations

from enum import Enum

from saltlite.core.dataclasses import dataclass


class KeyOnFile(Enum):
    """What the master has on file for an id before it looks at the offered key."""

    NOTHING = "nothing"
    ACCEPTED = "accepted"
    UNACCEPTED = "unaccepted"
    REJECTED = "rejected"


class Filing(Enum):
    """What is to be done with the key files."""

    NOTHING = "nothing"
    ACCEPT = "accept"
    PEND = "pend"
    REJECT = "reject"
    DENY = "deny"


class AuthAnswer(Enum):
    """What the minion is told."""

    LET_IN = "let in"
    WAIT = "wait"
    NO = "no"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Offer:
    """The facts of one ``_auth`` request.

    ``same_key``: the offered key is the one on file. ``full``: ``max_minions`` keys are accepted.
    ``pending_full``: ``max_pending_keys`` wait already.
    """

    known: KeyOnFile
    same_key: bool = False
    auto_sign: bool = False
    auto_reject: bool = False
    open_mode: bool = False
    full: bool = False
    pending_full: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """``act`` is the word in the ``salt/auth`` event. Source: docs/wire.md#events."""

    filing: Filing
    answer: AuthAnswer
    act: str


LET_IN = Decision(Filing.NOTHING, AuthAnswer.LET_IN, "accept")
SIGN = Decision(Filing.ACCEPT, AuthAnswer.LET_IN, "accept")
FULL = Decision(Filing.NOTHING, AuthAnswer.FULL, "full")
STILL_REJECTED = Decision(Filing.NOTHING, AuthAnswer.NO, "reject")
REJECT = Decision(Filing.REJECT, AuthAnswer.NO, "reject")
DENY = Decision(Filing.DENY, AuthAnswer.NO, "denied")
PEND = Decision(Filing.PEND, AuthAnswer.WAIT, "pend")
STILL_PENDING = Decision(Filing.NOTHING, AuthAnswer.WAIT, "pend")


def decide(offer: Offer) -> Decision:
    """The master's answer to an offered key."""
    if offer.open_mode:
        return LET_IN if offer.known is KeyOnFile.ACCEPTED and offer.same_key else SIGN
    # max_minions keeps new ones out, never one that is accepted already.
    if offer.full and offer.known is not KeyOnFile.ACCEPTED:
        return FULL
    # Before the lists: autosign_file does not accept what an operator has rejected.
    if offer.known is KeyOnFile.REJECTED:
        return STILL_REJECTED
    if offer.known is KeyOnFile.ACCEPTED:
        return LET_IN if offer.same_key else DENY
    if offer.auto_reject:
        return REJECT
    if offer.known is KeyOnFile.UNACCEPTED:
        return _decide_pending(offer)
    if offer.auto_sign:
        return SIGN
    return FULL if offer.pending_full else PEND


def _decide_pending(offer: Offer) -> Decision:
    # The first key waits for the operator; another one is not to slip into its place.
    if not offer.same_key:
        return DENY
    return SIGN if offer.auto_sign else STILL_PENDING
