"""How long each state took, as one table. Source: observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltlite.core.output_options import LIGHT_GRAY, WHITE, OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters import nested

HEAD = ("name", "mod.fun", "duration (ms)")
UNKNOWN_MS = -1.0
MARGIN = "    "


def output(data: Plain, options: OutputOptions) -> str:
    """A row per state of every minion; nested where there is something else than states."""
    if not isinstance(data, Mapping) or not all(_is_run(run) for run in data.values()):
        return nested.output(data, options)
    rows = [row for run in data.values() for row in _collect_rows(run)]
    return "\n".join(_format_table([HEAD, *rows], options)) if rows else ""


def _is_run(run: Plain) -> bool:
    return isinstance(run, Mapping) and all(isinstance(state, Mapping) for state in run.values())


def _collect_rows(run: Plain) -> Iterator[tuple[str, str, str]]:
    assert isinstance(run, Mapping)  # noqa: S101 - looked at before
    for key in run:
        state = run[key]
        assert isinstance(state, Mapping)  # noqa: S101 - looked at before
        parts = str(key).split("_|-")
        duration = state.get("duration")
        taken_ms = float(duration) if isinstance(duration, (int, float)) else UNKNOWN_MS
        yield str(state.get("name", "<>")), f"{parts[0]}.{parts[-1]}", f"{taken_ms:.4f}"


def _format_table(rows: list[tuple[str, str, str]], options: OutputOptions) -> Iterator[str]:
    name, function, taken = (max(len(row[place]) for row in rows) for place in range(3))
    rule = MARGIN + options.paint("-" * (name + function + taken + 10), LIGHT_GRAY)
    yield rule
    for row in rows:
        cells = (
            options.clean(row[0]).center(name),
            options.clean(row[1]).center(function),
            row[2].rjust(taken),
        )
        yield MARGIN + options.paint(f"| {' | '.join(cells)} |", WHITE)
        yield rule
