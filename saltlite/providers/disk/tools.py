"""``df``, ``blkid``, ``blockdev``, ``iostat``, ``smartctl`` and ``lsblk``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits

_BLKID = regex(r'(\S+?)="([^"]*)"')
_USAGE = ("filesystem", "1K-blocks", "used", "available", "capacity")


def parse_df(text: str) -> dict[str, dict[str, str]]:
    """``df -P``, also with a column for the kind; by mount point."""
    return {
        mount: dict(zip(_USAGE, (head, *values), strict=True))
        for head, values, mount in _parse_rows(text)
    }


def parse_df_inodes(text: str) -> dict[str, dict[str, str]]:
    """``df -iP``; by mount point."""
    return {
        mount: {
            "inodes": values[0],
            "used": values[1],
            "free": values[2],
            "use": values[3],
            "filesystem": head,
        }
        for head, values, mount in _parse_rows(text)
    }


def _parse_rows(text: str) -> Iterator[tuple[str, Sequence[str], str]]:
    """What stands before the numbers, the four of them, and the mount point."""
    for line in text.splitlines()[1:]:
        match = re.match(r"(.+?)\s+(-|\d+)\s+(-|\d+)\s+(-|\d+)\s+(-|\d+%)\s+(\S.*)", line)
        if match:
            head, *values, mount = match.groups()
            yield " ".join(head.split()), values, mount


def parse_blkid(text: str) -> dict[str, dict[str, str]]:
    """``blkid``: what it knows of each device."""
    found = {}
    for line in text.splitlines():
        device, colon, rest = line.partition(": ")
        if colon:
            found[device] = dict(_BLKID.findall(rest))
    return found


def parse_fstype(lsblk: str) -> str:
    """``lsblk -o fstype``: the first kind under the heading, empty without one."""
    words = lsblk.split()
    return words[1] if len(words) > 1 else ""


def parse_df_kind(text: str) -> str:
    """``df -T``: the kind in the first row."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return rows[0][1] if rows and len(rows[0]) > 1 else ""


def parse_iostat(text: str) -> dict[str, dict[str, float]]:
    """``iostat -x`` with several reports: the mean of each column, without the first report."""
    reports: list[dict[str, dict[str, float]]] = []
    columns: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            columns = []
        elif words[0].rstrip(":") == "Device":
            columns = words[1:]
            reports.append({})
        elif columns and len(words) == len(columns) + 1:
            values = (float(word.replace(",", ".")) for word in words[1:])
            reports[-1][words[0]] = dict(zip(columns, values, strict=True))
    return _mean_values(reports[1:] or reports)


def _mean_values(reports: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for device in dict.fromkeys(name for report in reports for name in report):
        rows = [report[device] for report in reports if device in report]
        found[device] = {
            column: round(sum(row[column] for row in rows) / len(rows), 2) for column in rows[0]
        }
    return found


def parse_smart(text: str) -> dict[int, dict[str, Any]]:
    """``smartctl --attributes``: by the attribute's number."""
    found = {}
    for line in text.splitlines():
        words = line.split(None, 9)
        if len(words) == 10 and is_digits(words[0]):
            found[int(words[0])] = {
                "name": words[1],
                "flags": words[2],
                "value": int(words[3]) if is_digits(words[3]) else words[3],
                "worst": int(words[4]) if is_digits(words[4]) else words[4],
                "threshold": int(words[5]) if is_digits(words[5]) else words[5],
                "type": words[6],
                "updated": words[7],
                "failed": words[8],
                "raw": words[9],
            }
    return found
