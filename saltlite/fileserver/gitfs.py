"""The ``gitfs`` back end: branches and tags of git repositories as environments.

``gitfs_base`` (``master``) is ``base``, every other branch and tag has its own name. Global options
are ``gitfs_<name>``; a remote may have its own, and an environment of a remote (``saltenv``) too.
A link in a repository leads nowhere but within what is served of it. Source: Salt's documentation
of the options; observed on Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
import logging
import operator
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.core.lazyregex import regex
from saltlite.core.patterns import fits_whole
from saltlite.disk import entries_of
from saltlite.errors import SaltliteError, TargetError
from saltlite.fileserver.gitrepo import ALL_REFS, Names, RemoteAccess, Repository
from saltlite.fileserver.mounts import Mounted, list_all, open_in, tree
from saltlite.fileserver.paths import safe_parts
from saltlite.fileserver.roots import Listing, OpenFile, Roots

if TYPE_CHECKING:
    from saltlite.fileserver.roots import FileOptions

log = logging.getLogger(__name__)

BASE: Final = "base"
REF_TYPES: Final = ("branch", "tag", "sha")
UPDATES_MISSED: Final = 3
"""Who reads fetches itself only after so many intervals without a fetch by the updater."""

_LOGIN: Final = regex(r"(https?://)([^/@:]*):([^/@]*)@")

TREES_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class ServedTree:
    """What of a repository is served, and where: a commit, a directory in it, one on top."""

    repository: Repository
    commit: str
    root: tuple[str, ...]
    mountpoint: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """Options of a remote, without the ``gitfs_`` or ``git_pillar_`` of those for all remotes."""

    all_saltenvs: object = None
    base: object = "master"
    branch: object = None
    disable_saltenv_mapping: object = False
    env: object = None
    fallback: object = None
    insecure_auth: object = False
    mountpoint: object = None
    name: object = None
    password: object = None
    privkey: object = None
    proxy: object = None
    ref_types: object = REF_TYPES
    refspecs: object = None
    root: object = None
    saltenv: object = None
    ssl_verify: object = True
    update_interval: object = 60
    user: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvOptions:
    """Options of one environment of a remote; ``None`` is as for the remote."""

    mountpoint: object = None
    ref: object = None
    root: object = None


@dataclass(slots=True)
class Remote:
    """One entry of ``gitfs_remotes``: options by name, those of its environments on top."""

    repository: Repository
    options: RemoteOptions
    per_env: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    due_s: float = 0.0
    """When the updater is to fetch it next, by the clock that it asks with."""

    @property
    def interval_s(self) -> float:
        """Between two updates."""
        value = self.options.update_interval
        return float(value) if isinstance(value, (int, float)) and value > 0 else 60.0

    def fetch(self) -> bool:
        """Fetch now; whether anything is another. What fails is logged and stays as it was."""
        try:
            return self.repository.update()
        except (SaltliteError, OSError) as error:
            log.error("git repository %s: %s", self.repository.public_url, error)
            return False

    def names(self) -> Names:
        """Its branches and tags."""
        return self.repository.names(self.interval_s * UPDATES_MISSED)

    def envs(self) -> list[str]:
        """The environments of its branches and tags, and those that are configured for it."""
        names, kinds = self.names(), self._ref_types
        found = [env for env in self.per_env if self._find_ref(env) is not None]
        if not self.options.disable_saltenv_mapping:
            base = str(self.options.base)
            refs = [*(names.branches if "branch" in kinds else ())]
            refs += names.tags if "tag" in kinds else ()
            found += [BASE if ref == base else ref for ref in refs]
        return sorted(set(found))

    @property
    def _ref_types(self) -> tuple[str, ...]:
        kinds = self.options.ref_types
        return tuple(kinds) if isinstance(kinds, (list, tuple)) else (str(kinds),)

    def _find_ref(self, env: str) -> str | None:
        """The branch or tag of an environment, ``None`` if there cannot be one."""
        everywhere = self.options.all_saltenvs
        if everywhere:
            return str(everywhere)
        own = read_fields(EnvOptions, self.per_env.get(env, {}))
        if own.ref is not None:
            return str(own.ref)
        base = str(self.options.base)
        if self.options.disable_saltenv_mapping and env not in self.per_env:
            return None
        return base if env == BASE else env

    def place(self, env: str) -> ServedTree | None:
        """What it serves in an environment."""
        ref, names = self._find_ref(env), self.names()
        commit = None if ref is None else names.commit(ref, self._ref_types)
        if commit is None and self.options.fallback:
            commit = names.commit(str(self.options.fallback), self._ref_types)
        if commit is None:
            return None
        own = read_fields(EnvOptions, self.per_env.get(env, {}))
        root = self.options.root if own.root is None else own.root
        mountpoint = self.options.mountpoint if own.mountpoint is None else own.mountpoint
        return ServedTree(self.repository, commit, path_parts(root), path_parts(mountpoint))


def path_parts(path: object) -> tuple[str, ...]:
    """The components of a root or mountpoint; none for a hostile one."""
    return safe_parts(str(path or "").removeprefix("salt://").strip("/")) or ()


class Gitfs:
    """The repositories of ``gitfs_remotes``; the first one that has a file serves it."""

    name = "gitfs"

    def __init__(self, options: FileOptions, cachedir: Path, extra: Mapping[str, object]) -> None:
        self._options = options
        self._extra = extra
        self._directory = cachedir / "gitfs"
        self._remotes = list(remotes(extra, self._directory))
        self._seen: list[Names] = []
        self._envs: set[str] = set()
        self._served: dict[Path, Roots] = {}

    def remotes_due(self, now_s: float) -> Iterator[Remote]:
        """The remotes whose interval is over at ``now_s``; each begins its next one."""
        for remote in self._remotes:
            if now_s >= remote.due_s:
                remote.due_s = now_s + remote.interval_s
                yield remote

    def update(self) -> bool:
        """Fetch all; whether anything is another now."""
        changed = [remote.fetch() for remote in self._remotes]
        return any(changed)

    def clear(self) -> bool:
        """Remove all copies, also of remotes that are not configured any more."""
        for remote in self._remotes:
            remote.repository.clear()
        configured = {remote.repository.place for remote in self._remotes}
        for entry, _ in entries_of(self._directory):
            if Path(entry.path) not in configured and entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
        return True

    def envs(self) -> list[str]:
        """The environments of all remotes."""
        return sorted(self._find_envs())

    def _find_envs(self) -> set[str]:
        """The environments that any remote has: no other is looked for in the rest."""
        names = [remote.names() for remote in self._remotes]
        if len(names) != len(self._seen) or any(map(operator.is_not, names, self._seen)):
            found = {env for remote in self._remotes for env in remote.envs()}
            self._envs = {env for env in found if self._is_open(env)}
            self._seen = names
        return self._envs

    def open(self, path: object, saltenv: object) -> OpenFile | None:
        """Open a file of an environment; ``None`` if it has no such file."""
        return open_in(self._find_mounts(saltenv), path)

    def listing(self, saltenv: object) -> Listing:
        """All that is in an environment."""
        return list_all(self._find_mounts(saltenv))

    def forget(self) -> None:
        """Read lists again."""
        self._served.clear()

    def _is_open(self, env: str) -> bool:
        white = self._extra.get("gitfs_saltenv_whitelist") or ()
        black = self._extra.get("gitfs_saltenv_blacklist") or ()
        return (not white or fits_any(env, white)) and not fits_any(env, black)

    def _find_mounts(self, saltenv: object) -> Iterator[Mounted]:
        if not isinstance(saltenv, str) or not self._may_have(saltenv):
            return
        for remote in self._remotes:
            place = remote.place(saltenv)
            files = None if place is None else place.repository.tree(place.commit)
            if place is None or files is None:
                continue
            root = files.joinpath(*place.root)
            if Path(os.path.realpath(root)).is_relative_to(os.path.realpath(files)):
                yield self._open_roots(root), place.mountpoint

    def _may_have(self, saltenv: str) -> bool:
        if saltenv in self._find_envs():
            return True
        falls_back = any(remote.options.fallback for remote in self._remotes)
        return falls_back and self._is_open(saltenv)

    def _open_roots(self, root: Path) -> Roots:
        found = self._served.get(root)
        if found is None:
            if len(self._served) >= TREES_KEPT:
                self._served.clear()
            found = self._served[root] = tree(self._options, str(root))
        return found


def fits_any(env: str, patterns: Any) -> bool:
    """Whether a glob or a whole regular expression fits."""
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if fnmatch.fnmatch(env, str(pattern)):
            return True
        try:
            if fits_whole(str(pattern), env):
                return True
        except TargetError as error:
            log.warning("%s is no environment: %s", env, error)
    return False


# --- options -------------------------------------------------------------------------------------


def remotes(
    extra: Mapping[str, object], directory: Path, entries: object = None, prefix: str = "gitfs"
) -> Iterator[Remote]:
    """The remotes that options name, ``<prefix>_remotes`` unless ``entries`` are given."""
    general = {
        name.removeprefix(f"{prefix}_"): value
        for name, value in extra.items()
        if name.startswith(f"{prefix}_") and value not in (None, "")
    }
    if entries is None:
        entries = general.get("remotes")
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        url, own = _parse_entry(entry)
        yield _build_remote(url, {**general, **own}, directory)


def _parse_entry(entry: object) -> tuple[str, dict[str, Any]]:
    """``url`` or ``{url: [{option: value}, ...]}``."""
    if isinstance(entry, Mapping) and len(entry) == 1:
        url, own = next(iter(entry.items()))
        return str(url), join_maps(own)
    return str(entry), {}


def join_maps(values: object) -> dict[str, Any]:
    """A list of maps as one map; a map as it is."""
    if isinstance(values, Mapping):
        values = [values]
    maps: Sequence[Any] = values if isinstance(values, (list, tuple)) else ()
    return {
        str(key): value for one in maps if isinstance(one, Mapping) for key, value in one.items()
    }


def _build_remote(url: str, given: Mapping[str, object], directory: Path) -> Remote:
    options = read_fields(RemoteOptions, given)
    per_env = {env: join_maps(values) for env, values in join_maps(options.saltenv).items()}
    repository = Repository(directory, access(url, options), str(options.name or ""))
    return Remote(repository, options, per_env)


def access(url: str, options: RemoteOptions) -> RemoteAccess:
    """How the options say that a remote is reached."""
    refspecs = options.refspecs
    if isinstance(refspecs, str) and refspecs:
        refspecs = [refspecs]
    if not isinstance(refspecs, (list, tuple)) or not refspecs:
        refspecs = ALL_REFS
    login = _LOGIN.match(url)  # what stands in an argument can be seen by all
    user, password = (unquote(part) for part in login.groups()[1:]) if login else ("", "")
    return RemoteAccess(
        url=_LOGIN.sub(r"\1", url),
        user=str(options.user or user),
        password=str(options.password or password),
        insecure_auth=options.insecure_auth is True,
        privkey=str(options.privkey or ""),
        ssl_verify=options.ssl_verify is not False,
        proxy=str(options.proxy or ""),
        refspecs=tuple(_force_refspec(str(one)) for one in refspecs),
    )


def _force_refspec(spec: str) -> str:
    return spec if spec.startswith("+") else f"+{spec}"
