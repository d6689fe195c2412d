"""Exported declarations: what this minion tells others by its mine, and what it takes of theirs.

A state with ``export`` runs in its turn like others, with its requisites and conditions, but its
turn is to put the declaration into the mine. ``cachedir/exported.json`` says what the mine has, so
that a run without news sends nothing. What is believed of others is decided in
:mod:`saltlite.core.exported`.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.exported import (
    ALL_BYTES,
    COLLECTED,
    DECLARATIONS,
    MINE_NAME,
    BadCollect,
    BadExport,
    Collected,
    ExportedState,
    check_export,
    read_collect,
    take,
)
from saltlite.core.ids import valid_minion_id
from saltlite.core.mine import mine_load
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.chunk import EXPORTS as STORE
from saltlite.highstate.chunk import Chunk
from saltlite.highstate.resource import Verdict
from saltlite.providers import textfile

log = logging.getLogger(__name__)

SENT_AGAIN_S: Final = 3600.0
"""What the mine has is told again after an hour: the master may have lost it."""

MINE_STORE: Final = "mine_cache"
"""Where ``mine.*`` keep the mine of a minion without a master, in the minion's data store."""


@dataclass(slots=True)
class _Store:
    """What the mine has of this minion, by key, and when it was last told."""

    declared: dict[str, dict[str, Any]] = field(default_factory=dict)
    sent_s: float = 0.0


def export(
    ctx: MinionContext, chunk: Chunk, arguments: Mapping[str, Any], *, test: bool
) -> Verdict:
    """Put a declaration into the mine, or with ``test`` say that it would be.

    Raises:
        FunctionError: it is no plain data, there are too many, or the mine does not take it.
    """
    try:
        declared = _describe_chunk(chunk, arguments)
        check_export(declared)
    except BadExport as error:
        raise FunctionError(f"{chunk.function} cannot be exported: {error}") from error
    new = declared.to_wire()
    said = f"{chunk.function} {chunk.name}"
    with textfile.hold_name(ctx, STORE):
        store = _read_store(ctx)
        old = store.declared.get(declared.key)
        # As JSON: a tuple and a list are the same in the mine.
        is_known = json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
        if is_known and (test or time.time() - store.sent_s < SENT_AGAIN_S):
            return Verdict(result=True, comment=f"{said} is exported as {declared.tag}")
        changes = {} if is_known else {"exported": {"old": old, "new": new}}
        if test:
            comment = f"{said} would be exported as {declared.tag}"
            return Verdict(result=None, comment=comment, changes=changes)
        store.declared[declared.key] = new
        _tell_mine(ctx, store)
    return Verdict(result=True, comment=f"{said} was exported as {declared.tag}", changes=changes)


def _describe_chunk(chunk: Chunk, arguments: Mapping[str, Any]) -> ExportedState:
    """The declaration of a chunk; ``True`` as a tag is that of its function."""
    tag = chunk.options.export
    if tag is True:
        tag = chunk.function.replace(".", "_")
    if not isinstance(tag, str):
        raise BadExport(f"export: {tag!r} is no tag, and not True")
    own = {key: value for key, value in arguments.items() if key in chunk.arguments}
    return ExportedState(
        tag=tag, function=chunk.function, name=str(chunk.name), ident=str(chunk.ident),
        sls=str(chunk.sls), arguments=own,
    )  # fmt: skip


def retract(
    ctx: MinionContext, sls: frozenset[str], low: Sequence[Chunk], *, is_highstate: bool
) -> None:
    """Take out of the mine what SLS that were just run do not export any more.

    After a highstate also what SLS exported that are none of its own. Nothing is asked of the disk
    but whether there is a store.
    """
    if not (Path(ctx.config.paths.cachedir) / STORE).exists():
        return
    kept = {_key_of(chunk) for chunk in low if chunk.options.export}
    with textfile.hold_name(ctx, STORE):
        store = _read_store(ctx)
        gone = [
            key for key in store.declared
            if key not in kept and (is_highstate or key.partition("|")[0] in sls)
        ]  # fmt: skip
        if not gone:
            return
        for key in gone:
            log.info("%s is exported no longer", key)
            del store.declared[key]
        try:
            _tell_mine(ctx, store)
        except SaltliteError as error:
            log.error("what is exported no longer stays in the mine: %s", error)


def _key_of(chunk: Chunk) -> str:
    return ExportedState(
        tag="", function=chunk.function, name=str(chunk.name), ident=str(chunk.ident),
        sls=str(chunk.sls), arguments={},
    ).key  # fmt: skip


def _tell_mine(ctx: MinionContext, store: _Store) -> None:
    """Tell the mine, then note it: what was noted alone would not be sent again."""
    declared = list(store.declared.values())
    size = len(json.dumps(declared))
    if len(declared) > DECLARATIONS or size > ALL_BYTES:
        raise FunctionError(
            f"this minion exports {len(declared)} declarations of {size} bytes; there may be"
            f" {DECLARATIONS} of {ALL_BYTES}"
        )
    if ctx.master is not None:
        if ctx.master.request(mine_load({MINE_NAME: declared})) is not True:
            raise FunctionError("the master did not take it into the mine")
    else:
        known = ctx.functions.call("data.get", MINE_STORE)
        before = known if isinstance(known, Mapping) else {}
        ctx.functions.call("data.update", MINE_STORE, {**before, MINE_NAME: declared})
    store.sent_s = time.time()
    text = json.dumps([store.sent_s, store.declared])
    disk.write_file(Path(ctx.config.paths.cachedir) / STORE, text.encode(), flush=False)


def _read_store(ctx: MinionContext) -> _Store:
    """What was told; nothing where that is lost, so that it is told again."""
    data = disk.read_regular(Path(ctx.config.paths.cachedir) / STORE) or b""
    try:
        found = json.loads(data)
        sent_s, declared = found
        return _Store({str(key): dict(each) for key, each in declared.items()}, float(sent_s))
    except (ValueError, TypeError, AttributeError):
        return _Store()


# --- collecting ----------------------------------------------------------------------------------


def collect(ctx: MinionContext, entry: object, engine: frozenset[str]) -> list[Collected]:
    """What an entry of ``collect`` stands for now; what is refused of others goes to the log.

    ``engine`` are the engine's own arguments.

    Raises:
        BadCollect: the entry makes no sense.
        SaltliteError: the mine does not answer.
    """
    wanted = read_collect(entry, engine)
    found = ctx.functions.call("mine.get", wanted.target, MINE_NAME, wanted.target_type)
    taken: dict[str, Collected] = {}
    # By name: a run is to find the same order each time.
    for exporter in sorted(found) if isinstance(found, Mapping) else ():
        if not valid_minion_id(exporter):
            continue
        for one in take(wanted, exporter, found[exporter]):
            if isinstance(one, BadExport):
                log.warning("exported by %s and refused: %s", exporter, one)
            elif one.ident in taken:
                log.warning("exported by %s twice: %s", exporter, one.ident)
            else:
                taken[one.ident] = one
        if len(taken) > COLLECTED:
            raise BadCollect(f"more than {COLLECTED} declarations are exported as {wanted.tag}")
    return list(taken.values())
