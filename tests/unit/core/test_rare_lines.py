"""One line of a flood."""

from __future__ import annotations

from saltlite.core.rare_lines import EVERY_S, RareLine


def test_what_is_left_out_is_told_with_the_next_line() -> None:
    line = RareLine()
    assert [line.count(now_s) for now_s in (5.0, 5.0, 5.0 + EVERY_S / 2)] == ["", None, None]
    assert line.count(5.0 + EVERY_S) == " (2 more not shown)"
    assert line.count(5.0 + 2 * EVERY_S) == ""
