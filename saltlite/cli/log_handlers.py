"""Where log records go: the console, a file or syslog, by the options of docs/config.md#log.

Loaded with ``logging`` itself, for :mod:`saltlite.cli.logs`. A record is one line whatever a peer
put into it: control characters are shown, not sent to the terminal. Nothing here ever stops the
work: a log that cannot be written costs one line on stderr.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.config.display import LOG_FILE_MODE, LOG_LEVELS
from saltlite.core.lazyregex import regex
from saltlite.core.terminal import UNSAFE
from saltlite.errors import StoreError

if TYPE_CHECKING:
    from saltlite.config.display import LogOptions

    _Stream = logging.StreamHandler[Any]
else:
    _Stream = logging.StreamHandler  # Python 3.10 takes no type in brackets here

EARLY_FORMAT = "[%(levelname)-8s] %(message)s"

_UNPRINTABLE = regex(f"[\t\n{UNSAFE}]")
_UNPRINTABLE_IN_TRACES = regex(f"[{UNSAFE}]")

_COLOURS = (
    (logging.CRITICAL, "\x1b[0;1;31m"),
    (logging.ERROR, "\x1b[0;31m"),
    (logging.WARNING, "\x1b[0;33m"),
    (logging.INFO, "\x1b[0;32m"),
    (0, "\x1b[0;36m"),
)
_PLAIN = "\x1b[0;0m"

EARLY_RECORDS = 200
"""How many records of the start are kept for the log file; a configuration gives a few at most."""

_ours: list[logging.Handler] = []


def install_early(level: str) -> None:
    """As :func:`saltlite.cli.logs.early`."""
    _name_levels()
    console = _console_handler(EARLY_FORMAT, "%H:%M:%S", _Threshold(LOG_LEVELS[level], {}))
    _install_handlers([console, _Kept()])


def early_records() -> list[dict[str, Any]]:
    """As :func:`saltlite.cli.logs.early_records`."""
    return [each for handler in _ours if isinstance(handler, _Kept) for each in handler.records]


def write_kept(records: Iterable[Mapping[str, object]]) -> None:
    """As :func:`saltlite.cli.logs.write_kept`."""
    for fields in records:
        record = logging.makeLogRecord(dict(fields))
        for handler in _ours:
            if not _is_console(handler):
                handler.handle(record)


def install(
    options: LogOptions, *, console: bool, log_file: str | None, at_once: bool, colour: bool
) -> None:
    """As :func:`saltlite.cli.logs.setup`, now."""
    _name_levels()
    granular = _read_levels(options.log_granular_levels)
    level = LOG_LEVELS[options.log_level]
    handlers: list[logging.Handler] = []
    if console and options.log_level != "quiet":
        datefmt = options.log_datefmt_console or options.log_datefmt
        handlers.append(
            _console_handler(
                options.log_fmt_console,
                datefmt,
                _Threshold(level, granular),
                jid=options.log_fmt_jid,
                colour=colour,
            )
        )
    file_level = LOG_LEVELS[options.log_level_logfile or options.log_level]
    target = options.log_file if log_file is None else log_file
    if file_level < LOG_LEVELS["quiet"]:
        handler = _file_handler(target, at_once=at_once)
        if handler is not None:
            handler.setFormatter(
                LineFormatter(
                    options.log_fmt_logfile, options.log_datefmt_logfile, options.log_fmt_jid
                )
            )
            handler.addFilter(_Threshold(file_level, granular))
            handlers.append(handler)
    _install_handlers(handlers)


def reopen() -> None:
    """As :func:`saltlite.cli.logs.reopen`."""
    for handler in _ours:
        if isinstance(handler, LogFile):
            handler.open_now()


def close() -> None:
    """Take down what was installed."""
    _install_handlers([])


def _install_handlers(handlers: list[logging.Handler]) -> None:
    root = logging.getLogger()
    for handler in _ours:
        root.removeHandler(handler)
        handler.close()
    _ours[:] = handlers
    for handler in handlers:
        root.addHandler(handler)
    filters = [item for handler in handlers for item in handler.filters]
    lowest = [item.lowest for item in filters if isinstance(item, _Threshold)]
    root.setLevel(min(lowest, default=LOG_LEVELS["quiet"]))


def _name_levels() -> None:
    for name in ("garbage", "trace", "profile", "quiet"):
        logging.addLevelName(LOG_LEVELS[name], name.upper())


# --- which records -------------------------------------------------------------------------------


class _Threshold(logging.Filter):
    """Lets a record pass by the level of the nearest named logger, else by the handler's own."""

    def __init__(self, level: int, granular: Mapping[str, int]) -> None:
        super().__init__()
        self._level = level
        self._granular = sorted(granular.items(), key=lambda item: -len(item[0]))
        self.lowest = max(1, min([level, *granular.values()]))

    def filter(self, record: logging.LogRecord) -> bool:
        for name, level in self._granular:
            if record.name == name or record.name.startswith(name + "."):
                return record.levelno >= level
        return record.levelno >= self._level


def _read_levels(levels: Mapping[str, object]) -> dict[str, int]:
    """Levels by our loggers' names; ``salt.channel`` means ``saltlite.channel`` too."""
    named: dict[str, int] = {}
    for logger, level in levels.items():
        number = LOG_LEVELS.get(str(level).lower())
        if number is None:
            continue
        named[logger] = number
        if logger == "salt" or logger.startswith("salt."):
            named["saltlite" + logger[4:]] = number
    return named


# --- how a record looks --------------------------------------------------------------------------


class LineFormatter(logging.Formatter):
    """One line per record, and its traceback below it; control characters are shown escaped."""

    def __init__(self, form: str, datefmt: str, jid: str = "", *, colour: bool = False) -> None:
        super().__init__(form, datefmt, validate=False)
        self._jid = jid
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """The line, and a traceback made here: what another formatter kept is not harmless."""
        record.exc_text = None
        try:
            return super().format(record)
        finally:
            record.exc_text = None

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The record's line, without its traceback."""
        record.message = escape_controls(record.message)
        fields = {**record.__dict__, **self._extra_fields(record)}
        try:
            return (self._fmt or "%(message)s") % _Lenient(fields)
        except (ValueError, TypeError):  # a format that the user got wrong loses no record
            return record.message

    def formatException(self, ei: Any) -> str:
        """The traceback; several lines, harmless on a terminal."""
        return _UNPRINTABLE_IN_TRACES.sub(_escape_character, super().formatException(ei))

    def _extra_fields(self, record: logging.LogRecord) -> dict[str, str]:
        jid = getattr(record, "jid", "")
        start, end = (_colour_of(record.levelno), _PLAIN) if self._colour else ("", "")
        return {
            "jid": self._jid % {"jid": escape_controls(str(jid))} if jid else "",
            "offset": time.strftime("%z", time.localtime(record.created)),
            "colorlevel": f"{start}[{record.levelname:<8}]{end}",
            "colormsg": f"{start}{record.message}{end}",
            "colorname": f"[{record.name:<17}]",
            "colorprocess": f"[{record.process}]",
        }


class _Lenient(dict[str, Any]):
    """A format with a name that is not there shows nothing in its place."""

    def __missing__(self, name: str) -> str:
        return ""


def escape_controls(text: str) -> str:
    r"""``text`` on one line, its control characters as ``\n``, ``\x1b``, ``\u202e``."""
    return _UNPRINTABLE.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def _colour_of(level: int) -> str:
    return next(code for least, code in _COLOURS if level >= least)


# --- where records go ----------------------------------------------------------------------------


def _console_handler(
    form: str, datefmt: str, threshold: _Threshold, *, jid: str = "", colour: bool = False
) -> logging.Handler:
    handler = _QuietStream(sys.stderr)
    handler.setFormatter(LineFormatter(form, datefmt, jid, colour=colour))
    handler.addFilter(threshold)
    return handler


class _QuietStream(_Stream):
    """The console; a closed one is no reason to stop."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Nobody is there to be told."""


def _is_console(handler: logging.Handler) -> bool:
    return isinstance(handler, _QuietStream)


class _Kept(logging.Handler):
    """Keeps warnings and worse as plain maps."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[dict[str, Any]] = []
        self.addFilter(_Threshold(logging.WARNING, {}))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record, with its text made; what is too much is left out."""
        if len(self.records) < EARLY_RECORDS:
            plain = {name: vars(record)[name] for name in _KEPT_FIELDS}
            self.records.append({**plain, "msg": record.getMessage()})


_KEPT_FIELDS = (
    "name", "levelname", "levelno", "created", "msecs", "process", "processName",
    "filename", "funcName", "lineno", "module", "pathname", "threadName",
)  # fmt: skip


class LogFile(logging.FileHandler):
    """A file that is opened anew when it was moved away; owner and group may read it.

    As the standard library's WatchedFileHandler, whose module takes milliseconds to import.
    """

    def __init__(self, path: str) -> None:
        self._said = False
        self._identity: tuple[int, int] | None = None
        super().__init__(path, encoding="utf-8", delay=True, errors="backslashreplace")

    def _open(self) -> TextIOWrapper:
        stream = open(  # noqa: SIM115 - closed by the handler
            self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=_open_private
        )
        self._identity = _file_identity(os.fstat(stream.fileno()))
        return stream

    def open_now(self) -> None:
        """Open the file before there is a record; say so if that fails."""
        try:
            self._reopen_if_moved()
            self.stream = self.stream or self._open()
        except OSError as error:
            self._complain_once(error)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; the first failure is told on stderr, later ones are passed over."""
        try:
            self._reopen_if_moved()
            super().emit(record)
        except OSError as error:
            self._complain_once(error)

    def close(self) -> None:
        """Close the file; what could not be written is lost, and was told."""
        with contextlib.suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        """The first failure is told on stderr, later ones are passed over."""
        self._complain_once(sys.exc_info()[1])

    def _reopen_if_moved(self) -> None:
        if self.stream is None:
            return
        try:
            there = _file_identity(os.stat(self.baseFilename))
        except FileNotFoundError:
            there = None
        if there != self._identity:
            self.stream.close()
            self.stream = self._open()

    def _complain_once(self, error: BaseException | None) -> None:
        if self._said:
            return
        self._said = True
        reason = getattr(error, "strerror", None) or error
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"[WARNING ] Failed to open log file {self.baseFilename}: {reason}\n")


def _file_identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _open_private(path: str, flags: int) -> int:
    from saltlite import disk

    with contextlib.suppress(StoreError), disk.with_umask(0o022):
        disk.make_dir(Path(path).parent, 0o755)
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, LOG_FILE_MODE)


def _file_handler(target: str, *, at_once: bool) -> logging.Handler | None:
    if not target or target == os.devnull:
        return None
    if "://" in target:
        from saltlite.cli.syslog import syslog_handler  # what it needs is slow to import

        return syslog_handler(target)
    handler = LogFile(target)
    if at_once:
        handler.open_now()
    return handler
