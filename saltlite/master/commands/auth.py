"""``_auth``: a minion offers its key. Source: docs/wire.md#_auth."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

from saltlite.channel.handshake import sign_public_key
from saltlite.core import tags
from saltlite.core.dataclasses import replace
from saltlite.core.messages import AuthRequest
from saltlite.crypto.keys import (
    ENCRYPTION_ALGORITHMS,
    SIGNING_ALGORITHMS,
    PublicKey,
    same_pem,
)
from saltlite.errors import CryptoError, ServerAway, StoreError
from saltlite.master.context import MasterContext
from saltlite.master.keydecision import AuthAnswer, Decision, Filing, KeyOnFile, Offer, decide
from saltlite.master.keystore import AcceptedKey, KeyState
from saltlite.master.stores import MinionSession

ATTEMPTS: Final = 5
"""How often a sign-in is judged anew because somebody changed the key meanwhile."""

_KNOWN = {
    None: KeyOnFile.NOTHING,
    KeyState.ACCEPTED: KeyOnFile.ACCEPTED,
    KeyState.UNACCEPTED: KeyOnFile.UNACCEPTED,
    KeyState.REJECTED: KeyOnFile.REJECTED,
}

_FILED_AS = {
    Filing.ACCEPT: KeyState.ACCEPTED,
    Filing.PEND: KeyState.UNACCEPTED,
    Filing.REJECT: KeyState.REJECTED,
    Filing.DENY: KeyState.DENIED,
}


_REMEDIES = {
    "denied": "another key is known for this id: a second machine has the id, or the machine has "
    "a new key (now in minions_denied). If the new key is right: salt-key -d the id, then accept "
    "what it offers next; if not, give that machine another id",
    "reject": "its key was rejected; salt-key -d the id lets it ask again",
}
"""Why a key is refused, and what an administrator may do, by ``Decision.act``."""


def auth(ctx: MasterContext, load: Mapping[str, object]) -> bytes:
    """The signed reply frame to an offered key."""
    request = AuthRequest.from_wire(load)
    # Before all else: every other reply is signed by the algorithm that was asked for.
    if request.enc_algo not in ENCRYPTION_ALGORITHMS:
        return ctx.handshake.bad_algorithm("enc")
    if request.sig_algo not in SIGNING_ALGORITHMS:
        return ctx.handshake.bad_algorithm("sig")
    if request.problem:
        ctx.refusals.refuse("_auth", request.problem)
        return ctx.handshake.refuse(request)
    try:
        decision, reply = _judge_key(ctx, request)
    except ServerAway as error:
        # Of a cluster: nothing can be decided now, and a minion that is refused may end for good.
        ctx.refusals.refuse("_auth", f"{request.id}: {error}")
        return ctx.handshake.pending(request)
    except (CryptoError, StoreError) as error:
        ctx.refusals.refuse("_auth", f"{request.id}: {error}")
        return ctx.handshake.refuse(request)
    _fire_auth(ctx, request, decision)
    return reply


def _judge_key(ctx: MasterContext, request: AuthRequest) -> tuple[Decision, bytes]:
    """What becomes of the key, and the reply; again if the key was changed in between."""
    # Before anything is filed: a key that is too weak is refused here.
    key = _key_of_request(ctx, request)
    for _ in range(ATTEMPTS):
        decision = _settle_key(ctx, request)
        if decision.answer is not AuthAnswer.LET_IN:
            return decision, _reply_without_keys(ctx, request, decision)
        session = _session_of_offered(ctx, request)
        if session is not None:
            return decision, _let_in(ctx, request, key, session)
    raise StoreError("its key is changed again and again")


def _settle_key(ctx: MasterContext, request: AuthRequest) -> Decision:
    """Decide, and move the key files as decided.

    Most sign-ins change nothing and need no lock. What does is decided again by who holds the id:
    the first look may be out of date.
    """
    decision = decide(_make_offer(ctx, request))
    if decision.filing is Filing.NOTHING:
        return decision
    with ctx.keys.hold(request.id):
        offer = _make_offer(ctx, request)
        # Two new minions at once must not both take the last place; an id is always held first.
        with ctx.keys.hold_count() if _is_limited(ctx, decide(offer)) else nullcontext():
            full, pending_full = _bounds_reached(ctx)
            offer = replace(offer, full=full, pending_full=pending_full)
            decision = decide(offer)
            _file_key(ctx, request, decision, offer)
    return decision


def _is_limited(ctx: MasterContext, decision: Decision) -> bool:
    """Whether the decision adds to a state that may hold so many keys only."""
    options = ctx.config.keys
    limits = {Filing.ACCEPT: options.max_minions, Filing.PEND: options.max_pending_keys}
    return limits.get(decision.filing, 0) > 0


def _key_of_request(ctx: MasterContext, request: AuthRequest) -> PublicKey:
    """The key in the request; not parsed again if it is the accepted one."""
    accepted = _find_accepted(ctx, request)
    return PublicKey.from_pem(request.pub) if accepted is None else accepted.key


def _make_offer(ctx: MasterContext, request: AuthRequest) -> Offer:
    options = ctx.config.keys
    known, filed = ctx.keys.look_up(request.id)
    same = filed is not None and same_pem(filed, request.pub)
    # The common case: neither lists nor counts are read for it.
    if known is KeyState.ACCEPTED:
        return Offer(KeyOnFile.ACCEPTED, same_key=same, open_mode=options.open_mode)
    full, pending_full = _bounds_reached(ctx)
    return Offer(
        _KNOWN[known],
        same_key=same,
        auto_sign=ctx.autosign.signs(request.id, request.autosign_grains, ctx.wall_s()),
        auto_reject=ctx.autosign.rejects(request.id),
        open_mode=options.open_mode,
        full=full,
        pending_full=pending_full,
    )


def _bounds_reached(ctx: MasterContext) -> tuple[bool, bool]:
    """Whether as many keys are accepted, and wait, as may."""
    options = ctx.config.keys
    return (
        _is_reached(ctx, KeyState.ACCEPTED, options.max_minions),
        _is_reached(ctx, KeyState.UNACCEPTED, options.max_pending_keys),
    )


def _is_reached(ctx: MasterContext, state: KeyState, most: int) -> bool:
    return bool(most) and len(ctx.keys.ids(state)) >= most


def _file_key(ctx: MasterContext, request: AuthRequest, decision: Decision, offer: Offer) -> None:
    """Move the key files as decided."""
    if decision.filing is Filing.NOTHING:
        return
    if decision.filing is Filing.ACCEPT:
        # Before the key is accepted: a marker that cannot be removed lets nobody in.
        ctx.autosign.consume_marker(request.id)
        ctx.sessions.delete(request.id)  # whoever had the id before
    # The key that waited is rejected, not the one that is offered now.
    if decision.filing is Filing.REJECT and offer.known is KeyOnFile.UNACCEPTED:
        ctx.keys.move(request.id, KeyState.UNACCEPTED, KeyState.REJECTED)
        return
    ctx.keys.put(request.id, _FILED_AS[decision.filing], request.pub)


def _reply_without_keys(ctx: MasterContext, request: AuthRequest, decision: Decision) -> bytes:
    if decision.answer is AuthAnswer.WAIT:
        return ctx.handshake.pending(request)
    if decision.answer is AuthAnswer.FULL:
        return ctx.handshake.full(request)
    return ctx.handshake.refuse(request)


def _session_of_offered(ctx: MasterContext, request: AuthRequest) -> MinionSession | None:
    """The session of the offered key; ``None`` if that is not the accepted one any more.

    One that is there is taken without a lock: whoever ends it afterwards has us sign in again.
    """
    accepted = _find_accepted(ctx, request)
    if accepted is None:
        return None
    session = ctx.sessions.get(request.id, accepted=accepted)
    if session is not None:
        return session
    with ctx.keys.hold(request.id):
        accepted = _find_accepted(ctx, request)
        if accepted is None:
            return None
        session = ctx.sessions.get_or_make(request.id, accepted=accepted)
        if _find_accepted(ctx, request) is None:  # somebody moved the file who holds no locks
            ctx.sessions.delete(request.id)
            return None
        return session


def _find_accepted(ctx: MasterContext, request: AuthRequest) -> AcceptedKey | None:
    """The accepted key, if it is the offered one."""
    accepted = ctx.keys.load_accepted(request.id)
    if accepted is None or not same_pem(accepted.pem, request.pub):
        return None
    return accepted


def _let_in(
    ctx: MasterContext, request: AuthRequest, key: PublicKey, session: MinionSession
) -> bytes:
    return ctx.handshake.accept(
        request,
        key,
        aes=ctx.shared.publication.current().key,
        session=session.key,
        publish_port=ctx.config.network.publish_port,
        pub_sig=_pub_sig(ctx, request),
    )


def _pub_sig(ctx: MasterContext, request: AuthRequest) -> str | None:
    shared = ctx.shared
    if not ctx.config.keys.master_sign_pubkey:
        return None
    if shared.pub_sig is not None or shared.sign_key is None:
        return shared.pub_sig
    # Signed for each sign-in, since the minion chooses the algorithm.
    return sign_public_key(shared.sign_key, shared.key.public, request.sig_algo)


def _fire_auth(ctx: MasterContext, request: AuthRequest, decision: Decision) -> None:
    if decision.answer is AuthAnswer.NO:
        ctx.refusals.refuse("_auth", f"{request.id}: {_REMEDIES.get(decision.act, decision.act)}")
    if ctx.config.keys.auth_events:
        ctx.events.fire(
            tags.AUTH,
            {
                "result": decision.answer in (AuthAnswer.LET_IN, AuthAnswer.WAIT),
                "act": decision.act,
                "id": request.id,
                "pub": request.pub,
            },
        )
