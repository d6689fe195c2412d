"""Make a file what it shall be, or say what would change: ``manage_file`` and its checks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.providers.file import content, hashes, paths, permissions, sources, texts
from saltlite.providers.file.backups import Backups
from saltlite.providers.file.permissions import DesiredPermissions

NEW_FILE_MODE = "0600"
"""What Salt makes a new file with before it sets the mode; a mode other than this is a change."""


@dataclass(slots=True, kw_only=True)
class File:
    """A file as it is declared: where, with which content, whose.

    ``sfn`` is the path of the content, ``""`` while it is at ``source``; ``source_sum`` what its
    hash shall be. ``contents`` is the content itself.
    """

    name: str
    sfn: str = ""
    source: Any = None
    source_sum: dict[str, str]
    wanted: DesiredPermissions
    saltenv: str = "base"
    contents: Any = None
    follow: bool = True
    backup: Any = ""
    makedirs: bool = False
    dir_mode: Any = None
    show_changes: Any = True
    skip_verify: bool = False
    keep_mode: bool = False
    encoding: str | None = None
    encoding_errors: str = "strict"
    verify_ssl: bool = True
    use_etag: bool = False

    def data(self) -> bytes:
        """``contents`` as they are written.

        Raises:
            TypeError: they are no text.
            UnicodeEncodeError: the encoding has no such letters.
        """
        if isinstance(self.contents, bytes):
            return self.contents
        if not isinstance(self.contents, str):
            kind = type(self.contents)
            raise TypeError(f"expected str, bytes, or bytearray not {kind}")
        return self.contents.encode(self.encoding or "utf-8", self.encoding_errors)

    def user_id(self) -> int | None:
        """The id of the user whose file it shall be; ``None`` if none is declared."""
        return content.uid_of(self.wanted.owner())

    def refuse_misleading(self) -> None:
        """Raise UntrustedPath if the path has a link that is not to be followed."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            permissions.reach_as(self.name, follow=self.follow, user=self.wanted.user).close()

    def hash_type(self, ctx: MinionContext) -> str:
        """The hash that the source is known by."""
        return self.source_sum.get("hash_type") or ctx.config.files.hash_type


class _Stop(Exception):
    """The file cannot be managed; the text is the comment."""


def manage(ctx: MinionContext, file: File, ret: dict[str, Any] | None) -> dict[str, Any]:
    """Write the file if its content differs, then owner, mode and attributes.

    Gives back ``{"name", "changes", "comment", "result"}`` as a state does.

    Raises:
        OSError: something cannot be read or written.
    """
    ret = ret or {"name": file.name, "changes": {}, "comment": "", "result": True}
    target = file.name
    if file.follow and os.path.islink(target):
        file.refuse_misleading()
        target = os.path.realpath(target)
    try:
        if os.path.isdir(target):
            raise _Stop(f"Specified target {file.name} is a directory")
        if os.path.lexists(target) and not _makes_way(file, target):
            return _manage_existing(ctx, file, target, ret)
        return _manage_new(ctx, file, target, ret)
    except _Stop as stop:
        ret["comment"], ret["result"] = str(stop), False
        return ret
    finally:
        content.drop_scratch(file.sfn)


def _manage_existing(
    ctx: MinionContext, file: File, target: str, ret: dict[str, Any]
) -> dict[str, Any]:
    if file.source and (file.sfn or not sources.has_content(target, file.source_sum)):
        _fetch_content(ctx, file)
        if not _is_same(target, file.sfn):
            _verify_hash(file, ctx)
            _show_difference(ctx, file, target, file.sfn, ret)
            _replace_content(ctx, file, target, lambda: content.pieces(file.sfn))
    if file.contents is not None:
        data = file.data()
        with content.scratch(data) as scratch:
            if not _is_same(target, scratch):
                _show_difference(ctx, file, target, scratch, ret)
                _replace_content(ctx, file, target, lambda: data)
    wanted = _with_source_mode(ctx, file)
    ret, _ = permissions.check(
        file.name, ret, wanted, ctx.host, follow=file.follow, test=ctx.config.files.test
    )
    if ret["changes"]:
        ret["comment"] = f"File {file.name} updated"
    elif ret["result"]:
        ret["comment"] = f"File {file.name} is in the correct state"
    return ret


def _makes_way(file: File, target: str) -> bool:
    """Whether what is there is no file, but a pipe, socket or device that a content replaces."""
    has_content = bool(file.source) or file.contents is not None
    is_other = not os.path.isfile(target) and not os.path.isdir(target)
    return has_content and is_other and os.path.exists(target)


def _is_same(target: str, other: str) -> bool:
    try:
        return os.path.isfile(target) and hashes.file_hash(target) == hashes.file_hash(other)
    except OSError:
        return False


def content_path(ctx: MinionContext, file: File) -> str:
    """Have the content of a source here and checked; its path.

    Raises:
        FunctionError: it is not there, or has another hash than it shall have.
    """
    try:
        _fetch_content(ctx, file)
        _verify_hash(file, ctx)
    except _Stop as stop:
        raise FunctionError(str(stop)) from None
    return file.sfn


def _fetch_content(ctx: MinionContext, file: File) -> None:
    """Have the content here."""
    if file.sfn:
        return
    source = str(file.source)
    if sources.is_local(source):
        path = sources.local_path(source)
        file.sfn = path if os.path.isfile(path) else ""
    else:
        file.sfn = sources.client(ctx).cache_file(
            source,
            file.saltenv,
            source_hash=file.source_sum.get("hsum"),
            verify_ssl=file.verify_ssl,
            use_etag=file.use_etag,
        )
    if not file.sfn:
        raise _Stop(f"Source file '{source}' not found")


def _verify_hash(file: File, ctx: MinionContext) -> None:
    """What did not come from the file server must have the hash that was given for it."""
    wanted = file.source_sum.get("hsum")
    if file.skip_verify or not wanted or sources.scheme_of(str(file.source)) == "salt":
        return
    form = file.hash_type(ctx)
    actual = hashes.file_hash(file.sfn, form)
    if actual != wanted:
        raise _Stop(
            f"Specified {form} checksum for {file.source} ({wanted}) does not match actual"
            f" checksum ({actual}). If the 'source_hash' value refers to a remote file with"
            " multiple possible matches, then it may be necessary to set 'source_hash_name'."
        )


def _show_difference(
    ctx: MinionContext, file: File, old: str, new: str, ret: dict[str, Any]
) -> None:
    if os.path.islink(old) and not os.path.exists(old):
        ret["changes"]["diff"] = "New file"
        return
    try:
        ret["changes"]["diff"] = texts.compare_files(
            old,
            new,
            names=False,
            show=file.show_changes,
            obfuscate=obfuscates(ctx),
        )
    except FunctionError as error:
        warning = f"Failed to detect changes to file: {error}"
        ret.setdefault("warnings", []).append(warning)


def obfuscates(ctx: MinionContext) -> bool:
    """Whether differences are not to be shown; with the option no file's is, as in Salt."""
    return bool(ctx.config.extra.get("obfuscate_templates"))


def _replace_content(ctx: MinionContext, file: File, target: str, data: Any) -> None:
    """New content for a file that is there; a link that is not followed becomes a file."""
    keeps = _backup_mode(ctx, file)
    if keeps and os.path.isfile(target):
        Backups(ctx.config.paths.cachedir).keep(file.name, name=target, user=file.user_id())
    if not file.follow and os.path.islink(target):
        content.create(target, data())
        return
    content.put_data(file.name, data(), keep_names=False, user=file.user_id())


def _backup_mode(ctx: MinionContext, file: File) -> bool:
    """Whether a copy is kept; on the master it never is, in Salt neither."""
    return file.backup in ("minion", "both")


def _with_source_mode(ctx: MinionContext, file: File) -> DesiredPermissions:
    wanted = file.wanted
    if not file.keep_mode or not file.source:
        return wanted
    mode = source_mode(ctx, str(file.source), file.saltenv)
    if mode is None:
        return wanted
    return DesiredPermissions(user=wanted.user, group=wanted.group, mode=mode, attrs=wanted.attrs)


def source_mode(ctx: MinionContext, source: str, saltenv: str) -> str | None:
    """The mode of a source on the file server or this machine; ``None`` for any other."""
    if sources.is_local(source):
        path = sources.local_path(source)
        return permissions.mode_text(os.stat(path).st_mode) if os.path.exists(path) else None
    if sources.scheme_of(source) != "salt":
        return None
    found = sources.client(ctx).stat(source, saltenv)
    return permissions.mode_text(int(found[0])) if found else None


def _manage_new(ctx: MinionContext, file: File, target: str, ret: dict[str, Any]) -> dict[str, Any]:
    if file.source:
        _fetch_content(ctx, file)
        _verify_hash(file, ctx)
    _make_parents(file, target)
    wanted = _with_source_mode(ctx, file)
    if file.source:
        _create_file(file, content.pieces(file.sfn), wanted)
        ret["changes"]["diff"] = "New file"
    elif file.contents is not None:
        _create_file(file, file.data(), wanted)
        ret["changes"]["diff"] = "New file"
    else:
        _create_file(file, b"", wanted)
        ret["changes"]["new"] = f"file {file.name} created"
        ret["comment"] = "Empty file"
    _note_new(ret, file, wanted)
    ret, _ = permissions.check(
        file.name, ret, wanted, ctx.host, follow=file.follow, test=ctx.config.files.test
    )
    if not ret["comment"]:
        ret["comment"] = f"File {file.name} updated"
    return ret


def _make_parents(file: File, target: str) -> None:
    folder = os.path.dirname(target)
    if os.path.isdir(folder):
        return
    if not file.makedirs:
        raise _Stop("Parent directory not present")
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


def _create_file(file: File, data: bytes | Iterable[bytes], wanted: DesiredPermissions) -> None:
    """With owner and mode right from the first moment."""
    mode = content.default_mode()
    if wanted.mode is not None:
        try:
            mode = permissions.mode_number(wanted.mode)
        except FunctionError:
            mode = int(NEW_FILE_MODE, 8)
    owner = wanted.owner()
    owner_or_none = None if owner == (-1, -1) else owner
    content.create(file.name, data, mode, owner_or_none, follow=file.follow)


def _note_new(ret: dict[str, Any], file: File, wanted: DesiredPermissions) -> None:
    """What Salt calls changes of a file that was not there: it begins as root's, with 0600."""
    now = os.stat(file.name, follow_symlinks=file.follow)
    for part, value, own, number in (
        ("user", wanted.user, os.geteuid(), now.st_uid),
        ("group", wanted.group, os.getegid(), now.st_gid),
    ):
        if value not in (None, "") and number != own:
            ret["changes"][part] = value
    mode = permissions.mode_text(now.st_mode)
    if (file.source or wanted.mode is not None) and mode != NEW_FILE_MODE:
        ret["changes"]["mode"] = mode


def check_meta(ctx: MinionContext, file: File) -> dict[str, Any]:
    """What of a file is not as declared: ``newfile``, ``diff``, ``sum``, owner, mode, ``attrs``."""
    try:
        found = permissions.status(file.name, follow=file.follow)
    except FunctionError:
        return {"newfile": file.name}
    if _makes_way(file, file.name):
        return {"newfile": file.name}
    changes: dict[str, Any] = {}
    _check_source(ctx, file, changes)
    if file.contents is not None:
        _check_contents(ctx, file, changes)
    return changes | _other_owners(file.wanted, found) | _other_attrs(ctx, file)


def _check_source(ctx: MinionContext, file: File, changes: dict[str, Any]) -> None:
    wanted = file.source_sum.get("hsum")
    if not wanted or hashes.file_hash(file.name, file.hash_type(ctx)) == wanted:
        return
    if not file.sfn and file.source:
        file.sfn = sources.client(ctx).cache_file(
            str(file.source), file.saltenv, source_hash=wanted, verify_ssl=file.verify_ssl
        )
    if not file.sfn:
        changes["sum"] = "Checksum differs"
        return
    changes["diff"] = texts.compare_files(
        file.name, file.sfn, names=False, show=file.show_changes, obfuscate=obfuscates(ctx)
    )


def _check_contents(ctx: MinionContext, file: File, changes: dict[str, Any]) -> None:
    with content.scratch(file.data()) as scratch:
        try:
            found = texts.compare_files(
                file.name, scratch, names=False, show=file.show_changes, obfuscate=obfuscates(ctx)
            )
        except FunctionError as error:
            found = str(error)
    if found:
        changes["diff"] = found


def _other_owners(wanted: DesiredPermissions, found: os.stat_result) -> dict[str, Any]:
    parts = (
        ("user", wanted.user, found.st_uid, permissions.user_name(found.st_uid, wanted.user)),
        ("group", wanted.group, found.st_gid, permissions.group_name(found.st_gid, wanted.group)),
    )
    changes: dict[str, Any] = {
        part: value for part, value, number, name in parts if value not in (None, number, name)
    }
    if wanted.mode is not None:
        mode = permissions.normalize_mode(wanted.mode)
        if mode != permissions.mode_text(found.st_mode):
            changes["mode"] = mode
    return changes


def _other_attrs(ctx: MinionContext, file: File) -> dict[str, Any]:
    from saltlite.providers.file import permissions

    if file.wanted.attrs is None:
        return {}
    now = (permissions.read_attributes(ctx.host, file.name) or {}).get(file.name)
    if now is None or not any(permissions.compare_attributes(now, file.wanted.attrs)):
        return {}
    return {"attrs": file.wanted.attrs}


def without_owners(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Salt's ``check_managed`` does not mind who owns a file below the temporary directory."""
    import tempfile

    if not os.path.realpath(name).startswith(os.path.join(tempfile.gettempdir(), "")):
        return changes
    return {part: value for part, value in changes.items() if part not in _OWNERSHIP}


_OWNERSHIP = frozenset({"user", "group", "mode"})
