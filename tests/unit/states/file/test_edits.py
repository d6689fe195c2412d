"""Lines that are found again: letter by letter means what the expression means."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from saltlite.states.file import edits

TEXTS = st.text("ab.*(\\ \t\n\r\x0b\x85\u2028", max_size=12)


def found_by_expression(chunk: str, text: str) -> bool:
    """With each line's words, and whatever spaces, or none, between and around them."""
    space = r"(?:[\s]+)?"
    lines = [space.join(map(re.escape, line.split())) for line in chunk.splitlines()]
    body = "".join(f"{space}{line}{space}" for line in lines)
    return re.search(f"(?m)^{body}$", text) is not None


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS, TEXTS, st.booleans())
@example("a b", "", "", True)
@example("a\n\nb", "x\n", "\nx", True)
@example("", "x", "", True)
@example("a b", "  a\tb ", "", False)
@example("a\r", "", "\n", True)
def test_a_chunk_is_found_as_its_expression_finds_it(
    tmp_path: Path, chunk: str, before: str, after: str, holds: bool
) -> None:
    text = f"{before}{chunk if holds else ''}{after}"
    path = tmp_path / "f"
    path.write_bytes(text.encode())
    lines = edits.AddedLines(
        str(path), begin=False, header=False, spaces_differ=True, encoding=edits.UTF_8
    )
    assert lines._has_chunk(chunk) is found_by_expression(chunk, text)
