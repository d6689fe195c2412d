"""``retry``: how often a state is tried, how long is waited, and what is said about it."""

from __future__ import annotations

import random
from typing import Any

from saltlite.core.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """A wish to try again. ``interval_s`` and ``splay_s`` are seconds between two tries."""

    attempts: int = 2
    interval_s: int = 30
    splay_s: int = 0
    until: Any = True

    @classmethod
    def of(cls, given: object) -> Retry | None:
        """From a state's ``retry``; what is no number counts as not given."""
        if not given:
            return None
        # `retry: True` is a wish as well.
        if not isinstance(given, dict):
            return cls()
        return cls(
            attempts=_number_or(given.get("attempts"), cls().attempts),
            interval_s=_number_or(given.get("interval"), cls().interval_s),
            splay_s=_number_or(given.get("splay"), cls().splay_s),
            until=given["until"] if isinstance(given.get("until"), bool) else True,
        )

    @property
    def pause_s(self) -> float:
        """How long to wait before the next try."""
        return self.interval_s + random.randint(0, max(self.splay_s, 0))  # noqa: S311 - no secret

    @property
    def announcement(self) -> str:
        """What a test run says about it."""
        return (
            f"The state would be retried every {self.interval_s} seconds (with a splay of up to "
            f"{self.splay_s} seconds) a maximum of {self.attempts} times or until a result of "
            f"{self.until} is returned"
        )

    @staticmethod
    def line_about(number: int, result: object, comment: str) -> str:
        """The line about a try that was not the last."""
        said = f'with the following comment: "{comment}"'
        return f'Attempt {number}: Returned a result of "{result}", {said}'


def _number_or(given: object, default: int) -> int:
    # bool is a kind of int, and no number of tries.
    return given if isinstance(given, int) and not isinstance(given, bool) else default
