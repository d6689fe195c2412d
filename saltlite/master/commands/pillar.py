"""``_pillar``: the one reply sealed and signed in a way of its own.

Source: docs/wire.md#_pillar.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Final

from saltlite.channel.master import OpenedRequest, seal_pillar
from saltlite.config.master import PillarOptions
from saltlite.core.datalimits import extra_data_problem, grains_problem
from saltlite.core.jsontext import dump_json
from saltlite.core.plain import PlainMap
from saltlite.core.tags import minion_refresh
from saltlite.errors import CryptoError, StoreError, WireError
from saltlite.master.context import MasterContext
from saltlite.master.minioncache import GRAINS, PILLAR

_OWN_WORDS: Final = ("pillar_override", "ext")
"""Fields of the request whose values are the minion's own, as are those that sources get."""

MARK: Final = "\0"
"""Divides, in the name of what is kept, the environment from what was passed to sources."""


def pillar(ctx: MasterContext, request: OpenedRequest) -> bytes:
    """The reply frame with this minion's pillar; remembers its grains."""
    accepted = ctx.keys.load_accepted(request.id)
    if accepted is None:
        raise WireError("key was removed")
    # The time before compiling: of two requests the later question decides what is kept.
    grains, asked_ns = request.load.get("grains"), _now_ns(ctx)
    compiled: PlainMap = {}
    if isinstance(grains, dict):
        problem = grains_problem(grains)
        if problem is not None:
            raise WireError(problem)
        # The proven id, by which top files match, whatever the grains say.
        grains = {**grains, "id": request.id}
        compiled = _compile_pillar(ctx, request, grains)
        found = {GRAINS: grains, **_for_targets(ctx, request, grains, compiled)}
        _cache_facts(ctx, request.id, found, asked_ns)
        _fire_refresh(ctx, request.id)
    try:
        # With the key from the start: a machine that took over the id since cannot read it.
        return seal_pillar(
            compiled,
            nonce=request.nonce,
            minion_key=accepted.key,
            signer=ctx.shared.key,
            enc_algo=request.enc_algo,
            sig_algo=request.sig_algo,
        )
    except CryptoError as error:
        raise WireError(str(error)) from error


def _compile_pillar(ctx: MasterContext, request: OpenedRequest, grains: PlainMap) -> PlainMap:
    """The pillar of who asks, and of nobody else: the id is the one that was proven.

    What is kept counts for who asks the same, with the same passed to sources.
    """
    pillarenv = _read_pillarenv(request)

    def compile_now() -> PlainMap:
        return _compile_now(ctx, request, grains, pillarenv)

    if not _is_kept(ctx, pillarenv) or _asks_for_more(request):
        return compile_now()
    if request.load.get("clean_cache"):
        ctx.pillars.clean(request.id)
    extra = _extra_minion_data(ctx, request)
    question = f"{pillarenv or ''}{_digest_of(extra)}" if extra else pillarenv
    return _keep_or_compile(ctx, request.id, question, compile_now)


def _is_kept(ctx: MasterContext, pillarenv: str | None) -> bool:
    """Whether pillar is kept; a minion could reach another question's with a mark of its own."""
    return ctx.config.pillar.pillar_cache and MARK not in (pillarenv or "")


def _digest_of(extra: PlainMap) -> str:
    """What stands for the data in the name of what is kept."""
    text = dump_json(extra, sort_keys=True)
    return f"{MARK}{hashlib.sha256(text.encode()).hexdigest()}"


def _keep_or_compile(
    ctx: MasterContext, minion_id: str, question: str | None, compile_now: Callable[[], PlainMap]
) -> PlainMap:
    """What is kept, or else is compiled, and kept if nothing is wrong with it."""
    found = ctx.pillars.get(minion_id, question)
    if found is not None:
        return found
    # When it began, not when it ended: a file may be changed in between.
    begun_s = ctx.wall_s()
    compiled = compile_now()
    if "_errors" not in compiled:
        ctx.pillars.put(minion_id, question, compiled, begun_s)
    return compiled


def _read_pillarenv(request: OpenedRequest) -> str | None:
    pillarenv = request.load.get("pillarenv")
    return pillarenv if isinstance(pillarenv, str) and pillarenv else None


def _compile_now(
    ctx: MasterContext, request: OpenedRequest, grains: PlainMap, pillarenv: str | None
) -> PlainMap:
    override = request.load.get("pillar_override")
    override = override if isinstance(override, dict) else {}
    if not _has_sources(ctx.config.pillar):
        return override
    # Only here: a worker of a master without pillar never loads the renderers.
    from saltlite.pillar.context import compile_for_minion

    return compile_for_minion(
        ctx.config,
        request.id,
        grains,
        pillarenv=pillarenv,
        override=override,
        on_demand=request.load.get("ext"),
        extra_minion_data=_extra_minion_data(ctx, request),
    )


def _for_targets(
    ctx: MasterContext, request: OpenedRequest, grains: PlainMap, compiled: PlainMap
) -> dict[str, PlainMap]:
    """The pillar by which targets find the minion: one without its own words.

    A minion that passes something to sources does so with each request, so it is compiled for.
    """
    if not _has_own_words(ctx, request):
        return {PILLAR: compiled}
    if _asks_for_more(request) or not ctx.config.targets.minion_data_cache:
        return {}
    from saltlite.pillar.context import check_for_minion

    pillarenv = _read_pillarenv(request)

    def compile_plain() -> PlainMap:
        return check_for_minion(ctx.config, request.id, grains, pillarenv=pillarenv)[0]

    if _is_kept(ctx, pillarenv):
        return {PILLAR: _keep_or_compile(ctx, request.id, pillarenv, compile_plain)}
    return {PILLAR: compile_plain()}


def _has_sources(options: PillarOptions) -> bool:
    """Whether there is anything to compile; a master without pillar loads nothing for it."""
    roots = (root for paths in options.pillar_roots.values() for root in paths)
    return bool(options.ext_pillar or options.pillar_opts) or any(map(os.path.isdir, roots))


def _extra_minion_data(ctx: MasterContext, request: OpenedRequest) -> PlainMap:
    """What the minion passes to sources; empty if there are none.

    Raises:
        WireError: it is too large.
    """
    extra = request.load.get("extra_minion_data")
    if not isinstance(extra, dict) or not ctx.config.pillar.ext_pillar:
        return {}
    problem = extra_data_problem(extra)
    if problem is not None:
        raise WireError(problem)
    return extra


def _has_own_words(ctx: MasterContext, request: OpenedRequest) -> bool:
    """Whether the minion has put something into this pillar beside its grains.

    Such a pillar is for the minion alone. Targets (``-I``, ``allow_tgt``) and the cache see what
    the master says of the minion, not what the minion says of itself.
    """
    return _asks_for_more(request) or bool(_extra_minion_data(ctx, request))


def _asks_for_more(request: OpenedRequest) -> bool:
    return any(request.load.get(name) for name in _OWN_WORDS)


def _now_ns(ctx: MasterContext) -> int:
    return round(ctx.wall_s() * 1e9)


def _cache_facts(
    ctx: MasterContext, minion_id: str, found: Mapping[str, PlainMap], asked_ns: int
) -> None:
    """Keep what targeting needs; a full disk does not keep a minion from its pillar.

    Compiling takes a while: the minion may have asked again since, or its key may be deleted.
    """
    if not ctx.config.targets.minion_data_cache:
        return
    try:
        # Under the lock that deleting takes: nothing is kept of a minion that is gone.
        with ctx.minions.hold_lock(minion_id):
            if ctx.keys.load_accepted(minion_id) is None:
                return
            for bank, value in found.items():
                ctx.minions.write_newest(bank, minion_id, value, asked_ns, _now_ns(ctx))
    except StoreError as error:
        ctx.tell_of_store(f"What minion {minion_id} has told is not kept", error)


def _fire_refresh(ctx: MasterContext, minion_id: str) -> None:
    if ctx.config.targets.minion_data_cache and ctx.config.events.minion_data_cache_events:
        ctx.events.fire(minion_refresh(minion_id), {"Minion data cache refresh": minion_id})
