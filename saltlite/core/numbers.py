"""Numbers in text of others: ASCII digits, and no others.

``str.isdigit`` is true of ``²``, which ``int`` refuses, and of digits of other scripts, which look
like something else.
"""

from __future__ import annotations


def is_digits(text: str) -> bool:
    """Whether a text is ASCII digits, at least one."""
    return text.isascii() and text.isdigit()


def read_int(text: str) -> int:
    """A whole number, with blanks around it and a sign; raises ValueError for anything else."""
    if not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return int(text)


def read_float(text: str) -> float:
    """A number as :func:`read_int`; raises ValueError for anything else."""
    if not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)
