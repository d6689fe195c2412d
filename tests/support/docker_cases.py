"""Steps of docker/states.yaml with our states and functions, and answers without what is drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.loader.states import resolve

_ID = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{12})\b")


def plain_answer(answer: Any) -> Any:
    """Return an answer with ``@ID`` for ids of containers, networks and images, without times."""
    if isinstance(answer, dict):
        return {
            str(key): plain_answer(value) for key, value in answer.items() if key != "Time_Elapsed"
        }
    if isinstance(answer, (list, tuple)):
        return [plain_answer(value) for value in answer]
    return _ID.sub("@ID", answer) if isinstance(answer, str) else answer


def answer_of(ctx: MinionContext, step: Mapping[str, Any]) -> Any:
    """Return what our state or function of a step answers."""
    try:
        if "state" not in step:
            args, kwargs = step.get("args", []), step.get("kwargs", {})
            return ctx.functions.call(step["fun"], *args, **kwargs)
        return _apply(ctx, step)
    except SaltliteError as error:
        if "state" in step:
            return {"result": False, "changes": {}, "comment": str(error)}
        return f"{type(error).__name__}: {error}"


def _apply(ctx: MinionContext, step: Mapping[str, Any]) -> Mapping[str, Any]:
    declared = resolve(step["state"], ctx).call(**step["args"])
    found = realise(declared, ctx, test=step["test"])
    assert isinstance(found, Verdict)
    return {
        "result": found.result, "changes": dict(found.changes), "comment": found.comment,
        **found.more,
    }  # fmt: skip
