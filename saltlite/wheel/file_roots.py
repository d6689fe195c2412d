"""``file_roots.*``: the files below ``file_roots``."""

from __future__ import annotations

from saltlite.wheel import _roots

find, list_env, list_roots, read, write = _roots.make_functions(
    "file_roots", lambda ctx: ctx.config.files.file_roots
)
