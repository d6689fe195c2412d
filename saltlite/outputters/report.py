"""Answers of ``changes``: a line for each state, what changed below it. Source: docs/reports.md.

What has another form is shown as ``nested`` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.output_options import (
    CYAN,
    GREEN,
    LIGHT_GRAY,
    RED,
    YELLOW,
    OutputOptions,
)
from saltlite.core.plain import Plain
from saltlite.outputters import nested

NOTHING: Final = "Nothing was found."
UNKNOWN: Final = "(none)"
DIGEST: Final = "sha256"
"""The property of which the old value alone is told: where the content is in the file bucket."""


def output(data: Plain, options: OutputOptions) -> str:
    """A block for each entry, in the order in which they came."""
    if isinstance(data, Mapping) and len(data) == 1:
        # salt-call puts the minion's name above what it returns.
        (inner,) = data.values()
        if isinstance(inner, (list, tuple)):
            data = inner
    if not isinstance(data, (list, tuple)):
        return nested.output(data, options)
    if not data:
        return NOTHING
    entries = [read_fields(_Entry, one) for one in data if isinstance(one, Mapping)]
    if len(entries) < len(data) or not all(one.function for one in entries):
        return nested.output(data, options)
    return "\n".join(line for one in entries for line in _format_entry(one, options))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A state of an answer; nothing is known of who made it."""

    time: Any = ""
    minion: Any = ""
    function: Any = ""
    name: Any = ""
    id: Any = ""
    sls: Any = ""
    duration_ms: Any = 0
    jid: Any = ""
    user: Any = ""
    result: Any = True
    test: Any = False
    drift: Any = ""
    times: Any = 0
    first: Any = ""
    changes: Any = None
    comment: Any = ""


@dataclass(frozen=True, slots=True)
class _Pair:
    """What a property was and is."""

    old: Any = None
    new: Any = None


def _format_entry(entry: _Entry, options: OutputOptions) -> Iterator[str]:
    def word(value: object) -> str:
        return options.clean(str(value)).replace("\n", " ")

    head = "  ".join(map(word, (entry.time, entry.minion, entry.function, entry.name)))
    yield options.paint(head, _choose_color(entry))
    source = f"{word(entry.id)} in {word(entry.sls)}" if entry.sls else word(entry.id)
    parts = [source, f"{word(entry.duration_ms)} ms", f"job {word(entry.jid)}"]
    if entry.user:
        parts.append(f"by {word(entry.user)}")
    if entry.drift:
        times = f"{word(entry.times)} times since {word(entry.first)}"
        parts.insert(0, f"{word(entry.drift)}, {times}")
    elif entry.test:
        parts.insert(0, "not done")
    yield options.paint(f"    {'; '.join(parts)}", LIGHT_GRAY)
    for name, pair in entry.changes.items() if isinstance(entry.changes, Mapping) else ():
        found = read_fields(_Pair, pair) if isinstance(pair, Mapping) else _Pair(None, pair)
        yield from _format_change(str(name), found, options)
    for line in str(entry.comment or "").splitlines():
        yield f"    {options.clean(line)}"


def _choose_color(entry: _Entry) -> str:
    if entry.result is False:
        return RED
    return YELLOW if entry.test else CYAN


def _format_change(name: str, pair: _Pair, options: OutputOptions) -> Iterator[str]:
    label = f"    {options.clean(name)}: " if name else "    "
    both = [UNKNOWN if one is None else str(one) for one in (pair.old, pair.new)]
    told = both if pair.old is not None else both[1:]
    if pair.new is None and name.rpartition(":")[2] == DIGEST:
        told = [f"was {both[0]}"]
    if "\n" not in "".join(told):
        yield label + options.paint(options.clean(" -> ".join(told)), GREEN)
        return
    yield label.rstrip()
    for text in told:
        for line in text.splitlines():
            yield options.paint(f"        {options.clean(line)}", GREEN)
