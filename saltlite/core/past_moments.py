"""Moments of the past as people write them: ``yesterday``, ``2h``, ``3 days ago``, ``2030-01-02``.

Local times without a zone, unless one is written. Pure: what now is comes with each question.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from saltlite.core.lazyregex import regex

FORMS: Final = "yesterday, today, 90m, 12h, 7d, 2w, 2030-01-31, '2030-01-31 17:00' or seconds"
_AGE = regex(r"(\d{1,6}(?:\.\d{1,3})?)\s*(s|m|h|d|w)[a-z]*(?:\s+ago)?", re.ASCII)
_SECONDS = regex(r"\d{9,11}(?:\.\d{1,9})?", re.ASCII)
_UNIT_S: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def read_past_moment(text: str, now: datetime) -> float:
    """Seconds since 1970 of a moment; ``now`` has a zone.

    Raises:
        ValueError: it is none; the text says which there are.
    """
    words = text.strip().lower()
    if words in ("today", "yesterday"):
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - timedelta(days=words == "yesterday")).timestamp()
    age = _AGE.fullmatch(words)
    if age:
        return now.timestamp() - float(age[1]) * _UNIT_S[age[2]]
    if _SECONDS.fullmatch(words):
        return float(words)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no moment: {FORMS}") from None
    return (found if found.tzinfo else found.replace(tzinfo=now.tzinfo)).timestamp()
