"""The file bucket: what states replaced on this minion, by content, to look at and to restore.

Who may call these functions may read all that states replaced, as with ``file.read``.
Source: docs/file-bucket.md.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.replaced_files import ReplacedFiles, open_bucket
from saltlite.openat import keep_with
from saltlite.providers.file import content, permissions, texts
from saltlite.providers.file.bucket import BucketEntry, choose_entry
from saltlite.providers.file.paths import home

LISTED = 1000


def list_(
    ctx: MinionContext, path: str = "", since: object = None, limit: int = LISTED
) -> list[dict[str, Any]]:
    """List what was replaced, the newest first: when, where, by which state, and its digest.

    path
        The path of a file, or a glob; a directory means all that was in it.

    since
        ``yesterday``, ``12h``, ``7d``, ``2030-01-31``, ``'2030-01-31 17:00'``.

    limit : 1000
        So many at most.

    CLI Example:

        salt '*' bucket.list
        salt '*' bucket.list '/etc/*' since=yesterday
    """
    glob = os.path.join(home(path), "*") if path and os.path.isdir(home(path)) else home(path)
    since_s = 0.0 if since is None else _read_moment(str(since))
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError(f"limit: {limit!r} is no number from 1 on")
    found = []
    for entry in open_bucket(ctx).search(glob, since_s):
        found.append(_show_entry(entry))
        if len(found) == limit:
            break
    return found


def get(ctx: MinionContext, digest: str) -> str | bytes:
    """Return a content by its digest, or the first 8 or more letters of it.

    CLI Example:

        salt '*' bucket.get 2c26b46b68ff
    """
    bucket = open_bucket(ctx)
    data = bucket.read(bucket.find_digest(str(digest)))
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def diff(ctx: MinionContext, path: str, when: object = None, when2: object = None) -> str:
    """Show what has changed in a file since a moment, or between two.

    when
        A number as in ``bucket.list`` of this file, 0 the newest (the default), a digest, or a
        moment: the file as it was then.

    when2
        The same; without it the file as it is now.

    CLI Example:

        salt '*' bucket.diff /etc/motd
        salt '*' bucket.diff /etc/motd yesterday
        salt '*' bucket.diff /etc/motd 2 0
    """
    path = _require_path(path)
    bucket = open_bucket(ctx)
    kept = bucket.of(path)
    old = _choose_entry(kept, path, when)
    before = bucket.read(old.digest)
    if when2 is None:
        after, title = _read_current(path), path
    else:
        new = _choose_entry(kept, path, when2)
        after, title = bucket.read(new.digest), _say_origin(new)
    return _compare_contents(before, after, _say_origin(old), title)


def restore(
    ctx: MinionContext, path: str, when: object = None, test: bool = False
) -> dict[str, Any]:
    """Give a file the content, mode and owner that it had; what it replaces is kept as well.

    when
        As in ``bucket.diff``: a number, 0 the newest (the default), a digest, or a moment.

    test : False
        Only say what would change.

    CLI Example:

        salt '*' bucket.restore /etc/motd
        salt '*' bucket.restore /etc/motd yesterday test=True
    """
    path = _require_path(path)
    bucket = open_bucket(ctx)
    entry = _choose_entry(bucket.of(path), path, when)
    data = bucket.read(entry.digest)
    changes = _find_changes(path, entry, data)
    if not changes:
        return _make_answer(entry, True, f"File {path} is as it was at that time", {})
    if test:
        return _make_answer(entry, None, f"File {path} would be restored", changes)
    chunk = Chunk(
        state="bucket", fun="restore", name=path, ident=path, sls=None, saltenv=None, arguments={}
    )
    keeper = ReplacedFiles(ctx, chunk)
    with keep_with(keeper.keep):
        try:
            content.restore(path, data, entry.mode, (entry.uid, entry.gid))
        except OSError as error:
            raise FunctionError(f"{path} cannot be restored: {error.strerror or error}") from error
    answer = _make_answer(entry, True, f"File {path} restored", changes)
    more: dict[str, Any] = {"replaced": keeper.kept} if keeper.kept else {}
    return {**answer, **more, **({"warnings": keeper.warnings} if keeper.warnings else {})}


def clean(ctx: MinionContext, everything: bool = False) -> dict[str, int]:
    """Drop what is beyond the bounds of the options, which also happens by itself; or everything.

    CLI Example:

        salt '*' bucket.clean
        salt '*' bucket.clean everything=True
    """
    entries, size = open_bucket(ctx).clean(everything=everything is True)
    return {"entries": entries, "bytes": size}


def _compare_contents(before: bytes, after: bytes, *titles: str) -> str:
    if not (texts.is_text(before) and texts.is_text(after)):
        return "" if before == after else "Binary files differ"
    lines = [texts.split_lines(data.decode("utf-8", "replace")) for data in (before, after)]
    return texts.unified_diff(lines[0], lines[1], *titles)


def _require_path(path: str) -> str:
    path = home(str(path))
    if not os.path.isabs(path):
        raise UsageError(f"{path} is not an absolute path")
    return os.path.normpath(path)


def _choose_entry(kept: list[BucketEntry], path: str, when: object) -> BucketEntry:
    if not kept:
        raise FunctionError(f"{path}: nothing of this file is kept")
    try:
        return choose_entry(kept, when, _read_moment)
    except FunctionError as error:
        raise FunctionError(f"{path}: {error}") from None


def _read_moment(text: str) -> float:
    from datetime import datetime

    from saltlite.core.past_moments import read_past_moment

    try:
        return read_past_moment(text, datetime.now().astimezone())
    except (ValueError, OverflowError) as error:
        raise UsageError(str(error)) from None


def _format_time(time_s: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(time_s).astimezone().isoformat(" ", "seconds")


def _say_origin(entry: BucketEntry) -> str:
    return f"{entry.path} ({_format_time(entry.time_s)})"


def _read_current(path: str) -> bytes:
    try:
        return content.load(path).data
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise FunctionError(f"{path} cannot be read: {error.strerror or error}") from error


def _show_entry(entry: BucketEntry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "replaced": _format_time(entry.time_s),
        "digest": entry.digest,
        "size": entry.size_bytes,
        "mode": permissions.mode_text(entry.mode),
        "user": permissions.user_name(entry.uid),
        "group": permissions.group_name(entry.gid),
        "jid": entry.jid,
        "state": entry.state,
    }


def _find_changes(path: str, entry: BucketEntry, data: bytes) -> dict[str, Any]:
    """What restoring changes, by name old and new; ``None`` is of no file."""
    import hashlib

    try:
        now = content.load(path)
    except FileNotFoundError:
        return {"sha256": {"old": None, "new": entry.digest}}
    except OSError as error:
        raise FunctionError(f"{path} cannot be read: {error.strerror or error}") from error
    pairs = {
        "sha256": (hashlib.sha256(now.data).hexdigest(), entry.digest),
        "mode": tuple(map(permissions.mode_text, (stat.S_IMODE(now.status.st_mode), entry.mode))),
        "user": tuple(map(permissions.user_name, (now.status.st_uid, entry.uid))),
        "group": tuple(map(permissions.group_name, (now.status.st_gid, entry.gid))),
    }
    return {name: {"old": old, "new": new} for name, (old, new) in pairs.items() if old != new}


def _make_answer(
    entry: BucketEntry, result: bool | None, comment: str, changes: dict[str, Any]
) -> dict[str, Any]:
    return {
        "result": result,
        "comment": comment,
        "changes": changes,
        "from": _show_entry(entry),
    }
