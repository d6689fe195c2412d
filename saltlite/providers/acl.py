"""Access lists of files beyond owner, group and others, through ``getfacl`` and ``setfacl``.

Source: getfacl(1), setfacl(1), acl(5).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Final

from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import FunctionError, ProgramMissing, UntrustedPath
from saltlite.host import Completed, Host
from saltlite.openat import SHARED, Held, reach

HELD_MOST: Final = 100
"""Files that are held open at once."""

KINDS = {
    "acl": "",
    **dict.fromkeys(("user", "u", "users"), "u"),
    **dict.fromkeys(("group", "g", "groups"), "g"),
    **dict.fromkeys(("mask", "m"), "m"),
    **dict.fromkeys(("other", "o"), "o"),
}
_FULL = {"u": "user", "g": "group", "m": "mask", "o": "other"}
_FLAGS = (("s", "suid"), ("s", "sgid"), ("t", "sticky"))


@dataclass(frozen=True, slots=True)
class AclEntry:
    """A line of a list: ``kind`` is user, group, mask or other. The owner's has no name."""

    kind: str
    name: str
    permissions: str
    effective: str
    default: bool = False


@dataclass(slots=True)
class Listed:
    """What ``getfacl`` tells of one file."""

    path: str = ""
    owner: str = ""
    group: str = ""
    flags: str = ""
    entries: list[AclEntry] = field(default_factory=list)

    def name_of(self, entry: AclEntry) -> str:
        """Whom an entry is about."""
        own = {"user": self.owner, "group": self.group}
        return entry.name or own.get(entry.kind, "")


def kind_of(acl_type: str) -> tuple[str, bool]:
    """What ``acl_type`` means: user, group, mask or other, and whether it is for new files.

    Raises:
        FunctionError: it is none of these.
    """
    head, colon, rest = str(acl_type).partition(":")
    default = bool(colon) and head in ("d", "default")
    word = rest if default else str(acl_type)
    letter = KINDS.get(word)
    if not letter:
        raise FunctionError(
            f"{acl_type!r} is no kind of entry: user, group, mask, other, or one of them after"
            " 'default:'"
        )
    return _FULL[letter], default


def spec(acl_type: str, name: str, permissions: str | None = None) -> str:
    """An entry as setfacl takes it."""
    kind, default = kind_of(acl_type)
    word = f"{'default:' if default else ''}{kind}:{name}"
    return word if permissions is None else f"{word}:{permissions}"


def parse(text: str) -> Iterator[Listed]:
    """The files in what ``getfacl --absolute-names`` prints."""
    found = Listed()
    for line in text.splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            if key == "file":
                found = Listed(path=_unescape_name(value))
                yield found
            elif key == "owner":
                found.owner = _unescape_name(value)
            elif key == "group":
                found.group = _unescape_name(value)
            elif key == "flags":
                found.flags = value
        elif line.strip():
            found.entries.append(_parse_entry(line))


def _parse_entry(line: str) -> AclEntry:
    text, _, comment = line.partition("#effective:")
    default = text.startswith("default:")
    kind, name, permissions = text.removeprefix("default:").strip().rsplit(":", 2)
    return AclEntry(
        kind, _unescape_name(name), permissions, comment.strip() or permissions, default
    )


def _unescape_name(text: str) -> str:
    import re

    data = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), text.encode())
    return data.decode("utf-8", "replace")


def flags_of(listed: Listed) -> list[str]:
    """The special bits that are set, by Salt's names."""
    return [
        word for letter, (mark, word) in zip(listed.flags, _FLAGS, strict=False) if letter == mark
    ]


def list_files(host: Host, paths: Sequence[str], *, recursive: bool = False) -> list[Listed]:
    """The lists of files; those that are not there are left out."""
    words = ["--absolute-names", *(["--recursive"] if recursive else []), "--", *paths]
    return list(parse(_run_program(host, "getfacl", *words).stdout))


def change(
    host: Host, action: str, entries: str, paths: Sequence[str], *, recursive: bool = False
) -> Completed:
    """Run setfacl with ``-m``, ``-x`` or ``-b``, on files that are held open: see ``openat``.

    What came of the first file that it failed for, or of the last. ``entries`` is empty for ``-b``.

    Raises:
        FunctionError: a path is not there, or leads where another user wants root to be.
    """
    done = Completed(0, 0, "", "")
    for path in paths:
        held: list[Held] = []
        with contextlib.ExitStack() as stack:
            for each in _walk_path(path) if recursive else [path]:
                if len(held) == HELD_MOST:
                    done = _change_held(host, action, entries, held, recursive)
                    stack.close()
                    held = []
                    if done.exit_code:
                        return done
                one = _hold_file(stack, each, follow=each == path)
                held += [] if one is None else [one]
            done = _change_held(host, action, entries, held, recursive)
            if done.exit_code:
                return done
    return done


def _walk_path(path: str) -> Iterator[str]:
    """A path and all below it."""
    yield path
    for folder, folders, files in os.walk(path):
        yield from (os.path.join(folder, name) for name in (*folders, *files))


def _hold_file(stack: contextlib.ExitStack, path: str, *, follow: bool) -> Held | None:
    """A file that is to be changed; ``None`` for a link below a directory, and what is gone."""
    try:
        spot = stack.enter_context(reach(path, follow=follow))
        held = stack.enter_context(spot.hold())
    except FileNotFoundError as error:
        if not follow:
            return None
        raise FunctionError(f"setfacl: {path}: {error.strerror}") from error
    if held.is_link:
        return None
    if spot.is_foreign(held.status()):
        raise UntrustedPath(path, SHARED)
    return held


def _change_held(
    host: Host, action: str, entries: str, held: Sequence[Held], recursive: bool
) -> Completed:
    """Of files below a directory setfacl passes over entries that only directories have."""
    done = Completed(0, 0, "", "")
    for is_folder in (True, False):
        mine = [one for one in held if stat.S_ISDIR(one.status().st_mode) is is_folder]
        if not mine:
            continue
        names = {one.shared_path: one.spot.path for one in mine}
        flags = ["-R"] if recursive and not is_folder else []
        words = [*flags, action, *([entries] if entries else []), "--", *names]
        done = _run_program(host, "setfacl", *words)
        if done.exit_code:
            said = done.stderr
            for name, path in names.items():
                said = said.replace(f"{name}:", f"{path}:")
            return replace(done, stderr=said)
    return done


def _run_program(host: Host, name: str, *words: str) -> Completed:
    program = host.which(name)
    if program is None:
        raise ProgramMissing(name)
    return host.run([program, *words], env={"LC_ALL": "C.UTF-8"})
