"""Replace what stands between two markers in a text: pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, UsageError
from saltlite.providers.file.texts import line_end, split_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block and where it goes when its markers are not there yet.

    ``append_newline`` ``None`` adds a line feed to the content if it has none at its end.
    """

    marker_start: str
    marker_end: str
    content: str
    append: bool = False
    prepend: bool = False
    insert_before: str | None = None
    insert_after: str | None = None
    append_newline: bool | None = False

    def check(self) -> Block:
        """Itself.

        Raises:
            UsageError: more than one place for a new block is given.
        """
        places = (self.append, self.prepend, self.insert_before, self.insert_after)
        if sum(map(bool, places)) > 1:
            raise UsageError(
                "Only one of append_if_not_found, prepend_if_not_found, insert_before_match, and"
                " insert_after_match is permitted"
            )
        return self

    def body(self, end: str) -> str:
        """The content with the line ends of its file."""
        text = self.content
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        if self.append_newline or (self.append_newline is None and not text.endswith("\n")):
            lines.append("")
        return end.join(lines)


def replace_blocks(text: str, block: Block) -> str:
    """The text with the content of every such block replaced, or the block added.

    Raises:
        FunctionError: there is no such block and no place for one, or a block has no end.
    """
    lines = split_lines(text)
    end = line_end(lines)
    body = block.body(end)
    found = _replace_within(lines, block, body, end)
    if found is None:
        found = _add_block(
            lines, block, f"{block.marker_start}{end}{body}{block.marker_end}{end}", end
        )
    return "".join(found)


def _replace_within(lines: Sequence[str], block: Block, body: str, end: str) -> list[str] | None:
    """The lines with all blocks replaced, ``None`` without a block."""
    result: list[str] = []
    inside, found = False, False
    for line in lines:
        if block.marker_start in line:
            result.append(line)
            inside = found = True
        elif not inside:
            result.append(line)
        elif block.marker_end in line:
            rest = line[line.index(block.marker_end) :].rstrip("\r\n")
            result.append(f"{body}{rest}{end}")
            inside = False
    if inside:
        raise FunctionError("Unterminated marked block. End of file reached before marker_end.")
    return result if found else None


def _add_block(lines: list[str], block: Block, whole: str, end: str) -> list[str]:
    place = _find_place(lines, block)
    if place is None:
        raise FunctionError("Cannot edit marked block. Markers were not found in file.")
    before = lines[:place]
    if before and not before[-1].endswith("\n"):
        before[-1] += end
    return [*before, whole, *lines[place:]]


def _find_place(lines: Sequence[str], block: Block) -> int | None:
    if block.prepend:
        return 0
    if block.append:
        return len(lines)
    for name, pattern, shift in (
        ("insert_before_match", block.insert_before, 0),
        ("insert_after_match", block.insert_after, 1),
    ):
        if not pattern:
            continue
        if not isinstance(pattern, str):
            raise FunctionError(f"RegEx expected in {name} parameter.")
        compiled = re.compile(pattern)
        found = (index for index, line in enumerate(lines) if compiled.search(line))
        return next((index + shift for index in found), None)
    return None
