"""Copies of sources in the cache, and files that come as text of an encoding."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict
from saltlite.modules.file import moving
from saltlite.providers.file import content, hashes, sources
from saltlite.states._file.checks import failure, system_errors


def cache_source(
    ctx: MinionContext, url: str, wanted: Mapping[str, str], saltenv: str, *, use_etag: bool
) -> Declared:
    """A source in the cache; ``wanted`` is the hash that it shall have, if any."""
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
                url, saltenv, source_hash=wanted.get("hsum"), use_etag=use_etag
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
            run=lambda ctx: moving.remove(now),
        )
        return (step,)

    def comment_unchanged(self, now: str) -> str:
        return f"{self.url} is not cached"


def decode_base64(text: object) -> bytes:
    """The bytes of a text in base64; raises FunctionError."""
    data = text if isinstance(text, bytes) else str(text).encode()
    try:
        return base64.b64decode(data)
    except binascii.Error as error:
        raise FunctionError(f"the data are no base64: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded(Resource[str | None]):
    """A file with these bytes; it is told by its hash, as the hash is what is read."""

    name: str
    data: bytes
    form: str

    def read(self, ctx: MinionContext) -> str | None:
        if not os.path.lexists(self.name):
            return None
        with system_errors():
            return hashes.file_hash(self.name, self.form)

    def plan(self, now: str | None) -> Sequence[Step]:
        new = hashlib.new(self.form, self.data).hexdigest()
        if now == new:
            return ()
        changes = {} if now is None else {"old": now, "new": new}
        return (Step(would="File is set to be updated.", changes=changes, run=self._write_decoded),)

    def _write_decoded(self, ctx: MinionContext) -> None:
        with system_errors():
            content.put_data(self.name, self.data)

    def comment_unchanged(self, now: str | None) -> str:
        return "File is in the correct state."

    def comment_changed(self, before: str | None, after: str | None, steps: Sequence[Step]) -> str:
        return "File was updated."

    def changes(
        self, before: str | None, after: str | None, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return {"old": before, "new": after}
