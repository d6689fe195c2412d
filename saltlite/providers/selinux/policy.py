"""``semanage``, ``semodule``, ``restorecon``: how they are called, and what they print.

Source: semanage(8), semodule(8), restorecon(8) and the output of policycoreutils 2.5 to 3.5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, ProgramMissing
from saltlite.providers import command
from saltlite.providers.command import CommandOptions, Outcome

MOUNTED = ("/sys/fs/selinux", "/selinux")
"""Where the kernel's SELinux may be; the file ``enforce`` below says 1 or 0."""

CONFIG = "/etc/selinux/config"

KINDS: Final[Mapping[str, str]] = {
    "a": "all files",
    "f": "regular file",
    "d": "directory",
    "c": "character device",
    "b": "block device",
    "s": "socket",
    "l": "symbolic link",
    "p": "named pipe",
}
"""Kinds of files, as they are given to ``semanage fcontext`` and as it prints them."""

_BOOLEAN = regex(r"(\S+)\s+\((\w+)\s*,\s*(\w+)\)\s*(.*)")
_FILE = regex(rf"(\S.*?)\s+({'|'.join(KINDS.values())})\s+(\S+)\s*")
_PORT = regex(r"(\S+)\s+(tcp|udp|dccp|sctp)\s+(\d.*?)\s*")
_RELABELLED = (
    re.compile(r"(?:Would relabel|Relabeled) (.+) from (\S+) to (\S+)"),
    re.compile(r"\S*restorecon reset (.+) context (\S+?)->(\S+)"),
)
_BELOW = regex(r"\(/\.\*\)\?$")
_SELINUX_LINE = regex(r"^(SELINUX=).*$", re.MULTILINE)


def run(ctx: MinionContext, *argv: str) -> Outcome:
    """Run one of the tools.

    Raises:
        ProgramMissing: it is not there.
    """
    if ctx.host.which(argv[0]) is None:
        raise ProgramMissing(argv[0])
    return command.run(ctx, list(argv), CommandOptions(python_shell=False, ignore_retcode=True))


def ask(ctx: MinionContext, *argv: str) -> str:
    """What one of the tools prints.

    Raises:
        FunctionError: it is not there, or fails.
    """
    done = run(ctx, *argv)
    if done.retcode != 0:
        raise FunctionError(f"{' '.join(argv[:2])} failed: {done.stderr or done.stdout}")
    return done.stdout


def parse_booleans(text: str) -> dict[str, dict[str, str]]:
    """``semanage boolean -l``: State, Default (after a restart) and Description by name."""
    rows = (_BOOLEAN.fullmatch(line) for line in text.splitlines())
    return {
        row[1]: {"State": row[2], "Default": row[3], "Description": row[4]} for row in rows if row
    }


def parse_files(text: str) -> list[dict[str, str]]:
    """``semanage fcontext -l``: rules with their context in parts, not those of ``<<None>>``."""
    found = []
    for line in text.splitlines():
        row = _FILE.fullmatch(line)
        context = row[3].split(":", 3) if row else []
        if row and len(context) >= 3:
            user, role, kind, *level = context
            found.append(
                {
                    "filespec": row[1],
                    "filetype": row[2],
                    "sel_user": user,
                    "sel_role": role,
                    "sel_type": kind,
                    "sel_level": "".join(level),
                }
            )
    return found


def parse_ports(text: str) -> list[dict[str, str]]:
    """``semanage port -l``: ``sel_type``, ``protocol`` and ``port``: numbers, ranges, commas."""
    rows = (_PORT.fullmatch(line) for line in text.splitlines())
    return [{"sel_type": row[1], "protocol": row[2], "port": row[3]} for row in rows if row]


def parse_modules(text: str, *, full: bool) -> dict[str, dict[str, bool | str | None]]:
    """``semodule -l``, or with ``full`` ``-lfull``, whose rows have a priority and no version."""
    found: dict[str, dict[str, bool | str | None]] = {}
    for line in text.splitlines():
        words = line.split()
        if full and len(words) > 2:
            found[words[1]] = {"Enabled": "disabled" not in words[3:], "Version": None}
        elif not full and words:
            version = words[1] if len(words) > 1 else None
            found[words[0]] = {"Enabled": words[2:] != ["Disabled"], "Version": version}
    return found


def parse_relabelled(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """What ``restorecon -v`` (or ``-nv``) changes: the old and the new type by path."""
    found = {}
    for line in text.splitlines():
        row = next((row for each in _RELABELLED if (row := each.fullmatch(line))), None)
        if row:
            found[row[1]] = {
                "old": {"sel_type": _type_of(row[2])},
                "new": {"sel_type": _type_of(row[3])},
            }
    return found


def _type_of(context: str) -> str:
    return context.split(":")[2] if context.count(":") >= 2 else context


def path_of(spec: str) -> str:
    """The path that a rule for it and all below begins with: ``/srv(/.*)?`` is of ``/srv``."""
    return _BELOW.sub("", spec)


def configured_mode(config: str) -> str | None:
    """The mode after a restart, as :func:`selinux.getenforce` would say it."""
    rows = [line for line in config.splitlines() if line.startswith("SELINUX=")]
    return rows[0].partition("=")[2].strip().capitalize() if rows else None


def with_mode(config: str, mode: str) -> str:
    """The configuration with another mode."""
    line = f"SELINUX={mode.lower()}"
    if _SELINUX_LINE.search(config):
        return _SELINUX_LINE.sub(line, config)
    return f"{config}{line}\n"
