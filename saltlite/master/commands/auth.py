"""``_auth``: a minion offers its key. Source: protocol.md 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.channel.handshake import sign_public_key
from saltlite.core import tags
from saltlite.core.messages import AuthRequest
from saltlite.crypto.keys import (
    ENCRYPTION_ALGORITHMS,
    SIGNING_ALGORITHMS,
    PublicKey,
    same_pem,
)
from saltlite.errors import CryptoError, StoreError
from saltlite.master.context import MasterContext
from saltlite.master.keydecision import Answer, Decision, Filing, Known, Offer, decide
from saltlite.master.keystore import KeyState

_KNOWN = {
    None: Known.NOTHING,
    KeyState.ACCEPTED: Known.ACCEPTED,
    KeyState.UNACCEPTED: Known.UNACCEPTED,
    KeyState.REJECTED: Known.REJECTED,
}

_FILED_AS = {
    Filing.ACCEPT: KeyState.ACCEPTED,
    Filing.PEND: KeyState.UNACCEPTED,
    Filing.REJECT: KeyState.REJECTED,
    Filing.DENY: KeyState.DENIED,
}


def auth(ctx: MasterContext, load: Mapping[str, Any]) -> bytes:
    """The signed reply frame to an offered key."""
    request = AuthRequest.from_wire(load)
    if request.enc_algo not in ENCRYPTION_ALGORITHMS:
        return ctx.handshake.bad_algorithm("enc")
    if request.sig_algo not in SIGNING_ALGORITHMS:
        return ctx.handshake.bad_algorithm("sig")
    if request.problem:
        ctx.refusals.refuse("_auth", request.problem)
        return ctx.handshake.refused(request)
    known = ctx.keys.state(request.id)
    try:
        key = _offered_key(ctx, request, known)
    except CryptoError as error:
        ctx.refusals.refuse("_auth", f"{request.id}: {error}")
        return ctx.handshake.refused(request)
    offer = _offer(ctx, request, known)
    decision = decide(offer)
    try:
        _file(ctx, request, decision, offer)
        reply = _reply(ctx, request, key, decision)
    except StoreError as error:
        ctx.refusals.refuse("_auth", f"{request.id}: {error}")
        return ctx.handshake.refused(request)
    _announce(ctx, request, decision)
    return reply


def _offered_key(ctx: MasterContext, request: AuthRequest, known: KeyState | None) -> PublicKey:
    """The key in the request; not parsed again if it is the accepted one."""
    if known is KeyState.ACCEPTED:
        accepted = ctx.keys.accepted_key(request.id)
        if accepted is not None and same_pem(accepted.pem, request.pub):
            return accepted.key
    return PublicKey.from_pem(request.pub)


def _offer(ctx: MasterContext, request: AuthRequest, known: KeyState | None) -> Offer:
    options = ctx.config.keys
    same = _is_filed(ctx, request, known)
    if known is KeyState.ACCEPTED:
        return Offer(Known.ACCEPTED, same_key=same, open_mode=options.open_mode)
    return Offer(
        _KNOWN[known],
        same_key=same,
        auto_sign=ctx.autosign.signs(request.id, request.autosign_grains, ctx.wall_s()),
        auto_reject=ctx.autosign.rejects(request.id),
        open_mode=options.open_mode,
        full=_reached(ctx, KeyState.ACCEPTED, options.max_minions),
        pending_full=_reached(ctx, KeyState.UNACCEPTED, options.max_pending_keys),
    )


def _is_filed(ctx: MasterContext, request: AuthRequest, known: KeyState | None) -> bool:
    """Whether the offered key is the one on file; the accepted one is seldom read again."""
    if known is None:
        return False
    accepted = ctx.keys.accepted_key(request.id) if known is KeyState.ACCEPTED else None
    filed = ctx.keys.key(request.id, known) if accepted is None else accepted.pem
    return filed is not None and same_pem(filed, request.pub)


def _reached(ctx: MasterContext, state: KeyState, most: int) -> bool:
    return bool(most) and ctx.keys.count(state) >= most


def _file(ctx: MasterContext, request: AuthRequest, decision: Decision, offer: Offer) -> None:
    """Move the key files as decided."""
    if decision.filing is Filing.NOTHING:
        return
    if decision.filing is Filing.ACCEPT:
        ctx.autosign.consume_marker(request.id)
        ctx.sessions.delete(request.id)  # whoever had the id before
    if decision.filing is Filing.REJECT and offer.known is Known.UNACCEPTED:
        ctx.keys.move(request.id, KeyState.UNACCEPTED, KeyState.REJECTED)
        return
    ctx.keys.put(request.id, _FILED_AS[decision.filing], request.pub)


def _reply(ctx: MasterContext, request: AuthRequest, key: PublicKey, decision: Decision) -> bytes:
    if decision.answer is Answer.WAIT:
        return ctx.handshake.pending(request)
    if decision.answer is Answer.FULL:
        return ctx.handshake.full(request)
    if decision.answer is Answer.NO:
        return ctx.handshake.refused(request)
    accepted = ctx.keys.accepted_key(request.id)
    changed_s = 0.0 if accepted is None else accepted.stamp[0] / 1e9
    return ctx.handshake.accepted(
        request,
        key,
        aes=ctx.shared.publication.current().key,
        session=ctx.sessions.get_or_make(request.id, not_before_s=changed_s).key,
        publish_port=ctx.config.network.publish_port,
        pub_sig=_pub_sig(ctx, request),
    )


def _pub_sig(ctx: MasterContext, request: AuthRequest) -> str | None:
    shared = ctx.shared
    if not ctx.config.keys.master_sign_pubkey:
        return None
    if shared.pub_sig is not None or shared.sign_key is None:
        return shared.pub_sig
    return sign_public_key(shared.sign_key, shared.key.public, request.sig_algo)


def _announce(ctx: MasterContext, request: AuthRequest, decision: Decision) -> None:
    if decision.answer is Answer.NO:
        ctx.refusals.refuse("_auth", f"{request.id}: {decision.act}")
    if ctx.config.keys.auth_events:
        ctx.events.fire(
            tags.AUTH,
            {
                "result": decision.answer in (Answer.LET_IN, Answer.WAIT),
                "act": decision.act,
                "id": request.id,
                "pub": request.pub,
            },
        )
