"""Text of others made harmless for a terminal: what a minion returns must not steer it.

Line feeds, tabs and letters of every script stay; control characters (C0, DEL, C1), the controls
that turn the direction of writing, line separators and halves of surrogate pairs do not.
"""

from __future__ import annotations

import re

from saltlite.core.lazyregex import regex

UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # direction, line and paragraph separators
    "\ud800-\udfff"
)
"""The characters, as the inside of a set in a regular expression."""

_UNSAFE = regex(f"\r\n|[{UNSAFE}]")
_UNSAFE_OR_COLOR = regex(f"\033\\[[0-9;]{{0,20}}m|\r\n|[{UNSAFE}]")
_UNSAFE_IN_JSON = regex(f"[{UNSAFE}]")


def sanitize(text: str) -> str:
    r"""``text`` with ``?`` for what may steer a terminal; ``\r\n`` is a line feed."""
    return text if _is_printable(text) else _UNSAFE.sub(_replace_match, text)


def sanitize_but_colors(text: str) -> str:
    """The same, but sequences that choose a colour stay."""
    return text if _is_printable(text) else _UNSAFE_OR_COLOR.sub(_replace_match, text)


def _is_printable(text: str) -> bool:
    """Nothing to sanitise, said without a regular expression; most text is such."""
    return text.replace("\n", "").isprintable()


def _replace_match(match: re.Match[str]) -> str:
    found = match.group()
    if found == "\r\n":
        return "\n"
    return found if len(found) > 1 else "?"


def is_safe(text: str) -> bool:
    """Whether there is nothing to sanitise."""
    return _is_printable(text) or _UNSAFE.search(text) is None


def escape(text: str) -> str:
    r"""``text`` with the escapes of JSON (``\u202e``) for what may steer a terminal.

    For JSON only, where such characters stand in strings and nowhere else.
    """
    if _is_printable(text):
        return text
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
