"""Lines of commands that still run: whole, harmless, and with the minion's id."""

from __future__ import annotations

import io

import pytest

from saltlite.cli.streaming import LINE_MOST, MORE, OutputLines
from saltlite.client.collect import OUTPUT_MOST, Printed


def shown(*printed: Printed, end: str = "") -> list[str]:
    stream = io.StringIO()
    lines = OutputLines(stream, lambda: None)
    for one in printed:
        lines.show(one)
    if end:
        lines.end(end)
    return stream.getvalue().splitlines()


def test_a_line_is_shown_when_it_is_whole() -> None:
    assert shown(Printed("web1", "a\nb")) == ["web1: a"]
    assert shown(Printed("web1", "a\nb"), Printed("web1", "c\n\n")) == [
        "web1: a", "web1: bc", "web1: ",
    ]  # fmt: skip


def test_what_has_no_end_is_shown_at_the_end() -> None:
    assert shown(Printed("web1", "a"), end="web1") == ["web1: a"]
    assert shown(Printed("web1", "a\n"), end="web1") == ["web1: a"]
    assert shown(end="web1") == []


def test_minions_do_not_mix() -> None:
    assert shown(Printed("a", "1"), Printed("b", "2\n"), Printed("a", "3\n")) == ["b: 2", "a: 13"]


def test_a_cut_ends_the_line_and_says_so() -> None:
    assert shown(Printed("a", "1\n2", True), Printed("a", "3\n")) == [
        "a: 1", "a: 2", f"a: {MORE}", "a: 3",
    ]  # fmt: skip


def test_a_line_without_end_is_not_kept_for_ever() -> None:
    assert shown(Printed("a", "x" * (LINE_MOST + 1))) == ["a: " + "x" * (LINE_MOST + 1)]


def test_it_steers_no_terminal() -> None:
    assert shown(Printed("a", "\033]0;x\007\n")) == ["a: ?]0;x?"]


def test_room_is_made_only_where_something_is_written() -> None:
    cleared: list[int] = []
    lines = OutputLines(io.StringIO(), lambda: cleared.append(1))
    lines.show(Printed("a", "begun"))
    assert not cleared
    lines.show(Printed("a", "\n"))
    assert cleared == [1]


@pytest.mark.parametrize(
    ("data", "printed"),
    [
        ({"data": {"output": "a\n", "is_cut": True}}, Printed("m", "a\n", True)),
        ({"output": "a\n"}, Printed("m", "a\n")),
        ({"data": {"output": b"a"}}, Printed("m", "")),
        ({"data": {"output": ["a"], "is_cut": 1}}, Printed("m", "", True)),
        ({}, Printed("m", "")),
        ({"output": "x" * 100_000}, Printed("m", "x" * OUTPUT_MOST)),
    ],
)
def test_what_an_event_says(data: dict[str, object], printed: Printed) -> None:
    assert Printed.of("m", data) == printed
