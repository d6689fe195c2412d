"""What a check says: values that travel between processes, and the report that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from saltlite.core.dataclasses import dataclass

TEXT_LIMIT: Final = 500
"""Of one field; names and error texts may come from others."""

FINDINGS_LIMIT: Final = 50
"""Of one check; how many more there are is said."""


class Severity(IntEnum):
    """How bad something is; the largest of a report decides about its exit code."""

    UNSEEN = 0
    """There is nothing that the check could look at."""
    NOTE = 1
    """Worth knowing; nothing has to be done."""
    WARNING = 2
    """Works, and may not for long, or not as somebody thinks."""
    ERROR = 3
    """Does not work."""


EXIT_CODES: Final = {Severity.UNSEEN: 0, Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause.

    ``where`` is a file, an option, an id or an address. ``mend`` is a command, or a sentence where
    no command would do; empty where nothing has to be done.
    """

    severity: Severity
    what: str
    where: str
    mend: str = ""


def unseen(why: str) -> Finding:
    """What a check says that has nothing to look at; it counts as skipped, not as fine."""
    return Finding(Severity.UNSEEN, why, "")


def note(what: str, where: str, mend: str = "") -> Finding:
    """A finding that is worth knowing."""
    return Finding(Severity.NOTE, what, where, mend)


def warning(what: str, where: str, mend: str) -> Finding:
    """A finding that somebody should see to."""
    return Finding(Severity.WARNING, what, where, mend)


def error(what: str, where: str, mend: str) -> Finding:
    """A finding that keeps something from working."""
    return Finding(Severity.ERROR, what, where, mend)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of one check, and how long it took."""

    name: str
    findings: Sequence[Finding]
    took_s: float


def exit_code(results: Iterable[CheckResult]) -> int:
    """0 with nothing but notes, 1 with warnings, 2 with errors."""
    codes = [EXIT_CODES[one.severity] for result in results for one in result.findings]
    return max(codes, default=0)


def make_report(results: Sequence[CheckResult], skipped: Sequence[str]) -> dict[str, Any]:
    """The report as it is returned: findings with the worst first, and the checks without any."""
    rows = [(one, result.name) for result in results for one in result.findings]
    idle = [name for one, name in rows if one.severity is Severity.UNSEEN]
    rows = [row for row in rows if row[0].severity is not Severity.UNSEEN]
    rows.sort(key=lambda row: -row[0].severity)
    return {
        "findings": [_as_map(finding, name) for finding, name in rows],
        "fine": [result.name for result in results if not result.findings],
        "skipped": [*skipped, *idle],
        "seconds": {result.name: round(result.took_s, 3) for result in results},
        "retcode": exit_code(results),
    }


def _as_map(finding: Finding, name: str) -> dict[str, Any]:
    return {
        "severity": finding.severity.name.lower(),
        "check": name,
        "what": finding.what,
        "where": finding.where,
        "mend": finding.mend,
    }


def pack_findings(findings: Iterable[Finding]) -> list[list[Any]]:
    """Findings as they go through a pipe: bounded in number and length."""
    packed: list[list[Any]] = []
    more = 0
    for one in findings:
        if len(packed) < FINDINGS_LIMIT:
            packed.append(
                [int(one.severity), *(cut_text(text) for text in (one.what, one.where, one.mend))]
            )
        else:
            more += 1
    if more:
        packed.append([int(Severity.NOTE), f"{more} more of this kind", "", ""])
    return packed


def unpack_findings(packed: Iterable[Sequence[Any]]) -> list[Finding]:
    """The findings of :func:`pack_findings`."""
    return [Finding(Severity(number), *texts) for number, *texts in packed]


def cut_text(text: str) -> str:
    """A text on one line, and not too long."""
    line = " ".join(str(text).split())
    return line if len(line) <= TEXT_LIMIT else f"{line[:TEXT_LIMIT]}…"


def list_names(names: Sequence[str], most: int = 5) -> str:
    """``a, b, c and 7 more``."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def read_findings(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The findings of a report that came from elsewhere; nothing for another value."""
    found = report.get("findings")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
