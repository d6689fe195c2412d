"""The outputter of ``doctor``: a line for each cause, and the command that mends it below.

Source: docs/doctor.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.output_options import CYAN, GREEN, LIGHT_RED, YELLOW, OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters import nested

COLORS = {"error": LIGHT_RED, "warning": YELLOW, "note": CYAN}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """What of a report is shown."""

    findings: object = None
    fine: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One finding, as it came."""

    severity: object = ""
    check: object = ""
    what: object = ""
    where: object = ""
    mend: object = ""


def output(data: Plain, options: OutputOptions) -> str:
    """One report, or one of each minion; another value as ``nested`` shows it."""
    if _is_report(data) and isinstance(data, Mapping):
        return "\n".join(_format_report(data, options, ""))
    if isinstance(data, Mapping) and data and all(_is_report(one) for one in data.values()):
        return "\n".join(_format_minions(data, options))
    return nested.output(data, options)


def _is_report(value: Plain) -> bool:
    if not isinstance(value, Mapping):
        return False
    return isinstance(read_fields(_Report, value).findings, (list, tuple))


def _format_minions(data: Mapping[str, Plain], options: OutputOptions) -> Iterator[str]:
    for minion in nested.sorted_keys(data):
        report = data[minion]
        yield options.paint(f"{options.clean(minion)}:", CYAN)
        if isinstance(report, Mapping):
            yield from _format_report(report, options, "    ")


def _format_report(
    report: Mapping[str, Plain], options: OutputOptions, indent: str
) -> Iterator[str]:
    shown = read_fields(_Report, report)
    for one in shown.findings if isinstance(shown.findings, (list, tuple)) else ():
        if isinstance(one, Mapping):
            yield from _format_finding(read_fields(_Row, one), options, indent)
    names = shown.fine if isinstance(shown.fine, (list, tuple)) else ()
    if names:
        text = options.clean(", ".join(str(name) for name in names))
        yield indent + options.paint(f"fine: {text}", GREEN)


def _format_finding(row: _Row, options: OutputOptions, indent: str) -> Iterator[str]:
    severity, check, what, where, mend = (
        options.clean(str(one or ""))
        for one in (row.severity, row.check, row.what, row.where, row.mend)
    )
    yield indent + options.paint(f"{severity}: {check}: {what}", COLORS.get(severity, ""))
    if where:
        yield f"{indent}    where: {where}"
    if mend:
        yield f"{indent}    mend:  {mend}"
