"""A remote git repository: a bare copy of it, the commits that its names stand for, their files.

All by the ``git`` command. What comes from a repository is data: names of branches and tags are
looked up in what ``git for-each-ref`` says and never become a path or an argument, only commit ids
do. Nothing in a repository runs: no hooks, no filters, no submodules, and of the transports only
``file``, ``git``, ``http(s)`` and ``ssh``. Source: docs/security.md#rules (CVE-2023-20898,
CVE-2025-22240).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.disk import make_dir, read_regular, write_file
from saltlite.errors import CommandError, SaltliteError, StoreError
from saltlite.host import SEARCH_PATH, Host

log = logging.getLogger(__name__)

FETCH_S: Final = 50.0
"""How long one fetch may take."""

TRANSPORTS: Final = "file:git:http:https:ssh"
ALL_REFS: Final = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
COMMIT: Final = regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
ATTRIBUTES: Final = b"* -text -filter -ident -working-tree-encoding -export-subst\n"
"""Files are as they are in the repository, whatever its own attributes say."""

KEPT_VARIABLES: Final = (
    *("PATH", "HOME", "SSH_AUTH_SOCK"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)


class RepositoryError(SaltliteError):
    """A repository cannot be fetched or read; the text has no password in it."""


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """How a remote is reached."""

    url: str
    user: str = ""
    password: str = ""
    insecure_auth: bool = False
    privkey: str = ""
    ssl_verify: bool = True
    proxy: str = ""
    refspecs: tuple[str, ...] = ALL_REFS


@dataclass(frozen=True, slots=True)
class Names:
    """What a repository has: branches and tags, each with its commit id."""

    branches: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    def commit(self, ref: str, kinds: tuple[str, ...] = ("branch", "tag", "sha")) -> str | None:
        """The commit of a branch, else of a tag; of its own id only if a name has it too."""
        if "branch" in kinds and ref in self.branches:
            return self.branches[ref]
        if "tag" in kinds and ref in self.tags:
            return self.tags[ref]
        known = {*self.branches.values(), *self.tags.values()}
        return ref if "sha" in kinds and ref in known else None


class Repository:
    """The copy of one remote below ``directory``; several processes may use it at once."""

    def __init__(self, directory: Path, access: RemoteAccess, label: str) -> None:
        """``label`` tells two copies of one remote apart."""
        named = json.dumps([access.url, label, access.user, access.refspecs])
        self.place = directory / hashlib.sha256(named.encode()).hexdigest()
        self._access = access
        self._host = Host()
        self._stamp: tuple[int, ...] | None = None
        self._names = Names()

    @property
    def public_url(self) -> str:
        """The address without its password."""
        return redact_url(self._access.url)

    def names(self, max_age_s: float) -> Names:
        """Branches and tags as they were at the last update, which is now if that is too old."""
        try:
            status = os.stat(self._index_path)
        except OSError:
            status = None
        if status is None or not 0 <= time.time() - status.st_mtime < max_age_s:
            self._update_quietly(wait=status is None)
        return self._read_names()

    def probe(self, timeout_s: float) -> None:
        """Ask the remote for its names; nothing is written.

        Raises:
            RepositoryError: it does not answer in time, or does not let us in.
        """
        address = self._remote_address()
        self._run_git(
            "ls-remote",
            "--quiet",
            "--heads",
            "--",
            address,
            bare=False,
            reads_remote=True,
            timeout_s=timeout_s,
        )

    def update(self) -> bool:
        """Fetch; whether anything is another now.

        Raises:
            RepositoryError: it cannot be fetched; what was there stays.
        """
        with self._lock_copy(wait=True):
            return self._fetch_remote()

    def clear(self) -> None:
        """Remove the copy; who needs it next fetches it again.

        Raises:
            OSError: something stays.
        """
        with self._lock_copy(wait=True):
            self._index_path.unlink(missing_ok=True)  # first: without it nobody uses the rest
            for kept in ("trees", "repository"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.rmtree(self.place / kept)

    def tree(self, commit: str) -> Path | None:
        """The directory with the files of a commit; ``None`` if it cannot be had."""
        if not COMMIT.fullmatch(commit):
            return None
        tree = self.place / "trees" / commit
        if tree.is_dir():
            return tree
        try:
            with self._lock_copy(wait=True):
                if not tree.is_dir():
                    self._write_tree(commit, tree)
        except (RepositoryError, StoreError, OSError) as error:
            log.error("git repository %s: %s", self.public_url, error)
            return None
        return tree

    # --- what is on disk ---------------------------------------------------------------------

    @property
    def _index_path(self) -> Path:
        return self.place / "names.json"

    @property
    def _bare_path(self) -> str:
        return str(self.place / "repository")

    def _read_names(self) -> Names:
        try:
            status = os.stat(self._index_path)
        except OSError:
            return Names()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        if stamp != self._stamp:
            self._names, self._stamp = _read_names(self._index_path), stamp
        return self._names

    @contextlib.contextmanager
    def _lock_copy(self, *, wait: bool) -> Iterator[None]:
        """Held while the copy changes; raises BlockingIOError if another holds it."""
        make_dir(self.place)
        fd = os.open(self.place / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield
        finally:
            os.close(fd)

    def _update_quietly(self, *, wait: bool) -> None:
        try:
            with self._lock_copy(wait=wait):
                if not (wait and self._index_path.exists()):
                    self._fetch_remote()
        except BlockingIOError:
            return
        except (SaltliteError, OSError) as error:
            log.error("git repository %s: %s", self.public_url, error)

    def _fetch_remote(self) -> bool:
        before = _read_names(self._index_path)
        try:
            self._make_bare()
            self._run_git(
                "fetch",
                "--quiet",
                "--prune",
                "--force",
                "--no-tags",
                "--no-recurse-submodules",
                "--no-write-fetch-head",
                "--",
                self._remote_address(),
                *self._access.refspecs,
                reads_remote=True,
            )
            found = self._list_names()
        except SaltliteError:
            self._write_names(before)  # so that nobody tries again at once
            raise
        self._write_names(found)
        self._prune_trees(before, found)
        return found != before

    def _write_names(self, names: Names) -> None:
        data = {"branches": dict(names.branches), "tags": dict(names.tags)}
        write_file(self._index_path, json.dumps(data).encode(), flush=False)

    def _make_bare(self) -> None:
        if not os.path.isdir(os.path.join(self._bare_path, "objects")):
            self._run_git(
                "init", "--quiet", "--bare", "--template=", "--", self._bare_path, bare=False
            )
        info = Path(self._bare_path, "info")
        make_dir(info)
        write_file(info / "attributes", ATTRIBUTES, flush=False)

    def _list_names(self) -> Names:
        text = self._run_git("for-each-ref", "--format=%(objectname) %(*objectname) %(refname)")
        branches, tags = {}, {}
        for line in text.splitlines():
            own, peeled, ref = line.split(" ", 2)
            commit = peeled or own
            if not COMMIT.fullmatch(commit):
                continue
            if ref.startswith("refs/remotes/origin/"):
                branches[ref.removeprefix("refs/remotes/origin/")] = commit
            elif ref.startswith("refs/tags/"):
                tags[ref.removeprefix("refs/tags/")] = commit
        return Names(branches, tags)

    def _prune_trees(self, before: Names, now: Names) -> None:
        """Remove trees that neither these names nor the last ones stand for."""
        kept = {commit for one in (before, now) for commit in _list_commits(one)}
        for tree in (self.place / "trees").glob("*"):
            if tree.name not in kept:
                shutil.rmtree(tree, ignore_errors=True)

    def _write_tree(self, commit: str, tree: Path) -> None:
        """Write the files of a commit beside, then put them into place as a whole."""
        make_dir(tree.parent)
        beside = tempfile.mkdtemp(prefix=".new-", dir=tree.parent)
        index = os.path.join(beside, ".index")
        files = os.path.join(beside, "files")
        os.mkdir(files, 0o700)
        try:
            env = {"GIT_INDEX_FILE": index}
            self._run_git("read-tree", f"{commit}^{{tree}}", env=env)
            self._run_git("checkout-index", "--all", "--force", env=env, work_tree=files)
            os.rename(files, tree)
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    # --- git ---------------------------------------------------------------------------------

    def _remote_address(self) -> str:
        url = self._access.url
        if url.startswith("-") or "::" in url.partition("/")[0] or "\0" in url:
            raise RepositoryError("the address names no transport that is allowed")
        if self._access.password and url.startswith("http://") and not self._access.insecure_auth:
            raise RepositoryError("a password over http:// needs insecure_auth: True")
        return url

    def _run_git(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        bare: bool = True,
        reads_remote: bool = False,
        work_tree: str | None = None,
        timeout_s: float = FETCH_S,
    ) -> str:
        place = ["--git-dir", self._bare_path] if bare else []
        if work_tree is not None:
            place += ["-c", "core.bare=false", "--work-tree", work_tree]
        argv = ["git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"]
        argv += ["-c", "gc.auto=0", "-c", "fetch.fsckObjects=true", *place, *words]
        variables = {
            **self._build_environment(),
            **(self._login_variables() if reads_remote else {}),
            **(env or {}),
        }
        try:
            done = self._host.run(
                argv, env=variables, clean_env=True, cwd=work_tree, timeout_s=timeout_s
            )
        except CommandError as error:
            raise RepositoryError(f"git cannot be started: {error}") from error
        if done.timed_out:
            raise RepositoryError(f"git {words[0]} takes longer than {timeout_s:.0f} s")
        if done.exit_code != 0:
            said = done.stderr.strip().replace(self._access.url, self.public_url)
            raise RepositoryError(f"git {words[0]} exits with {done.exit_code}: {said}")
        return done.stdout

    def _build_environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return {
            "PATH": SEARCH_PATH,
            **kept,
            "LC_ALL": "C.UTF-8",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": TRANSPORTS,
            "GIT_ASKPASS": "/bin/true",
        }

    def _login_variables(self) -> dict[str, str]:
        """Passwords go through the environment, where other users do not see them."""
        access = self._access
        options = {} if access.ssl_verify else {"http.sslVerify": "false"}
        if access.proxy:
            options["http.proxy"] = access.proxy
        if access.user and access.password:
            login = base64.b64encode(f"{access.user}:{access.password}".encode()).decode()
            options[f"http.{access.url}.extraHeader"] = f"Authorization: Basic {login}"
        variables = {"GIT_CONFIG_COUNT": str(len(options))}
        for number, (name, value) in enumerate(options.items()):
            variables[f"GIT_CONFIG_KEY_{number}"] = name
            variables[f"GIT_CONFIG_VALUE_{number}"] = value
        ssh = ["ssh", "-o", "BatchMode=yes"]
        if access.privkey:
            ssh += ["-o", "IdentitiesOnly=yes", "-i", access.privkey]
        return {**variables, "GIT_SSH_COMMAND": shlex.join(ssh)}


def redact_url(url: str) -> str:
    """An address without its password."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def _read_names(path: Path) -> Names:
    """What an index says; a damaged one says nothing."""
    try:
        data: Any = json.loads(read_regular(path) or b"{}")
        branches, tags = data.get("branches", {}), data.get("tags", {})
        return Names({**branches}, {**tags})
    except (StoreError, OSError, ValueError, TypeError, AttributeError):
        return Names()


def _list_commits(names: Names) -> Iterator[str]:
    yield from names.branches.values()
    yield from names.tags.values()
