"""New entries of systemd's journal, from ``journalctl`` that follows it.

Source: journalctl(1), systemd.journal-fields(7); which fields are numbers is python-systemd's list.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.host import Host

log = logging.getLogger(__name__)

READ_BYTES: Final = 1 << 20
LINE_LIMIT_BYTES: Final = 4 * 1024 * 1024
CURSOR: Final = "__CURSOR"
NUMBERS: Final = frozenset(
    {
        "CODE_LINE", "ERRNO", "EXIT_STATUS", "INITRD_USEC", "KERNEL_USEC", "LEADER", "PRIORITY",
        "SYSLOG_FACILITY", "SYSLOG_PID", "USERSPACE_USEC", "_AUDIT_LOGINUID", "_AUDIT_SESSION",
        "_GID", "_PID", "_UID",
    }
)  # fmt: skip
NOT_SIMPLE: Final = frozenset(
    {
        "COREDUMP_TIMESTAMP", "MESSAGE_ID", "_BOOT_ID", "_MACHINE_ID",
        "_SOURCE_MONOTONIC_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP",
        "__REALTIME_TIMESTAMP",
    }
)  # fmt: skip
"""Times and ids, which events of Salt do not have."""


def simple_fields(entry: Mapping[str, object]) -> dict[str, Any]:
    """The texts and numbers of an entry, lists of them where a field is there twice. Pure.

    What is no text has U+FFFD for each byte that is none.
    """
    return {
        name: _convert_field(name, value)
        for name, value in entry.items()
        if name not in NOT_SIMPLE and value is not None  # journalctl leaves out what is too long
    }


def _convert_field(name: str, value: object) -> Any:
    """One field; journalctl writes bytes that are no text as a list of numbers."""
    if isinstance(value, list):
        if all(isinstance(one, int) for one in value):
            return bytes(one & 0xFF for one in value).decode("utf-8", "replace")
        return [_convert_field(name, one) for one in value]
    text = str(value)
    return int(text) if name in NUMBERS and is_digits(text.removeprefix("-")) else text


class Journal:
    """The journal from now on; where the program ends, another one goes on from its place."""

    def __init__(self, host: Host) -> None:
        """Raises FunctionError: there is no ``journalctl``."""
        self._host = host
        self._cursor = ""
        self._part = b""
        self._child: subprocess.Popen[bytes] | None = self._start_journalctl()

    def entries(self) -> list[dict[str, Any]]:
        """The entries that have come since the last look, up to ``READ_BYTES``.

        Raises:
            FunctionError: the program has ended; the next look starts it again.
        """
        if self._child is None:
            self._child = self._start_journalctl()
        ended = self._child.poll()
        found = list(self._split_entries(self._read_pipe(self._child)))
        if ended is not None and not found:
            self.close()
            raise FunctionError(f"journalctl has ended with exit code {ended}")
        return found

    def close(self) -> None:
        """End the program."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
        self._host.awaits_no_more(child.pid)

    def _start_journalctl(self) -> subprocess.Popen[bytes]:
        program = self._host.which("journalctl")
        if program is None:
            raise FunctionError("journalctl is not there")
        begin = [f"--after-cursor={self._cursor}"] if self._cursor else ["--lines=0"]
        self._host.will_await()
        child = subprocess.Popen(
            [program, "--output=json", "--follow", "--no-pager", "--quiet", *begin],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._host.awaits(child.pid)  # it ends when we do, however we end
        assert child.stdout is not None  # noqa: S101 - asked for above
        os.set_blocking(child.stdout.fileno(), False)
        self._part = b""
        return child

    @staticmethod
    def _read_pipe(child: subprocess.Popen[bytes]) -> bytes:
        assert child.stdout is not None  # noqa: S101 - as above
        found = bytearray()  # a pipe gives 64 KiB at a time
        with contextlib.suppress(BlockingIOError):
            while len(found) < READ_BYTES:
                part = os.read(child.stdout.fileno(), READ_BYTES - len(found))
                if not part:
                    break
                found += part
        return bytes(found)

    def _split_entries(self, data: bytes) -> Iterator[dict[str, Any]]:
        *lines, self._part = (self._part + data).split(b"\n")
        if len(self._part) > LINE_LIMIT_BYTES:
            log.error("an entry of the journal is too long and is left out")
            self._part = b""
        for line in lines:
            entry = self._parse_entry(line)
            if entry is not None:
                self._cursor = str(entry.get(CURSOR, self._cursor))
                yield entry

    @staticmethod
    def _parse_entry(line: bytes) -> dict[str, Any] | None:
        try:
            found = json.loads(line)
        except ValueError:
            log.debug("not an entry of the journal: %.80r", line)
            return None
        return found if isinstance(found, dict) else None
