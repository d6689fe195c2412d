"""Reading configuration files: one file, its includes, and where each value came from.

Source: config.md 1.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from saltlite.config.schema import Source, type_words
from saltlite.errors import ConfigError

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A configuration file larger than this is a mistake, or an attack."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value as a file, the environment or the command line has it, unchecked."""

    value: Any
    source: Source


Settings = dict[str, Setting]


def read_file(path: str) -> Settings | None:
    """The top-level keys of one file; ``None`` if there is no such file, ``{}`` if it is empty.

    Raises:
        ConfigError: it cannot be read or is not a YAML map; one line that names file and line.
    """
    text = _text(path)
    if text is None:
        return None
    if not text.strip():
        return {}
    from saltlite.config.yaml import LinedMap, load  # a command with no file pays nothing

    content = load(text, path)
    if content is None:
        return {}
    if not isinstance(content, LinedMap):
        raise ConfigError(
            f"found {type_words(content)}, allowed: a map of options", path=path, line=1
        )
    return {
        str(key): Setting(value, Source(path, content.lines.get(key, 1)))
        for key, value in content.items()
    }


def _text(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot be read: {reason}", path=path) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError("cannot be read: not a regular file", path=path)
        if status.st_size > MAX_FILE_BYTES:
            raise ConfigError(f"larger than {MAX_FILE_BYTES} bytes", path=path)
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(fd)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("not UTF-8", path=path, line=line) from None


class Includes:
    """One pass over included files: they are joined deeply, lists too.

    Paths are relative to the directory of the main file, also those of nested includes.
    """

    def __init__(self, main_path: str) -> None:
        self._directory = os.path.dirname(main_path)
        self._chain = [os.path.realpath(main_path)]
        self.settings: Settings = {}
        self.unmatched: list[str] = []

    def add(self, patterns: Iterable[str]) -> None:
        """Join in the files of each pattern, sorted by name.

        Raises:
            ConfigError: a file is broken, or includes itself.
        """
        for pattern in patterns:
            path = os.path.join(self._directory, os.path.expanduser(pattern))
            matches = sorted(glob.glob(path))
            if not matches:
                self.unmatched.append(path)
            for match in matches:
                self._add_file(match)

    def _add_file(self, path: str) -> None:
        settings = read_file(path)
        if settings is None:  # it went away since it was listed, or is a dangling link
            return
        nested = settings.pop("include", None)
        for name, setting in settings.items():
            self.settings[name] = _joined(self.settings.get(name), setting)
        if nested is None:
            return
        real = os.path.realpath(path)
        if real in self._chain or len(self._chain) > 50:
            raise ConfigError(
                f"include loop: {' -> '.join([*self._chain, real])}",
                path=nested.source.path,
                line=nested.source.line,
                option="include",
            )
        self._chain.append(real)
        self.add(patterns_of(nested))
        self._chain.pop()


def patterns_of(setting: Setting) -> list[str]:
    """The paths of an ``include``: one text or a list of them.

    Raises:
        ConfigError: it is neither.
    """
    value = setting.value
    if value is None:
        return []
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise ConfigError(
            f"found {type_words(value)}, allowed: text or list of texts",
            path=setting.source.path,
            line=setting.source.line,
            option="include",
        )
    return paths


def _joined(old: Setting | None, new: Setting) -> Setting:
    if old is None:
        return new
    return Setting(joined(old.value, new.value), new.source)


def joined(old: Any, new: Any) -> Any:
    """Maps are merged, lists get what they do not have yet, of all else the newer wins."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        both = dict(old)
        for key, value in new.items():
            both[key] = joined(both[key], value) if key in both else value
        return both
    if isinstance(old, list) and isinstance(new, list):
        return old + [item for item in new if item not in old]
    return new
