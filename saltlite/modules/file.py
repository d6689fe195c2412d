"""Look at files, change them, and make them what they shall be."""

from __future__ import annotations

import logging
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.modules._file import (
    attributes,
    commands,
    comments,
    compared,
    hashes,
    managing,
    owners,
    permissions,
    place,
    replacing,
    sources,
    texts,
)
from saltlite.modules._file import lines as line_edits
from saltlite.modules._file.backups import Backups, timestamped
from saltlite.modules._file.blocks import Block
from saltlite.modules._file.blocks import replaced as block_replaced
from saltlite.modules._file.permissions import Wanted

log = logging.getLogger(__name__)

SECONDS_A_DAY = 86400
READ_CHARACTERS = 65536

_KINDS = (
    (stat.S_ISREG, "file"),
    (stat.S_ISLNK, "link"),
    (stat.S_ISDIR, "dir"),
    (stat.S_ISCHR, "char"),
    (stat.S_ISBLK, "block"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
)


def _home(path: str) -> str:
    """A path with ``~`` resolved."""
    return os.path.expanduser(path)


def _absolute(path: str, complaint: str = "File path must be absolute.") -> str:
    path = _home(path)
    if not os.path.isabs(path):
        raise UsageError(complaint.format(path))
    return path


# --- names ---


def basename(path: str) -> str:
    """The last part of a path.

    CLI Example:

        salt '*' file.basename 'test/test.config'
    """
    return os.path.basename(path)


def dirname(path: str) -> str:
    """A path without its last part.

    CLI Example:

        salt '*' file.dirname 'test/path/filename.config'
    """
    return os.path.dirname(path)


def join(*args: str) -> str:
    """Parts of a path, put together.

    CLI Example:

        salt '*' file.join '/' 'usr' 'local' 'bin'
    """
    return os.path.join(*args)


def normpath(path: str) -> str:
    """A path without ``..``, ``.`` and double slashes.

    CLI Example:

        salt '*' file.normpath 'a/b/c/..'
    """
    return os.path.normpath(path)


def pardir() -> str:
    """What the directory above is called here.

    CLI Example:

        salt '*' file.pardir
    """
    return os.path.pardir


# --- what is there ---


def access(path: str, mode: Any) -> bool:
    """Whether we may use a file: ``f`` it is there, ``r`` read, ``w`` write, ``x`` run.

    CLI Example:

        salt '*' file.access /path/to/file f
    """
    path = _absolute(path, "Path to link must be absolute.")
    modes = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode in modes:
        return os.access(path, modes[mode])
    if mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK):
        return os.access(path, mode)
    raise UsageError("Invalid mode specified.")


def file_exists(path: str) -> bool:
    """Whether a regular file is there.

    CLI Example:

        salt '*' file.file_exists /etc/passwd
    """
    return os.path.isfile(_home(path))


def directory_exists(path: str) -> bool:
    """Whether a directory is there.

    CLI Example:

        salt '*' file.directory_exists /etc
    """
    return os.path.isdir(_home(path))


def path_exists_glob(path: str) -> bool:
    """Whether anything fits a path with ``*``, ``?`` and ``[...]``.

    CLI Example:

        salt '*' file.path_exists_glob /etc/pam*/pass*
    """
    import glob

    return bool(glob.glob(_home(path)))


def is_link(path: str) -> bool:
    """Whether a path is a symbolic link.

    CLI Example:

        salt '*' file.is_link /path/to/link
    """
    return os.path.islink(_home(path))


def is_hardlink(path: str) -> Any:
    """Whether a file has more than one name; empty if there is none.

    CLI Example:

        salt '*' file.is_hardlink /path/to/link
    """
    found = lstat(path)
    return found and found["st_nlink"] > 1


def _is_kind(path: str, test: Callable[[int], bool]) -> bool:
    try:
        return test(os.stat(_home(path)).st_mode)
    except FileNotFoundError:
        return False


def is_blkdev(name: str) -> bool:
    """Whether a block device is there.

    CLI Example:

        salt '*' file.is_blkdev /dev/blk
    """
    return _is_kind(name, stat.S_ISBLK)


def is_chrdev(name: str) -> bool:
    """Whether a character device is there.

    CLI Example:

        salt '*' file.is_chrdev /dev/chr
    """
    return _is_kind(name, stat.S_ISCHR)


def is_fifo(name: str) -> bool:
    """Whether a named pipe is there.

    CLI Example:

        salt '*' file.is_fifo /dev/fifo
    """
    return _is_kind(name, stat.S_ISFIFO)


def get_devmm(name: str) -> tuple[int, int]:
    """Major and minor number of a device, ``(0, 0)`` for anything else.

    CLI Example:

        salt '*' file.get_devmm /dev/chr
    """
    name = _home(name)
    if not (is_chrdev(name) or is_blkdev(name)):
        return 0, 0
    number = os.stat(name).st_rdev
    return os.major(number), os.minor(number)


def lstat(path: str) -> dict[str, Any]:
    """The status of a file, a link's own; empty if there is none.

    CLI Example:

        salt '*' file.lstat /path/to/file
    """
    path = _absolute(path, "Path to file must be absolute.")
    try:
        found = os.lstat(path)
    except OSError:
        return {}
    return {
        "st_atime": found.st_atime,
        "st_ctime": found.st_ctime,
        "st_gid": found.st_gid,
        "st_mode": found.st_mode,
        "st_mtime": found.st_mtime,
        "st_nlink": found.st_nlink,
        "st_size": found.st_size,
        "st_uid": found.st_uid,
    }


def stats(path: str, hash_type: Any = None, follow_symlinks: bool = True) -> dict[str, Any]:
    """Owner, times, size, mode and kind of a file; its hash too if a type is given.

    CLI Example:

        salt '*' file.stats /etc/passwd
    """
    path = _home(path)
    found = owners.status(path, follow=follow_symlinks)
    result = {
        "inode": found.st_ino,
        "uid": found.st_uid,
        "gid": found.st_gid,
        "group": owners.group_name(found.st_gid),
        "user": owners.user_name(found.st_uid),
        "atime": found.st_atime,
        "mtime": found.st_mtime,
        "ctime": found.st_ctime,
        "size": found.st_size,
        "mode": owners.mode_text(found.st_mode),
    }
    if hash_type:
        result["sum"] = hashes.file_hash(path, hash_type)
    result["type"] = next((kind for test, kind in _KINDS if test(found.st_mode)), "file")
    result["target"] = os.path.realpath(path)
    return result


def statvfs(path: str) -> dict[str, int]:
    """The status of the file system that a file is on.

    CLI Example:

        salt '*' file.statvfs /path/to/file
    """
    path = _absolute(path)
    try:
        found = os.statvfs(path)
    except OSError as error:
        raise FunctionError(f"Could not statvfs '{path}'") from error
    return {
        "f_bavail": found.f_bavail,
        "f_bfree": found.f_bfree,
        "f_blocks": found.f_blocks,
        "f_bsize": found.f_bsize,
        "f_favail": found.f_favail,
        "f_ffree": found.f_ffree,
        "f_files": found.f_files,
        "f_flag": found.f_flag,
        "f_frsize": found.f_frsize,
        "f_namemax": found.f_namemax,
    }


def readdir(path: str) -> list[str]:
    """The names in a directory, ``.`` and ``..`` first.

    CLI Example:

        salt '*' file.readdir /path/to/dir/
    """
    path = _absolute(path, "Dir path must be absolute.")
    if not os.path.isdir(path):
        raise UsageError(f"A valid directory was not specified: {path}")
    return [".", "..", *os.listdir(path)]


def readlink(path: str, canonicalize: bool = False) -> str:
    """Where a symbolic link points; with ``canonicalize`` to the very end.

    CLI Example:

        salt '*' file.readlink /path/to/link
    """
    path = _absolute(path, "Path to link must be absolute: {}")
    if not os.path.islink(path):
        raise UsageError(f"A valid link was not specified: {path}")
    return os.path.realpath(path) if canonicalize else os.readlink(path)


def diskusage(path: str) -> int:
    """The bytes of a file, or of all files below a directory; each file counts once.

    CLI Example:

        salt '*' file.diskusage /path/to/check
    """
    seen: dict[tuple[int, int], int] = {}
    for found in _files_below(path):
        try:
            status = os.stat(found)
        except OSError:
            continue
        seen[status.st_dev, status.st_ino] = status.st_size
    return sum(seen.values())


def _files_below(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


def open_files(by_pid: bool = False) -> dict[Any, Any]:
    """The files that processes have open: by path, or by process.

    CLI Example:

        salt '*' file.open_files
        salt '*' file.open_files by_pid=True
    """
    of_process = {int(name): _open_by(name) for name in os.listdir("/proc") if name.isdigit()}
    if by_pid:
        return of_process
    of_file: dict[str, list[int]] = {}
    for pid, paths in of_process.items():
        for path in paths:
            of_file.setdefault(path, []).append(pid)
    return of_file


def _open_by(pid: str) -> list[str]:
    folder = f"/proc/{pid}/fd"
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        try:
            path = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if os.path.exists(path) and path not in found:
            found.append(path)
    return sorted(found)


def find(ctx: MinionContext, path: str, *args: str, **kwargs: Any) -> Any:
    r"""The files below a path that meet all criteria, or what actions say about them.

    Criteria: ``name`` and ``iname`` (globs), ``regex`` and ``iregex``, ``type`` (letters
    ``bcdflps``), ``owner``, ``group``, ``size`` (``[+-]number[bkmgt]``), ``mtime``
    (``[+-]1w2d3h4m5s``), ``grep``. Depths: ``mindepth``, ``maxdepth``. Actions: ``delete`` (letters
    of types), ``exec`` (``{}`` is the path), ``print`` (``group md5 mode mtime name path size type
    user``).

    CLI Example:

        salt '*' file.find / type=f name=\*.bak size=+10m
        salt '*' file.find /var mtime=+30d size=+10m print=path,size,mtime
        salt '*' file.find /var/log name=\*.[0-9] mtime=+30d size=+10m delete
    """
    import glob

    from saltlite.modules._file.criteria import CriterionError
    from saltlite.modules._file.find import Finder

    options = {name: value for name, value in kwargs.items() if not name.startswith("__")}
    if "delete" in args:
        options["delete"] = "f"
    elif "print" in args:
        options["print"] = "path"
    path = _home(path)
    try:
        finder = Finder(options, ctx.host)
    except CriterionError as error:
        return f"error: {error}"
    starts = glob.glob(path) if any(char in path for char in "*?[") else [path]
    return sorted(said for start in starts for said in finder.find(start))


# --- owners and modes ---


def uid_to_user(uid: Any) -> Any:
    """The name of a user id.

    CLI Example:

        salt '*' file.uid_to_user 0
    """
    return owners.user_name(uid)


def user_to_uid(user: Any) -> Any:
    """The id of a user.

    CLI Example:

        salt '*' file.user_to_uid root
    """
    return owners.user_id(user)


def gid_to_group(gid: Any) -> Any:
    """The name of a group id.

    CLI Example:

        salt '*' file.gid_to_group 0
    """
    return owners.group_name(gid)


def group_to_gid(group: Any) -> Any:
    """The id of a group.

    CLI Example:

        salt '*' file.group_to_gid root
    """
    return owners.group_id(group)


def get_uid(path: str, follow_symlinks: bool = True) -> int:
    """The id of the user that a file belongs to.

    CLI Example:

        salt '*' file.get_uid /etc/passwd
    """
    return owners.status(_home(path), follow=follow_symlinks).st_uid


def get_user(path: str, follow_symlinks: bool = True) -> Any:
    """The user that a file belongs to.

    CLI Example:

        salt '*' file.get_user /etc/passwd
    """
    return owners.user_name(get_uid(path, follow_symlinks))


def get_gid(path: str, follow_symlinks: bool = True) -> int:
    """The id of the group that a file belongs to.

    CLI Example:

        salt '*' file.get_gid /etc/passwd
    """
    return owners.status(_home(path), follow=follow_symlinks).st_gid


def get_group(path: str, follow_symlinks: bool = True) -> Any:
    """The group that a file belongs to.

    CLI Example:

        salt '*' file.get_group /etc/passwd
    """
    return owners.group_name(get_gid(path, follow_symlinks))


def get_mode(path: str, follow_symlinks: bool = True) -> str:
    """The mode of a file.

    CLI Example:

        salt '*' file.get_mode /etc/passwd
    """
    return owners.mode_text(owners.status(_home(path), follow=follow_symlinks).st_mode)


def set_mode(path: str, mode: Any) -> str:
    """Set the mode of a file; gives back the mode.

    CLI Example:

        salt '*' file.set_mode /etc/passwd 0644
    """
    path = _home(path)
    if not os.path.exists(path):
        raise FunctionError(f"{path}: File not found")
    try:
        os.chmod(path, owners.mode_number(mode))
    except (ValueError, OSError):
        return f"Invalid Mode {mode}"
    return get_mode(path)


def chown(path: str, user: Any, group: Any) -> str | None:
    """Give a file to a user and a group; ``""`` leaves one as it is.

    CLI Example:

        salt '*' file.chown /etc/passwd root root
    """
    return owners.chown(_home(path), user, group, follow=True)


def lchown(path: str, user: Any, group: Any) -> str | None:
    """Give a file to a user and a group; of a link, the link itself.

    CLI Example:

        salt '*' file.lchown /etc/passwd root root
    """
    return owners.chown(_home(path), user, group, follow=False)


def chgrp(path: str, group: Any) -> str | None:
    """Give a file to a group.

    CLI Example:

        salt '*' file.chgrp /etc/passwd root
    """
    path = _home(path)
    owners.status(path)
    return owners.chown(path, None, group, follow=True)


def check_perms(
    ctx: MinionContext,
    name: str,
    ret: dict[str, Any] | None,
    user: Any,
    group: Any,
    mode: Any,
    attrs: str | None = None,
    follow_symlinks: bool = False,
    seuser: Any = None,
    serole: Any = None,
    setype: Any = None,
    serange: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Set owner, mode and attributes where they differ; a state's return, and what was before.

    CLI Example:

        salt '*' file.check_perms /etc/sudoers '{}' root root 400 ai
    """
    wanted = Wanted(user=user, group=group, mode=mode, attrs=attrs)
    test = ctx.config.files.test
    return permissions.check(_home(name), ret, wanted, ctx.host, follow=follow_symlinks, test=test)


def lsattr(ctx: MinionContext, path: str) -> dict[str, list[str]] | None:
    """The attributes of a file, or of the files in a directory.

    CLI Example:

        salt '*' file.lsattr foo1.txt
    """
    return attributes.read(ctx.host, path)


def chattr(ctx: MinionContext, *args: str, **kwargs: Any) -> bool:
    """Add or remove attributes of files.

    ``operator`` is ``add`` or ``remove``, ``attributes`` letters; ``flags`` and ``version`` are for
    ``chattr``.

    CLI Example:

        salt '*' file.chattr foo1.txt foo2.txt operator=add attributes=ai
        salt '*' file.chattr foo3.txt operator=remove attributes=i version=2
    """
    return attributes.change(
        ctx.host,
        [_home(path) for path in args],
        kwargs.get("operator"),
        kwargs.get("attributes"),
        kwargs.get("flags"),
        kwargs.get("version"),
    )


def get_selinux_context(ctx: MinionContext, path: str) -> str:
    """The SELinux context of a file.

    CLI Example:

        salt '*' file.get_selinux_context /etc/hosts
    """
    shown = ctx.host.run(["ls", "-Z", "-d", "--", _home(path)]).stdout
    match = re.match(r"(\w+:\w+:\w+:\S+)\s", shown)
    return match[1] if match else f"No selinux context information is available for {path}"


def set_selinux_context(
    ctx: MinionContext,
    path: str,
    user: Any = None,
    role: Any = None,
    type: Any = None,
    range: Any = None,
    persist: bool = False,
) -> Any:
    """Set parts of the SELinux context of a file; the context, or ``False``.

    CLI Example:

        salt '*' file.set_selinux_context /etc/yum.repos.d/epel.repo system_u object_r
    """
    parts = (("-u", user), ("-r", role), ("-t", type), ("-l", range))
    options = [word for option, value in parts if value for word in (option, str(value))]
    if not options or ctx.host.which("chcon") is None:
        return False
    if ctx.host.run(["chcon", *options, "--", _home(path)]).exit_code:
        return False
    if persist and type and ctx.host.which("semanage"):
        ctx.host.run(["semanage", "fcontext", "-a", "-t", str(type), _home(path)])
    return get_selinux_context(ctx, path)


def restorecon(ctx: MinionContext, path: str, recursive: bool = False) -> bool:
    """Give a file the SELinux context that the policy has for it.

    CLI Example:

        salt '*' file.restorecon /home/user/.ssh/authorized_keys
    """
    argv = ["restorecon", "-FR" if recursive else "-F", _home(path)]
    return bool(commands.run(ctx, argv)["retcode"] == 0)


# --- hashes ---


def get_hash(path: str, form: str = "sha256", chunk_size: int = hashes.CHUNK_BYTES) -> str:
    """The hash of a file.

    CLI Example:

        salt '*' file.get_hash /etc/shadow
    """
    return hashes.file_hash(_home(path), form, chunk_size)


def get_sum(path: str, form: str = "sha256") -> str:
    """The hash of a file; a sentence if there is no file.

    CLI Example:

        salt '*' file.get_sum /etc/passwd sha512
    """
    path = _home(path)
    return hashes.file_hash(path, form) if os.path.isfile(path) else "File not found"


def check_hash(path: str, file_hash: str) -> bool:
    """Whether a file has this hash: a bare one, or ``type=hash``.

    CLI Example:

        salt '*' file.check_hash /etc/fstab e138491e9d5b97023cea823fe17bac22
        salt '*' file.check_hash /etc/fstab md5=e138491e9d5b97023cea823fe17bac22
    """
    form, hsum = hashes.expected(file_hash)
    return hashes.file_hash(_home(path), form) == hsum


def extract_hash(
    hash_fn: str,
    hash_type: Any = "sha256",
    file_name: str = "",
    source: str = "",
    source_hash_name: Any = None,
) -> dict[str, str] | None:
    """The hash that a file with hashes has for another file, else its first one.

    CLI Example:

        salt '*' file.extract_hash /path/to/hash/file sha512 /etc/foo
    """
    return sources.extract(hash_fn, hash_type, file_name, source, source_hash_name)


def get_source_sum(
    ctx: MinionContext,
    file_name: str = "",
    source: str = "",
    source_hash: Any = None,
    source_hash_name: Any = None,
    saltenv: str = "base",
    verify_ssl: bool = True,
) -> dict[str, str]:
    """Hash type and hash that a ``source_hash`` stands for: an expression, or a file with hashes.

    CLI Example:

        salt '*' file.get_source_sum /tmp/foo.tar.gz source_hash=499ae16dcae71eeb7c3a30c75ea7a1a6
    """
    return sources.source_sum(
        ctx, file_name, source, source_hash, source_hash_name, saltenv, verify_ssl=verify_ssl
    )


# --- content ---


def read(path: str, binary: bool = False) -> str | bytes:
    """The content of a file.

    CLI Example:

        salt '*' file.read /path/to/file
    """
    with open(path, "rb") as file:
        content = file.read()
    return content if binary else content.decode()


def seek_read(path: str, size: Any, offset: Any) -> bytes:
    """A piece of a file.

    CLI Example:

        salt '*' file.seek_read /path/to/file 4096 0
    """
    fd = os.open(_home(path), os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.lseek(fd, int(offset), os.SEEK_SET)
        return os.read(fd, int(size))
    finally:
        os.close(fd)


def seek_write(path: str, data: Any, offset: Any) -> int:
    """Write a piece into a file; how many bytes were written.

    CLI Example:

        salt '*' file.seek_write /path/to/file 'some data' 4096
    """
    piece = data if isinstance(data, bytes) else str(data).encode()
    fd = os.open(_home(path), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.lseek(fd, int(offset), os.SEEK_SET)
        return os.write(fd, piece)
    finally:
        os.close(fd)


def truncate(path: str, length: Any) -> None:
    """Cut a file off after so many bytes.

    CLI Example:

        salt '*' file.truncate /path/to/file 512
    """
    with open(_home(path), "rb+") as file:
        file.truncate(int(length))


def touch(name: str, atime: Any = None, mtime: Any = None) -> bool:
    """Make an empty file, or set the times of one: seconds, now without them.

    CLI Example:

        salt '*' file.touch /var/log/emptyfile
    """
    name = _home(name)
    now = time.time()
    try:
        times = (now if atime is None else int(atime), now if mtime is None else int(mtime))
    except (TypeError, ValueError):
        raise UsageError("atime and mtime must be integers") from None
    try:
        if not os.path.exists(name):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
        os.utime(name, times)
    except OSError as error:
        raise FunctionError(error.strerror or str(error)) from error
    return os.path.exists(name)


def _texts_given(args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """The lines to write; ``args=`` wins, for texts with an equals sign."""
    given: Any = args
    if "args" in kwargs:
        given = kwargs["args"] if isinstance(kwargs["args"], list) else [kwargs["args"]]
    return [str(text) for text in given]


def append(path: str, *args: str, **kwargs: Any) -> str:
    """Add lines to the end of a file.

    CLI Example:

        salt '*' file.append /etc/motd "With all thine offerings thou shalt offer salt."
        salt '*' file.append /etc/motd args="['cheese=spam','spam=cheese']"
    """
    path = _home(path)
    lines = _texts_given(args, kwargs)
    data = "".join(f"{line}\n" for line in lines).encode()
    with open(path, "rb+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n" and lines:
                data = b"\n" + data
        file.write(data)
    return f'Wrote {len(lines)} lines to "{path}"'


def prepend(path: str, *args: str, **kwargs: Any) -> str:
    """Put lines before those of a file.

    CLI Example:

        salt '*' file.prepend /etc/motd "With all thine offerings thou shalt offer salt."
    """
    path = _home(path)
    lines = _texts_given(args, kwargs)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            content = file.read()
    except FileNotFoundError:
        content = ""
    place.put(path, ("".join(f"{line}\n" for line in lines) + content).encode())
    return f'Prepended {len(lines)} lines to "{path}"'


def write(path: str, *args: str, **kwargs: Any) -> str:
    """Write lines into a file, in place of all that is in it.

    CLI Example:

        salt '*' file.write /etc/motd "With all thine offerings thou shalt offer salt."
    """
    path = _home(path)
    lines = _texts_given(args, kwargs)
    place.put(path, "".join(f"{line}\n" for line in lines).encode())
    return f'Wrote {len(lines)} lines to "{path}"'


def contains(path: str, text: Any) -> bool:
    """Whether a text is in a file.

    CLI Example:

        salt '*' file.contains /etc/crontab 'mymaintenance.sh'
    """
    path = _home(path)
    wanted = str(text).strip()
    if not os.path.isfile(path):
        return False
    kept = ""
    with open(path, encoding="utf-8") as file:
        while chunk := file.read(READ_CHARACTERS):
            kept += chunk
            if wanted in kept:
                return True
            kept = kept[-len(wanted) :] if wanted else ""
    return not wanted


def contains_regex(path: str, regex: str, lchar: str = "") -> bool:
    """Whether a regular expression matches in a line; ``lchar`` is stripped from the left before.

    CLI Example:

        salt '*' file.contains_regex /etc/crontab '^[^#].*root'
    """
    path = _home(path)
    if not os.path.isfile(path):
        return False
    pattern = re.compile(regex)
    with open(path, encoding="utf-8") as file:
        return any(pattern.search(line.lstrip(lchar) if lchar else line) for line in file)


def contains_glob(path: str, glob_expr: str) -> bool:
    """Whether the content of a file fits a glob.

    CLI Example:

        salt '*' file.contains_glob /etc/foobar '*cheese*'
    """
    import fnmatch

    path = _home(path)
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8") as file:
        return fnmatch.fnmatch(file.read(), glob_expr)


def sed_contains(
    ctx: MinionContext, path: str, text: Any, limit: Any = "", flags: str = "g"
) -> bool:
    """Whether sed finds a text in a file.

    CLI Example:

        salt '*' file.sed_contains /etc/crontab 'mymaintenance.sh'
    """
    path = _home(path)
    if not os.path.exists(path):
        return False
    escaped = commands.escaped
    return commands.sed_finds(ctx, path, escaped(text), escaped(limit), flags)


def grep(ctx: MinionContext, path: str, pattern: str, *opts: str) -> dict[str, Any]:
    """Search files with grep; ``opts`` are its options.

    CLI Example:

        salt '*' file.grep /etc/passwd nobody
        salt '*' file.grep "/etc/sysconfig/network-scripts/*" ipaddr -- -i -l
    """
    return commands.grep(ctx, _home(path), pattern, opts)


def search(
    path: str,
    pattern: str,
    flags: Any = 8,
    bufsize: Any = 1,
    ignore_if_missing: bool = False,
    multiline: bool = False,
) -> bool:
    """Whether a regular expression matches in a file.

    CLI Example:

        salt '*' file.search /etc/crontab 'mymaintenance.sh'
    """
    number = replacing.flags_of(flags) | (re.MULTILINE if multiline else 0)
    found: bool = replace(
        path,
        pattern,
        "",
        flags=number,
        bufsize="file" if multiline else bufsize,
        backup=False,
        search_only=True,
        show_changes=False,
        ignore_if_missing=ignore_if_missing,
    )
    return found


# --- editing ---


def replace(
    path: str,
    pattern: str,
    repl: Any,
    count: int = 0,
    flags: Any = 8,
    bufsize: Any = 1,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: Any = None,
    backup: Any = ".bak",
    dry_run: bool = False,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    preserve_inode: bool = True,
    backslash_literal: bool = False,
    encoding: str | None = None,
) -> Any:
    """Replace what a regular expression matches; the difference, or whether anything changed.

    ``count`` 0 is all. ``flags`` are names of ``re`` flags or their sum. The content that is not
    found may be appended or prepended. ``backup`` is the ending of the copy's name.

    CLI Example:

        salt '*' file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'
        salt '*' file.replace /some/file pattern='a' repl='b' flags='[MULTILINE, IGNORECASE]'
    """
    given = _home(path)
    path = os.path.realpath(given) if os.path.islink(given) else given
    if not os.path.exists(path):
        if ignore_if_missing:
            return False
        raise UsageError(f"File not found: {path}")
    if not encoding:
        _require_text(path)
    wanted = replacing.Replacement(
        pattern=replacing.required_text(pattern),
        repl=str(repl),
        count=count,
        flags=replacing.flags_of(flags),
        append=append_if_not_found,
        prepend=prepend_if_not_found,
        not_found_content=None if not_found_content is None else str(not_found_content),
        backslash_literal=backslash_literal,
    ).checked(search_only=search_only)
    if isinstance(bufsize, str) and bufsize != "file":
        raise TypeError("'str' object cannot be interpreted as an integer")
    with open(path, "rb") as file:
        content = file.read()
    if search_only:
        searched: Any = content.decode(encoding) if encoding else content
        return replacing.found(searched, wanted.pattern, wanted.flags)
    if encoding:
        old = content.decode(encoding)
        new = replacing.replaced(old, wanted)
        data = new.encode(encoding)
    else:
        data = replacing.replaced(content, wanted)
        old, new = (content.decode(), data.decode()) if data != content else ("", "")
    changed = old != new
    if changed and not dry_run:
        _keep_copy(path, backup, given)
        place.put(path, data, keep=preserve_inode)
    return replacing.difference(old, new, wanted) if show_changes else changed


def _require_text(path: str) -> None:
    """Raises UsageError for what is no text file."""
    begin = b"\0"
    if os.path.isfile(path):
        with open(path, "rb") as file:
            begin = file.read(texts.SNIFFED_BYTES)
    if not texts.is_text(begin):
        raise UsageError(f"Cannot perform string replacements on a binary file: {path}")


def _keep_copy(path: str, ending: Any, link: str | None = None) -> None:
    """A copy beside the file; of a link, a link to the copy beside it as well."""
    if not ending:
        return
    place.copy(path, f"{path}{ending}")
    if link and link != path:
        beside = f"{link}{ending}"
        if os.path.lexists(beside):
            os.unlink(beside)
        os.symlink(f"{os.readlink(link)}{ending}", beside)


def blockreplace(
    path: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    content: str = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: Any = ".bak",
    dry_run: bool = False,
    show_changes: bool = True,
    append_newline: bool | None = False,
    insert_before_match: Any = None,
    insert_after_match: Any = None,
) -> Any:
    """Replace what stands between two markers; the difference, or whether anything changed.

    A block that is not there may be appended, prepended, or inserted by a regular expression.
    ``append_newline`` ``None`` ends the content if it is not.

    CLI Example:

        salt '*' file.blockreplace /etc/hosts '#-- start --' '#-- end --' '10.0.1.1 foo.foobar' True
    """
    path = _home(path)
    if not os.path.exists(path):
        raise UsageError(f"File not found: {path}")
    block = Block(
        marker_start=marker_start,
        marker_end=marker_end,
        content=content,
        append=append_if_not_found,
        prepend=prepend_if_not_found,
        insert_before=insert_before_match,
        insert_after=insert_after_match,
        append_newline=append_newline,
    ).checked()
    old = _block_text(path)
    new = block_replaced(old, block)
    if new != old and not dry_run:
        _keep_copy(path, backup)
        place.put(path, new.encode())
    return texts.difference(old, new) if show_changes else new != old


def _block_text(path: str) -> str:
    if os.path.isfile(path):
        _require_text(path)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise UsageError(f"Cannot perform string replacements on a binary file: {path}") from None
    except OSError as error:
        raise FunctionError(f"Failed to read from {path}: {error}") from error


def line(
    path: str,
    content: Any = None,
    match: Any = None,
    mode: Any = None,
    location: str | None = None,
    before: Any = None,
    after: Any = None,
    show_changes: bool = True,
    backup: Any = False,
    quiet: bool = False,
    indent: bool = True,
) -> Any:
    """Edit one line: ``mode`` is ensure, replace, delete or insert; the difference, or whether.

    ``match``, ``before`` and ``after`` are parts of a line or regular expressions. ``location``
    (start, end) is for insert.

    CLI Example:

        salt '*' file.line /etc/nsswitch.conf "networks: files dns" after="hosts:.*?" mode='ensure'
    """
    path = os.path.realpath(_home(path))
    if not os.path.isfile(path):
        if quiet:
            return False
        raise FunctionError(f'File "{path}" does not exists or is not a file.')
    edit = line_edits.Edit(
        mode=line_edits.checked_mode(mode, content),
        content=content,
        match=match,
        location=location,
        before=before,
        after=after,
        indent=indent,
    )
    with open(path, encoding="utf-8", newline="") as file:
        old = texts.split_lines(file.read())
    new = line_edits.edited(old, edit)
    if new == old:
        return False
    if backup:
        place.copy(path, timestamped(path))
    place.put(path, "".join(new).encode())
    return texts.unified(old, new) if show_changes else True


def comment(path: str, regex: str, char: str = "#", backup: Any = ".bak") -> Any:
    """Comment out the lines that begin as a regular expression says.

    CLI Example:

        salt '*' file.comment /etc/modules pcspkr
    """
    return comment_line(path, regex, char, True, backup)


def uncomment(path: str, regex: str, char: str = "#", backup: Any = ".bak") -> Any:
    """Take the comment sign from the lines that continue as a regular expression says.

    CLI Example:

        salt '*' file.uncomment /etc/hosts.deny 'ALL: PARANOID'
    """
    return comment_line(path, regex, char, False, backup)


def comment_line(
    path: str, regex: str, char: str = "#", cmnt: bool = True, backup: Any = ".bak"
) -> Any:
    """Comment lines out or in; the difference, ``False`` if no line matches.

    CLI Example:

        salt '*' file.comment_line '/etc/modules' '^pcspkr'
    """
    path = os.path.realpath(_home(path))
    if not os.path.isfile(path):
        raise UsageError(f"File not found: {path}")
    _require_text(path)
    with open(path, encoding="utf-8", newline="") as file:
        lines = texts.split_lines(file.read())
    change = comments.commented if cmnt else comments.uncommented
    found = change(lines, regex, char)
    if not found.old:
        return False
    _keep_copy(path, backup)
    place.put(path, "".join(found.lines).encode())
    return found.difference()


def sed(
    ctx: MinionContext,
    path: str,
    before: Any,
    after: Any,
    limit: Any = "",
    backup: Any = ".bak",
    options: str = "-r -e",
    flags: str = "g",
    escape_all: bool = False,
    negate_match: bool = False,
) -> Any:
    """Change a file with sed; ``False`` if there is none.

    CLI Example:

        salt '*' file.sed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
    """
    path = _home(path)
    if not os.path.exists(path):
        return False
    before, after = commands.escaped(before, escape_all), commands.escaped(after, escape_all)
    limit = commands.escaped(limit, escape_all)
    return commands.sed(ctx, path, before, after, limit, backup, options, flags, negate_match)


def psed(
    path: str,
    before: Any,
    after: Any,
    limit: Any = "",
    backup: Any = ".bak",
    flags: str = "gMS",
    escape_all: bool = False,
    multi: bool = False,
) -> None:
    """Change a file line by line as sed does; ``limit`` chooses lines, ``multi`` takes all as one.

    CLI Example:

        salt '*' file.psed /etc/httpd/httpd.conf 'LogLevel warn' 'LogLevel info'
    """
    path = _home(path)
    number = 0
    for flag in flags.replace("g", ""):
        number |= {"I": 2, "L": 4, "M": 8, "S": 16, "U": 32, "X": 64}[flag]
    pattern = re.compile(re.escape(str(before)) if escape_all else str(before), number)
    repl = str(after).replace("\\", "\\\\") if escape_all else str(after)
    with open(path, encoding="utf-8", newline="") as file:
        old = file.read()
    parts = [old] if multi else texts.split_lines(old)
    chosen = [index for index, part in enumerate(parts) if re.search(str(limit), part)]
    for index in chosen:
        parts[index], times = pattern.subn(repl, parts[index], 0 if "g" in flags else 1)
        if times and "g" not in flags:
            break
    _keep_copy(path, backup)
    place.put(path, "".join(parts).encode())


def patch(
    ctx: MinionContext,
    originalfile: str,
    patchfile: str,
    options: Any = "",
    dry_run: bool = False,
) -> dict[str, Any]:
    """Apply a patch to a file or directory.

    CLI Example:

        salt '*' file.patch /opt/file.txt /tmp/file.txt.patch
    """
    return commands.patch(ctx, _home(originalfile), _home(patchfile), options, dry_run)


# --- making, moving, removing ---


def _owner_and_mode(user: Any, group: Any, mode: Any) -> tuple[int | None, tuple[int, int]]:
    number = None if mode is None else owners.mode_number(mode)
    return number, Wanted(user=user, group=group).owner()


def mkdir(dir_path: str, user: Any = None, group: Any = None, mode: Any = None) -> bool:
    """Make a directory and those above it; one that is there stays as it is.

    CLI Example:

        salt '*' file.mkdir /opt/jetty/context
    """
    path = os.path.normpath(_home(dir_path))
    if not os.path.isdir(path):
        place.make_dirs(path, *_owner_and_mode(user, group, mode))
    return True


def makedirs(path: str, user: Any = None, group: Any = None, mode: Any = None) -> str | None:
    """Make the directories that a path is in; with ``/`` at its end also the last.

    CLI Example:

        salt '*' file.makedirs /opt/code/
    """
    folder = os.path.dirname(_home(path))
    if os.path.isdir(folder):
        return f"Directory '{folder}' already exists"
    if os.path.exists(folder):
        return f"The path '{folder}' already exists and is not a directory"
    if not os.path.isabs(folder):
        raise UsageError(
            "Recursive creation for path '' would result in an infinite loop. Please use an"
            " absolute path."
        )
    place.make_dirs(os.path.normpath(folder), *_owner_and_mode(user, group, mode))
    return None


def makedirs_perms(name: str, user: Any = None, group: Any = None, mode: Any = "0755") -> None:
    """Make a directory and those above it, each with this owner and mode.

    CLI Example:

        salt '*' file.makedirs_perms /opt/code
    """
    place.make_dirs(_home(name), *_owner_and_mode(user, group, mode))


def mknod(
    ctx: MinionContext,
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: Any = None,
    group: Any = None,
    mode: Any = "0600",
) -> dict[str, Any]:
    """Make a block device (``b``), a character device (``c``) or a named pipe (``p``).

    CLI Example:

        salt '*' file.mknod /dev/chr c 180 31
        salt '*' file.mknod /dev/fifo p
    """
    if ntype == "c":
        return mknod_chrdev(ctx, name, major, minor, user, group, mode)
    if ntype == "b":
        return mknod_blkdev(ctx, name, major, minor, user, group, mode)
    if ntype == "p":
        return mknod_fifo(ctx, name, user, group, mode)
    raise UsageError(
        f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block ('b'),"
        " and pipe ('p')."
    )


def mknod_chrdev(
    ctx: MinionContext,
    name: str,
    major: int,
    minor: int,
    user: Any = None,
    group: Any = None,
    mode: Any = "0660",
) -> dict[str, Any]:
    """Make a character device.

    CLI Example:

        salt '*' file.mknod_chrdev /dev/chr 180 31
    """
    number = os.makedev(int(major), int(minor))
    return _node(ctx, name, "Character device", stat.S_IFCHR, number, (user, group, mode))


def mknod_blkdev(
    ctx: MinionContext,
    name: str,
    major: int,
    minor: int,
    user: Any = None,
    group: Any = None,
    mode: Any = "0660",
) -> dict[str, Any]:
    """Make a block device.

    CLI Example:

        salt '*' file.mknod_blkdev /dev/blk 8 999
    """
    number = os.makedev(int(major), int(minor))
    return _node(ctx, name, "Block device", stat.S_IFBLK, number, (user, group, mode))


def mknod_fifo(
    ctx: MinionContext, name: str, user: Any = None, group: Any = None, mode: Any = "0660"
) -> dict[str, Any]:
    """Make a named pipe.

    CLI Example:

        salt '*' file.mknod_fifo /dev/fifo
    """
    return _node(ctx, name, "Fifo pipe", stat.S_IFIFO, 0, (user, group, mode))


def _node(
    ctx: MinionContext,
    name: str,
    kind: str,
    file_type: int,
    number: int,
    owner_and_mode: tuple[Any, Any, Any],
) -> dict[str, Any]:
    name = _home(name)
    ret: dict[str, Any] = {"name": name, "changes": {}, "comment": "", "result": False}
    if os.path.lexists(name):
        ret["comment"] = f"File {name} exists and cannot be overwritten"
        return ret
    ret["changes"] = {"new": f"{kind} {name} created."}
    if ctx.config.files.test:
        ret["result"] = None
        return ret
    mode, (uid, gid) = _owner_and_mode(*owner_and_mode)
    os.mknod(name, file_type | 0o600, number)
    os.chown(name, uid, gid)
    if mode is not None:
        os.chmod(name, mode)
    ret["result"] = True
    return ret


def link(src: str, path: str) -> bool:
    """Make a hard link.

    CLI Example:

        salt '*' file.link /path/to/file /path/to/link
    """
    src = _absolute(src)
    try:
        os.link(src, path)
    except OSError as error:
        raise FunctionError(f"Could not create '{path}': {error}") from error
    return True


def symlink(src: str, path: str, force: bool = False, atomic: bool = False) -> bool:
    """Make a symbolic link at ``path``; ``force`` and ``atomic`` replace a file that is there.

    CLI Example:

        salt '*' file.symlink /path/to/file /path/to/link
    """
    path = _absolute(path, "Link path must be absolute: {}")
    if os.path.islink(path):
        if os.path.normpath(os.readlink(path)) == os.path.normpath(src):
            return True
        if not force and not atomic:
            raise FunctionError(f"Found existing symlink: {path}")
    elif os.path.exists(path) and not force and not atomic:
        raise FunctionError(f"Existing path is not a symlink: {path}")
    try:
        _place_link(src, path)
    except OSError as error:
        raise FunctionError(f"Could not create '{path}'") from error
    return True


def _place_link(src: str, path: str) -> None:
    """In one step, so that there is always something at ``path``."""
    temporary = f"{path}.{os.urandom(4).hex()}.tmp"
    os.symlink(src, temporary)
    try:
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def rename(src: str, dst: str) -> bool:
    """Rename a file or directory.

    CLI Example:

        salt '*' file.rename /path/to/src /path/to/dst
    """
    src, dst = _absolute(src), _home(dst)
    try:
        os.rename(src, dst)
    except OSError as error:
        raise FunctionError(f"Could not rename '{src}' to '{dst}'") from error
    return True


def move(src: str, dst: str, disallow_copy_and_unlink: bool = False) -> Any:
    """Move a file or directory, also to another file system if that is not disallowed.

    CLI Example:

        salt '*' file.move /path/to/src /path/to/dst
    """
    src = _absolute(src, "Source path must be absolute.")
    dst = _absolute(dst, "Destination path must be absolute.")
    if disallow_copy_and_unlink:
        return rename(src, dst)
    import shutil  # it brings modules for archives

    try:
        shutil.move(src, dst)
    except (OSError, shutil.Error) as error:
        raise FunctionError(f"Unable to move '{src}' to '{dst}': {error}") from error
    return {"result": True, "comment": f"'{src}' moved to '{dst}'"}


def copy(src: str, dst: str, recurse: bool = False, remove_existing: bool = False) -> bool:
    """Copy a file with owner and mode, or with ``recurse`` a directory over another one.

    ``remove_existing`` empties the directory before.

    CLI Example:

        salt '*' file.copy /path/to/src /path/to/dst
        salt '*' file.copy /path/to/src_dir /path/to/dst_dir recurse=True remove_existing=True
    """
    import shutil  # it brings modules for archives

    src, dst = _absolute(src), _home(dst)
    if not os.path.exists(src):
        raise FunctionError(f"No such file or directory '{src}'")
    is_tree = os.path.isdir(src)
    if not recurse and (is_tree or os.path.isdir(dst)):
        raise UsageError("Cannot copy overwriting a directory without recurse flag set to true!")
    try:
        if is_tree:
            if remove_existing and os.path.isdir(dst):
                place.remove_tree(dst)
            shutil.copytree(src, dst, dirs_exist_ok=True, copy_function=_copy_file)
        else:
            _copy_file(src, dst)
    except (OSError, shutil.Error) as error:
        log.error("could not copy %s to %s: %s", src, dst, error)
        raise FunctionError(f"Could not copy '{src}' to '{dst}'") from error
    return True


def _copy_file(src: str, dst: str) -> str:
    target = os.path.realpath(dst)
    if os.path.isdir(target):
        target = os.path.join(target, os.path.basename(src))
    if os.path.exists(target) and os.path.samefile(src, target):
        raise OSError(f"{src!r} and {dst!r} are the same file")
    place.copy(src, target)
    return dst


def remove(path: str, **kwargs: Any) -> bool:
    """Remove whatever is at a path, a directory with all that is in it; ``False`` without anything.

    CLI Example:

        salt '*' file.remove /tmp/foo
    """
    path = _absolute(path, "File path must be absolute: {}")
    try:
        if os.path.islink(path) or os.path.isfile(path):
            os.remove(path)
            return True
        if not os.path.lexists(path):
            return False
        if os.path.isdir(path):
            _remove_dir(path)
        else:
            os.remove(path)
    except OSError as error:
        raise FunctionError(f"Could not remove '{path}': {error}") from error
    return True


def _remove_dir(path: str) -> None:
    """Never the root, and never what a link with ``/`` at its end points to."""
    if os.path.islink(path.rstrip("/")):
        raise NotADirectoryError(20, os.strerror(20), path)
    if os.path.realpath(path) == "/":
        raise PermissionError(1, os.strerror(1), path)
    place.remove_tree(path)


def rmdir(path: str, recurse: bool = False, verbose: bool = False, older_than: Any = None) -> Any:
    """Remove an empty directory; with ``recurse`` also the empty ones in it.

    ``older_than`` is in days. ``verbose`` tells what was done: ``deleted``, ``errors``, ``result``.

    CLI Example:

        salt '*' file.rmdir /tmp/foo/
    """
    path = _absolute(path)
    if not os.path.isdir(path):
        raise UsageError(f"A valid directory was not specified: {path}")
    since = time.time() - float(older_than) * SECONDS_A_DAY if older_than else None
    folders = [path]
    if recurse:
        folders = [folder for folder, _, _ in os.walk(path, topdown=False)]
    deleted, errors = [], []
    for folder in folders:
        if since is not None and os.path.getmtime(folder) >= since:
            continue
        complaint = _rmdir(folder)
        if complaint:
            errors.append([folder, complaint])
        else:
            deleted.append(folder)
    if verbose:
        return {"deleted": deleted, "errors": errors, "result": not errors}
    return not errors


def _rmdir(folder: str) -> str:
    try:
        os.rmdir(folder)
    except OSError as error:
        return str(error)
    return ""


# --- backups ---


def _backups(ctx: MinionContext) -> Backups:
    return Backups(ctx.config.paths.cachedir)


def list_backups(ctx: MinionContext, path: str, limit: Any = None) -> dict[int, dict[str, Any]]:
    """The copies that were kept of a file, newest first.

    CLI Example:

        salt '*' file.list_backups /foo/bar/baz.txt
    """
    return _backups(ctx).of(_home(path), limit)


def list_backup(ctx: MinionContext, path: str, limit: Any = None) -> dict[int, dict[str, Any]]:
    """The same as ``file.list_backups``."""
    return list_backups(ctx, path, limit)


def list_backups_dir(
    ctx: MinionContext, path: str, limit: Any = None
) -> dict[str, dict[int, dict[str, Any]]]:
    """The copies that were kept of the files in a directory.

    CLI Example:

        salt '*' file.list_backups_dir /foo/bar/baz/
    """
    return _backups(ctx).of_directory(_home(path), limit)


def _backup(ctx: MinionContext, path: str, backup_id: Any) -> tuple[str, str]:
    """Where a copy is, or the complaint about its number."""
    if len(str(backup_id)) != len(str(backup_id).lstrip("+-")) or not str(backup_id).isdigit():
        return "", f"Invalid backup_id '{backup_id}'"
    found = list_backups(ctx, path).get(int(backup_id))
    if found is None:
        return "", f"backup_id '{backup_id}' does not exist for {_home(path)}"
    return str(found["Location"]), ""


def restore_backup(ctx: MinionContext, path: str, backup_id: Any) -> dict[str, Any]:
    """Put a copy back; what is there is kept as another copy.

    CLI Example:

        salt '*' file.restore_backup /foo/bar/baz.txt 0
    """
    path = _home(path)
    location, complaint = _backup(ctx, path, backup_id)
    if complaint:
        return {"result": False, "comment": complaint}
    try:
        if os.path.isfile(path):
            _backups(ctx).keep(path)
        place.copy(location, os.path.realpath(path))
    except OSError as error:
        comment = f"Unable to restore {location} to {path}: {error}"
        return {"result": False, "comment": comment}
    return {"result": True, "comment": f"Successfully restored {location} to {path}"}


def delete_backup(ctx: MinionContext, path: str, backup_id: Any) -> dict[str, Any]:
    """Remove a copy.

    CLI Example:

        salt '*' file.delete_backup /foo/bar/baz.txt 0
    """
    location, complaint = _backup(ctx, _home(path), backup_id)
    if complaint:
        return {"result": False, "comment": complaint}
    try:
        os.remove(location)
    except OSError as error:
        return {"result": False, "comment": f"Unable to remove {location}: {error}"}
    return {"result": True, "comment": f"Successfully removed {location}"}


def remove_backup(ctx: MinionContext, path: str, backup_id: Any) -> dict[str, Any]:
    """The same as ``file.delete_backup``."""
    return delete_backup(ctx, path, backup_id)


# --- managed files ---


def source_list(ctx: MinionContext, source: Any, source_hash: Any, saltenv: Any) -> tuple[Any, Any]:
    """The first of several sources that is there, and its hash.

    CLI Example:

        salt '*' file.source_list '[salt://motd.web1, salt://motd]' '' base
    """
    return sources.chosen(ctx, source, source_hash, saltenv)


def apply_template_on_contents(
    ctx: MinionContext, contents: str, template: str, context: Any, defaults: Any, saltenv: str
) -> Any:
    """A text with a template engine applied.

    CLI Example:

        salt '*' file.apply_template_on_contents '{{ a }}' jinja '{a: 1}' '{}' base
    """
    if not sources.is_engine(template):
        comment = f"Specified template format {template} is not supported"
        return {"result": False, "comment": comment}
    return sources.render(ctx, contents, template, saltenv, context, defaults)


def get_managed(
    ctx: MinionContext,
    name: str,
    template: Any,
    source: Any,
    source_hash: Any,
    source_hash_name: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    context: Any,
    defaults: Any,
    skip_verify: bool = False,
    verify_ssl: bool = True,
    use_etag: bool = False,
    **kwargs: Any,
) -> tuple[str, dict[str, str], str]:
    """Path of the content of a managed file, its hash, and a complaint.

    CLI Example:

        salt '*' file.get_managed /etc/motd jinja salt://motd '' '' root root 644 '' base '{}' '{}'
    """
    return sources.managed(
        ctx,
        name,
        source,
        source_hash,
        source_hash_name,
        saltenv,
        template=template,
        context=context,
        defaults=defaults,
        skip_verify=skip_verify,
        verify_ssl=verify_ssl,
        use_etag=use_etag,
    )


def get_diff(
    ctx: MinionContext,
    file1: str,
    file2: str,
    saltenv: str = "base",
    show_filenames: bool = True,
    show_changes: bool = True,
    template: bool = False,
    source_hash_file1: Any = None,
    source_hash_file2: Any = None,
) -> str:
    """What turns one file into another; they are here or at any address.

    CLI Example:

        salt '*' file.get_diff /home/fred/.vimrc salt://users/fred/.vimrc
    """
    paths, missing = [], []
    for source, source_hash in ((file1, source_hash_file1), (file2, source_hash_file2)):
        path = _local_copy(ctx, source, saltenv, source_hash)
        paths.append(path)
        missing += [] if path else [f"File {source} not found"]
    if missing:
        raise FunctionError(
            "Failed to cache one or more files. Additional info follows:\n\n- "
            + "\n- ".join(missing)
        )
    return compared.difference(
        paths[0],
        paths[1],
        names=show_filenames,
        show=show_changes,
        obfuscate=template and managing.obfuscates(ctx),
    )


def _local_copy(ctx: MinionContext, source: str, saltenv: str, source_hash: Any) -> str:
    if not sources.is_local(source):
        return sources.client(ctx).cache_file(source, saltenv, source_hash=source_hash)
    path = sources.local_path(source)
    if not os.path.isabs(path):
        raise FunctionError(f"Path '{path}' is not absolute")
    return path


def check_file_meta(
    ctx: MinionContext,
    name: str,
    sfn: Any,
    source: Any,
    source_sum: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    contents: Any = None,
    seuser: Any = None,
    serole: Any = None,
    setype: Any = None,
    serange: Any = None,
    verify_ssl: bool = True,
    follow_symlinks: bool = False,
) -> dict[str, Any]:
    """What of a file is not as it shall be.

    CLI Example:

        salt '*' file.check_file_meta /etc/motd '' salt://motd '{}' root root 644 None base
    """
    file = managing.File(
        name=_home(name),
        sfn=sfn or "",
        source=source,
        source_sum=source_sum or {},
        wanted=Wanted(user=user, group=group, mode=mode, attrs=attrs),
        saltenv=saltenv,
        contents=contents,
        verify_ssl=verify_ssl,
        follow=follow_symlinks,
    )
    return managing.check_meta(ctx, file)


def check_managed(
    ctx: MinionContext,
    name: str,
    source: Any,
    source_hash: Any,
    source_hash_name: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    template: Any,
    context: Any,
    defaults: Any,
    saltenv: str,
    contents: Any = None,
    skip_verify: bool = False,
    seuser: Any = None,
    serole: Any = None,
    setype: Any = None,
    serange: Any = None,
    follow_symlinks: bool = False,
    **kwargs: Any,
) -> tuple[bool | None, str]:
    """Whether a file is as it shall be (``None``: it is not), and a sentence about it.

    CLI Example:

        salt '*' file.check_managed /etc/motd salt://motd '' '' root root 644 '' None None None base
    """
    found = check_managed_changes(
        ctx,
        name,
        source,
        source_hash,
        source_hash_name,
        user,
        group,
        mode,
        attrs,
        template,
        context,
        defaults,
        saltenv,
        contents,
        skip_verify,
        follow_symlinks=follow_symlinks,
    )
    if isinstance(found, tuple):
        return found
    changes = managing.without_owners(_home(name), found)
    if not changes:
        return True, f"The file {_home(name)} is in the correct state"
    shown = "".join(f"{part}: {value}\n" for part, value in changes.items())
    return None, f"The following values are set to be changed:\n{shown}"


def check_managed_changes(
    ctx: MinionContext,
    name: str,
    source: Any,
    source_hash: Any,
    source_hash_name: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    template: Any,
    context: Any,
    defaults: Any,
    saltenv: str,
    contents: Any = None,
    skip_verify: bool = False,
    keep_mode: bool = False,
    seuser: Any = None,
    serole: Any = None,
    setype: Any = None,
    serange: Any = None,
    verify_ssl: bool = True,
    follow_symlinks: bool = False,
    **kwargs: Any,
) -> Any:
    """What would change of a file: a map, or ``(False, complaint)``.

    CLI Example:

        salt '*' file.check_managed_changes /etc/m salt://m '' '' root root 644 '' '' {} {} base
    """
    source, source_hash = sources.chosen(ctx, source, source_hash, saltenv)
    sfn = ""
    source_sum: dict[str, str] = {}
    if contents is None:
        sfn, source_sum, complaint = sources.managed(
            ctx,
            name,
            source,
            source_hash,
            source_hash_name,
            saltenv,
            template=template,
            context=context,
            defaults=defaults,
            skip_verify=skip_verify,
            verify_ssl=verify_ssl,
        )
        if complaint:
            place.drop_scratch(sfn)
            return False, complaint
    if keep_mode and source and sfn:
        mode = managing.source_mode(ctx, str(source), saltenv) or mode
    try:
        return check_file_meta(
            ctx,
            name,
            sfn,
            source,
            source_sum,
            user,
            group,
            mode,
            attrs,
            saltenv,
            contents,
            verify_ssl=verify_ssl,
            follow_symlinks=follow_symlinks,
        )
    finally:
        place.drop_scratch(sfn)


def manage_file(
    ctx: MinionContext,
    name: str,
    sfn: Any,
    ret: dict[str, Any] | None,
    source: Any,
    source_sum: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    backup: Any,
    makedirs: bool = False,
    template: Any = None,
    show_changes: Any = True,
    contents: Any = None,
    dir_mode: Any = None,
    follow_symlinks: bool = True,
    skip_verify: bool = False,
    keep_mode: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
    seuser: Any = None,
    serole: Any = None,
    setype: Any = None,
    serange: Any = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a file what it shall be; gives back as a state does.

    ``sfn`` is what ``file.get_managed`` gave. ``backup`` is ``minion`` to keep a copy.

    CLI Example:

        salt '*' file.manage_file /etc/motd '' '{}' salt://motd '{}' root root 644 '' base ''
    """
    file = managing.File(
        name=_home(name),
        sfn=sfn or "",
        source=source,
        source_sum=source_sum or {},
        wanted=Wanted(user=user, group=group, mode=mode, attrs=attrs),
        saltenv=saltenv,
        contents=contents,
        follow=follow_symlinks,
        backup=backup,
        makedirs=makedirs,
        dir_mode=dir_mode,
        show_changes=show_changes,
        skip_verify=skip_verify,
        keep_mode=keep_mode,
        encoding=encoding,
        encoding_errors=encoding_errors,
        verify_ssl=verify_ssl,
        use_etag=use_etag,
    )
    return managing.manage(ctx, file, ret)
