"""Copies of sources in the minion's cache."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.fields import read_fields
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict
from saltlite.providers.file import hashes, paths, sources
from saltlite.providers.file.sources import Source
from saltlite.states.file._checks import failure, system_errors


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
    source = replace(read_fields(Source, locals()), source=name)
    if source_hash and not skip_verify:
        source = replace(source, known=sources.find_sum(ctx, source, name))
    elif sources.is_of_web(name) and not (skip_verify or use_etag):
        return failure(str(sources.unverified(name)))
    return _cache_source(ctx, source)


def not_cached(ctx: MinionContext, name: str, saltenv: str = "base") -> Declared:
    """No copy of a source in the cache of the minion."""
    if sources.is_local(name):
        path = os.path.abspath(sources.local_path(name))
        return Verdict(result=True, comment=f"File {path} is a local path, no action taken")
    return Uncached(name, saltenv)


def _cache_source(ctx: MinionContext, source: Source) -> Declared:
    """A source in the cache, with the hash that it shall have, if any."""
    url, wanted, saltenv = source.url, source.known, source.saltenv
    if sources.is_local(url):
        return _verify_local(url, wanted)
    form = wanted.get("hash_type") or ctx.config.files.hash_type
    client = sources.client(ctx)
    copy = client.is_cached(url, saltenv)
    old = hashes.file_hash(copy, form) if copy else None
    if sources.scheme_of(url) == "salt":
        found = client.hash_file(url, saltenv)
        if not found:
            return failure(f"Failed to cache {url}: it is not in saltenv '{saltenv}'")
        is_current = bool(copy) and hashes.file_hash(copy, found["hash_type"]) == found["hsum"]
        if is_current and old == wanted.get("hsum", old):
            return Verdict(result=True, comment=f"File is cached to {copy}")
    elif old is not None and old == wanted.get("hsum"):
        return Verdict(result=True, comment=f"File is already cached to {copy} with hash {old}")

    def act(ctx: MinionContext) -> Verdict:
        try:
            path = client.cache_file(
                url, saltenv, source_hash=wanted.get("hsum"), use_etag=source.use_etag
            )
        except SaltliteError as error:
            return failure(f"Failed to cache {url}: {error}")
        if not path:
            return failure(f"Failed to cache {url}: there is no such file")
        new = hashes.file_hash(path, form)
        changes = {} if new == old else {"hash": {"old": old, "new": new}}
        if new != wanted.get("hsum", new):
            return failure(f"File is cached to {path}, but {_say_mismatch(new, wanted['hsum'])}")
        return Verdict(result=True, comment=f"File is cached to {path}", changes=changes)

    return Action(would=f"File will be cached: {url}", run=act)


def _verify_local(url: str, wanted: Mapping[str, str]) -> Verdict:
    path = os.path.abspath(sources.local_path(url))
    if not os.path.exists(path):
        return failure(f"File {path} is not present on the minion")
    comment = f"File {path} is present on the minion"
    if wanted:
        with system_errors():
            found = hashes.file_hash(path, wanted["hash_type"])
        if found != wanted["hsum"]:
            return failure(f"{comment}, but {_say_mismatch(found, wanted['hsum'])}")
    return Verdict(result=True, comment=comment)


def _say_mismatch(found: str, wanted: str) -> str:
    return f"the hash ({found}) does not match the specified hash ({wanted})"


@dataclass(frozen=True, slots=True)
class Uncached(Resource[str]):
    """No copy of a source in the cache; read gives the path of the copy."""

    url: str
    saltenv: str

    def read(self, ctx: MinionContext) -> str:
        return sources.client(ctx).is_cached(self.url, self.saltenv)

    def plan(self, now: str) -> Sequence[Step]:
        if not now:
            return ()
        step = Step(
            would=f"{now} would be deleted",
            did=f"{now} was deleted",
            changes={"deleted": True},
            run=lambda ctx: paths.remove(now),
        )
        return (step,)

    def comment_unchanged(self, now: str) -> str:
        return f"{self.url} is not cached"
