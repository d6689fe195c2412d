"""Where the entries of ``reactor:`` come from: the option itself, or the file that it names."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping

from saltlite.config.schema import OptionSource
from saltlite.disk import check_origin
from saltlite.errors import ConfigError
from saltlite.reactor.table import Entries, TagTable, read_entries

log = logging.getLogger(__name__)

OPTION = "reactor"


def configured_entries(value: object, sources: Mapping[str, OptionSource]) -> Entries:
    """The entries of the option, read from the file that it names if it names one.

    What is wrong is told with file and line.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or others may write it.
    """
    if isinstance(value, str) and value:
        return entries_of_file(value)
    source = sources.get(OPTION)
    return read_entries(value, _places(source.path if source else "", OPTION, source))


def entries_of_file(path: str) -> Entries:
    """The entries of a file that holds the list.

    Raises:
        ConfigError: it cannot be read, is not YAML, or others may write it.
    """
    from saltlite.config.yaml import load

    return read_entries(load(_read(path), path), _places(path, None, None))


def _read(path: str) -> str:
    try:
        check_origin(path)
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"cannot be read: {why or error}", path=path, option=OPTION) from error


def _places(path: str, key: str | None, source: OptionSource | None) -> Callable[[int], str]:
    """What tells ``file:line`` of an entry; the file is looked at only where something is wrong."""

    def place(number: int) -> str:
        lines = _lines(path, key)
        if 0 <= number < len(lines):
            return f"{path}:{lines[number]}"
        return str(source or path)

    return place


def _lines(path: str, key: str | None) -> list[int]:
    from saltlite.config.yaml import item_lines

    try:
        with open(path, encoding="utf-8") as file:
            return item_lines(file.read(), key)
    except (OSError, UnicodeDecodeError, ConfigError):
        return []


class EntrySource:
    """The entries as they are now, with those that were added or taken away meanwhile.

    A file is read again when it has changed; one that cannot be used leaves the entries as they
    were.
    """

    def __init__(self, value: object, sources: Mapping[str, OptionSource]) -> None:
        """Read the entries.

        Raises:
            ConfigError: the file that the option names cannot be used.
        """
        self._path = value if isinstance(value, str) else ""
        self._stamp = _stamp(self._path)
        self.table = self._log_problems(configured_entries(value, sources))

    def watch(self, path: str) -> None:
        """Look at this file from now on; it could not be used so far."""
        self._path, self._stamp = path, _stamp(path)

    def refresh(self) -> None:
        """Read the file again if it has changed."""
        if not self._path:
            return
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self.table = self._log_problems(entries_of_file(self._path))
            log.info("%s was read again: %d entries", self._path, len(self.table.entries))
        except ConfigError as error:
            log.error("The reactor goes on with what it had: %s", error)

    def replace(self, entries: Entries) -> None:
        """Take other entries, until the file changes or the process ends."""
        self.table = TagTable(entries.entries)

    @staticmethod
    def _log_problems(found: Entries) -> TagTable:
        for problem in found.problems:
            log.error("%s; the entry does not count", problem)
        return TagTable(found.entries)


def _stamp(path: str) -> tuple[int, int, int] | None:
    """What changes when a file does."""
    if not path:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
