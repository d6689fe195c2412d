"""Custom code from the file roots, copied to where the loader looks for it.

``salt://_modules`` of each environment goes to ``extension_modules/modules``, and so with the other
kinds; what is no longer there goes away (``clean_dynamic_modules``). Minions sync from their file
client, a master from its own file roots. Source: docs/modules.md#what-a-file-finds, observed on
Salt 3006.30.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from saltlite.core.dataclasses import dataclass
from saltlite.disk import make_dir, read_regular, write_file
from saltlite.errors import StoreError, UsageError
from saltlite.loader import catalogue

if TYPE_CHECKING:
    from saltlite.context import MinionContext

CODE_MODE: Final = 0o600
NO_CODE: Final = (".pyc", ".pyo")


class Files(Protocol):
    """Where custom code comes from; the file client."""

    def list_files(self, saltenv: str = "base", prefix: str = "") -> list[str]:
        """The paths of an environment that begin with ``prefix``."""

    def read(self, path: str, saltenv: str = "base") -> bytes | None:
        """The content of an address, ``None`` if there is no such file."""

    def ahead(
        self, paths: Sequence[str], saltenv: str = "base"
    ) -> contextlib.AbstractContextManager[None]:
        """Within, all these files are read at the cost of few requests."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which files are wanted, by their names without what is behind the last dot; globs.

    ``only`` is ``None`` for all of them, and empty for none.
    """

    only: Sequence[str] | None = None
    never: Sequence[str] = ()

    def has(self, name: str) -> bool:
        """Whether a file is wanted."""
        if any(fnmatchcase(name, glob) for glob in self.never):
            return False
        return self.only is None or any(fnmatchcase(name, glob) for glob in self.only)


@dataclass(frozen=True, slots=True)
class Synced:
    """What one kind came to: new and changed files by Salt's names, and whether some went away."""

    names: list[str]
    removed: bool

    @property
    def has_changes(self) -> bool:
        """Whether anything is different now."""
        return bool(self.names) or self.removed


def sync(
    ctx: MinionContext, kind: str, saltenv: object = None, choice: Choice | None = None
) -> list[str]:
    """Copy custom code of one kind to this minion; the names of what was copied."""
    return sync_minion(ctx, kind, saltenv, choice).names


def sync_minion(
    ctx: MinionContext, kind: str, saltenv: object = None, choice: Choice | None = None
) -> Synced:
    """Copy custom code of one kind to this minion.

    ``saltenv`` is one environment, several with commas, a list, or ``None`` for the minion's own.
    """
    from saltlite.fileserver.client import file_client

    envs = environments(saltenv, ctx.config.files.saltenv)
    clean = ctx.config.files.clean_dynamic_modules
    target = Path(catalogue.sync_dir(ctx.config, kind))
    return copy_code(file_client(ctx), kind, envs, target, choice or Choice(), clean=clean)


def sync_master(
    config: Any, kind: str, saltenv: object = "base", choice: Choice | None = None
) -> Synced:
    """Copy custom code of one kind to the master, from its own file roots."""
    from saltlite.fileserver.client import FileClient
    from saltlite.fileserver.server import file_server
    from saltlite.fileserver.sources import LocalSource

    files = FileClient(LocalSource(file_server(config)), Path(config.paths.cachedir))
    target = Path(catalogue.sync_dir(config, kind))
    return copy_code(files, kind, environments(saltenv, None), target, choice or Choice())


def environments(saltenv: Any, own: str | None) -> list[str]:
    """The environments that are meant."""
    if isinstance(saltenv, str):
        return [name.strip() for name in saltenv.split(",") if name.strip()]
    return [str(name) for name in saltenv] if saltenv else [own or "base"]


def parse_names(value: object, kind: str) -> list[str] | None:
    """The names of files that a list of wanted or unwanted ones has for one kind.

    It is a map from kinds, a list, or a text with commas; ``None`` if it says nothing of the kind.
    """
    if isinstance(value, Mapping):
        value = value.get(kind)
    if value is None:
        return None
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise UsageError(f"extmod lists: {value!r} is no list, text or map of kinds")
    return [str(name) for name in value]


def copy_code(
    files: Files,
    kind: str,
    envs: Iterable[str],
    target: Path,
    choice: Choice,
    *,
    clean: bool = True,
) -> Synced:
    """Copy all files below ``_<kind>`` of some environments; a later one wins.

    Raises:
        StoreError: a file cannot be written.
    """
    names: list[str] = []
    wanted: set[Path] = set()
    for env in envs:
        code = {
            path: parts
            for path, parts in _find_code(files, kind, env)
            if choice.has(_module_name(parts))
        }
        with files.ahead(list(code), env):
            for path, parts in code.items():
                place = target.joinpath(*parts)
                data = files.read(f"salt://{path}", env)
                if data is None:
                    continue
                wanted.add(place)
                if _replace_file(place, data):
                    names.append(f"{kind}.{_module_name(parts)}")
    removed = clean and _remove_others(target, wanted)
    return Synced(sorted(set(names)), removed)


def _find_code(files: Files, kind: str, env: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Each file of a kind in an environment: its path, and the parts below the kind."""
    from saltlite.fileserver.paths import safe_parts

    prefix = f"_{kind}/"
    for path in files.list_files(env, prefix):
        parts = safe_parts(path)
        if parts is None or len(parts) < 2 or parts[0] != f"_{kind}":
            continue
        if not path.endswith(NO_CODE) and "__pycache__" not in parts:
            yield path, parts[1:]


def _module_name(parts: Sequence[str]) -> str:
    return os.path.splitext(".".join(parts))[0]


def _replace_file(place: Path, data: bytes) -> bool:
    """Write a file unless it is so already."""
    with contextlib.suppress(StoreError):
        if read_regular(place) == data:
            return False
    make_dir(place.parent)
    write_file(place, data, mode=CODE_MODE, flush=False)
    return True


def _remove_others(target: Path, wanted: set[Path]) -> bool:
    """Remove all files but the wanted ones, and directories that become empty."""
    removed = False
    for root, dirs, names in os.walk(target, topdown=False):
        for name in names:
            path = Path(root, name)
            if path in wanted:
                continue
            path.unlink(missing_ok=True)
            removed = removed or not name.endswith(NO_CODE)
        for name in dirs:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(root, name))
    return removed


def list_synced(config: Any) -> dict[str, list[str]]:
    """The custom code that was copied: kind → names of files, as ``saltutil.list_extmods``."""
    found: dict[str, list[str]] = {}
    for root, _, names in os.walk(config.paths.extension_modules):
        kind = os.path.relpath(root, config.paths.extension_modules).split(os.sep)[0]
        stems = [os.path.splitext(name)[0] for name in names if not name.endswith(NO_CODE)]
        if stems and kind != ".":
            found.setdefault(kind, []).extend(stems)
    return {kind: sorted(set(stems)) for kind, stems in sorted(found.items())}
