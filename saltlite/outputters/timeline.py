"""The steps of a job one below the other, as ``jobs.trace`` tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.output_options import CYAN, LIGHT_GRAY, YELLOW, OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters import nested

LONGEST: Final = "  <-- longest"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One step of the data of ``jobs.trace``."""

    at_s: float = 0.0
    took_s: float = 0.0
    where: Any = ""
    what: Any = ""
    inner: bool = False
    longest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """The data of ``jobs.trace``."""

    jid: Any = ""
    function: Any = ""
    minion: Any = ""
    total_s: float = 0.0
    steps: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[Any] = ()


def output(data: Plain, options: OutputOptions) -> str:
    """A line for each step, then what is to be said of all; other data as ``nested`` shows it."""
    if not isinstance(data, Mapping) or "steps" not in data:
        return nested.output(data, options)
    trace = read_fields(_Trace, data)
    steps = [read_fields(_Step, one) for one in trace.steps]
    title = f"{trace.jid}  {trace.function}  {trace.minion}  {trace.total_s:.3f} s"
    width = max((len(options.clean(str(one.where))) for one in steps), default=0)
    lines = [
        options.paint(options.clean(title), CYAN),
        options.paint(f"{'at s':>9} {'took s':>9}  {'where':<{width}}  what", LIGHT_GRAY),
        *(_format_step(one, width, options) for one in steps),
        *(options.clean(str(note)) for note in trace.notes),
    ]
    return "\n".join(lines)


def _format_step(step: _Step, width: int, options: OutputOptions) -> str:
    where, what = options.clean(str(step.where)), options.clean(str(step.what))
    text = (
        f"{step.at_s:9.4f} {step.took_s:9.4f}  {where:<{width}}  {'  ' if step.inner else ''}{what}"
    )
    return options.paint(f"{text}{LONGEST}", YELLOW) if step.longest else text
