"""Compiled templates, kept on disk for the next process.

Each job and each ``salt-call`` is a process of its own, and compiling a tree's templates takes
longer than rendering them. So runs of states keep the code in ``cachedir/templates``, one file for
each template and set of Jinja's options: an edited template takes the place of its old self. The
code is used only for the very text it was made of, by the compiler and the Python that made it.

Code that is read back is run. The directory therefore has to be ours and closed to others, as
``cachedir/extmods`` has; a file that was damaged is known by its digest and made anew. Pillar is
not kept: its templates may hold secrets, and the master's workers live long.
"""

from __future__ import annotations

import functools
import logging
import marshal
import os
import stat
import sys
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Final

from saltlite.core.hashers import hash_small
from saltlite.disk import (
    PRIVATE_DIR,
    PRIVATE_FILE,
    make_dir,
    newest_first,
    read_regular,
    write_file,
)
from saltlite.errors import StoreError

if TYPE_CHECKING:
    from saltlite.context import MinionContext

log = logging.getLogger(__name__)

FOLDER: Final = "templates"
MAX_FILES: Final = 2000
LIMIT_BYTES: Final = 8 * 1024 * 1024
DIGEST_BYTES: Final = 32

_MARK = "saltlite.templates.compiled"


class CompiledFiles:
    """Code by what was compiled: Jinja's options, name and path of the template, and its text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_safe = _is_ours(folder)
        self._gave_up = False

    def get(self, options: object, name: str, filename: str, text: str) -> CodeType | None:
        """The code of this very template; ``None`` if it is not kept, or not to be trusted."""
        if not self._is_safe:
            return None
        try:
            data = read_regular(self._path_of(options, name, filename), limit_bytes=LIMIT_BYTES)
        except StoreError as error:
            log.debug("a compiled template is passed over: %s", error)
            return None
        if not data:
            return None
        digest, of, packed = _parse_file(data)
        if of != _compute_digest(_digest_of_maker(), text.encode()) or digest != _compute_digest(
            of, packed
        ):
            return None
        code = marshal.loads(packed)  # noqa: S302 - ours alone, and as we wrote it: see above
        return code if isinstance(code, CodeType) else None

    def put(self, options: object, name: str, filename: str, text: str, code: CodeType) -> None:
        """Keep code; what cannot be written is made again next time."""
        if self._gave_up:
            return
        packed = marshal.dumps(code)
        of = _compute_digest(_digest_of_maker(), text.encode())
        if len(packed) + 2 * DIGEST_BYTES > LIMIT_BYTES:
            return
        path = self._path_of(options, name, filename)
        try:
            if not self._is_safe:
                make_dir(self._folder, PRIVATE_DIR)
                self._is_safe = _is_ours(self._folder)
            if not self._is_safe:
                raise StoreError(f"{self._folder} is not ours alone")
            is_new = not path.exists()
            # No flush: what a power cut leaves is known by its digest.
            write_file(
                path, _compute_digest(of, packed) + of + packed, mode=PRIVATE_FILE, flush=False
            )
            if is_new:
                self._forget_old()
        except (StoreError, OSError) as error:
            self._gave_up = True
            log.debug("compiled templates are not kept: %s", error)

    def _path_of(self, options: object, name: str, filename: str) -> Path:
        return self._folder / hash_small(repr((options, name, filename)).encode()).hexdigest()

    def _forget_old(self) -> None:
        files = newest_first(self._folder, "")
        if len(files) > MAX_FILES:
            for path in files[MAX_FILES // 2 :]:
                path.unlink(missing_ok=True)


def keep_compiled(ctx: MinionContext) -> None:
    """From now on templates of this context are kept in its ``cachedir``."""
    if _MARK not in ctx.state:
        ctx.state[_MARK] = CompiledFiles(Path(ctx.config.paths.cachedir, FOLDER))


def compiled_files(ctx: MinionContext) -> CompiledFiles | None:
    """Where compiled templates of this context are kept; ``None`` if they are not."""
    found = ctx.state.get(_MARK)
    return found if isinstance(found, CompiledFiles) else None


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can have written there."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    safe = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022
    return safe and stat.S_ISDIR(status.st_mode)


def _parse_file(data: bytes) -> tuple[bytes, bytes, bytes]:
    return data[:DIGEST_BYTES], data[DIGEST_BYTES : 2 * DIGEST_BYTES], data[2 * DIGEST_BYTES :]


def _compute_digest(*parts: bytes) -> bytes:
    return hash_small(b"".join(parts)).digest()


@functools.cache
def _digest_of_maker() -> bytes:
    """What code depends on beside its template: Python, Jinja's compiler and our part of it."""
    import jinja2

    folder, ours = os.path.dirname(jinja2.__file__), os.path.dirname(__file__)
    files = (os.path.join(folder, "compiler.py"), os.path.join(ours, "generator.py"))
    stamps = [(name, _stamp_of(name)) for name in files]
    return _compute_digest(repr((sys.version, jinja2.__version__, stamps)).encode())


def _stamp_of(path: str) -> object:
    """When a file was changed, and its size; ``None`` if there is none, as in a frozen package."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
