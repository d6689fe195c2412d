"""What has a path: files of all kinds, repositories of git, virtual environments of Python."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from saltlite.config.yaml import BlockText
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError, SaltliteError
from saltlite.modules._resource.listed import Ask, Found, LeftOut, ListedType, StateDeclaration
from saltlite.modules.file import looking
from saltlite.openat import reach

CONTENT_BYTES = 64 * 1024
"""Larger files are declared without their contents."""

_NODES = {"char": "c", "block": "b", "pipe": "p"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStats:
    """What ``file.stats`` tells."""

    type: str
    user: str
    group: str
    mode: str
    size: int


def _list_paths(ctx: MinionContext, pattern: str) -> list[str]:
    """What is in a directory, or what fits a glob; any other path is itself."""
    del ctx
    if glob.has_magic(pattern) and not os.path.lexists(pattern):
        return sorted(glob.glob(pattern))
    if os.path.isdir(pattern):
        try:
            return sorted(os.path.join(pattern, name) for name in os.listdir(pattern))
        except OSError as error:
            raise FunctionError(f"{pattern}: {error.strerror}") from error
    return [pattern] if os.path.lexists(pattern) else []


def _declare_paths(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    del ctx
    for path in ask.names:
        if not os.path.lexists(path):
            continue
        try:
            there = read_fields(FileStats, looking.stats(path, follow_symlinks=False))
            yield _declare_path(path, there, ask.secrets)
        except (OSError, SaltliteError) as error:
            yield LeftOut(path, str(error))


def _declare_path(path: str, there: FileStats, secrets: bool) -> Found:
    owner = {"user": there.user, "group": there.group}
    mode = {**owner, "mode": there.mode}
    if there.type == "dir":
        return StateDeclaration(of=path, fun="file.directory", name=path, arguments=mode)
    if there.type == "link":
        said = {"target": os.readlink(path), **owner}
        return StateDeclaration(of=path, fun="file.symlink", name=path, arguments=said)
    if there.type in _NODES:
        device = os.lstat(path).st_rdev
        numbers = {"major": os.major(device), "minor": os.minor(device)}
        node: dict[str, Any] = {"ntype": _NODES[there.type], **mode}
        node |= {} if there.type == "pipe" else numbers
        return StateDeclaration(of=path, fun="file.mknod", name=path, arguments=node)
    if there.type != "file":
        return LeftOut(path, f"a {there.type}")
    content = _content_arguments(path, secrets)
    return StateDeclaration(of=path, fun="file.managed", name=path, arguments={**mode, **content})


def _content_arguments(path: str, secrets: bool) -> dict[str, Any]:
    """The text; of what is none, is large, or not for everybody, that it may stay as it is."""
    data = _read_content(path, secrets)
    text = "" if data is None else _decode_text(data)
    if not text:
        return {"replace": False}
    # Blank lines at the end of a block would be lost where the SLS ends with it.
    said: dict[str, Any] = {"contents": text if text[-2:].isspace() else BlockText(text)}
    return said if text[-1] == "\n" else {**said, "contents_newline": False}


def _read_content(path: str, secrets: bool) -> bytes | None:
    """What is in a file that may be shown; ``None`` of others, and of large ones.

    The file is the one that was opened: it may be exchanged by whoever may write to its directory.
    """
    with reach(path) as spot:
        fd, status = spot.open_regular(os.O_RDONLY | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if not (secrets or (status.st_mode & stat.S_IROTH and _is_way_open(path))):
            return None
        data = file.read(CONTENT_BYTES + 1)
    return data if len(data) <= CONTENT_BYTES else None


def _is_way_open(path: str) -> bool:
    """Whether everybody may go through all directories on the way to a file."""
    ways = (os.stat(parent).st_mode & stat.S_IXOTH for parent in Path(path).parents)
    return all(ways)


def _decode_text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    # Other signs no YAML can hold.
    return text if all(sign.isprintable() or sign in "\n\t" for sign in text) else None


def _list_below(wanted: Callable[[str], bool]) -> Callable[[MinionContext, str], list[str]]:
    """Lists the directories of a kind: the one that is named, or those in it, or of a glob."""

    def names(ctx: MinionContext, pattern: str) -> list[str]:
        itself = [pattern] if os.path.isdir(pattern) and wanted(pattern) else []
        return itself or [path for path in _list_paths(ctx, pattern) if wanted(path)]

    return names


def _is_clone(path: str) -> bool:
    return os.path.exists(os.path.join(path, ".git"))


def _is_environment(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "pyvenv.cfg"))


def _declare_clones(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    for path in filter(_is_clone, ask.names):
        owner = read_fields(FileStats, looking.stats(path)).user
        # git looks at nothing that belongs to somebody else.
        given = {} if owner in ("root", "") else {"user": owner}
        try:
            yield _declare_clone(ctx, path, given, ask.secrets)
        except SaltliteError as error:
            yield LeftOut(path, str(error))


def _declare_clone(ctx: MinionContext, path: str, given: dict[str, str], secrets: bool) -> Found:
    call = ctx.functions.call
    remotes = call("git.remotes", path, redact_auth=False, **given)
    if "origin" not in remotes:
        return StateDeclaration(of=path, fun="git.present", name=path, arguments={"bare": False})
    url, shown = (
        call("git.remote_get", path, "origin", redact_auth=hide, **given).get("fetch", "")
        for hide in (False, True)
    )
    if url != shown and not secrets:
        return LeftOut(path, "the address of its origin has a password; say secrets=True")
    try:
        branch = call("git.current_branch", path, **given)
    except FunctionError:  # nothing has been committed
        branch = ""
    said = {"target": path, **({} if branch in ("", "HEAD") else {"branch": branch}), **given}
    return StateDeclaration(of=path, fun="git.cloned", name=url, arguments=said)


def _declare_environments(ctx: MinionContext, ask: Ask) -> Iterator[Found]:
    """Environments of Python, without what is installed in them: that is for ``pip``."""
    del ctx
    for path in filter(_is_environment, ask.names):
        yield StateDeclaration(of=path, fun="virtualenv.managed", name=path)


TYPES = {
    "file": ListedType(_list_paths, _declare_paths, by_path=True),
    "git": ListedType(_list_below(_is_clone), _declare_clones, by_path=True),
    "virtualenv": ListedType(_list_below(_is_environment), _declare_environments, by_path=True),
}
