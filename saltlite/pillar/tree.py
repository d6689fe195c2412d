"""The files of pillar: environments, and which file an SLS name stands for."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from saltlite.core.dataclasses import dataclass
from saltlite.fileserver.server import FileServer

if TYPE_CHECKING:
    from saltlite.fileserver.mounts import Mount
    from saltlite.fileserver.roots import FileOptions

ROOT_SUFFIX = ".sls"
INIT = "/init.sls"


SERVERS_KEPT = 4

_servers: list[tuple[tuple[FileOptions, Sequence[Mount]], FileServer]] = []
_lock = threading.Lock()


def server_of(files: FileOptions, mounts: Sequence[Mount] = ()) -> FileServer:
    """The file server of a pillar, and of all minions that have the same ``pillar_roots``.

    It keeps names and hashes of files, which are the same for everybody, and looks each time
    whether they have changed. ``mounts`` are in place of the directories of the one environment.
    """
    key = (files, mounts)
    with _lock:
        found = next((server for wanted, server in _servers if wanted == key), None)
        server = _make_server(files, mounts) if found is None else found
        others = [one for one in _servers if one[1] is not server]
        _servers[:] = [(key, server), *others][:SERVERS_KEPT]
    return server


def _make_server(files: FileOptions, mounts: Sequence[Mount]) -> FileServer:
    if not any(below for _directory, below in mounts):
        return FileServer(files)
    from saltlite.fileserver.mounts import Mounts

    return FileServer(files, backends=[Mounts(files, next(iter(files.file_roots)), mounts)])


@dataclass(frozen=True, slots=True)
class SlsFile:
    """A file that was found: its path on this machine, the one below its root, its text."""

    path: str
    name: str
    text: str


class PillarTree:
    """SLS files by environment. Nothing is kept but what the file server keeps."""

    def __init__(self, server: FileServer, envs: Sequence[str]) -> None:
        """``envs`` are the keys of ``pillar_roots``."""
        self._server = server
        self.envs = list(dict.fromkeys(["base", *(env for env in envs if env != "__env__")]))
        self._any_env = "__env__" in envs
        self._known = set(envs)

    def has(self, saltenv: str) -> bool:
        """Whether there is such an environment, by its name or through ``__env__``."""
        return saltenv in self._known or self._any_env

    def read(self, sls: str, saltenv: str) -> SlsFile | None:
        """The file of an SLS, ``a.b`` being ``a/b.sls`` or ``a/b/init.sls``; ``None`` without one.

        Raises:
            UnicodeDecodeError: it is no text.
        """
        below = sls.replace(".", "/")
        return self.read_file(below + ROOT_SUFFIX, saltenv) or self.read_file(below + INIT, saltenv)

    def read_file(self, name: str, saltenv: str) -> SlsFile | None:
        """A file by its path below the root; ``None`` if there is none."""
        found = self._server.read(name, saltenv)
        return None if found is None else SlsFile(found[0], name, found[1].decode())

    def files(self, saltenv: str) -> list[str]:
        """All files of an environment by their paths below the root, sorted."""
        return self._server.files(saltenv)

    def matching(self, pattern: str, saltenv: str) -> list[str]:
        """The SLS names of an environment that a glob fits, sorted; without a glob the name."""
        if not any(char in pattern for char in "*?["):
            return [pattern]
        names = (sls_name(name) for name in self._server.files(saltenv))
        return sorted(name for name in names if name and fnmatch.fnmatchcase(name, pattern))


def sls_name(path: str) -> str:
    """``a/b.sls`` is ``a.b``, ``a/init.sls`` is ``a``; ``""`` for what is no SLS."""
    if not path.endswith(ROOT_SUFFIX):
        return ""
    return path.removesuffix(INIT).removesuffix(ROOT_SUFFIX).replace("/", ".")
