"""Reading configuration files: one file, its includes, and where each value came from.

Source: docs/config.md.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from saltlite.config.plainlines import read_lines
from saltlite.config.schema import OptionSource, type_words
from saltlite.core.dataclasses import dataclass
from saltlite.errors import ConfigError, UntrustedFile

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A configuration file larger than this is a mistake, or an attack."""


_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class RawSetting:
    """A value as a file, the environment or the command line has it, unchecked."""

    value: Any
    source: OptionSource


Settings = dict[str, RawSetting]


class Origins:
    """Whose the files are that a configuration is read from. Source: CVE-2021-22004.

    What everybody may write is refused at once. Files of others than root and ourselves are kept
    until it is known whom the daemon runs as (``user``): they may be that user's.
    """

    def __init__(self) -> None:
        self._ours = (0, os.geteuid())
        self._seen: set[str] = set()
        self._strangers: dict[str, int] = {}
        self._of_groups: dict[str, int] = {}

    def add(self, path: str, status: os.stat_result) -> None:
        """Look at a file that was opened, at its directory, and at that of what a link leads to.

        Raises:
            UntrustedFile: everybody may write one of them.
        """
        self._note_origin(path, status, stat.S_IWOTH)
        for directory in {os.path.dirname(path), os.path.dirname(os.path.realpath(path))}:
            if directory in self._seen:
                continue
            self._seen.add(directory)
            status = os.stat(directory or ".")
            # where the sticky bit is set only a file's owner can replace it
            self._note_origin(
                directory, status, 0 if status.st_mode & stat.S_ISVTX else stat.S_IWOTH
            )

    def _note_origin(self, path: str, status: os.stat_result, forbidden: int) -> None:
        if status.st_mode & forbidden:
            raise UntrustedFile(f"everybody may write here; chmod o-w {path}", path=path)
        if status.st_uid not in self._ours:
            self._strangers[path] = status.st_uid
        if status.st_mode & stat.S_IWGRP:
            self._of_groups[path] = status.st_gid

    def open_to_groups(self, user: object = None) -> list[str]:
        """What members of a group may change that is neither root's, ours nor that of ``user``.

        Each with the group. It is no reason to refuse a file: sites have administrators' groups.
        """
        if not self._of_groups:
            return []
        own = {0, os.getegid(), _gid_of(user)}
        found = [(path, gid) for path, gid in self._of_groups.items() if gid not in own]
        return [f"{path} (group {_group_name(gid)})" for path, gid in sorted(found)]

    def refuse_strangers(self, user: object = None) -> None:
        """Raise UntrustedFile for what belongs to neither root, us nor ``user``."""
        if not self._strangers:
            return
        allowed = _uid_of(user)
        for path, uid in self._strangers.items():
            if uid != allowed:
                raise UntrustedFile(
                    f"belongs to user {_name_of(uid)}, allowed: root, {_name_of(self._ours[1])} "
                    f"or the option user; chown root {path}",
                    path=path,
                )


def _uid_of(user: object) -> int | None:
    import pwd

    try:
        return pwd.getpwnam(str(user)).pw_uid if user else None
    except KeyError:
        return None


def _gid_of(user: object) -> int | None:
    import pwd

    try:
        return pwd.getpwnam(str(user)).pw_gid if user else None
    except KeyError:
        return None


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _name_of(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def read_file(path: str, origins: Origins | None = None) -> Settings | None:
    """The top-level keys of one file; ``None`` if there is no such file, ``{}`` if it is empty.

    With ``origins`` the caller decides whose files may be read, else they are root's or ours.

    Raises:
        ConfigError: it cannot be read or is not a YAML map; one line that names file and line.
        UntrustedFile: somebody else could have written it.
    """
    asked = origins or Origins()
    text = _read_text(path, asked)
    if origins is None:
        asked.refuse_strangers()
    if text is None:
        return None
    if not text.strip():
        return {}
    lines = read_lines(text)
    if lines is not None:
        return {
            name: RawSetting(value, OptionSource(path, line))
            for name, (value, line) in lines.items()
        }
    from saltlite.config.yaml import LinedMap, load  # only what is more pays for PyYAML

    content = load(text, path)
    if content is None:
        return {}
    if not isinstance(content, LinedMap):
        raise ConfigError(
            f"found {type_words(content)}, allowed: a map of options", path=path, line=1
        )
    return {
        str(key): RawSetting(value, OptionSource(path, content.lines.get(key, 1)))
        for key, value in content.items()
    }


def _read_text(path: str, origins: Origins) -> str | None:
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
        origins.add(path, status)
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(fd)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("not UTF-8", path=path, line=line) from None


class Includes:
    """One pass over included files: they are joined deeply, lists too.

    Paths are relative to the directory of the main file, also those of nested includes.
    """

    def __init__(self, main_path: str, origins: Origins) -> None:
        self._origins = origins
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
            matches = find_paths(path)
            if not matches:
                self.unmatched.append(path)
            for match in matches:
                self._add_file(match)

    def _add_file(self, path: str) -> None:
        settings = read_file(path, self._origins)
        if settings is None:  # it went away since it was listed, or is a dangling link
            return
        nested = settings.pop("include", None)
        for name, setting in settings.items():
            self.settings[name] = _join_settings(self.settings.get(name), setting)
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


def find_paths(pattern: str) -> list[str]:
    """Return what ``glob`` finds, sorted; a single path and ``*.conf`` without loading it."""
    directory, name = os.path.split(pattern)
    if directory and name and _WILDCARDS.isdisjoint(directory):
        if name == "*.conf":
            found = sorted(_list_names(directory))
            return [os.path.join(directory, one) for one in found if _is_shown_conf(one)]
        if _WILDCARDS.isdisjoint(name):
            return [pattern] if os.path.lexists(pattern) else []
    import glob

    return sorted(glob.glob(pattern))


def _list_names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _is_shown_conf(name: str) -> bool:
    return name.endswith(".conf") and not name.startswith(".")


def patterns_of(setting: RawSetting) -> list[str]:
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


def _join_settings(old: RawSetting | None, new: RawSetting) -> RawSetting:
    if old is None:
        return new
    return RawSetting(join_values(old.value, new.value), new.source)


def join_values(old: object, new: object) -> Any:
    """Maps are merged, lists get what they do not have yet, of all else the newer wins."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        both = dict(old)
        for key, value in new.items():
            both[key] = join_values(both[key], value) if key in both else value
        return both
    if isinstance(old, list) and isinstance(new, list):
        return old + [item for item in new if item not in old]
    return new
