"""Lines and differences: how Salt cuts a file into lines and shows what became of it."""

from __future__ import annotations

from collections.abc import Sequence

SNIFFED_BYTES = 512
"""How much of a file is looked at to tell text from binary."""

_PRINTABLE = bytes(range(32, 127)) + b"\n\r\t\f\b"
_BINARY_SHARE = 0.30


def is_text(begin: bytes) -> bool:
    """Whether a file that begins like this counts as text. Source: observed on Salt 3006.30.

    NUL is binary, UTF-8 is text, anything else by its share of bytes that do not print.
    """
    block = begin[:SNIFFED_BYTES]
    if b"\0" in block:
        return False
    try:
        block.decode()
    except UnicodeDecodeError:
        return len(block.translate(None, _PRINTABLE)) <= _BINARY_SHARE * len(block)
    return True


def split_lines(text: str) -> list[str]:
    """The lines with their ends; only a line feed ends one, so that joining restores the text."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def line_end(lines: Sequence[str]) -> str:
    """What ends the lines of a file: what ends its first one."""
    return "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def unified_diff(
    old: Sequence[str], new: Sequence[str], old_name: str = "", new_name: str = ""
) -> str:
    """A unified difference; empty if there is none. No line feed is added at the end."""
    import difflib

    return "".join(difflib.unified_diff(old, new, old_name, new_name))


def difference(old: str, new: str) -> str:
    """The difference of two texts, without file names."""
    return unified_diff(split_lines(old), split_lines(new))
