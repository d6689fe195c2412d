"""What a web server answers. Source: observed on Salt 3006.30."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Action, Verdict

_MATCH_TYPES = ("string", "pcre")
_STATUS_TYPES = ("string", "pcre", "list")


def query(
    name: str,
    match: object = None,
    match_type: str = "string",
    status: object = None,
    status_type: str = "string",
    wait_for: float | None = None,
    **kwargs: Any,
) -> Action | Verdict:
    """The address ``name`` answers with a text (``match``), a ``status``, or both.

    Either may be a regular expression (``pcre``), a status also one of a ``list``. ``wait_for`` is
    for how many seconds it is asked again until it does; all else is for ``http.query``. A test run
    asks ``test_url``, if there is one.
    """
    wrong = _find_mistake(match, match_type, status, status_type)
    if wrong:
        return Verdict(result=False, comment=wrong)

    def ask(ctx: MinionContext) -> Verdict:
        wanted = {**kwargs, "status": True, "text": True}
        answer = ctx.functions.call("http.query", name, **wanted)
        checks = [_match_answer(match, match_type, answer)] if match is not None else []
        checks += [_has_status(status, status_type, answer)] if status is not None else []
        said = " ".join(text for _, text in checks)
        return Verdict(result=all(good for good, _ in checks), comment=said, more=_data_of(answer))

    def run(ctx: MinionContext) -> Verdict:
        if not wait_for:
            return ask(ctx)
        return _ask_until(
            lambda: ask(ctx), float(wait_for), float(kwargs.get("request_interval") or 1)
        )

    def foreseen(ctx: MinionContext) -> Verdict:
        answer = ctx.functions.call("http.query", name, **{**kwargs, "test": True})
        comment = f"{name} would be queried (TEST MODE)"
        return Verdict(result=None, comment=comment, more=_data_of(answer))

    return Action(would="", run=run, foreseen=foreseen)


def wait_for_successful_query(name: str, wait_for: float = 300, **kwargs: Any) -> Action | Verdict:
    """As :func:`query`, asked again for ``wait_for`` seconds until it is so.

    ``request_interval`` is the time between two tries, in seconds.
    """
    return query(name, wait_for=wait_for, **kwargs)


def _data_of(answer: Mapping[str, object]) -> dict[str, Any]:
    return {"data": dict(answer)} if answer else {}


def _find_mistake(match: object, match_type: str, status: object, status_type: str) -> str:
    if match is None and status is None:
        return " Either match text (match) or a status code (status) is required."
    if match is not None and match_type not in _MATCH_TYPES:
        return f"match_type {match_type!r} is none of {', '.join(_MATCH_TYPES)}"
    if status is not None and status_type not in _STATUS_TYPES:
        return f"status_type {status_type!r} is none of {', '.join(_STATUS_TYPES)}"
    for kind, pattern in ((match_type, match), (status_type, status)):
        if kind == "pcre" and pattern is not None:
            try:
                re.compile(str(pattern))
            except re.error as error:
                return f"{str(pattern)!r} is no regular expression: {error}"
    return ""


def _match_answer(match: object, match_type: str, answer: Mapping[str, object]) -> tuple[bool, str]:
    """Whether the text is there, and how that is said."""
    text = str(answer.get("text", ""))
    if match_type == "pcre":
        good = re.search(str(match), text) is not None
        return good, f'Match pattern "{match}" was {"" if good else "not "}found.'
    good = str(match) in text
    return good, f'Match text "{match}" was {"" if good else "not "}found.'


def _has_status(status: object, status_type: str, answer: Mapping[str, object]) -> tuple[bool, str]:
    got = str(answer.get("status", ""))
    if status_type == "list":
        wanted = (
            status if isinstance(status, Sequence) and not isinstance(status, str) else [status]
        )
        good = got in [str(each) for each in wanted]
        return good, f"Status {got if good else status} was {'' if good else 'not '}found."
    if status_type == "pcre":
        good = re.search(str(status), got) is not None
        return good, f'Status pattern "{status}" was {"" if good else "not "}found.'
    good = got == str(status)
    return good, f"Status {status} was {'' if good else 'not '}found."


def _ask_until(ask: Callable[[], Verdict], wait_s: float, pause_s: float) -> Verdict:
    """Ask until the answer is right or the time is up; the last answer."""
    deadline_s = time.monotonic() + wait_s
    while True:
        verdict = ask()
        left_s = deadline_s - time.monotonic()
        if verdict.result or left_s <= 0:
            return verdict
        time.sleep(min(pause_s, left_s))
