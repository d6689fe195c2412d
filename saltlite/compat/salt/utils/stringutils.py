"""``salt.utils.stringutils``."""

from __future__ import annotations

import difflib
import fnmatch
import re
import shlex
import string
from collections.abc import Iterable
from typing import Any

UTF8 = "utf-8"


def to_bytes(s: object, encoding: object = None, errors: str = "strict") -> bytes:
    """A text as bytes; bytes stay.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(s, bytes):
        return s
    if isinstance(s, bytearray):
        return bytes(s)
    if isinstance(s, str):
        return s.encode(_choose_encoding(encoding), errors)
    raise TypeError(f"expected str, bytes, or bytearray not {type(s)}")


def to_str(
    s: object, encoding: object = None, errors: str = "strict", normalize: bool = False
) -> str:
    """Bytes as a text; a text stays.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(s, str):
        return _normalize_text(s, normalize)
    if isinstance(s, (bytes, bytearray)):
        return _normalize_text(bytes(s).decode(_choose_encoding(encoding), errors), normalize)
    raise TypeError(f"expected str, bytes, or bytearray not {type(s)}")


def to_unicode(
    s: object, encoding: object = None, errors: str = "strict", normalize: bool = False
) -> str:
    """The same as ``to_str``."""
    return to_str(s, encoding, errors, normalize)


def _choose_encoding(encoding: Any) -> str:
    first = encoding[0] if isinstance(encoding, (list, tuple)) and encoding else encoding
    return first or UTF8


def _normalize_text(text: str, normalize: bool) -> str:
    if not normalize:
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def to_num(text: Any) -> Any:
    """A number if the text is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:  # noqa: PERF203 - one of two kinds
            continue
    return text


def to_none(text: object) -> Any:
    """``None`` for blanks, else the text."""
    return text if str(text).strip() else None


def is_quoted(value: str) -> str:
    """The quotation mark around a text, ``""`` if there is none."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[0]
    return ""


def dequote(value: str) -> str:
    """A text without the quotation marks around it."""
    return value[1:-1] if is_quoted(value) else value


def is_hex(value: Any) -> bool:
    """Whether a text is a hexadecimal number."""
    try:
        int(value, 16)
    except (TypeError, ValueError):
        return False
    return True


def is_binary(data: object) -> bool:
    """Whether bytes or a text do not look like text."""
    if not data or not isinstance(data, (str, bytes)):
        return False
    raw = data.encode(UTF8) if isinstance(data, str) else data
    if b"\0" in raw:
        return True
    try:
        text = raw.decode(UTF8)
    except UnicodeDecodeError:
        return True
    odd = sum(1 for each in text if not (each.isprintable() or each in "\n\r\t\f\b"))
    return odd / len(text) > 0.3


def human_to_bytes(size: str, default_unit: str = "B", handle_metric: bool = False) -> int:
    """The number of bytes that ``10K`` or ``1.5GiB`` stands for; 0 if it is none."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)", str(size).strip())
    if match is None:
        return 0
    unit = (match.group(2) or default_unit).lower()
    power = "bkmgtpezy".find(unit[0])
    if power < 0 or unit[1:] not in ("", "b", "ib"):
        return 0
    base = 1000 if handle_metric and unit[1:] == "b" and power else 1024
    return int(float(match.group(1)) * base**power)


def human_size_to_bytes(human_size: str) -> int:
    """The number of bytes that ``10K`` stands for; 0 if it is none."""
    return human_to_bytes(human_size)


def contains_whitespace(text: str) -> bool:
    """Whether there is white space in it."""
    return any(each in text for each in string.whitespace)


def expr_match(line: str, expr: str) -> bool:
    """Whether a text is, or fits the glob, or fits the regular expression."""
    if line == expr or fnmatch.fnmatch(line, expr):
        return True
    try:
        return re.match(rf"\A{expr}\Z", line) is not None
    except re.error:
        return False


def check_whitelist_blacklist(
    value: str, whitelist: Iterable[str] | None = None, blacklist: Iterable[str] | None = None
) -> bool:
    """Whether a value is allowed: not on the black list, and on the white one if there is one."""
    if any(expr_match(value, each) for each in _as_list(blacklist)):
        return False
    allowed = _as_list(whitelist)
    return not allowed or any(expr_match(value, each) for each in allowed)


def check_include_exclude(
    path_str: str, include_pat: str | None = None, exclude_pat: str | None = None
) -> bool:
    """Whether a path is meant by glob or, after ``E@``, by regular expression."""
    included = include_pat is None or _path_fits(path_str, include_pat)
    excluded = exclude_pat is not None and _path_fits(path_str, exclude_pat)
    return included and not excluded


def _path_fits(path: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        return re.search(pattern[2:], path) is not None
    return fnmatch.fnmatch(path, pattern)


def _as_list(value: Iterable[str] | None) -> list[str]:
    if not value:
        return []
    return [value] if isinstance(value, str) else list(value)


def build_whitespace_split_regex(text: str) -> str:
    """A regular expression that finds the text whatever white space is between its words."""
    words = (re.escape(each) for each in shlex.split(text, posix=False))
    blanks = r"(?:[\s]+)?"
    return f"(?m)^{blanks}{blanks.join(words)}{blanks}$"


def get_diff(a: Any, b: Any, *args: Any, **kwargs: Any) -> str:
    """What differs between two lists of lines, as ``diff -u`` shows it."""
    first, second = ([to_unicode(line) for line in each] for each in (a, b))
    return "".join(difflib.unified_diff(first, second, *args, **kwargs))


def camel_to_snake_case(camel_input: str) -> str:
    """``aWord`` as ``a_word``."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", camel_input).lower()


def snake_to_camel_case(snake_input: str, uppercamel: bool = False) -> str:
    """``a_word`` as ``aWord``."""
    words = snake_input.split("_")
    joined = "".join(word.capitalize() for word in words)
    return joined if uppercamel else words[0] + joined[len(words[0]) :]


def print_cli(msg: object, retries: int = 10, step: float = 0.01) -> None:
    """Print a line."""
    import sys

    sys.stdout.write(f"{msg}\n")
