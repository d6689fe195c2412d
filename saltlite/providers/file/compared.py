"""The difference between two files of this machine, as states show it."""

from __future__ import annotations

import os

from saltlite.errors import FunctionError
from saltlite.providers.file.hashes import file_hash
from saltlite.providers.file.texts import SNIFFED_BYTES, is_text, split_lines, unified_diff

HIDDEN = "<show_changes=False>"
OBFUSCATED = "<Obfuscated Template>"


def difference(
    old: str, new: str, *, names: bool = True, show: object = True, obfuscate: bool = False
) -> str:
    """What turns ``old`` into ``new``; empty for equal content.

    Raises:
        FunctionError: one of them cannot be read.
    """
    if _are_equal(old, new):
        return ""
    if obfuscate:
        return OBFUSCATED
    if not show:
        return HIDDEN
    texts = [is_text(_read_begin(path)) for path in (old, new)]
    if not all(texts):
        return _say_binary(*texts)
    shown = (old, new) if names else ("", "")
    return unified_diff(split_lines(_read_text(old)), split_lines(_read_text(new)), *shown)


def _say_binary(old_is_text: bool, new_is_text: bool) -> str:
    if old_is_text:
        return "Replace text file with binary file"
    return "Replace binary file with text file" if new_is_text else "Replace binary file"


def _are_equal(old: str, new: str) -> bool:
    try:
        if os.stat(old).st_size != os.stat(new).st_size:
            _read_begin(old)
            _read_begin(new)
            return False
        return file_hash(old) == file_hash(new)
    except OSError as error:
        raise FunctionError(f"Failed to read {error.filename}: {error.strerror}") from error


def _read_begin(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(SNIFFED_BYTES)


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()
