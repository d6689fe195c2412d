"""Whether an orchestrated job was a success, and Salt's sentences about it. Pure.

Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.resource import Verdict

Full = Mapping[str, Any]
"""A minion's return: ``ret``, ``retcode``, ``jid``; ``failed`` if there is none."""

NOBODY = "No minions returned"
NOBODY_FOR_FUNCTION = "No minions responded"
BAD_FAIL_MINIONS = "'fail_minions' needs to be a list or a comma separated string. Ignored."


@dataclass(frozen=True, slots=True)
class Leniency:
    """Whose failure, and how many failures, do not matter."""

    minions: frozenset[str] = frozenset()
    allowed: int = 0
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, fail_minions: object, allow_fail: object = 0) -> Leniency | str:
        """From a state's arguments; a sentence about one that cannot be meant."""
        if isinstance(allow_fail, bool) or not isinstance(allow_fail, int):
            return "Passed invalid value for 'allow_fail', must be an int"
        if isinstance(fail_minions, str):
            fail_minions = [name.strip() for name in fail_minions.split(",")]
        if not fail_minions:
            return cls(allowed=allow_fail)
        if not isinstance(fail_minions, (list, tuple)):
            return cls(allowed=allow_fail, warnings=(BAD_FAIL_MINIONS,))
        return cls(frozenset(map(str, fail_minions)), allow_fail)

    def more(self, returns: Mapping[str, Full], *, told: bool = True) -> dict[str, Any]:
        """Further keys of the state's return: the job's id, unless several were needed."""
        jids = {str(full["jid"]) for full in returns.values() if full.get("jid")}
        more: dict[str, Any] = {"__jid__": min(jids)} if told and len(jids) == 1 else {}
        return {**more, "warnings": list(self.warnings)} if self.warnings else more


@dataclass(slots=True)
class _Sorted:
    """The minions by what became of them."""

    shown: dict[str, Any] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def of_states(
    returns: Mapping[str, Full], leniency: Leniency, *, test: bool, batch: bool, expected: bool
) -> Verdict:
    """The verdict on runs of states. ``test``: they only told what they would do.

    ``expected``: it is a failure if nobody has returned.
    """
    if not returns and expected:
        return Verdict(result=False, comment=NOBODY, more=leniency.more({}))
    found = _Sorted()
    for minion, full in returns.items():
        _sort_return(found, minion, full, leniency)
    changes = {"out": "highstate", "ret": found.shown} if found.shown else {}
    more = leniency.more(returns, told=not batch)
    if len(found.failed) > leniency.allowed:
        comment = "\n".join([f"Run failed on minions: {', '.join(found.failed)}", *found.errors])
        return Verdict(result=False, comment=comment, changes=changes, more=more)
    said = ["States ran successfully."]
    if found.shown:
        said.append(f"Updating {', '.join(found.shown)}.")
    if found.untouched:
        said.append(f"No changes made to {', '.join(found.untouched)}.")
    would = test and bool(changes)
    return Verdict(
        result=None if would else True, comment=" ".join(said), changes=changes, more=more
    )


def _sort_return(found: _Sorted, minion: str, full: Full, leniency: Leniency) -> None:
    ret = full.get("ret")
    answers = _state_returns(ret)
    failed = _has_failed(full) or answers is None or _any_failed(answers)
    if failed or any(answer.get("changes") for answer in answers or ()):
        found.shown[minion] = ret
    else:
        found.untouched.append(minion)
    if not failed or minion in leniency.minions:
        return
    found.failed.append(minion)
    if isinstance(ret, list):
        found.errors.append(f"Minion {minion} returned errors: {'; '.join(map(str, ret))}")
    elif answers is None:
        found.errors.append(f"Minion {minion} did not return a state result.")


def _state_returns(ret: object) -> list[Mapping[str, Any]] | None:
    """The returns of the states of a run, ``None`` if it is none."""
    if not isinstance(ret, Mapping):
        return None
    return [answer for answer in ret.values() if isinstance(answer, Mapping)]


def _any_failed(answers: list[Mapping[str, Any]]) -> bool:
    return any(answer.get("result") is False for answer in answers)


def _has_failed(full: Full) -> bool:
    return bool(full.get("failed")) or bool(full.get("retcode"))


def is_good(ret: object) -> bool:
    """What counts as a function's success if nobody says otherwise."""
    return ret is not False


def of_function(
    name: str,
    returns: Mapping[str, Full],
    leniency: Leniency,
    *,
    judge: Callable[[Any], Any],
    batch: bool,
) -> Verdict:
    """The verdict on an execution function. ``judge`` says of each return whether it is good."""
    if not returns:
        return Verdict(result=False, comment=NOBODY_FOR_FUNCTION, more=leniency.more({}))
    failed = [
        minion
        for minion, full in returns.items()
        if _has_failed(full) or not judge(full.get("ret"))
    ]
    ran = f"Function {name} ran on {', '.join(returns)}."
    said = "Function ran successfully."
    if failed:
        said = f"Running function {name} failed on minions: {', '.join(failed)}"
    return Verdict(
        result=set(failed) <= leniency.minions,
        comment=f"{said} {ran}",
        changes={"ret": {minion: full.get("ret") for minion, full in returns.items()}},
        more=leniency.more(returns, told=not batch),
    )
