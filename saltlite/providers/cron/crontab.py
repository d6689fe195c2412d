"""A crontab as text in, text out. Pure.

Salt keeps to the part below a line of its own; what stands above is the user's and stays. A job may
have a comment, whose last line carries an identifier, and may be disabled by a mark before it.
Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass, field, replace

HEADER = "# Lines below here are managed by Salt, do not edit"
IDENTIFIER = "SALT_CRON_IDENTIFIER"
DISABLED = "#DISABLED#"
RANDOM = "random"

FIELDS = ("minute", "hour", "daymonth", "month", "dayweek")
RANGES = {
    "minute": (0, 59),
    "hour": (0, 23),
    "daymonth": (1, 31),
    "month": (1, 12),
    "dayweek": (0, 6),
}


@dataclass(frozen=True, slots=True)
class CrontabJob:
    """A line that runs a command, with what stands before it.

    ``when`` has the five fields, or one word that begins with ``@``. ``identifier`` and ``comment``
    are ``None`` where there is no comment at all.
    """

    when: tuple[str, ...]
    cmd: str
    identifier: str | None = None
    comment: str | None = None
    commented: bool = False

    @property
    def special(self) -> bool:
        """Whether it runs at a named moment."""
        return len(self.when) == 1

    def as_map(self) -> dict[str, Any]:
        """As ``cron.list_tab`` shows it."""
        names = ("spec",) if self.special else FIELDS
        shown: dict[str, Any] = dict(zip(names, self.when, strict=True))
        if self.special:
            shown["cmd"] = self.cmd
        shown["identifier"] = self.identifier
        shown["cmd"] = self.cmd
        shown["comment"] = self.comment
        shown["commented"] = self.commented
        return shown

    def lines(self) -> list[str]:
        """The lines of the file."""
        mark = DISABLED if self.commented else ""
        return [*self._comment_lines(), f"{mark}{' '.join(self.when)} {self.cmd}"]

    def _comment_lines(self) -> list[str]:
        if self.comment is None and self.identifier is None:
            return []
        said = (self.comment or "").rstrip().split("\n")
        lines = [f"# {line}".rstrip() for line in said]
        if self.identifier:
            lines[-1] += f" {IDENTIFIER}:{self.identifier}"
        return lines

    def is_meant(self, cmd: str, identifier: str | None) -> bool:
        """Whether a call means this job: by identifier; by command if this job has none."""
        if self.identifier is None:
            return self.cmd == cmd
        return identifier is not None and self.identifier == identifier


@dataclass(slots=True)
class Table:
    """A whole crontab."""

    pre: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    jobs: list[CrontabJob] = field(default_factory=list)

    def as_map(self) -> dict[str, Any]:
        """As ``cron.list_tab`` shows it."""
        return {
            "pre": list(self.pre),
            "crons": [job.as_map() for job in self.jobs if not job.special],
            "special": [job.as_map() for job in self.jobs if job.special],
            "env": [{"name": name, "value": value} for name, value in self.env.items()],
        }

    def text(self) -> str:
        """The file."""
        ordered = sorted(self.jobs, key=lambda job: job.special)
        lines = [*self.pre, HEADER]
        lines += [f"{name}={value}" for name, value in self.env.items()]
        for job in ordered:
            lines += job.lines()
        return "".join(f"{line}\n" for line in lines)


def parse(text: str) -> Table:
    """The table in a file; below Salt's line what is no job and no setting is dropped."""
    table = Table()
    above, found, below = _split_table(text.splitlines())
    table.pre = above
    if found:
        _read_lines(table, below)
    return table


def _split_table(lines: list[str]) -> tuple[list[str], bool, list[str]]:
    for index, line in enumerate(lines):
        if line.startswith(HEADER):
            return lines[:index], True, lines[index + 1 :]
    return lines, False, []


def _read_lines(table: Table, lines: list[str]) -> None:
    identifier: str | None = None
    comment: str | None = None
    for line in lines:
        if line.startswith("#") and not line.startswith(DISABLED):
            said, identifier = _parse_comment(line)
            comment = said if comment is None else f"{comment}\n{said}"
            continue
        job = _parse_job(line)
        if job is not None:
            table.jobs.append(replace(job, identifier=identifier, comment=comment))
        elif _is_setting(line):
            name, _, value = line.partition("=")
            table.env[name] = value
        identifier = comment = None


def _parse_comment(line: str) -> tuple[str, str | None]:
    said, mark, identifier = line.lstrip("#").partition(f"{IDENTIFIER}:")
    return said.strip(), identifier.strip() if mark else None


def _parse_job(line: str) -> CrontabJob | None:
    commented = line.startswith(DISABLED)
    line = line.removeprefix(DISABLED)
    count = 1 if line.startswith("@") else len(FIELDS)
    words = line.split(" ", count)
    if len(words) <= count or _is_setting(line):
        return None
    return CrontabJob(tuple(words[:count]), words[count], commented=commented)


def _is_setting(line: str) -> bool:
    name, equals, _ = line.partition("=")
    return bool(equals) and bool(name) and " " not in name and not name.startswith("@")


def has_changed(old: CrontabJob, wanted: CrontabJob) -> bool:
    """Whether setting a job anew would change it. One without an identifier always changes."""
    if wanted.identifier is None or wanted.identifier != old.identifier:
        return True
    differs = (
        wanted.comment is not None and wanted.comment != old.comment,
        wanted.commented != old.commented,
        wanted.cmd != old.cmd,
        any(_time_changed(was, will) for was, will in zip(old.when, wanted.when, strict=True)),
    )
    return any(differs)


def _time_changed(was: str, will: str) -> bool:
    return was == "*" if will == RANDOM else was != will


def put_job(table: Table, wanted: CrontabJob) -> str:
    """Set a job: ``new``, ``updated`` or ``present``. What is not said stays as it was."""
    index = _find_place(table, wanted.cmd, {}, wanted.identifier, special=wanted.special)
    if index is None:
        table.jobs.append(wanted)
        return "new"
    old = table.jobs[index]
    if not has_changed(old, wanted):
        return "present"
    del table.jobs[index]
    table.jobs.append(
        replace(
            wanted,
            when=tuple(
                was if will == RANDOM and was != "*" else will
                for was, will in zip(old.when, wanted.when, strict=True)
            ),
            comment=old.comment if wanted.comment is None else wanted.comment,
            identifier=old.identifier if wanted.identifier is None else wanted.identifier,
        )
    )
    return "updated"


def drop(
    table: Table, cmd: str, when: Mapping[int, str], identifier: str | None, *, special: bool
) -> str:
    """Take a job out: ``removed`` or ``absent``. ``when`` has the fields that must agree."""
    index = _find_place(table, cmd, when, identifier, special=special)
    if index is None:
        return "absent"
    del table.jobs[index]
    return "removed"


def _find_place(
    table: Table, cmd: str, when: Mapping[int, str], identifier: str | None, *, special: bool
) -> int | None:
    """Where the job is that a call means; one with its identifier before one with its command."""
    found = [
        index
        for index, job in enumerate(table.jobs)
        if job.special is special
        and job.is_meant(cmd, identifier)
        and all(job.when[place] == value for place, value in when.items())
    ]
    named = [index for index in found if table.jobs[index].identifier is not None]
    return next(iter([*named, *found]), None)
