"""The outputter of ``doctor``: a line for each cause, and the command that mends it below.

Source: docs/doctor.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltlite.core.output_options import CYAN, GREEN, LIGHT_RED, YELLOW, OutputOptions
from saltlite.core.plain import Plain
from saltlite.outputters import nested

COLORS = {"error": LIGHT_RED, "warning": YELLOW, "note": CYAN}


def output(data: Plain, options: OutputOptions) -> str:
    """One report, or one of each minion; another value as ``nested`` shows it."""
    if _is_report(data) and isinstance(data, Mapping):
        return "\n".join(_format_report(data, options, ""))
    if isinstance(data, Mapping) and data and all(_is_report(one) for one in data.values()):
        return "\n".join(_format_minions(data, options))
    return nested.output(data, options)


def _is_report(value: Plain) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("findings"), (list, tuple))


def _format_minions(data: Mapping[str, Plain], options: OutputOptions) -> Iterator[str]:
    for minion in nested.sorted_keys(data):
        report = data[minion]
        yield options.paint(f"{options.clean(minion)}:", CYAN)
        if isinstance(report, Mapping):
            yield from _format_report(report, options, "    ")


def _format_report(
    report: Mapping[str, Plain], options: OutputOptions, indent: str
) -> Iterator[str]:
    findings = report["findings"]
    for one in findings if isinstance(findings, (list, tuple)) else ():
        if isinstance(one, Mapping):
            yield from _format_finding(one, options, indent)
    fine = _join_names(report.get("fine"), options)
    if fine:
        yield indent + options.paint(f"fine: {fine}", GREEN)


def _format_finding(
    finding: Mapping[str, Plain], options: OutputOptions, indent: str
) -> Iterator[str]:
    severity, check, what, where, mend = (
        options.clean(str(finding.get(name) or ""))
        for name in ("severity", "check", "what", "where", "mend")
    )
    yield indent + options.paint(f"{severity}: {check}: {what}", COLORS.get(severity, ""))
    if where:
        yield f"{indent}    where: {where}"
    if mend:
        yield f"{indent}    mend:  {mend}"


def _join_names(value: Plain, options: OutputOptions) -> str:
    names = value if isinstance(value, (list, tuple)) else ()
    return options.clean(", ".join(str(name) for name in names))
