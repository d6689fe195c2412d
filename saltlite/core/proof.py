"""Proof that an event was fired by who holds a key, without the key in it.

Whoever may listen on a bus sees all events, so a secret must not be in one. Source: RFC 2104.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

FIELD: Final = "proof"
TIME: Final = "proof_time"
LIFE_S: Final = 60.0


def prove(key: str, tag: str, data: Mapping[str, object], now_s: float) -> dict[str, Any]:
    """The data with a proof for this tag and time."""
    timed = {**data, TIME: round(now_s, 3)}
    return {**timed, FIELD: _compute_digest(key, tag, timed)}


def is_proven(key: str, tag: str, data: Mapping[str, object], now_s: float) -> bool:
    """Whether the data carry the proof, or the key itself as Salt's own runner sends it."""
    # Anybody could compute a proof with the empty key.
    if not key:
        return False
    given = data.get("key")
    if isinstance(given, str):
        return hmac.compare_digest(given.encode(), key.encode())
    proof, time = data.get(FIELD), data.get(TIME)
    if not isinstance(proof, str) or not isinstance(time, (int, float)):
        return False
    # In this form NaN is refused as well.
    if not abs(now_s - time) <= LIFE_S:
        return False
    # ``_stamp`` is put in by the bus, after the proof was made.
    timed = {name: value for name, value in data.items() if name not in (FIELD, "_stamp")}
    try:
        wanted = _compute_digest(key, tag, timed)
    except TypeError:  # keys that JSON has not, or that have no order: we never prove such data
        return False
    return hmac.compare_digest(proof.encode(), wanted.encode())


def _compute_digest(key: str, tag: str, data: Mapping[str, object]) -> str:
    text = json.dumps([tag, data], sort_keys=True, default=str)
    return hmac.new(key.encode(), text.encode(), sha256).hexdigest()
