"""Files of the environments as a function sees them: asked for by address, kept in the cache.

:func:`file_client` gives modules, states and renderers the one client of their context. Files come
from this machine with ``file_client: local`` or without a master, else from the master by the
requests of docs/wire.md#files. Copies lie where Salt has them: ``cachedir/files/<saltenv>/<path>``,
``extrn_files/<saltenv>/<host>/<path>`` for what comes from elsewhere, ``localfiles/``.
"""

from __future__ import annotations

import logging
import os
import stat as stat_module
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.disk import make_way, write_file
from saltlite.errors import FunctionError, WireError
from saltlite.fileserver import bundle as bundles
from saltlite.fileserver.copies import (
    FILE_MODE,
    TransferError,
    clear_way,
    file_hash,
    file_pieces,
    has_content,
    has_hash,
    hash_or_none,
    replace_file,
    verify_pieces,
)
from saltlite.fileserver.paths import SCHEME, safe_parts, split_url
from saltlite.fileserver.sources import FileSource, LocalSource, MasterSource

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MinionContext
    from saltlite.fileserver.server import FileServer

log = logging.getLogger(__name__)

Hashed = tuple[str, str]
"""Type and hash of a file."""

STATE_KEY = "fileserver.client"
TEMPLATES_KEY = "fileserver.templates"
TRIES = 3
"""How often a file is fetched that does not come out as its hash says."""

BUNDLE_LEAST = 4
"""Fewer files are fetched one by one: whether the master knows bundles is a request as well."""

WEB_SCHEMES = ("http", "https", "ftp")


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
        self.config: MinionConfig | MasterConfig | None = None
        """Says how long fetching from the web may take; ``None`` leaves the defaults."""
        self._ahead: dict[tuple[str, str], Hashed] = {}

    @property
    def is_local(self) -> bool:
        """Whether the files of the environments are on this machine."""
        return isinstance(self._source, LocalSource)

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
        known = self._find_prefetched(path, saltenv)
        found = known or self._look_up(path, saltenv)
        return None if found is None else {"hash_type": found[0], "hsum": found[1]}

    def _find_prefetched(self, url: str, saltenv: str) -> Hashed | None:
        """The hash of a file that was fetched ahead."""
        if not self._ahead:
            return None
        location = split_url(url)
        return self._ahead.get((location.saltenv or saltenv, location.path))

    def stat(self, path: str, saltenv: str = "base") -> list[Any] | None:
        """The ten numbers of ``os.stat``, mode first; ``None`` if there is no such file."""
        found = self._look_up(path, saltenv)
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
        scheme = _scheme_of(url)
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

    def cache_files(self, paths: Sequence[str], saltenv: str = "base") -> list[str]:
        """Have files of one environment here, by their paths below its root; their places.

        As :meth:`cache_file` for each, in few requests where the master can answer so.
        """
        places = {path: place for path in paths if (place := self._plain_place(path, saltenv))}
        clear: set[Path] = set()

        def make_way(place: Path) -> None:
            if place.parent not in clear or place.is_dir():
                clear_way(place, self.cachedir)
                clear.add(place.parent)

        there = self._fetch_many(places, saltenv, make_way)
        return [
            str(places[path]) if path in there else self.cache_file(f"{SCHEME}{path}", saltenv)
            for path in paths
        ]

    @contextmanager
    def ahead(self, paths: Sequence[str], saltenv: str = "base") -> Iterator[None]:
        """Have many files of one environment here in few requests, and know their hashes meanwhile.

        Within, questions about them are answered without the master. What cannot be had in bundles
        is asked for one by one, as ever.
        """
        places = {path: place for path in paths if (place := self._plain_place(path, saltenv))}
        found = self._fetch_many(places, saltenv, lambda place: clear_way(place, self.cachedir))
        self._ahead = {(saltenv, path): hashed for path, hashed in found.items()}
        try:
            yield
        finally:
            self._ahead = {}

    def _plain_place(self, path: str, saltenv: str) -> Path | None:
        """Where a file's copy is; ``None`` for a path that an address says in another way."""
        return None if "?" in path or path.startswith("|") else self.cache_path(path, saltenv)

    def get_files(
        self, places: Mapping[str, str], saltenv: str = "base", gzip: int | None = None
    ) -> list[str]:
        """Put files of one environment where the map says; the places that have them now.

        As :meth:`get_file` with ``makedirs`` for each, in few requests where that can be.
        """
        plain = {
            path: Path(place)
            for path, place in places.items()
            if self._plain_place(path, saltenv) and not place.endswith("/")
        }
        there = self._fetch_many(
            {path: place for path, place in plain.items() if not place.is_dir()},
            saltenv,
            lambda place: make_way(place.parent),
        )
        return [
            place
            for path, place in places.items()
            if path in there or self.get_file(f"{SCHEME}{path}", place, True, saltenv, gzip)
        ]

    def _fetch_many(
        self, places: Mapping[str, Path], saltenv: str, make_way: Callable[[Path], None]
    ) -> dict[str, Hashed]:
        """Have many files, in bundles; those that could be had so, each with its proven hash."""
        there: dict[str, Hashed] = {}
        if not isinstance(self._source, MasterSource) or len(places) < BUNDLE_LEAST:
            return there
        hash_type, waiting = self.hash_type, list(places)
        while waiting:
            asked = waiting[: bundles.FILES_LIMIT]
            known = [hash_or_none(places[path], hash_type) for path in asked]
            try:
                told_type, arrived = self._source.bundle(asked, saltenv, known)
            except WireError as error:
                log.warning("%s; files are fetched one by one", error)
                break
            if not arrived:
                break
            for path, mine, one in zip(asked, known, arrived, strict=False):
                if one.content is not None:
                    make_way(places[path])
                    replace_file(places[path], one.content)
                    there[path] = (told_type, one.hsum)
                elif mine and one.hsum == mine and told_type == hash_type:
                    there[path] = (told_type, mine)
            hash_type, waiting = told_type, waiting[len(arrived) :]
        return there

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
        found = self._look_up(url, saltenv)
        if found is None:
            return ""
        if dest.endswith("/") or os.path.isdir(dest):
            dest = os.path.join(dest, os.path.basename(location.path.rstrip("/")))
        target = Path(dest)
        if makedirs:
            make_way(target.parent)
        if not target.parent.is_dir():
            raise FunctionError(f"{target.parent} is not a directory")
        self._fetch_file(location.path, env, target, found, gzip)
        return dest

    def read(self, path: str, saltenv: str = "base") -> bytes | None:
        """The content of an address, ``None`` if there is no such file.

        Of what is on this machine no copy is made.
        """
        if isinstance(self._source, LocalSource) and _scheme_of(path) == "salt":
            location = split_url(path)
            return self._source.whole(location.path, location.saltenv or saltenv)
        cached = self.cache_file(path, saltenv)
        return Path(cached).read_bytes() if cached else None

    def cache_path(self, url: str, saltenv: str = "base") -> Path | None:
        """Where the copy of an address is or would be; ``None`` if it cannot have one."""
        if _scheme_of(url) in (*WEB_SCHEMES, "file"):
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
        clear_way(place, self.cachedir)
        write_file(place, file_pieces(path), mode=FILE_MODE, flush=False)
        return str(place)

    def list_cache_files(self, saltenv: str = "base") -> list[str]:
        """The paths of all copies of an environment's files, and of local files."""
        env = safe_parts(saltenv)
        if env is None:
            return []
        found = []
        for place in (self.cachedir.joinpath("files", *env), self.cachedir / "localfiles"):
            for folder, _folders, names in os.walk(place):
                found += [os.path.join(folder, name) for name in names]
        return sorted(found)

    def _look_up(self, path: str, saltenv: str) -> tuple[str, str, list[Any]] | None:
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
        if place is not None and place.is_file() and self._find_prefetched(url, saltenv):
            return str(place)
        if place is not None and isinstance(self._source, LocalSource):
            data = self._source.small(location.path, env)
            if data is not None and has_content(place, data):
                return str(place)
        found = None if place is None else self._source.hash_and_stat(location.path, env)
        if found is None or place is None:
            log.error("Unable to cache file '%s%s' from saltenv '%s'.", SCHEME, location.path, env)
            return ""
        if has_hash(place, found[0], found[1]):
            return str(place)
        clear_way(place, self.cachedir)
        self._fetch_file(location.path, env, place, found, gzip)
        return str(place)

    def _fetch_file(
        self, path: str, env: str, target: Path, found: tuple[str, str, list[Any]], gzip: int | None
    ) -> None:
        """Have the file at ``target``; once more when it changed meanwhile."""
        for number in range(TRIES):
            hash_type, wanted, status = found
            if has_hash(target, hash_type, wanted):
                return
            size = status[6] if len(status) > 6 else 1 << 62
            pieces = self._source.pieces(path, env, size, gzip)
            try:
                replace_file(target, verify_pieces(pieces, hash_type, wanted, path))
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
        from saltlite.web import client as web

        place = self._web_path(url, saltenv)
        if place is None:
            return ""
        hash_type = _type_of(source_hash)
        if source_hash and hash_type and has_hash(place, hash_type, source_hash.lower()):
            return str(place)
        clear_way(place, self.cachedir)
        bounds = web.WebBounds() if self.config is None else web.WebBounds.of(self.config)
        web.download(url, place, verify_ssl=verify_ssl, use_etag=use_etag, bounds=bounds)
        return str(place)

    def _web_path(self, url: str, saltenv: str) -> Path | None:
        """``extrn_files/<saltenv>/<host and port>/<path and query>``."""
        try:
            parsed = urllib.parse.urlsplit(url)
        except ValueError:
            return None
        host = parsed.netloc.rpartition("@")[2].replace(":", "")
        name = parsed.path + (f"-{parsed.query}" if parsed.query else "")
        place = name.lstrip("/") if parsed.scheme == "file" and not host else f"{host}/{name}"
        parts, env = safe_parts(place), safe_parts(saltenv)
        if parts is None or env is None or len(parts) < 2:
            return None
        return self.cachedir.joinpath("extrn_files", *env, *parts)


def file_client(ctx: MinionContext) -> FileClient:
    """The client of this context, made at its first use."""
    found = ctx.state.get(STATE_KEY)
    if isinstance(found, FileClient):
        return found
    files = ctx.config.files
    if ctx.master is None or files.file_client == "local":
        from saltlite.fileserver.server import file_server

        return use_files_of(ctx, file_server(ctx.config))
    source = MasterSource(ctx.master)
    client = FileClient(source, Path(ctx.config.paths.cachedir), files.hash_type)
    client.config = ctx.config
    ctx.state[STATE_KEY] = client
    return client


def use_files_of(ctx: MinionContext, server: FileServer) -> FileClient:
    """Let the client of this context have its files from ``server``, on this machine."""
    client = ctx.state[STATE_KEY] = _local_client(ctx, server)
    return client


def use_templates_of(ctx: MinionContext, server: FileServer) -> None:
    """Let templates import from ``server``, and functions read the files of the context."""
    ctx.state[TEMPLATES_KEY] = _local_client(ctx, server)


def template_client(ctx: MinionContext) -> FileClient:
    """The client that templates import with: the one of the context, if no other is set."""
    found = ctx.state.get(TEMPLATES_KEY)
    return found if isinstance(found, FileClient) else file_client(ctx)


def _local_client(ctx: MinionContext, server: FileServer) -> FileClient:
    cachedir = Path(ctx.config.paths.cachedir)
    client = FileClient(LocalSource(server), cachedir, ctx.config.files.hash_type)
    client.config = ctx.config
    return client


def _scheme_of(url: str) -> str:
    scheme, mark, _rest = url.partition("://")
    return scheme.lower() if mark and scheme.isalnum() else ""


def _type_of(digest: str | None) -> str | None:
    """The algorithm by the length of a hash in hexadecimal."""
    sizes = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
    return sizes.get(len(digest or ""))
