"""From a request frame to its reply: prove first, look the command up in a table, act, answer.

Each guard either yields the next thing or ends the request with the one reply that fits; a refusal
is counted and gives nothing away. What a command may be, who may send it and what happens to its
repeats stands in :data:`COMMANDS`; a name that is not there does not exist. Source:
docs/wire.md#requests; docs/security.md#refusals, #rules.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from saltlite.channel.master import (
    BAD_LOAD,
    NOT_A_MAP,
    OpenedRequest,
    StaleRequest,
    open_request,
    read_envelope,
    seal_reply,
)
from saltlite.core.dataclasses import dataclass
from saltlite.core.messages import LOGINS_BUSY, Envelope, LoadNotAMap, clear_refusal
from saltlite.crypto.cipher import Crypticle
from saltlite.errors import CryptoError, LoginsBusy, StoreError, WireError
from saltlite.master.commands import COMMANDS, Command, Repeats, Sender
from saltlite.master.commands.returns import Due, settle
from saltlite.master.context import MasterContext
from saltlite.master.deferred_replies import Later
from saltlite.master.lanes import ASK_ALONE, ASK_SLOW
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

UNDECODABLE: Final = pack({"msg": "bad load"})
REFUSED: Final = pack(BAD_LOAD)
LOAD_NOT_A_MAP: Final = pack(NOT_A_MAP)
NOTHING: Final = pack({})


@dataclass(frozen=True, slots=True)
class Begun:
    """A request whose return is good and has yet to go on record."""

    request: OpenedRequest
    due: Due


class Dispatcher:
    """Answers frames with what ``ctx`` offers."""

    def __init__(
        self,
        ctx: MasterContext,
        commands: Mapping[tuple[str, str], Command] = COMMANDS,
    ) -> None:
        self._ctx = ctx
        self._commands = commands
        keys = ctx.config.keys
        # 0 switches a window off; of two the narrower one counts.
        windows = [one for one in (keys.request_ttl, keys.request_server_ttl) if one]
        self._ttl_s = min(windows, default=0.0)

    def answer(self, frame: bytes) -> bytes:
        """The reply to ``frame``; see the worker for what happens to an error of ours."""
        begun = self.begin(frame, alone=True)
        return begun if isinstance(begun, bytes) else self.finish([begun])[0]

    def begin(
        self, frame: bytes, *, alone: bool, slow: bool = True, came_s: float = 0.0
    ) -> bytes | Begun:
        """The reply to ``frame``, or what is to be finished together with others.

        ``ASK_ALONE`` if it must be ``alone``, ``ASK_SLOW`` if it is slow and may not be so now:
        nothing has been done, and its nonce is not used. ``came_s`` is when it came to this
        machine, by the steady clock; 0 is not known.
        """
        self._ctx.note_request(came_s)
        try:
            minimum = self._ctx.config.keys.minimum_auth_version
            # The option can raise the bound only: below 3 a minion could act for another.
            envelope = read_envelope(frame, minimum_version=max(minimum, 3))
        except LoadNotAMap as error:
            return self._refuse(LOAD_NOT_A_MAP, str(error))
        except WireError as error:
            # Salt answers what it cannot unpack by a map, all other bad loads by a text.
            not_msgpack = str(error).startswith(("not msgpack", "empty frame"))
            return self._refuse(UNDECODABLE if not_msgpack else REFUSED, str(error))
        if isinstance(envelope.load, Mapping):
            return self._answer_clear(envelope.load, alone=alone, slow=slow)
        return self._begin_minion(envelope, alone=alone, slow=slow)

    def rest(self) -> None:
        """Let go of what is kept for nobody."""
        self._ctx.pillars.drop_gone()

    def finish(self, begun: Sequence[Begun]) -> list[bytes]:
        """Put the returns on record, all at once, and answer them."""
        values = self._settle_returns([one.due for one in begun])
        return [self._seal(one.request, value) for one, value in zip(begun, values, strict=True)]

    # --- clear commands ------------------------------------------------------------------

    def _answer_clear(self, load: Mapping[str, object], *, alone: bool, slow: bool) -> bytes:
        command = self._lookup("clear", load.get("cmd"))
        if command is None:
            return self._refuse(NOTHING, f"clear command {load.get('cmd')!r:.40}")
        if not alone and not command.shares:
            return ASK_ALONE
        if not slow and self._is_slow(command, load):
            return ASK_SLOW
        try:
            reply = command.handler(self._ctx, load)
            if isinstance(reply, Later):
                return reply.frame
            return reply if command.caller is Sender.STRANGER_RAW else pack(reply)
        except WireError as error:
            return self._refuse(pack(command.refused), f"{command.name}: {error}")
        except LoginsBusy as error:
            # Right or wrong, it was not looked at: who hears that he is wrong would stop trying.
            return self._refuse(
                pack(clear_refusal(LOGINS_BUSY, str(error))), f"{command.name}: {error}"
            )

    # --- minions' commands ---------------------------------------------------------------

    def _begin_minion(self, envelope: Envelope, *, alone: bool, slow: bool) -> bytes | Begun:
        # First of all: an unproven peer does not learn which commands there are.
        request = self._prove(envelope)
        if isinstance(request, bytes):
            return request
        command = self._lookup("aes", request.cmd)
        if command is not None and not slow and self._is_slow(command, request.load):
            return ASK_SLOW
        if not alone and command is not None and not command.shares:
            return ASK_ALONE
        # After ASK_SLOW and ASK_ALONE: a request that is handed back returns with the same nonce.
        problem = self._repeat_problem(request, command)
        if problem:
            return self._refuse(REFUSED, f"minion {request.id}, {request.cmd}: {problem}")
        if command is None:
            self._ctx.refusals.refuse("no such command", f"{request.cmd!r:.40} of {request.id}")
            return self._seal(request, {})
        return self._run(command, request)

    def _prove(self, envelope: Envelope) -> OpenedRequest | bytes:
        """The request if its author is proven, else the reply to it."""
        ctx = self._ctx
        try:
            return open_request(
                envelope,
                self._find_cipher,
                self._find_pem,
                tokens=ctx.tokens,
                now_s=ctx.wall_s(),
                ttl_s=self._ttl_s,
            )
        except LoadNotAMap as error:
            return self._refuse(LOAD_NOT_A_MAP, f"minion {envelope.id}: {error}")
        except StaleRequest as error:
            return self._refuse(REFUSED, f"minion {envelope.id}: {error}")
        except (WireError, CryptoError, StoreError, ValueError) as error:
            return self._refuse(REFUSED, f"minion {envelope.id}: {error}")

    def _run(self, command: Command, request: OpenedRequest) -> bytes | Begun:
        if command.limit_s:
            self._ctx.extend(command.limit_s)
        try:
            value = command.handler(self._ctx, request)
            if isinstance(value, Due):
                return Begun(request, value)
            if isinstance(value, Later):
                return value.frame
            if command.caller is Sender.MINION_RAW:
                return bytes(value)
        except WireError as error:
            self._ctx.refusals.refuse(f"{command.name} of {request.id}", str(error))
            value = command.refused
        except StoreError as error:
            # An empty text: to a return it means that its minion keeps it and sends it again.
            self._ctx.tell_of_store(f"{command.name} of minion {request.id}", error)
            value = ""
        except Exception:
            log.exception("%s of minion %s (%s) failed", command.name, request.id, request.cmd)
            value = ""
        return self._seal(request, value)

    def _settle_returns(self, due: Sequence[Due]) -> list[Any]:
        """What to answer to returns; if not all can go on record together, then each by itself."""
        try:
            return settle(self._ctx, due)
        except StoreError as error:
            self._ctx.tell_of_store("Returns are not on record", error)
        except Exception:
            log.exception("%d returns are not on record", len(due))
        # The last resort: this one is not on record, and its minion keeps it.
        if len(due) == 1:
            return [""]
        return [value for one in due for value in self._settle_returns([one])]

    def _repeat_problem(self, request: OpenedRequest, command: Command | None) -> str | None:
        ctx = self._ctx
        return ctx.replay.problem(
            request.id,
            request.nonce,
            request.ts,
            repeats=Repeats.ACT if command is None else command.repeats,
            wall_s=ctx.wall_s(),
            steady_s=ctx.steady_s(),
        )

    def _seal(self, request: OpenedRequest, value: object) -> bytes:
        session = self._ctx.sessions.get(request.id)
        if session is None:  # the minion's key was deleted while its request was in hand
            return REFUSED
        try:
            return seal_reply(session.crypticle, request.nonce, value)
        except WireError:
            log.exception("The reply to %s of minion %s cannot be packed", request.cmd, request.id)
            return seal_reply(session.crypticle, request.nonce, "")

    def _find_cipher(self, minion_id: str) -> Crypticle:
        session = self._ctx.sessions.get(minion_id)
        if session is None:
            raise CryptoError("no session")
        return session.crypticle

    def _find_pem(self, minion_id: str) -> str | None:
        accepted = self._ctx.keys.load_accepted(minion_id)
        return None if accepted is None else accepted.pem

    # --- both ----------------------------------------------------------------------------

    def _lookup(self, enc: str, cmd: object) -> Command | None:
        return self._commands.get((enc, cmd)) if isinstance(cmd, str) else None

    def _is_slow(self, command: Command, load: Mapping[str, object]) -> bool:
        return command.slow is not None and command.slow(self._ctx, load)

    def _refuse(self, reply: bytes, why: str) -> bytes:
        self._ctx.refusals.refuse("request", why)
        return reply
