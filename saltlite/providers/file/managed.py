"""A file as it is declared: how it is, what differs, and what makes it so.

States read, plan and act with these functions one by one; ``file.manage_file`` and its checks are
made of the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, replace
from saltlite.errors import FunctionError
from saltlite.providers.file import content, hashes, paths, permissions, sources, texts
from saltlite.providers.file.backups import Backups
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.providers.file.sources import Source

NEW_FILE_MODE = "0600"
"""What Salt makes a new file with before it sets the mode; a mode other than this is a change."""

_OWNERSHIP = frozenset({"user", "group", "mode"})


class ManageError(FunctionError):
    """A file cannot be managed; for ``file.manage_file`` that is a comment, and no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredFile:
    """A file as it is declared: where, with which content, whose.

    ``contents`` is the content, or ``source`` is where it comes from; without both any will do.
    """

    name: str
    wanted: DesiredPermissions
    source: Source | None = None
    contents: bytes | None = None
    follow: bool = True
    backup: Any = ""
    makedirs: bool = False
    dir_mode: Any = None
    show_changes: Any = True

    @property
    def has_content(self) -> bool:
        """Whether it matters what is in the file."""
        return self.source is not None or self.contents is not None

    def user_id(self) -> int | None:
        """The id of the user whose file it shall be; ``None`` if none is declared."""
        return content.uid_of(self.wanted.owner())

    def refuse_misleading(self) -> None:
        """Raise UntrustedPath if the path has a link that is not to be followed."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            permissions.reach_as(self.name, follow=self.follow, user=self.wanted.user).close()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """A file as it is; ``status`` is ``None`` if there is none.

    ``difference`` is what turns its content into the declared one, empty if that is in it;
    ``source`` has the declared content at hand if it was fetched to tell. ``attrs`` is ``None``
    where nobody asked for attributes, or there are none. ``digest`` is the sha256 of a content that
    is not as declared.
    """

    status: os.stat_result | None = None
    is_special: bool = False
    difference: str = ""
    is_sum: bool = False
    source: Source | None = None
    attrs: tuple[str, ...] | None = None
    digest: str = ""

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory, or a link to one that is followed."""
        return self.status is not None and stat.S_ISDIR(self.status.st_mode)

    @property
    def is_new(self) -> bool:
        """Whether there is no file yet that a content could be put in."""
        return self.status is None or self.is_special


def encode_contents(contents: object, encoding: str | None, errors: str = "strict") -> bytes | None:
    """Contents as they are written; ``None`` for none.

    Raises:
        TypeError: they are no text.
        UnicodeEncodeError: the encoding has no such letters.
    """
    if contents is None or isinstance(contents, bytes):
        return contents
    if not isinstance(contents, str):
        raise TypeError(f"expected str, bytes, or bytearray not {type(contents)}")
    return contents.encode(encoding or "utf-8", errors)


def read_file(ctx: MinionContext, file: DesiredFile) -> FileStatus:
    """How a file is, and what of its content is not as declared; one look, one reading.

    Raises:
        OSError: the content cannot be read.
        SaltliteError: the content that it shall have cannot be had.
    """
    try:
        found = permissions.status(file.name, follow=file.follow)
    except FunctionError:
        return FileStatus()
    if stat.S_ISDIR(found.st_mode):
        return FileStatus(status=found)
    now = FileStatus(status=found)
    there = _follow_link(file.name, found)
    if there is None:  # a link to nowhere: its target is made, or a file takes its place
        lost = replace(now, difference="New file" if file.has_content else "")
        return FileStatus() if file.follow else lost
    if file.has_content and _is_special(there):
        return replace(now, is_special=True)
    if file.contents is not None:
        now = _compare_contents(ctx, file, now, file.contents)
    elif file.source is not None:
        now = _compare_source(ctx, file, now, file.source)
    if now.difference and not stat.S_ISLNK(found.st_mode):
        now = replace(now, digest=hashes.file_hash(file.name))
    if file.wanted.attrs is None:
        return now
    read = permissions.read_attributes(ctx.host, file.name) or {}
    attrs = read.get(file.name)
    return replace(now, attrs=None if attrs is None else tuple(attrs))


def _follow_link(name: str, found: os.stat_result) -> os.stat_result | None:
    """The status of what a link leads to, ``None`` if that is nowhere."""
    if not stat.S_ISLNK(found.st_mode):
        return found
    try:
        return os.stat(name)
    except OSError:
        return None


def _is_special(found: os.stat_result) -> bool:
    """Whether it is a pipe, socket or device, which makes way for a content."""
    return not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode)


def _compare_contents(
    ctx: MinionContext, file: DesiredFile, now: FileStatus, contents: bytes
) -> FileStatus:
    try:
        found = _show_difference(ctx, file, contents)
    except FunctionError as error:
        found = str(error)
    return replace(now, difference=found)


def _compare_source(
    ctx: MinionContext, file: DesiredFile, now: FileStatus, source: Source
) -> FileStatus:
    wanted = source.known.get("hsum")
    if not wanted or hashes.file_hash(file.name, source.hash_type(ctx)) == wanted:
        return now
    if not source.path and source.source:
        source = replace(source, path=_fetch(ctx, source))
    if not source.path:
        return replace(now, difference="Checksum differs", is_sum=True)
    return replace(now, difference=_show_difference(ctx, file, source.path), source=source)


def _show_difference(ctx: MinionContext, file: DesiredFile, new: str | bytes) -> str:
    return texts.compare_files(
        file.name, new, names=False, show=file.show_changes, obfuscate=obfuscates(ctx)
    )


def obfuscates(ctx: MinionContext) -> bool:
    """Whether differences are not to be shown; with the option no file's is, as in Salt."""
    return bool(ctx.config.extra.get("obfuscate_templates"))


def compare_permissions(file: DesiredFile, now: FileStatus) -> dict[str, Any]:
    """What of owner, mode and attributes is not as declared. Pure, but for names of owners."""
    wanted, found = file.wanted, now.status
    if found is None:
        return {}
    changes = {
        part: value
        for part, value, number, name in (
            ("user", wanted.user, found.st_uid, permissions.user_name),
            ("group", wanted.group, found.st_gid, permissions.group_name),
        )
        if value not in (None, number) and value != name(number, value)
    }
    if wanted.mode is not None:
        mode = permissions.normalize_mode(wanted.mode)
        if mode != permissions.mode_text(found.st_mode):
            changes["mode"] = mode
    if (
        wanted.attrs is not None
        and now.attrs is not None
        and any(permissions.compare_attributes(now.attrs, wanted.attrs))
    ):
        changes["attrs"] = wanted.attrs
    return changes


def find_differences(file: DesiredFile, now: FileStatus) -> dict[str, Any]:
    """What of a file is not as declared: ``newfile``, ``diff``, ``sum``, owner, mode, ``attrs``."""
    if now.status is None or now.is_special:
        return {"newfile": file.name}
    changes = {"sum" if now.is_sum else "diff": now.difference} if now.difference else {}
    return {**changes, **compare_permissions(file, now)}


def find_changes(file: DesiredFile, before: FileStatus, after: FileStatus) -> dict[str, Any]:
    """What has become as declared, in the form of a state's ``changes``."""
    if after.status is None:
        return {}
    if before.status is None or before.is_special:
        if file.has_content:
            return {"diff": "New file", **_note_new(file, after, after.status)}
        return {"new": f"file {file.name} created", **_note_new(file, after, after.status)}
    found: dict[str, Any] = {}
    if before.difference and not after.difference:
        found["diff"] = before.difference
    left = compare_permissions(file, after)
    were = compare_permissions(file, before)
    found |= {part: its for part, its in were.items() if part not in left and its != ""}
    if "attrs" in found:
        found["attrs"] = {"old": "".join(before.attrs or ()), "new": file.wanted.attrs}
    return found


def describe_before(now: FileStatus, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Owner, mode and content as they were, of what has changed: ``user group mode sha256 size``.

    Nothing of a file that was not there.
    """
    found = now.status
    if found is None or now.is_special:
        return {}
    were: dict[str, Any] = {}
    if "user" in changes:
        were["user"] = permissions.user_name(found.st_uid)
    if "group" in changes:
        were["group"] = permissions.group_name(found.st_gid)
    if "mode" in changes:
        were["mode"] = permissions.mode_text(found.st_mode)
    if now.digest and changes.keys() & {"diff", "sum"}:
        were |= {"sha256": now.digest, "size": found.st_size}
    return were


def _note_new(file: DesiredFile, after: FileStatus, now: os.stat_result) -> dict[str, Any]:
    """What Salt calls changes of a file that was not there: it begins as root's, with 0600."""
    wanted = file.wanted
    found = {
        part: value
        for part, value, own, number in (
            ("user", wanted.user, os.geteuid(), now.st_uid),
            ("group", wanted.group, os.getegid(), now.st_gid),
        )
        if value not in (None, "") and number != own
    }
    mode = permissions.mode_text(now.st_mode)
    if (file.source or wanted.mode is not None) and mode != NEW_FILE_MODE:
        found["mode"] = mode
    attrs = wanted.attrs if after.attrs is not None else None
    if attrs is not None and any(permissions.compare_attributes((), attrs)):
        first = permissions.SET_BY_THE_SYSTEM.intersection(after.attrs or ())
        found["attrs"] = {"old": "".join(sorted(first)), "new": attrs}
    return found


def create_file(ctx: MinionContext, file: DesiredFile) -> None:
    """Make a file that is not there, and the directories that it is in if that is declared.

    Owner and mode are right from the first moment.

    Raises:
        FunctionError: there is no directory for it, or its content cannot be had.
        OSError: it cannot be written.
    """
    data: bytes | Iterable[bytes] = file.contents or b""
    if file.contents is None and file.source is not None:
        data = content.pieces(fetch_content(ctx, file.source))
    target = file.name
    if file.follow and os.path.islink(target):
        file.refuse_misleading()
        target = os.path.realpath(target)
    _make_parents(file, os.path.dirname(target))
    mode = content.default_mode()
    if file.wanted.mode is not None:
        try:
            mode = permissions.mode_number(file.wanted.mode)
        except FunctionError:
            mode = int(NEW_FILE_MODE, 8)
    owner = file.wanted.owner()
    content.create(file.name, data, mode, None if owner == (-1, -1) else owner, follow=file.follow)


def _make_parents(file: DesiredFile, folder: str) -> None:
    if os.path.isdir(folder):
        return
    if not file.makedirs:
        raise ManageError("Parent directory not present")
    if os.path.lexists(folder):
        raise FunctionError("Not a directory")
    mode = file.dir_mode if file.dir_mode is not None else _dir_mode(file.wanted.mode)
    number = None if mode is None else permissions.mode_number(mode)
    try:
        paths.make_dirs(folder, number, file.wanted.owner())
    except OSError as error:
        raise FunctionError(error.strerror or str(error)) from error


def _dir_mode(mode: object) -> str | None:
    """The mode of directories around a file: who may read or write it may enter them."""
    if mode is None:
        return None
    digits = permissions.normalize_mode(mode)[-3:]
    return "".join(str(int(digit) | 1) if digit in "246" else digit for digit in digits)


def write_content(ctx: MinionContext, file: DesiredFile, source: Source | None = None) -> None:
    """Put the declared content into a file that is there; a link that is not followed becomes one.

    ``source`` is the file's source with its content at hand. A copy of what was there is kept if
    that is declared.

    Raises:
        FunctionError: the content cannot be had, or is another one than it shall be.
        OSError: it cannot be written.
    """
    data: bytes | Iterable[bytes] | None = file.contents
    source = source or file.source
    if data is None and source is not None:
        data = content.pieces(fetch_content(ctx, source))
    if data is None:
        return
    target = os.path.realpath(file.name) if file.follow else file.name
    if file.backup in ("minion", "both") and os.path.isfile(target):
        Backups(ctx.config.paths.cachedir).keep(file.name, name=target, user=file.user_id())
    if not file.follow and os.path.islink(target):
        content.create(target, data)
    else:
        content.put_data(file.name, data, keep_names=False, user=file.user_id())


def set_permissions(ctx: MinionContext, file: DesiredFile) -> None:
    """Set owner, mode and attributes; raises FunctionError with all that could not be set."""
    permissions.enforce(file.name, file.wanted, ctx.host, follow=file.follow)


def fetch_content(ctx: MinionContext, source: Source) -> str:
    """Have the content of a source here and checked; its path.

    Raises:
        ManageError: it is not there, or has another hash than it shall have.
    """
    path = source.path or _fetch(ctx, source)
    if not path:
        raise ManageError(f"Source file '{source.url}' not found")
    wanted = source.known.get("hsum")
    # What comes from the file server was compared by the client.
    if source.skip_verify or not wanted or sources.scheme_of(source.url) == "salt":
        return path
    form = source.hash_type(ctx)
    actual = hashes.file_hash(path, form)
    if actual == wanted:
        return path
    raise ManageError(
        f"Specified {form} checksum for {source.url} ({wanted}) does not match actual"
        f" checksum ({actual}). If the 'source_hash' value refers to a remote file with"
        " multiple possible matches, then it may be necessary to set 'source_hash_name'."
    )


def _fetch(ctx: MinionContext, source: Source) -> str:
    """The path of a source's content, empty without one."""
    if sources.is_local(source.url):
        path = sources.local_path(source.url)
        return path if os.path.isfile(path) else ""
    return sources.client(ctx).cache_file(
        source.url, source.saltenv, source_hash=source.known.get("hsum"),
        verify_ssl=source.verify_ssl, use_etag=source.use_etag,
    )  # fmt: skip


def source_mode(ctx: MinionContext, source: Source) -> str | None:
    """The mode of a source on the file server or this machine; ``None`` for any other."""
    if sources.is_local(source.url):
        path = sources.local_path(source.url)
        return permissions.mode_text(os.stat(path).st_mode) if os.path.exists(path) else None
    if sources.scheme_of(source.url) != "salt":
        return None
    found = sources.client(ctx).stat(source.url, source.saltenv)
    return permissions.mode_text(int(found[0])) if found else None


def with_source_mode(ctx: MinionContext, file: DesiredFile) -> DesiredFile:
    """The file with the mode that its source has, if that has one."""
    mode = None if file.source is None else source_mode(ctx, file.source)
    return replace(file, wanted=replace(file.wanted, mode=mode)) if mode else file


def manage_file(
    ctx: MinionContext, file: DesiredFile, ret: dict[str, Any] | None
) -> dict[str, Any]:
    """Write the file if its content differs, then owner, mode and attributes.

    Gives back ``{"name", "changes", "comment", "result"}`` as a state does.

    Raises:
        OSError: something cannot be read or written.
    """
    ret = ret or {"name": file.name, "changes": {}, "comment": "", "result": True}
    try:
        now = _read_to_write(ctx, file)
        if now.is_directory:
            raise ManageError(f"Specified target {file.name} is a directory")
        if now.is_new:
            return _manage_new(ctx, file, ret)
        return _manage_existing(ctx, file, now, ret)
    except ManageError as error:
        return {**ret, "comment": str(error), "result": False}
    finally:
        if file.source is not None:
            content.drop_scratch(file.source.path)


def _read_to_write(ctx: MinionContext, file: DesiredFile) -> FileStatus:
    """As :func:`read_file`; content is compared with what is at hand, whatever hash was given."""
    source = file.source
    if source is not None and (source.path or not source.known):
        source = replace(source, path=source.path or _fetch(ctx, source))
        if source.path:
            form = source.hash_type(ctx)
            known = {"hash_type": form, "hsum": hashes.file_hash(source.path, form)}
            file = replace(file, source=replace(source, known=known))
    return read_file(ctx, file)


def _manage_existing(
    ctx: MinionContext, file: DesiredFile, now: FileStatus, ret: dict[str, Any]
) -> dict[str, Any]:
    if now.difference:
        write_content(ctx, file)
        ret["changes"]["diff"] = now.difference
    ret = _check_permissions(ctx, file, ret)
    if ret["changes"]:
        ret["comment"] = f"File {file.name} updated"
    elif ret["result"]:
        ret["comment"] = f"File {file.name} is in the correct state"
    return ret


def _manage_new(ctx: MinionContext, file: DesiredFile, ret: dict[str, Any]) -> dict[str, Any]:
    create_file(ctx, file)
    ret["changes"].update(find_changes(file, FileStatus(), _status_of(file)))
    if not file.has_content:
        ret["comment"] = "Empty file"
    ret = _check_permissions(ctx, file, ret)
    if not ret["comment"]:
        ret["comment"] = f"File {file.name} updated"
    return ret


def _status_of(file: DesiredFile) -> FileStatus:
    return FileStatus(status=os.stat(file.name, follow_symlinks=file.follow))


def _check_permissions(
    ctx: MinionContext, file: DesiredFile, ret: dict[str, Any]
) -> dict[str, Any]:
    test = ctx.config.files.test
    found, _ = permissions.check(
        file.name, ret, file.wanted, ctx.host, follow=file.follow, test=test
    )
    return found


def without_owners(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Salt's ``check_managed`` does not mind who owns a file below the temporary directory."""
    import tempfile

    if not os.path.realpath(name).startswith(os.path.join(tempfile.gettempdir(), "")):
        return changes
    return {part: value for part, value in changes.items() if part not in _OWNERSHIP}
