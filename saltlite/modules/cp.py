"""Copy files from the master, the web and this machine; send files to the master.

Addresses are ``salt://path`` (with ``?saltenv=env``), ``http(s)://``, ``file://`` and absolute
paths. Source of signatures and shapes: observed on Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.disk import make_way
from saltlite.errors import FunctionError, SaltliteError, UntrustedPath
from saltlite.fileserver.client import FileClient, file_client
from saltlite.fileserver.copies import FILE_MODE, replace_file
from saltlite.fileserver.paths import SCHEME, safe_parts, split_url
from saltlite.openat import SHARED, reach

log = logging.getLogger(__name__)

RECEIVED_LIMIT_BYTES = 64 * 1024 * 1024
_ESCAPED = "surrogateescape"
"""How bytes that are no UTF-8 come through the wire among text."""


def cache_dest(ctx: MinionContext, url: str, saltenv: str | None = None) -> str:
    """Return where the copy of an address would be.

    CLI Example:

        salt '*' cp.cache_dest salt://my/file
    """
    place = (
        None
        if os.path.isabs(url)
        else file_client(ctx).cache_path(url, _choose_saltenv(ctx, saltenv))
    )
    return url if place is None else str(place)


def cache_file(
    ctx: MinionContext,
    path: str,
    saltenv: str | None = None,
    source_hash: str | None = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
) -> str | bool:
    """Have a file in the cache and return where it is; ``False`` if there is no such file.

    With ``source_hash`` a file from the web is not fetched again if the copy has that hash, with
    ``use_etag`` if its server says that it has not changed. A path of this machine is returned as
    it is.

    CLI Example:

        salt '*' cp.cache_file salt://path/to/file
        salt '*' cp.cache_file salt://foo/bar.conf saltenv=config
    """
    here = path.removeprefix("file://")
    if os.path.isabs(here):
        return here
    cached = file_client(ctx).cache_file(
        path,
        _choose_saltenv(ctx, saltenv),
        source_hash=source_hash,
        verify_ssl=verify_ssl,
        use_etag=use_etag,
    )
    return cached or False


def cache_files(
    ctx: MinionContext, paths: str | list[str], saltenv: str | None = None
) -> list[str | bool]:
    """Have several files in the cache, named in a list or with commas; where each one is.

    CLI Example:

        salt '*' cp.cache_files salt://pathto/file1,salt://pathto/file2
    """
    names = paths.split(",") if isinstance(paths, str) else paths
    env = _choose_saltenv(ctx, saltenv)
    if all(name.startswith(SCHEME) and "?" not in name for name in names):
        below = [name.removeprefix(SCHEME) for name in names]
        return [place or False for place in file_client(ctx).cache_files(below, env)]
    return [cache_file(ctx, name, saltenv) for name in names]


def cache_dir(
    ctx: MinionContext,
    path: str,
    saltenv: str | None = None,
    include_empty: bool = False,
    include_pat: str | None = None,
    exclude_pat: str | None = None,
) -> list[str]:
    """Have all files below a directory in the cache; where they are.

    Patterns are globs, or regular expressions behind ``E@``.

    CLI Example:

        salt '*' cp.cache_dir salt://path/to/dir
        salt '*' cp.cache_dir salt://path/to/dir include_pat='E@*.py$'
    """
    client = file_client(ctx)
    below, env = _directory_prefix(path), split_url(path).saltenv or _choose_saltenv(ctx, saltenv)
    if not below:
        return []
    names = _strictly_below(client.list_files(env, below), below)
    wanted = [name for name in names if _is_wanted(name, include_pat, exclude_pat)]
    cached = [place for place in client.cache_files(wanted, env) if place]
    return cached + (_cache_empty_dirs(client, env, below) if include_empty else [])


def cache_local_file(ctx: MinionContext, path: str) -> str:
    """Copy a file of this machine into the cache; where the copy is.

    CLI Example:

        salt '*' cp.cache_local_file /etc/hosts
    """
    if not os.path.exists(path):
        return ""
    already = is_cached(ctx, path)
    return (
        already
        if already and _has_same_content(path, already)
        else file_client(ctx).cache_local(path)
    )


def cache_master(ctx: MinionContext, saltenv: str | None = None) -> list[str | bool]:
    """Have all files of an environment in the cache; where they are.

    CLI Example:

        salt '*' cp.cache_master
    """
    env = _choose_saltenv(ctx, saltenv)
    client = file_client(ctx)
    return [place or False for place in client.cache_files(client.list_files(env), env)]


def envs(ctx: MinionContext) -> list[str]:
    """Return the environments.

    CLI Example:

        salt '*' cp.envs
    """
    return file_client(ctx).envs()


def get_file(
    ctx: MinionContext,
    path: str,
    dest: str,
    saltenv: str | None = None,
    makedirs: bool = False,
    template: str | None = None,
    gzip: int | None = None,
    **kwargs: Any,
) -> str | bool:
    """Fetch a file; where it is, ``""`` if there is none, ``False`` if it has nowhere to go.

    With ``template``, path and destination are templates. ``gzip`` (1 to 9) compresses on the way.
    A destination that is a directory takes the file under its own name.

    CLI Example:

        salt '*' cp.get_file salt://path/to/file /minion/dest
        salt '*' cp.get_file "salt://{{grains.os}}/vimrc" /etc/vimrc template=jinja
    """
    env = _choose_saltenv(ctx, saltenv)
    path, dest = (_render_path(ctx, text, template, env, kwargs) for text in (path, dest))
    if not path.startswith("salt://"):
        raise FunctionError(f"Unsupported path: {path}")
    client = file_client(ctx)
    if client.hash_file(path, env) is None:
        return ""
    if not makedirs and not os.path.isdir(os.path.dirname(dest)):
        return False
    return client.get_file(path, dest, makedirs, env, gzip)


def get_file_str(ctx: MinionContext, path: str, saltenv: str | None = None) -> str | bytes | bool:
    """Return a file's content; ``False`` if there is no such file.

    CLI Example:

        salt '*' cp.get_file_str salt://my/file
    """
    content = file_client(ctx).read(path, _choose_saltenv(ctx, saltenv))
    return False if content is None else _as_text(content)


def get_dir(
    ctx: MinionContext,
    path: str,
    dest: str,
    saltenv: str | None = None,
    template: str | None = None,
    gzip: int | None = None,
    **kwargs: Any,
) -> list[str]:
    """Fetch a directory with all below it into ``dest``; what is there now.

    CLI Example:

        salt '*' cp.get_dir salt://path/to/dir/ /minion/dest
    """
    client = file_client(ctx)
    env = _choose_saltenv(ctx, saltenv)
    path, dest = (_render_path(ctx, text, template, env, kwargs) for text in (path, dest))
    env = split_url(path).saltenv or env
    below = _directory_prefix(path)
    if not below:
        return []
    skip = len(below.rstrip("/").rpartition("/")[0])
    places = {
        name: f"{dest}/{name[skip:].lstrip('/')}"
        for name in _strictly_below(client.list_files(env, below), below)
        if safe_parts(name) is not None
    }
    fetched = client.get_files(places, env, gzip)
    for name in _strictly_below(client.list_empty_dirs(env, below), below):
        place = f"{dest}/{name[skip:].lstrip('/')}"
        make_way(Path(place), 0o755)
        fetched.append(place)
    return sorted(fetched)


def get_template(
    ctx: MinionContext,
    path: str,
    dest: str,
    template: str | None = "jinja",
    saltenv: str | None = None,
    makedirs: bool = False,
    **kwargs: Any,
) -> str:
    """Render a file as a template and write the outcome; where it is, ``""`` if that failed.

    ``context`` is a map of variables; other keyword arguments are variables too.

    CLI Example:

        salt '*' cp.get_template salt://path/to/template /minion/dest
    """
    from saltlite.templates.template import ENGINES, render_template

    env = _choose_saltenv(ctx, saltenv)
    client = file_client(ctx)
    source = client.cache_file(path, env)
    if not source:
        log.error("Unable to fetch template %s from saltenv %s.", path, env)
        return ""
    if template is None or template not in ENGINES:
        log.error("Attempted to render template with unavailable engine %s", template)
        return ""
    variables = own_keywords(kwargs)
    context = {**variables, **(variables.pop("context", None) or {})}
    text = Path(source).read_text(encoding="utf-8")
    rendered = render_template(text, template, ctx, saltenv=env, context=context, path=source)
    return _write_content(client, rendered.encode(), path, dest, env, makedirs)


def get_url(
    ctx: MinionContext,
    path: str,
    dest: str | None = "",
    saltenv: str | None = None,
    makedirs: bool = False,
    source_hash: str | None = None,
) -> str | bytes | bool:
    """Fetch an address of any kind to ``dest``; where it is, ``False`` if there is none.

    Without a destination it goes into the cache. ``None`` returns the content itself.

    CLI Example:

        salt '*' cp.get_url salt://my/file /tmp/this_file_is_mine
        salt '*' cp.get_url http://www.slashdot.org /tmp/index.html
    """
    env = _choose_saltenv(ctx, saltenv)
    client = file_client(ctx)
    if dest is None:
        return get_file_str(ctx, path, saltenv)
    here = path.removeprefix("file://")
    if os.path.isabs(here):
        return here
    if not dest:
        return client.cache_file(path, env, source_hash=source_hash) or _report_missing(path, env)
    place = _name_destination(path, dest)
    if not path.startswith("salt://"):
        cached = client.cache_file(path, env, source_hash=source_hash)
        _make_way(place, makedirs)
        replace_file(Path(place), _read_pieces(cached))
        return place
    if not makedirs and not os.path.isdir(os.path.dirname(place)):
        return _report_missing(path, env)
    return client.get_file(path, place, makedirs, env) or _report_missing(path, env)


def hash_file(ctx: MinionContext, path: str, saltenv: str | None = None) -> Any:
    """Return the hash of a file of an environment, or of this machine; ``""`` without one.

    CLI Example:

        salt '*' cp.hash_file salt://path/to/file
    """
    if not path.startswith(("salt://", "/")):
        log.warning("specified file %s is not present to generate hash", path)
        return [{}, None]
    found = file_client(ctx).hash_file(path, _choose_saltenv(ctx, saltenv))
    if found is None:
        return [{}, None] if path.startswith("/") else ""
    return found


def is_cached(ctx: MinionContext, path: str, saltenv: str | None = None) -> str:
    """Return where the copy of an address is, ``""`` if there is none.

    CLI Example:

        salt '*' cp.is_cached salt://path/to/file
    """
    return file_client(ctx).is_cached(path, _choose_saltenv(ctx, saltenv))


def list_master(ctx: MinionContext, saltenv: str | None = None, prefix: str = "") -> list[str]:
    """Return all files of an environment whose paths begin with ``prefix``.

    CLI Example:

        salt '*' cp.list_master
    """
    return file_client(ctx).list_files(_choose_saltenv(ctx, saltenv), prefix)


def list_master_dirs(ctx: MinionContext, saltenv: str | None = None, prefix: str = "") -> list[str]:
    """Return all directories of an environment.

    CLI Example:

        salt '*' cp.list_master_dirs
    """
    return file_client(ctx).list_dirs(_choose_saltenv(ctx, saltenv), prefix)


def list_master_symlinks(
    ctx: MinionContext, saltenv: str | None = None, prefix: str = ""
) -> dict[str, str]:
    """Return the links of an environment and where they lead.

    CLI Example:

        salt '*' cp.list_master_symlinks
    """
    return file_client(ctx).list_symlinks(_choose_saltenv(ctx, saltenv), prefix)


def list_minion(ctx: MinionContext, saltenv: str | None = None) -> list[str]:
    """Return the files in the cache.

    CLI Example:

        salt '*' cp.list_minion
    """
    return file_client(ctx).list_cache_files(_choose_saltenv(ctx, saltenv))


def list_states(ctx: MinionContext, saltenv: str | None = None) -> list[str]:
    """Return the names of all SLS files of an environment.

    CLI Example:

        salt '*' cp.list_states
    """
    names = file_client(ctx).list_files(_choose_saltenv(ctx, saltenv))
    return sorted(_sls_names(names))


def push(
    ctx: MinionContext,
    path: str,
    keep_symlinks: bool = False,
    upload_path: str | None = None,
    remove_source: bool = False,
) -> bool:
    """Send a file to the master, which keeps it below ``minions/<id>/files`` of its cache.

    The master takes files only with ``file_recv: True``. ``upload_path`` is another path to keep it
    under. ``False`` if the file is missing or not taken.

    CLI Example:

        salt '*' cp.push /etc/fstab
        salt '*' cp.push /etc/fstab upload_path=/new/path/fstab
    """
    if not _is_plain_absolute(path):
        log.error("File path must be absolute and without '../': %s", path)
        return False
    source = path if keep_symlinks else os.path.realpath(path)
    parts = safe_parts((upload_path or source).lstrip("/"))
    if parts is None or not os.path.isfile(source):
        log.error("cannot push %s", path)
        return False
    if not _send_pieces(ctx, source, list(parts)):
        return False
    if remove_source:
        with reach(path, follow=not keep_symlinks) as spot:
            spot.unlink()
    return True


def push_dir(
    ctx: MinionContext, path: str, glob: str | None = None, upload_path: str | None = None
) -> bool:
    """Send a directory to the master, or the files in it whose names match ``glob``.

    CLI Example:

        salt '*' cp.push_dir /usr/lib/mysql
        salt '*' cp.push_dir /etc/modprobe.d/ glob='*.conf'
    """
    if not _is_plain_absolute(path):
        log.error("Path must be absolute and without '../': %s", path)
        return False
    if os.path.isfile(path):
        return push(ctx, path, upload_path=upload_path)
    names = [
        os.path.join(folder, name)
        for folder, _folders, names in os.walk(path)
        for name in sorted(names)
        if glob is None or fnmatch.fnmatch(name, glob)
    ]
    for name in names:
        to = os.path.join(upload_path, os.path.relpath(name, path)) if upload_path else None
        if not push(ctx, name, upload_path=to):
            return False
    return True


def recv(ctx: MinionContext, files: dict[str, Any], dest: str) -> dict[str, bool] | str:
    """Write files that ``salt-cp`` sends: a map of names and contents.

    CLI Example:

        salt '*' cp.recv "{'/etc/motd': 'hello'}" /etc/motd
    """
    done: dict[str, bool] = {}
    for name, content in files.items():
        if os.path.isdir(dest):
            place = os.path.join(dest, os.path.basename(name))
        elif dest and not dest.endswith("/") and os.path.isdir(os.path.dirname(dest)):
            place = dest
        else:
            return "Destination unavailable"
        done[place] = _receive_content(place, content)
    return done


def recv_chunked(
    ctx: MinionContext,
    dest: str,
    chunk: str | bytes,
    append: bool = False,
    compressed: bool = True,
    mode: int | None = None,
) -> bool | str:
    """Write a piece of a file that ``salt-cp --chunked`` sends; what went wrong if it did.

    The piece is base64, of gzip if ``compressed``. Without ``append`` it replaces the file.
    """
    import base64
    import binascii

    try:
        piece = base64.b64decode(chunk)
        content = _unpack_piece(piece) if compressed else piece
        make_way(Path(dest).parent, 0o755)
        if append:
            _append_content(dest, content)
        else:
            _refuse_directory(dest)
            replace_file(Path(dest), content, new_mode=FILE_MODE if mode is None else mode)
        if mode is not None:
            with reach(dest, follow=True) as spot, spot.hold() as held:
                held.chmod(mode)
    except SaltliteError as error:
        cause = error.__cause__
        return str(cause if isinstance(cause, OSError) else error)
    except (OSError, binascii.Error) as error:
        return str(error)
    return True


def stat_file(
    ctx: MinionContext, path: str, saltenv: str | None = None, octal: bool = True
) -> str | int | None:
    """Return the mode of a file of an environment; ``None`` if there is no such file.

    CLI Example:

        salt '*' cp.stat_file salt://path/to/file
    """
    named = path.startswith(("salt://", "/"))
    status = file_client(ctx).stat(path, _choose_saltenv(ctx, saltenv)) if named else None
    if not status:
        return None
    return f"{status[0]:06o}"[-4:] if octal else int(status[0])


def _choose_saltenv(ctx: MinionContext, saltenv: str | None) -> str:
    return saltenv or ctx.config.files.saltenv or "base"


def _directory_prefix(path: str) -> str:
    """The prefix of everything in a directory that an address names; ``""`` for no directory."""
    if not path.startswith("salt://"):
        raise FunctionError(f"Unsupported path: {path}")
    parts = safe_parts(split_url(path).path)
    return "" if parts is None else "/".join(parts) + "/"


def _strictly_below(names: Iterable[str], below: str) -> list[str]:
    return [name for name in names if name.startswith(below) and name != below]


def _is_wanted(name: str, include: str | None, exclude: str | None) -> bool:
    if include and not _matches_pattern(name, include):
        return False
    return not (exclude and _matches_pattern(name, exclude))


def _matches_pattern(name: str, pattern: str) -> bool:
    if pattern.startswith("E@"):
        return re.search(pattern[2:], name) is not None
    return fnmatch.fnmatch(name, pattern)


def _cache_empty_dirs(client: FileClient, env: str, below: str) -> list[str]:
    made = []
    for name in _strictly_below(client.list_empty_dirs(env, below), below):
        place = client.cache_path(f"salt://{name}", env)
        if place is not None:
            make_way(place, 0o755)
            made.append(str(place))
    return made


def _has_same_content(one: str, other: str) -> bool:
    import filecmp

    return filecmp.cmp(one, other, shallow=False)


def _render_path(
    ctx: MinionContext, text: str, template: str | None, env: str, variables: dict[str, Any]
) -> str:
    if not template:
        return text
    from saltlite.templates.template import render_template

    return render_template(
        text,
        template,
        ctx,
        saltenv=env,
        context={k: v for k, v in variables.items() if k[0] != "_"},
    )


def _as_text(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def _report_missing(path: str, env: str) -> bool:
    log.error("Unable to fetch file %s from saltenv %s.", path, env)
    return False


def _name_destination(path: str, dest: str) -> str:
    """A directory takes the last part of the address; Salt takes none from ``salt://name``."""
    if not dest.endswith("/") and not os.path.isdir(dest):
        return dest
    below = path.partition("://")[2].partition("/")[2]
    name = os.path.basename(re.split("[?#]", below)[0])
    return os.path.join(dest, name or "index.html")


def _make_way(place: str, makedirs: bool) -> None:
    if makedirs:
        make_way(Path(place).parent, 0o755)


def _write_content(
    client: FileClient, content: bytes, path: str, dest: str, env: str, makedirs: bool
) -> str:
    if not dest:
        parts = safe_parts(split_url(path).path.lstrip("/")) or ("template",)
        dest = str(client.cachedir.joinpath("extrn_files", env, *parts))
        makedirs = True
    if dest.endswith("/") or os.path.isdir(dest):
        dest = os.path.join(dest, os.path.basename(split_url(path).path))
    _make_way(dest, makedirs)
    if not os.path.isdir(os.path.dirname(dest)):
        return ""
    replace_file(Path(dest), content, new_mode=0o600)
    return dest


def _read_pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            yield piece


def _sls_names(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name.endswith(".sls"):
            yield name.removesuffix(".sls").removesuffix("/init").replace("/", ".")


def _is_plain_absolute(path: str) -> bool:
    return os.path.isabs(path) and ".." not in path.split("/")


def _send_pieces(ctx: MinionContext, source: str, parts: list[str]) -> bool:
    """All pieces of a file; an empty file is one empty piece."""
    if ctx.master is None:
        log.error("there is no master to push %s to", source)
        return False
    size = os.path.getsize(source)
    load: dict[str, Any] = {
        "cmd": "_file_recv",
        "id": ctx.config.identity.id,
        "path": parts,
        "size": size,
    }
    begin = 0
    with open(source, "rb") as file:
        while (piece := file.read(ctx.config.files.file_buffer_size)) or begin == 0:
            if not ctx.master.request({**load, "loc": begin, "data": piece}):
                return False
            begin += len(piece)
            if not piece:
                break
    return True


def _receive_content(place: str, content: object) -> bool:
    data = content if isinstance(content, bytes) else str(content).encode("utf-8", _ESCAPED)
    try:
        replace_file(Path(place), data)
    except SaltliteError as error:
        log.error("%s", error)
        return False
    return True


def _unpack_piece(piece: bytes) -> bytes:
    import io
    from gzip import GzipFile

    with GzipFile(fileobj=io.BytesIO(piece)) as packed:
        content = packed.read(RECEIVED_LIMIT_BYTES + 1)
    if len(content) > RECEIVED_LIMIT_BYTES:
        raise FunctionError(f"a piece is larger than {RECEIVED_LIMIT_BYTES} bytes")
    return content


def _append_content(dest: str, content: bytes) -> None:
    with reach(dest, follow=True) as spot:
        fd = spot.open(os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
        with os.fdopen(fd, "ab") as file:
            if spot.is_foreign(os.fstat(fd)):
                raise UntrustedPath(dest, SHARED)
            file.write(content)


def _refuse_directory(dest: str) -> None:
    if dest.endswith("/") or os.path.isdir(dest):
        raise IsADirectoryError(21, "Is a directory", dest)
