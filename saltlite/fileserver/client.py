"""Files of the environments as a function sees them: asked for by address, kept in the cache.

:func:`file_client` gives modules, states and renderers the one client of their context. Files come
from this machine with ``file_client: local`` or without a master, else from the master by the
requests of protocol.md 9.4. Copies lie where Salt has them: ``cachedir/files/<saltenv>/<path>``,
``extrn_files/<saltenv>/<host>/<path>`` for what comes from elsewhere, ``localfiles/``.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat as stat_module
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.disk import make_dir, write_file
from saltlite.errors import FunctionError, SaltliteError, WireError
from saltlite.fileserver.paths import SCHEME, safe_parts, split_url

if TYPE_CHECKING:
    from saltlite.context import MasterLink, MinionContext
    from saltlite.fileserver.server import FileServer

log = logging.getLogger(__name__)

STATE_KEY = "fileserver.client"
TRIES = 3
"""How often a file is fetched that does not come out as its hash says."""

PIECE_LIMIT_BYTES = 64 * 1024 * 1024
READ_BYTES = 1024 * 1024
CACHE_DIR_MODE = 0o700
FILE_MODE = 0o644
WEB_SCHEMES = ("http", "https", "ftp")


class FileSource(Protocol):
    """Where files come from: this machine, or the master."""

    def envs(self) -> list[str]:
        """The environments."""

    def names(self, kind: str, saltenv: str, prefix: str) -> list[str]:
        """``files``, ``dirs`` or ``empty_dirs`` of an environment, sorted."""

    def symlinks(self, saltenv: str, prefix: str) -> dict[str, str]:
        """Its links and their targets."""

    def hash_and_stat(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status (as ``os.stat`` has it) of a file, ``None`` without one."""

    def pieces(self, path: str, saltenv: str, size: int, gzip: int | None) -> Iterator[bytes]:
        """The content of a file that has ``size`` bytes."""


class LocalSource:
    """The directories of this machine."""

    def __init__(self, server: FileServer) -> None:
        self._server = server

    def envs(self) -> list[str]:
        """The names of ``file_roots``."""
        return self._server.envs()

    def names(self, kind: str, saltenv: str, prefix: str) -> list[str]:
        """One of the lists of the file server."""
        lists = {
            "files": self._server.files,
            "dirs": self._server.dirs,
            "empty_dirs": self._server.empty_dirs,
        }
        return lists[kind](saltenv, prefix)

    def symlinks(self, saltenv: str, prefix: str) -> dict[str, str]:
        """Links and their targets."""
        return self._server.symlinks(saltenv, prefix)

    def hash_and_stat(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status of a file."""
        found = self._server.hash_and_status(path, saltenv)
        if found is None:
            return None
        return self._server.hash_type, found[0], list(found[1])

    def pieces(self, path: str, saltenv: str, size: int, gzip: int | None) -> Iterator[bytes]:
        """The content of a file; there is nothing to compress."""
        begin = 0
        while piece := self._server.piece(path, saltenv, begin, READ_BYTES):
            yield piece
            begin += len(piece)


class MasterSource:
    """The master's file server, one request for each question. Source: protocol.md 9.4."""

    _COMMANDS: Mapping[str, str] = {
        "files": "_file_list",
        "dirs": "_dir_list",
        "empty_dirs": "_file_list_emptydirs",
    }

    def __init__(self, master: MasterLink) -> None:
        self._master = master

    def envs(self) -> list[str]:
        """The master's environments."""
        return _texts(self._master.request({"cmd": "_file_envs"}))

    def names(self, kind: str, saltenv: str, prefix: str) -> list[str]:
        """One of the master's lists."""
        load = {"cmd": self._COMMANDS[kind], "saltenv": saltenv, "prefix": prefix}
        return _texts(self._master.request(load))

    def symlinks(self, saltenv: str, prefix: str) -> dict[str, str]:
        """The master's links and their targets."""
        load = {"cmd": "_symlink_list", "saltenv": saltenv, "prefix": prefix}
        reply = self._master.request(load)
        if not isinstance(reply, Mapping):
            raise WireError("the master's list of links is no map")
        return {str(path): str(target) for path, target in reply.items()}

    def hash_and_stat(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status of a file."""
        load = {"cmd": "_file_hash_and_stat", "path": path, "saltenv": saltenv}
        reply = self._master.request(load)
        if not isinstance(reply, (list, tuple)) or len(reply) != 2:
            raise WireError("the master's reply about a file is not a pair")
        hashed, status = reply
        if not isinstance(hashed, Mapping) or not hashed.get("hsum"):
            return None
        status = list(status) if isinstance(status, (list, tuple)) else []
        return str(hashed.get("hash_type", "")), str(hashed["hsum"]), status

    def pieces(self, path: str, saltenv: str, size: int, gzip: int | None) -> Iterator[bytes]:
        """The content of a file, piece by piece; ``size`` saves the last, empty one."""
        load: dict[str, Any] = {"cmd": "_serve_file", "path": path, "saltenv": saltenv}
        if gzip:
            load["gzip"] = gzip
        begin = 0
        while begin < size:
            piece = _piece(self._master.request({**load, "loc": begin}))
            if not piece:
                return
            yield piece
            begin += len(piece)


def _texts(reply: Any) -> list[str]:
    if not isinstance(reply, (list, tuple)):
        raise WireError("the master's list is no list")
    return [str(item) for item in reply]


def _piece(reply: Any) -> bytes:
    """The bytes in a reply; a daemon's connection leaves all of its texts bytes."""
    if not isinstance(reply, Mapping):
        raise WireError("the master's piece of a file is no map")
    data = reply.get("data") or reply.get(b"data") or b""
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
    packed = reply.get("gzip") or reply.get(b"gzip")
    if not packed or not data:
        return data
    unpacker = zlib.decompressobj(wbits=31)
    try:
        piece = unpacker.decompress(data, PIECE_LIMIT_BYTES)
    except zlib.error as error:
        raise WireError(f"a piece of a file does not unpack: {error}") from error
    if unpacker.unconsumed_tail:
        raise WireError("a piece of a file is too large")
    return piece


class TransferError(SaltliteError):
    """A file did not arrive as its hash says."""


class FileClient:
    """Files by their addresses.

    An address is ``salt://path`` (with ``?saltenv=env``, which wins over the argument), ``http://``,
    ``https://`` or ``file://``, or an absolute path. ``saltenv`` is the environment's name. What is
    fetched is checked against its hash, replaces an older copy in one step, and is not fetched when
    the copy is the same.
    """

    def __init__(self, source: FileSource, cachedir: Path, hash_type: str = "sha256") -> None:
        self.cachedir = cachedir
        self.hash_type = hash_type
        self._source = source

    def envs(self) -> list[str]:
        """The environments."""
        return self._source.envs()

    def list_files(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """The files of an environment whose paths begin with ``prefix``, sorted."""
        return self._source.names("files", saltenv, prefix)

    def list_dirs(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """Its directories."""
        return self._source.names("dirs", saltenv, prefix)

    def list_empty_dirs(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """Its directories with nothing in them."""
        return self._source.names("empty_dirs", saltenv, prefix)

    def list_symlinks(self, saltenv: str = "base", prefix: str = "") -> dict[str, str]:
        """Its links and their targets."""
        return self._source.symlinks(saltenv, prefix)

    def hash_file(self, path: str, saltenv: str = "base") -> dict[str, str] | None:
        """``{"hash_type", "hsum"}`` of a ``salt://`` address or an absolute path.

        ``None`` if there is no such file.
        """
        found = self._look(path, saltenv)
        return None if found is None else {"hash_type": found[0], "hsum": found[1]}

    def stat(self, path: str, saltenv: str = "base") -> list[Any] | None:
        """The ten numbers of ``os.stat``, mode first; ``None`` if there is no such file."""
        found = self._look(path, saltenv)
        return None if found is None or not found[2] else found[2]

    def is_cached(self, path: str, saltenv: str = "base") -> str:
        """The path of the copy of an address, ``""`` if there is none."""
        places = [self.cache_path(path, saltenv)]
        if path.startswith("/"):
            places = [self.localfile_path(path)]
        return next((str(place) for place in places if place and place.is_file()), "")

    def cache_file(
        self,
        url: str,
        saltenv: str = "base",
        *,
        source_hash: str | None = None,
        verify_ssl: bool = True,
        use_etag: bool = False,
        gzip: int | None = None,
    ) -> str:
        """Have a file here; its path, ``""`` if there is no such file.

        Paths of this machine are their own copies. ``source_hash`` is the hash that a file from the
        web shall have (its length says which); a copy that has it already is not fetched again.

        Raises:
            FunctionError: a path is neither an address nor absolute, or the web does not give it.
            SaltliteError: the master does not answer, or the disk does not take it.
        """
        scheme = _scheme(url)
        if scheme == "salt":
            return self._cache_salt(url, saltenv, gzip)
        if scheme in WEB_SCHEMES:
            return self._cache_web(url, saltenv, source_hash, verify_ssl, use_etag)
        if scheme not in ("", "file"):
            raise FunctionError(f"Unsupported url scheme: {url}")
        path = urllib.parse.unquote(url.removeprefix("file://")) if scheme == "file" else url
        if not os.path.isabs(path):
            raise FunctionError(f"Path '{path}' is not absolute")
        return path if os.path.isfile(path) else ""

    def get_file(
        self,
        url: str,
        dest: str,
        makedirs: bool = False,
        saltenv: str = "base",
        gzip: int | None = None,
    ) -> str:
        """Put a ``salt://`` file at ``dest``; where it is, ``""`` if there is no such file.

        A directory, or a path that ends in ``/``, takes the file under its own name. An existing
        file keeps its owner and mode.

        Raises:
            FunctionError: the directory of ``dest`` is missing and ``makedirs`` is off.
        """
        location = split_url(url)
        env = location.saltenv or saltenv
        found = self._look(url, saltenv)
        if found is None:
            return ""
        if dest.endswith("/") or os.path.isdir(dest):
            dest = os.path.join(dest, os.path.basename(location.path.rstrip("/")))
        target = Path(dest)
        if makedirs:
            make_dir(target.parent, 0o755)
        if not target.parent.is_dir():
            raise FunctionError(f"{target.parent} is not a directory")
        self._fetch(location.path, env, target, found, gzip)
        return dest

    def read(self, path: str, saltenv: str = "base") -> bytes | None:
        """The content of an address, ``None`` if there is no such file."""
        cached = self.cache_file(path, saltenv)
        return Path(cached).read_bytes() if cached else None

    def cache_path(self, url: str, saltenv: str = "base") -> Path | None:
        """Where the copy of an address is or would be; ``None`` if it cannot have one."""
        if _scheme(url) in WEB_SCHEMES:
            return self._web_path(url, saltenv)
        location = split_url(url)
        parts, env = safe_parts(location.path), safe_parts(location.saltenv or saltenv)
        if parts is None or env is None:
            return None
        return self.cachedir.joinpath("files", *env, *parts)

    def localfile_path(self, path: str) -> Path | None:
        """Where :meth:`cache_local` puts its copy of a file of this machine."""
        parts = safe_parts(path.lstrip("/"))
        return None if parts is None else self.cachedir.joinpath("localfiles", *parts)

    def cache_local(self, path: str) -> str:
        """Copy a file of this machine into the cache; ``""`` if there is no such file."""
        place = self.localfile_path(path)
        if place is None or not os.path.isfile(path):
            return ""
        _clear_way(place, self.cachedir)
        write_file(place, _file_pieces(path), mode=FILE_MODE, flush=False)
        return str(place)

    def cached_files(self, saltenv: str = "base") -> list[str]:
        """The paths of all copies of an environment's files, and of local files."""
        env = safe_parts(saltenv)
        if env is None:
            return []
        found = []
        for place in (self.cachedir.joinpath("files", *env), self.cachedir / "localfiles"):
            for folder, _folders, names in os.walk(place):
                found += [os.path.join(folder, name) for name in names]
        return sorted(found)

    def _look(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
        """Hash type, hash and status of an address or path."""
        if path.startswith("/"):
            return self._look_here(path)
        location = split_url(path)
        return self._source.hash_and_stat(location.path, location.saltenv or saltenv)

    def _look_here(self, path: str) -> tuple[str, str, list[Any]] | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        if not stat_module.S_ISREG(status.st_mode):
            return None
        return self.hash_type, file_hash(path, self.hash_type), list(status)

    def _cache_salt(self, url: str, saltenv: str, gzip: int | None) -> str:
        location = split_url(url)
        env = location.saltenv or saltenv
        place = self.cache_path(url, saltenv)
        found = None if place is None else self._source.hash_and_stat(location.path, env)
        if found is None or place is None:
            log.error("Unable to cache file '%s%s' from saltenv '%s'.", SCHEME, location.path, env)
            return ""
        if _has_hash(place, found[0], found[1]):
            return str(place)
        _clear_way(place, self.cachedir)
        self._fetch(location.path, env, place, found, gzip)
        return str(place)

    def _fetch(
        self, path: str, env: str, target: Path, found: tuple[str, str, list[Any]], gzip: int | None
    ) -> None:
        """Have the file at ``target``; once more when it changed meanwhile."""
        for number in range(TRIES):
            hash_type, wanted, status = found
            if _has_hash(target, hash_type, wanted):
                return
            size = status[6] if len(status) > 6 else 1 << 62
            pieces = self._source.pieces(path, env, size, gzip)
            try:
                replace_file(target, _verified(pieces, hash_type, wanted, path))
            except TransferError:
                again = self._source.hash_and_stat(path, env)
                if number == TRIES - 1 or again is None:
                    raise
                found = again
            else:
                return

    def _cache_web(
        self, url: str, saltenv: str, source_hash: str | None, verify_ssl: bool, use_etag: bool
    ) -> str:
        from saltlite.providers import web

        place = self._web_path(url, saltenv)
        if place is None:
            return ""
        hash_type = _type_of(source_hash)
        if source_hash and hash_type and _has_hash(place, hash_type, source_hash.lower()):
            return str(place)
        _clear_way(place, self.cachedir)
        web.download(url, place, verify_ssl=verify_ssl, use_etag=use_etag)
        return str(place)

    def _web_path(self, url: str, saltenv: str) -> Path | None:
        """``extrn_files/<saltenv>/<host and port>/<path and query>``."""
        try:
            parsed = urllib.parse.urlsplit(url)
        except ValueError:
            return None
        host = parsed.netloc.rpartition("@")[2].replace(":", "")
        name = parsed.path + (f"-{parsed.query}" if parsed.query else "")
        parts, env = safe_parts(f"{host}/{name}"), safe_parts(saltenv)
        if parts is None or env is None or len(parts) < 2:
            return None
        return self.cachedir.joinpath("extrn_files", *env, *parts)


def file_client(ctx: MinionContext) -> FileClient:
    """The client of this context, made at its first use."""
    found = ctx.state.get(STATE_KEY)
    if isinstance(found, FileClient):
        return found
    files = ctx.config.files
    source: FileSource
    if ctx.master is None or files.file_client == "local":
        from saltlite.fileserver.server import file_server

        source = LocalSource(file_server(ctx.config))
    else:
        source = MasterSource(ctx.master)
    client = FileClient(source, Path(ctx.config.paths.cachedir), files.hash_type)
    ctx.state[STATE_KEY] = client
    return client


def file_hash(path: str, hash_type: str) -> str:
    """The hash of a file of this machine in hexadecimal; raises OSError, ValueError."""
    digest = hashlib.new(hash_type, usedforsecurity=False)
    for piece in _file_pieces(path):
        digest.update(piece)
    return digest.hexdigest()


def _file_pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(READ_BYTES):
            yield piece


def _scheme(url: str) -> str:
    scheme, mark, _rest = url.partition("://")
    return scheme.lower() if mark and scheme.isalnum() else ""


def _type_of(digest: str | None) -> str | None:
    """The algorithm by the length of a hash in hexadecimal."""
    sizes = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
    return sizes.get(len(digest or ""))


def _has_hash(path: Path, hash_type: str, wanted: str) -> bool:
    try:
        return path.is_file() and file_hash(str(path), hash_type) == wanted
    except (OSError, ValueError):
        return False


def _verified(pieces: Iterable[bytes], hash_type: str, wanted: str, path: str) -> Iterator[bytes]:
    """The pieces as they come; an error at their end if the whole has another hash."""
    try:
        digest = hashlib.new(hash_type, usedforsecurity=False)
    except ValueError as error:
        raise WireError(f"the master hashes with {hash_type!r}, which is not known here") from error
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != wanted:
        raise TransferError(f"{path} did not arrive as the master has it")


def replace_file(target: Path, data: bytes | Iterable[bytes], *, new_mode: int = FILE_MODE) -> None:
    """Replace a file, or what a link leads to; it keeps its owner and mode.

    ``new_mode`` is for a file that is not there yet.

    Raises:
        FunctionError: something is there that is no regular file.
        StoreError: it cannot be written; what was there stays.
    """
    real = Path(os.path.realpath(target))
    mode, owner = new_mode, None
    if real.exists():
        status = real.stat()
        if not stat_module.S_ISREG(status.st_mode):
            raise FunctionError(f"{target} is not a regular file")
        mode = stat_module.S_IMODE(status.st_mode)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            owner = (status.st_uid, status.st_gid)
    write_file(real, data, mode=mode, flush=False, owner=owner)


def _clear_way(place: Path, cachedir: Path) -> None:
    """Make the directories of a copy; what lies in its way in the cache has changed its kind."""
    import shutil

    for folder in reversed([one for one in place.parents if cachedir in one.parents]):
        if not folder.is_dir() and os.path.lexists(folder):
            folder.unlink()
        make_dir(folder, CACHE_DIR_MODE)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
