"""``test.*``: states that do nothing but come out in a certain way."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import UsageError
from saltlite.highstate.resource import Action, Declared, Verdict

_NOTHING = object()
PRETENDED = {"testing": {"old": "Unchanged", "new": "Something pretended to change"}}


def nop(name: str, **kwargs: Any) -> Declared:
    """Succeed without changing anything."""
    return succeed_without_changes(name, **kwargs)


def succeed_without_changes(name: str, **kwargs: Any) -> Declared:
    """Succeed without changes."""
    return Verdict(result=True, comment=kwargs.get("comment") or "Success!")


def succeed_with_changes(name: str, **kwargs: Any) -> Declared:
    """Succeed, with changes that are made up."""
    return _pretend_action(True, kwargs.get("comment") or "Success!", "successful with changes")


def fail_without_changes(name: str, **kwargs: Any) -> Declared:
    """Fail without changes."""
    would = "If we weren't testing, this would be a failure!"
    return Action(
        would=would,
        run=lambda _: Verdict(result=False, comment=kwargs.get("comment") or "Failure!"),
        foreseen=lambda _: Verdict(result=False, comment=would),
    )


def fail_with_changes(name: str, **kwargs: Any) -> Declared:
    """Fail, with changes that are made up."""
    return _pretend_action(False, kwargs.get("comment") or "Failure!", "failed with changes")


def configurable_test_state(
    name: str,
    changes: object = True,
    result: object = True,
    comment: str = "",
    warnings: Any = None,
    allow_test_mode_failure: bool = False,
) -> Declared:
    """Come out as the arguments say; ``Random`` leaves it to chance."""
    more: dict[str, Any] = {}
    if warnings:
        more["warnings"] = [warnings] if isinstance(warnings, str) else list(warnings)
    moved = PRETENDED if _choose_result(changes, "changes") else {}
    ended = _choose_result(result, "result")
    foreseen = (True, None)[bool(moved)] if ended or not allow_test_mode_failure else False
    return Action(
        would="",
        run=lambda _: Verdict(result=ended, comment=comment, changes=moved, more=more),
        foreseen=lambda _: Verdict(
            result=foreseen, comment=comment or "This is a test", changes=moved, more=more
        ),
    )


def _choose_result(given: object, argument: str) -> bool:
    if given == "Random":
        return random.choice((True, False))  # noqa: S311 - no secret
    if isinstance(given, bool):
        return given
    raise UsageError(
        f"You have specified the state option '{argument}' with invalid arguments. It must be "
        "either True, False, or 'Random'"
    )


def check_pillar(
    ctx: MinionContext,
    name: str,
    present: object = None,
    boolean: object = None,
    integer: object = None,
    string: object = None,
    listing: object = None,
    dictionary: object = None,
    verbose: bool = False,
) -> Declared:
    """Fail unless pillar keys are there, and of the types that are asked for.

    Each argument is a key or a list of keys; ``present`` asks for no type.
    """
    wanted = (
        (present, None),
        (boolean, bool),
        (integer, int),
        (string, str),
        (listing, list),
        (dictionary, dict),
    )
    kinds = {key: kind for keys, kind in wanted for key in _list_keys(keys)}
    faults = [_find_fault(ctx, key, kind) for key, kind in kinds.items()]
    return Verdict(result=not any(faults), comment="".join(faults))


def _list_keys(keys: Any) -> Sequence[str]:
    if not keys:
        return ()
    return [keys] if isinstance(keys, str) else list(keys)


def _find_fault(ctx: MinionContext, key: str, kind: type | None) -> str:
    value = ctx.functions.call("pillar.get", key, _NOTHING)
    if value is _NOTHING:
        return f'Pillar key "{key}" is missing.\n'
    base = Mapping if kind is dict else kind
    if base is None or (isinstance(value, base) and not (kind is int and isinstance(value, bool))):
        return ""
    return f'Pillar key "{key}" is not {kind}.\n'


def show_notification(name: str, text: str | None = None, **kwargs: Any) -> Declared:
    """Say something in the output of the run."""
    if not text:
        raise UsageError("Missing required argument text.")
    return Verdict(result=True, comment=text)


def mod_watch(name: str, sfun: str | None = None, __reqs__: Any = None, **kwargs: Any) -> Declared:
    """Say which watched states changed."""
    watched = (__reqs__ or {}).get("watch", ())
    changed = [f"{chunk['state']}: {chunk['__id__']}" for chunk in watched]
    return Verdict(
        result=True,
        comment="Watch statement fired.",
        changes={"Requisites with changes": changed},
    )


def _pretend_action(result: bool, comment: str, word: str) -> Action:
    return Action(
        would=f"If we weren't testing, this would be {word}",
        run=lambda _: Verdict(result=result, comment=comment, changes=PRETENDED),
        changes=PRETENDED,
    )
