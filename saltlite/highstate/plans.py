"""The plan of a test run, kept until the real run, and how the two differ.

A plan is what a test run of certain SLS said, state by state; kept in ``cachedir/state_plans``, one
file for each thing that was asked for, readable by the owner alone, since changes may hold secrets.
The next real run of the same puts its own answers beside it. Nothing else reads these files.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.hashers import hash_small
from saltlite.disk import PRIVATE_DIR, make_dir, newest_first, read_regular, write_file
from saltlite.errors import SaltliteError
from saltlite.highstate.state_return import StateReturn

log = logging.getLogger(__name__)

FOLDER = "state_plans"
MAX_PLANS = 100
LIMIT_BYTES = 64 * 1024 * 1024

OF_NEW_FILES = frozenset({"new", "diff", "mode", "user", "group", "attrs"})
"""What may be told of a file that was announced as a new one."""

Answers = Mapping[str, dict[str, Any]]
"""Returns of states by tag; in a plan of each the result, the changes and the comment."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked for: environment → SLS names, and what was laid over the pillar."""

    wanted: Mapping[str, Any]
    pillar: Mapping[str, Any] = field(default_factory=dict)
    exclude: Any = None

    def key(self) -> str:
        """The name of its file."""
        # Sorted: the same wish has the same file, however its pillar was written.
        asked = {"wanted": self.wanted, "pillar": self.pillar, "exclude": self.exclude}
        text = json.dumps(asked, sort_keys=True, default=str)
        return hash_small(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """What one run came to."""

    jid: str
    states: Answers


@dataclass(frozen=True, slots=True)
class Plan:
    """A test run, and the real run that was the next of the same; ``None`` if there was none."""

    planned: PlanEntry
    done: PlanEntry | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A state that did not do what was foreseen; ``planned`` and ``done`` are what is told."""

    tag: str
    what: str
    planned: Any = None
    done: Any = None

    def as_answer(self) -> dict[str, Any]:
        """The form in which ``state.verify`` gives it."""
        return {"what": self.what, "planned": self.planned, "done": self.done}


def keep(ctx: MinionContext, asked: Asked, answers: Answers, *, test: bool) -> None:
    """Keep a plan, or beside the plan that is there what a real run came to.

    What cannot be written is told to the log: it must not fail a run.
    """
    path = _plan_path(ctx, asked)
    try:
        if test:
            make_dir(path.parent, PRIVATE_DIR)
            plan = Plan(_build_entry(ctx, answers))
        else:
            found = _read_plan(path)
            # No test run came before, so there is nothing to be held against it.
            if found is None:
                return
            plan = replace(found, done=_build_entry(ctx, answers))
        text = json.dumps(_to_json(plan), default=str)
        # A larger one would not be read again.
        if len(text) <= LIMIT_BYTES:
            write_file(path, text.encode(), mode=0o600)
            _forget_old(path.parent)
    except (SaltliteError, OSError) as error:
        log.warning("the plan of this run was not kept: %s", error)


def find_plan(ctx: MinionContext, asked: Asked) -> Plan | None:
    """What is kept of what was asked for; ``None`` if there was no test run."""
    return _read_plan(_plan_path(ctx, asked))


def differences(planned: Answers, done: Answers) -> Iterator[Difference]:
    """What a real run did otherwise than its test run had said, in the order of the run.

    A state that foresaw changes it could not name (a command, say) may make any; one that foresaw
    none may make none, and named ones have to be those that were made.
    """
    for tag, answer in done.items():
        before = planned.get(tag)
        if before is None:
            yield Difference(tag, "was not in the plan", None, _describe_answer(answer))
            continue
        what = _find_deviation(StateReturn(before), StateReturn(answer))
        if what:
            yield Difference(tag, what, _describe_answer(before), _describe_answer(answer))
    for tag, before in planned.items():
        if tag not in done:
            yield Difference(tag, "was in the plan and did not run", _describe_answer(before), None)


def _find_deviation(planned: StateReturn, done: StateReturn) -> str:
    if done.has_failed:
        return "" if planned.has_failed else "failed"
    if planned.has_failed:
        return "was to fail and did not"
    foresaw, made = planned.changes or {}, done.changes or {}
    # A result of None without changes is a promise to do something, whatever it may be.
    if planned.result is not None and made and not foresaw:
        return "changed something that was not in the plan"
    if foresaw and not made:
        return "changed nothing"
    return "" if not foresaw or _is_as_foreseen(foresaw, made) else "changed something else"


def _is_as_foreseen(foresaw: object, made: object) -> bool:
    """Whether changes are those that were announced, in words that are not always the same.

    As in Salt a file that is to be made is announced as ``newfile``, or as ``new`` where its diff
    is told afterwards, and a command by itself: nobody knows what it will say.
    """
    if foresaw == made:
        return True
    if not isinstance(foresaw, Mapping) or not isinstance(made, Mapping):
        return False
    # Its content and its owner are not known before it is there.
    if "newfile" in foresaw:
        return OF_NEW_FILES.issuperset(made)
    if [*foresaw] == ["cmd"] or ([*foresaw], [*made]) == (["new"], ["diff"]):
        return True
    return foresaw.keys() == made.keys() and all(
        _is_as_foreseen(value, made[key]) for key, value in foresaw.items()
    )


def _describe_answer(answer: Mapping[str, object]) -> dict[str, Any]:
    return {key: answer.get(key) for key in ("result", "changes", "comment")}


def _build_entry(ctx: MinionContext, answers: Answers) -> PlanEntry:
    states = {tag: _describe_answer(answer) for tag, answer in answers.items()}
    return PlanEntry(ctx.jid, states)


def _forget_old(folder: Path) -> None:
    """Keep the plans that were written last."""
    for path in newest_first(folder, ".json")[MAX_PLANS:]:
        path.unlink(missing_ok=True)


def _plan_path(ctx: MinionContext, asked: Asked) -> Path:
    return Path(ctx.config.paths.cachedir, FOLDER, f"{asked.key()}.json")


def _read_plan(path: Path) -> Plan | None:
    """A kept plan; one that cannot be read counts as none."""
    try:
        data = read_regular(path, limit_bytes=LIMIT_BYTES)
        return _from_json(json.loads(data)) if data else None
    except (SaltliteError, ValueError, TypeError) as error:
        log.warning("%s is no plan of a run: %s", path, error)
        return None


def _to_json(plan: Plan) -> dict[str, Any]:
    # Not asdict, which copies all that is in the returns, and not every custom object bears that.
    entries = {"planned": plan.planned, "done": plan.done}
    return {
        name: {"jid": entry.jid, "states": entry.states}
        for name, entry in entries.items()
        if entry is not None
    }


def _from_json(found: object) -> Plan | None:
    """The plan of a file; raises TypeError if a run in it has another form."""
    if not isinstance(found, dict) or "planned" not in found:
        return None
    done = found.get("done")
    return Plan(PlanEntry(**found["planned"]), None if done is None else PlanEntry(**done))
