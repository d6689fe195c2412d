"""``pillar_roots.*``: the files below ``pillar_roots``."""

from __future__ import annotations

from saltlite.wheel import _roots

find, list_env, list_roots, read, write = _roots.make_functions(
    "pillar_roots", lambda ctx: ctx.config.pillar.pillar_roots
)
