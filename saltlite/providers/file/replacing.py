"""Replace what a regular expression matches in a file's content: pure.

The content is bytes, as in Salt: a dot is one byte, and letters beyond ASCII have no case. With an
encoding it is text.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, UsageError
from saltlite.providers.file.texts import split_lines, unified_diff

FLAGS = {
    "A": re.ASCII,
    "ASCII": re.ASCII,
    "DEBUG": re.DEBUG,
    "I": re.IGNORECASE,
    "IGNORECASE": re.IGNORECASE,
    "L": re.LOCALE,
    "LOCALE": re.LOCALE,
    "M": re.MULTILINE,
    "MULTILINE": re.MULTILINE,
    "S": re.DOTALL,
    "DOTALL": re.DOTALL,
    "U": re.UNICODE,
    "UNICODE": re.UNICODE,
    "X": re.VERBOSE,
    "VERBOSE": re.VERBOSE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What becomes what. ``count`` 0 is all. Without a match the content may be added."""

    pattern: str
    repl: str
    count: int = 0
    flags: int = re.MULTILINE
    append: bool = False
    prepend: bool = False
    not_found_content: str | None = None
    backslash_literal: bool = False

    def check(self, *, search_only: bool) -> Replacement:
        """Itself.

        Raises:
            UsageError: options exclude one another.
        """
        if self.append and self.prepend:
            raise UsageError("Only one of append and prepend_if_not_found is permitted")
        if search_only and (self.append or self.prepend):
            raise UsageError("search_only cannot be used with append/prepend_if_not_found")
        return self


def flags_of(flags: object) -> int:
    """``re`` flags from a number, a name or a list of names.

    Raises:
        FunctionError: there is no such flag.
    """
    if isinstance(flags, int):
        return int(flags)
    if isinstance(flags, str):
        return _parse_flag(flags)
    if not isinstance(flags, (list, tuple)):
        raise FunctionError(
            f'Invalid re flags: "{flags}", must be given either as a single flag string, a list of'
            " strings, as an integer, or as an re flag"
        )
    return sum({_parse_flag(flag) for flag in flags})


def _parse_flag(name: object) -> int:
    flag = FLAGS.get(str(name).upper())
    if flag is None:
        raise FunctionError(f"Invalid re flag given: {name}")
    return int(flag)


def require_text(value: object) -> str:
    """A pattern, which must be text.

    Raises:
        TypeError: it is not; in Salt's words.
    """
    if not isinstance(value, str):
        raise TypeError(f"expected str, bytes, or bytearray not {type(value)}")
    return value


def has_match(content: AnyStr, pattern: str, flags: int) -> bool:
    """Whether the pattern matches anywhere."""
    return re.search(_as_type_of(content, pattern), content, flags) is not None


def replace_matches(content: AnyStr, wanted: Replacement) -> AnyStr:
    """The content with the matches replaced, or with the content added that was not found."""
    repl = _as_type_of(content, wanted.repl)
    if wanted.backslash_literal:
        repl = repl.replace(_as_type_of(content, "\\"), _as_type_of(content, "\\\\"))
    compiled = re.compile(_as_type_of(content, wanted.pattern), wanted.flags)
    result, times = compiled.subn(repl, content, wanted.count)
    if times or not (wanted.append or wanted.prepend):
        return result
    missing = _missing_content(wanted)
    if _has_line(content, missing, wanted.flags):
        return content
    return _add_content(content, missing, at_end=wanted.append)


def difference(old: str, new: str, wanted: Replacement) -> str:
    """What changed. Content that was added counts as one line, however many it has, as in Salt."""
    before, after = split_lines(old), split_lines(new)
    added = f"{_missing_content(wanted)}\n"
    if wanted.prepend and new == added + old:
        after = [added, *before]
    elif wanted.append and new in (old + added, f"{old}\n{added}"):
        after = [*split_lines(new.removesuffix(added)), added]
    return unified_diff(before, after)


def _missing_content(wanted: Replacement) -> str:
    return wanted.repl if wanted.not_found_content is None else wanted.not_found_content


def _has_line(content: AnyStr, line: str, flags: int) -> bool:
    escaped = re.escape(_as_type_of(content, line))
    pattern = _as_type_of(content, "^(?:") + escaped + _as_type_of(content, r")($|(?=\r\n))")
    return re.search(pattern, content, flags) is not None


def _add_content(content: AnyStr, line: str, *, at_end: bool) -> AnyStr:
    feed = _as_type_of(content, "\n")
    added = _as_type_of(content, line) + feed
    if not at_end:
        return added + content
    if content and not content.endswith(feed):
        content += feed
    return content + added


def _as_type_of(content: AnyStr, text: str) -> AnyStr:
    """``text`` in the type of ``content``."""
    value: Any = text if isinstance(content, str) else text.encode()
    return value  # type: ignore[no-any-return]
