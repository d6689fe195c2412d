"""What minions returned, in the forms that clients of Salt's HTTP API read. Pure.

Source: tests/cases/data/api/lowstate.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from saltlite.api.lowstate import LocalCall
from saltlite.api.messages import HttpError
from saltlite.api.packed import PackedValue
from saltlite.client.collect import MinionReturn, Outcome
from saltlite.client.jobs import LOOK_UP, NO_RESPONSE
from saltlite.core.messages import (
    LOGIN_UNKNOWN,
    LOGINS_BUSY,
    NOT_AUTHENTICATED,
    TOKEN_UNKNOWN,
    USER_UNKNOWN,
    PublishReply,
)
from saltlite.errors import MasterRefused

_NOT_ALLOWED: Final = frozenset(
    (NOT_AUTHENTICATED, "AuthorizationError", TOKEN_UNKNOWN, LOGIN_UNKNOWN, USER_UNKNOWN)
)


def as_http_error(refused: MasterRefused) -> HttpError:
    """The status of what the master refused: 401 for want of a right, 400 for the form.

    503 where it was too busy to look.
    """
    if refused.name in _NOT_ALLOWED:
        return HttpError(401, refused.message or "Authorization error occurred.")
    if refused.name == LOGINS_BUSY:
        return HttpError(503, refused.message, headers=(("Retry-After", "1"),))
    if refused.name == "SaltSystemError":
        return HttpError(503, refused.message)
    return HttpError(400, refused.message or "The master did not accept the command.")


def gather_returns(call: LocalCall, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Minion id → return, of a job whose minions have returned or were given up."""
    found: dict[str, Any] = {}
    for outcome in outcomes:
        if isinstance(outcome, MinionReturn):
            found[outcome.id] = show_return(outcome, full=call.full_return)
        else:
            found[outcome.id] = show_missing(call, outcome.jid)
    return found


def show_return(outcome: MinionReturn, *, full: bool) -> Any:
    """What one minion returned, with its exit code and job if ``full``."""
    if not full:
        return outcome.return_
    shown = {"ret": outcome.return_, "retcode": outcome.retcode, "jid": outcome.jid}
    return {**shown, "out": outcome.out} if outcome.out is not None else shown


def show_missing(call: LocalCall, jid: str) -> Any:
    """What stands for a minion that did not return: a text where it was named, else ``False``."""
    if call.tgt_type != "list":
        return False
    text = f"{NO_RESPONSE}\n{LOOK_UP.format(jid=jid)}"
    return {"out": "no_return", "ret": text} if call.full_return else text


def show_published(reply: PublishReply | None) -> dict[str, Any]:
    """The answer of ``local_async``."""
    if reply is None or reply.jid is None:
        return {}
    return {"jid": reply.jid, "minions": [*reply.minions, *reply.missing]}


def show_run(data: Mapping[str, object], tag: str, *, full: bool) -> Any:
    """What a runner returned, from the event of its end.

    Raises:
        HttpError: 400, there is no such runner.
    """
    value, name = data.get("return"), str(data.get("fun", "")).partition(".")[2]
    if not data.get("success", True) and value == f"'{name}' is not available.":
        raise HttpError(400, str(value))
    outputter = None
    fields = value.fields() if isinstance(value, PackedValue) else value
    if isinstance(fields, Mapping) and set(fields) == {"outputter", "data"}:
        outputter, value = fields["outputter"], fields["data"]
    if not full:
        return value
    shown = {"data": {**data, "return": value}, "tag": tag}
    return {**shown, "outputter": outputter} if outputter is not None else shown
