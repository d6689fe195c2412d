"""Log records to syslog: ``file:///dev/log``, ``udp://host:port``, ``tcp://host:port``.

Each may end in a facility: ``file:///dev/log/LOG_DAEMON``. Used by :mod:`saltlite.cli.logs` alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from logging.handlers import SysLogHandler
from urllib.parse import urlsplit

NOT_THERE = (
    "The log_file does not exist. Logging not setup correctly or syslog service not started."
)
"""Salt's sentence."""

_KINDS = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


class Syslog(SysLogHandler):
    """Syslog; the first failure is told on stderr, later ones are passed over."""

    def __init__(
        self,
        target: str,
        address: str | tuple[str, int],
        facility: int,
        kind: socket.SocketKind | None = None,
    ) -> None:
        self._target = target
        self._said = False
        super().__init__(address, facility, kind)

    def handleError(self, record: logging.LogRecord) -> None:
        """Tell it once."""
        if self._said:
            return
        self._said = True
        _complain_of_target(self._target, sys.exc_info()[1])


def syslog_handler(target: str) -> logging.Handler | None:
    """The handler for an address; ``None``, after a line on stderr, if that is not one."""
    try:
        parts = urlsplit(target)
        path, facility = _read_facility(parts.path)
        if parts.scheme == "file":
            return _local_handler(target, path, facility)
        if parts.scheme not in _KINDS:
            raise ValueError("no such kind of log")
        address = (parts.hostname or "localhost", parts.port or 514)
        return Syslog(target, address, facility, _KINDS[parts.scheme])
    except (OSError, ValueError) as error:
        _complain_of_target(target, error)
        return None


def _local_handler(target: str, path: str, facility: int) -> logging.Handler | None:
    if os.path.exists(path):
        return Syslog(target, path, facility)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"[WARNING ] {NOT_THERE}\n")
    return None


def _complain_of_target(target: str, error: BaseException | None) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"[WARNING ] Failed to log to {target}: {error}\n")


def _read_facility(path: str) -> tuple[str, int]:
    head, _, last = path.rpartition("/")
    if last.startswith("LOG_"):
        name = last.removeprefix("LOG_").lower()
        return head, SysLogHandler.facility_names.get(name, SysLogHandler.LOG_USER)
    return path, SysLogHandler.LOG_USER
