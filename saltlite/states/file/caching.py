"""Copies in the minion's cache."""

from __future__ import annotations

import os

from saltlite.context import MinionContext
from saltlite.highstate.resource import Declared, Verdict
from saltlite.providers.file import sources
from saltlite.states._file import copies
from saltlite.states._file.checks import failure


def cached(
    ctx: MinionContext,
    name: str,
    source_hash: object = "",
    source_hash_name: object = None,
    skip_verify: bool = False,
    saltenv: str = "base",
    use_etag: bool = False,
) -> Declared:
    """A source in the cache of the minion."""
    wanted: dict[str, str] = {}
    if source_hash and not skip_verify:
        wanted = sources.source_sum(ctx, name, name, source_hash, source_hash_name, saltenv)
    elif sources.scheme_of(name) in sources.WEB and not (skip_verify or use_etag):
        return failure(
            f"Unable to verify upstream hash of source file {name}, please set source_hash or set"
            " skip_verify or use_etag to True"
        )
    return copies.cache_source(ctx, name, wanted, saltenv, use_etag=use_etag)


def not_cached(ctx: MinionContext, name: str, saltenv: str = "base") -> Declared:
    """No copy of a source in the cache of the minion."""
    if sources.is_local(name):
        path = os.path.abspath(sources.local_path(name))
        return Verdict(result=True, comment=f"File {path} is a local path, no action taken")
    return copies.Uncached(name, saltenv)
