"""From a request frame to its reply: prove first, look the command up in a table, act, answer.

Each guard either yields the next thing or ends the request with the one reply that fits; a refusal
is counted and gives nothing away. What a command may be, who may send it and what happens to its
repeats stands in :data:`COMMANDS`; a name that is not there does not exist. Source: protocol.md 6,
8; security.md 1.1, 1.3.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
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
from saltlite.core.messages import Envelope, LoadNotAMap
from saltlite.errors import CryptoError, StoreError, WireError
from saltlite.master.commands import COMMANDS, Caller, Command, Repeats
from saltlite.master.context import MasterContext
from saltlite.transport.codec import pack

log = logging.getLogger(__name__)

UNDECODABLE: Final = pack({"msg": "bad load"})
REFUSED: Final = pack(BAD_LOAD)
LOAD_NOT_A_MAP: Final = pack(NOT_A_MAP)
FAILED: Final = pack("Some exception handling minion payload")
NOTHING: Final = pack({})


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
        windows = [one for one in (keys.request_ttl, keys.request_server_ttl) if one]
        self._ttl_s = min(windows, default=0.0)

    def answer(self, frame: bytes) -> bytes:
        """The reply to ``frame``; see the worker for what happens to an error of ours."""
        try:
            minimum = self._ctx.config.keys.minimum_auth_version
            envelope = read_envelope(frame, minimum_version=max(minimum, 3))
        except LoadNotAMap as error:
            return self._refuse(LOAD_NOT_A_MAP, str(error))
        except WireError as error:
            not_msgpack = str(error).startswith(("not msgpack", "empty frame"))
            return self._refuse(UNDECODABLE if not_msgpack else REFUSED, str(error))
        return self.handle(envelope)

    def handle(self, envelope: Envelope) -> bytes:
        """The reply to an envelope whose version is acceptable."""
        if isinstance(envelope.load, Mapping):
            return self._answer_clear(envelope.load)
        return self._answer_minion(envelope)

    # --- clear commands ------------------------------------------------------------------

    def _answer_clear(self, load: Mapping[str, Any]) -> bytes:
        command = self._lookup("clear", load.get("cmd"))
        if command is None:
            return self._refuse(NOTHING, f"clear command {load.get('cmd')!r:.40}")
        try:
            reply = command.handler(self._ctx, load)
            return reply if command.caller is Caller.STRANGER_RAW else pack(reply)
        except WireError as error:
            return self._refuse(pack(command.refused), f"{command.name}: {error}")

    # --- minions' commands ---------------------------------------------------------------

    def _answer_minion(self, envelope: Envelope) -> bytes:
        ctx = self._ctx
        try:
            request = open_request(
                envelope,
                self._session_key,
                self._accepted_pem,
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
        command = self._lookup("aes", request.cmd)
        problem = self._repeat_problem(request, command)
        if problem:
            return self._refuse(REFUSED, f"minion {request.id}, {request.cmd}: {problem}")
        if command is None:
            self._ctx.refusals.refuse("no such command", f"{request.cmd!r:.40} of {request.id}")
            return self._seal(request, {})
        return self._run(command, request)

    def _run(self, command: Command, request: OpenedRequest) -> bytes:
        if command.limit_s:
            self._ctx.extend(command.limit_s)
        try:
            value = command.handler(self._ctx, request)
            if command.caller is Caller.MINION_RAW:
                return bytes(value)
        except WireError as error:
            self._ctx.refusals.refuse(f"{command.name} of {request.id}", str(error))
            value = command.refused
        except StoreError as error:
            log.error("%s of minion %s: %s", command.name, request.id, error)
            value = ""
        except Exception:
            log.exception("%s of minion %s (%s) failed", command.name, request.id, request.cmd)
            value = ""
        return self._seal(request, value)

    def _repeat_problem(self, request: OpenedRequest, command: Command | None) -> str | None:
        ctx = self._ctx
        return ctx.replay.problem(
            request.id,
            request.nonce,
            request.ts,
            reads_only=command is not None and command.repeats is Repeats.READ,
            wall_s=ctx.wall_s(),
            steady_s=ctx.steady_s(),
        )

    def _seal(self, request: OpenedRequest, value: Any) -> bytes:
        session = self._ctx.sessions.get(request.id)
        if session is None:  # the minion's key was deleted while its request was in hand
            return REFUSED
        try:
            return seal_reply(session.crypticle, request.nonce, value)
        except WireError:
            log.exception("The reply to %s of minion %s cannot be packed", request.cmd, request.id)
            return seal_reply(session.crypticle, request.nonce, "")

    def _session_key(self, minion_id: str) -> str:
        session = self._ctx.sessions.get(minion_id)
        if session is None:
            raise CryptoError("no session")
        return session.key

    def _accepted_pem(self, minion_id: str) -> str | None:
        accepted = self._ctx.keys.accepted_key(minion_id)
        return None if accepted is None else accepted.pem

    # --- both ----------------------------------------------------------------------------

    def _lookup(self, enc: str, cmd: object) -> Command | None:
        return self._commands.get((enc, cmd)) if isinstance(cmd, str) else None

    def _refuse(self, reply: bytes, why: str) -> bytes:
        self._ctx.refusals.refuse("request", why)
        return reply
