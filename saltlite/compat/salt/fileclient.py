"""``salt.fileclient``: files of the master, or of the local file roots."""

from __future__ import annotations

from typing import Any

from saltlite.compat.salt.client import _current_surroundings


class Client:
    """The files that the minion whose function runs can have."""

    def __init__(self, opts: object = None) -> None:
        from saltlite.fileserver.client import file_client

        ctx: Any = _current_surroundings().ctx
        self._client = file_client(ctx)
        self.opts = opts or _current_surroundings().opts

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *args: object) -> None:
        """Nothing is held."""

    def destroy(self) -> None:
        """Nothing is held."""

    def cache_file(self, path: str, saltenv: str = "base", **kwargs: Any) -> str:
        """Fetch a file; the path of the copy, ``""`` if there is none."""
        return self._client.cache_file(path, saltenv)

    def get_file(self, path: str, dest: str = "", makedirs: bool = False, saltenv: str = "base",
                 **kwargs: Any) -> Any:  # fmt: skip
        """Fetch a file to a place; its path, ``""`` if there is none."""
        if not dest:
            return self.cache_file(path, saltenv)
        return self._client.get_file(path, dest, makedirs=makedirs, saltenv=saltenv)

    get_url = get_file

    def is_cached(self, path: str, saltenv: str = "base") -> str:
        """The path of the copy, ``""`` without one."""
        return self._client.is_cached(path, saltenv)

    def file_list(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """The paths of all files."""
        return self._client.list_files(saltenv, prefix)

    def dir_list(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """The paths of all directories."""
        return self._client.list_dirs(saltenv, prefix)

    def envs(self) -> list[str]:
        """The environments."""
        return self._client.envs()

    def hash_file(self, path: str, saltenv: str = "base") -> Any:
        """The sum of a file."""
        return self._client.hash_file(path, saltenv) or {}


LocalClient = RemoteClient = FSClient = Client


def get_file_client(opts: object = None, pillar: bool = False) -> Client:
    """The files that the minion whose function runs can have."""
    return Client(opts)
