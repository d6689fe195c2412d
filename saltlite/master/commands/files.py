"""The file server's commands. Source: docs/wire.md#files, #others.

Whatever a minion names goes through :mod:`saltlite.fileserver`: what is hostile is answered as a
missing file or an empty list.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from saltlite.channel.master import OpenedRequest
from saltlite.core.datalimits import grains_problem
from saltlite.core.plain import Plain
from saltlite.errors import StoreError, WireError
from saltlite.fileserver import bundle
from saltlite.fileserver.hashes import HashTakesLong
from saltlite.fileserver.paths import split_url
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later
from saltlite.master.filehash import ALONE, WITH_STATUS
from saltlite.master.pushed_files import PushRefused, store_piece
from saltlite.master.run_requests import FILE_HASH, RunRequest

DEFAULT_ENV = "base"
MEGABYTE = 1024 * 1024

Names = TypeVar("Names", list[str], dict[str, str])


def file_hash(ctx: MasterContext, request: OpenedRequest) -> Plain | Later:
    """``{"hash_type", "hsum"}``; ``""`` for a missing file."""
    try:
        found = ctx.files.hash(*_read_question(request))
    except HashTakesLong:
        return _hash_later(ctx, request, ALONE)
    return "" if found is None else _hash_reply(ctx, found)


def file_hash_and_stat(ctx: MasterContext, request: OpenedRequest) -> Plain | Later:
    """The same with the file's status."""
    try:
        found = ctx.files.hash_and_status(*_read_question(request))
    except HashTakesLong:
        return _hash_later(ctx, request, WITH_STATUS)
    if found is None:
        return ["", None]
    return [_hash_reply(ctx, found[0]), list(found[1])]


def _hash_later(ctx: MasterContext, request: OpenedRequest, fun: str) -> Later:
    """Have a large file hashed elsewhere; who asks is answered when that is done."""
    later = Later()
    ctx.runs.start(
        # With id and nonce, since the child that takes the hash also seals the reply.
        RunRequest(
            kind=FILE_HASH,
            fun=fun,
            jid="",
            user=request.id,
            arg=list(_read_question(request)),
            ticket=later.ticket,
            minion=request.id,
            nonce=request.nonce,
        )
    )
    return later


def file_find(ctx: MasterContext, request: OpenedRequest) -> Plain:
    """Where a file is."""
    found = ctx.files.find(*_read_question(request))
    if found is None:
        return {"path": "", "rel": ""}
    return {
        "path": found.path,
        "rel": found.rel,
        "stat": list(found.status),
        "back": found.backend,
    }


def serve_file(ctx: MasterContext, request: OpenedRequest) -> Plain:
    """A piece of a file, at most ``file_buffer_size`` bytes, compressed if it was asked for."""
    begin, level = request.load.get("loc", 0), request.load.get("gzip")
    path, saltenv = _read_question(request)
    piece = None
    # The bounds of zlib and of a file's offset; what is beyond would raise there.
    if _is_number(begin, 0, 1 << 63) and (level in (None, False) or _is_number(level, 1, 9)):
        piece = ctx.files.piece(path, saltenv, begin)
    if piece is None:
        return {"data": "", "dest": ""}
    # The end of a file has its dest and no data; a file that is missing has neither.
    answer: dict[str, Plain] = {"data": piece or "", "dest": str(path)}
    if level and piece:
        # 31: with the header of gzip, as minions expect it.
        packer = zlib.compressobj(level, wbits=31)
        answer |= {"data": packer.compress(piece) + packer.flush(), "gzip": level}
    return answer


def file_bundle(ctx: MasterContext, request: OpenedRequest) -> Plain:
    """Many small files at once, for saltlite's own minions."""
    load = request.load
    wanted = load.get("saltenv", DEFAULT_ENV), load.get("paths"), load.get("hashes")
    return bundle.pack(ctx.files, *wanted)


def file_list(ctx: MasterContext, request: OpenedRequest) -> list[str]:
    """The files of an environment."""
    return _list_names(ctx.files.files, request, [])


def file_list_emptydirs(ctx: MasterContext, request: OpenedRequest) -> list[str]:
    """Its empty directories."""
    return _list_names(ctx.files.empty_dirs, request, [])


def dir_list(ctx: MasterContext, request: OpenedRequest) -> list[str]:
    """Its directories."""
    return _list_names(ctx.files.dirs, request, [])


def symlink_list(ctx: MasterContext, request: OpenedRequest) -> dict[str, str]:
    """Its links and where they lead."""
    return _list_names(ctx.files.symlinks, request, {})


def file_envs(ctx: MasterContext, _request: OpenedRequest) -> list[str]:
    """The environments of all back ends."""
    return ctx.files.envs()


def file_recv(ctx: MasterContext, request: OpenedRequest) -> bool:
    """A minion pushes a piece of a file; ``False`` without ``file_recv``, and for bad ones."""
    files, load = ctx.config.files, request.load
    try:
        if not files.file_recv:
            raise PushRefused("file_recv is off")
        store_piece(
            Path(ctx.config.paths.cachedir),
            request.id,
            load.get("path"),
            load.get("loc"),
            load.get("data"),
            limit_bytes=files.file_recv_max_size * MEGABYTE,
            # Asked once more under the lock of the minion: its key may have been deleted.
            has_key=lambda: ctx.keys.load_accepted(request.id) is not None,
        )
    except (PushRefused, StoreError, OSError) as error:
        ctx.refusals.refuse("_file_recv", f"minion {request.id}: {error}")
        return False
    return True


def master_opts(ctx: MasterContext, request: OpenedRequest) -> dict[str, Plain]:
    """What a minion needs of the master's options to run a highstate."""
    files = ctx.config.files
    answer: dict[str, Plain] = {
        # Names only, as from Salt: paths of the master are of no use to a minion.
        "file_roots": {name: [] for name in ctx.files.envs()},
        "top_file_merging_strategy": files.top_file_merging_strategy,
        "env_order": list(files.env_order),
        "default_top": files.default_top,
        bundle.OFFER: bundle.FILES_LIMIT,
    }
    if request.load.get("env_only"):
        return answer
    return answer | {
        "renderer": files.renderer,
        "failhard": files.failhard,
        "state_top": files.state_top,
        "state_top_saltenv": files.state_top_saltenv,
        "nodegroups": dict(ctx.config.targets.nodegroups),
        "state_auto_order": files.state_auto_order,
        "state_events": files.state_events,
        "state_aggregate": files.state_aggregate,
        "jinja_env": dict(files.jinja_env),
        "jinja_sls_env": dict(files.jinja_sls_env),
        "jinja_lstrip_blocks": files.jinja_lstrip_blocks,
        "jinja_trim_blocks": files.jinja_trim_blocks,
    }


def master_tops(ctx: MasterContext, request: OpenedRequest) -> Mapping[str, Any]:
    """What the master's ``master_tops`` have for who asks."""
    from saltlite.highstate.master_tops import outer_tops_for

    sent = request.load.get("opts")
    opts = sent if isinstance(sent, dict) else {}
    grains = opts.get("grains")
    # Grains have a bound of their own; all other options together have the same once more.
    problem = grains_problem(grains if isinstance(grains, dict) else {}) or grains_problem(
        {name: value for name, value in opts.items() if name != "grains"}
    )
    if problem is not None:
        raise WireError(f"opts: {problem}")
    return outer_tops_for(ctx.config, request.id, opts)


def _read_question(request: OpenedRequest) -> tuple[object, object]:
    """Path and environment of a request; a query in the path wins."""
    path, saltenv = request.load.get("path"), request.load.get("saltenv", DEFAULT_ENV)
    if not isinstance(path, str):
        return None, saltenv
    location = split_url(path)
    return location.path, location.saltenv or saltenv


def _list_names(lists: Callable[..., Names], request: OpenedRequest, none: Names) -> Names:
    """One of the file server's lists; ``none`` for malformed wishes and absent back ends."""
    load = request.load
    prefix, backends = load.get("prefix") or "", load.get("fsbackend") or ()
    if isinstance(backends, str):
        backends = backends.split(",")
    if not isinstance(prefix, str) or not isinstance(backends, (list, tuple)):
        return none
    return lists(load.get("saltenv", DEFAULT_ENV), prefix, backends)


def _hash_reply(ctx: MasterContext, digest: str) -> dict[str, Plain]:
    return {"hash_type": ctx.files.hash_type, "hsum": digest}


def _is_number(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
