"""Lines and differences: how Salt cuts a file into lines and shows what became of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from saltlite.errors import FunctionError
from saltlite.providers.file.hashes import file_hash

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


HIDDEN = "<show_changes=False>"
OBFUSCATED = "<Obfuscated Template>"


def compare_files(
    old: str, new: str | bytes, *, names: bool = True, show: object = True, obfuscate: bool = False
) -> str:
    """What turns the file ``old`` into ``new``, a file or a content; empty for equal content.

    Raises:
        FunctionError: one of them cannot be read.
    """
    try:
        if _are_equal(old, new):
            return ""
    except OSError as error:
        raise FunctionError(f"Failed to read {error.filename}: {error.strerror}") from error
    if obfuscate:
        return OBFUSCATED
    if not show:
        return HIDDEN
    old_is_text, new_is_text = is_text(_read_begin(old)), is_text(_read_begin(new))
    if not (old_is_text and new_is_text):
        return _say_binary(old_is_text, new_is_text)
    shown = (old, str(new)) if names else ("", "")
    return unified_diff(split_lines(_read_text(old)), split_lines(_read_text(new)), *shown)


def _say_binary(old_is_text: bool, new_is_text: bool) -> str:
    if old_is_text:
        return "Replace text file with binary file"
    return "Replace binary file with text file" if new_is_text else "Replace binary file"


def _are_equal(old: str, new: str | bytes) -> bool:
    if os.stat(old).st_size != (os.stat(new).st_size if isinstance(new, str) else len(new)):
        _read_begin(old)
        _read_begin(new)
        return False
    if isinstance(new, str):
        return file_hash(old) == file_hash(new)
    with open(old, "rb") as file:
        return file.read() == new


def _read_begin(one: str | bytes) -> bytes:
    if isinstance(one, bytes):
        return one[:SNIFFED_BYTES]
    with open(one, "rb") as file:
        return file.read(SNIFFED_BYTES)


def _read_text(one: str | bytes) -> str:
    if isinstance(one, bytes):
        return one.decode("utf-8", "replace")
    with open(one, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()
