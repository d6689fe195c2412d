"""The plan of a test run, kept until the real run, and how the two differ.

A plan is what a test run of certain SLS said, state by state; kept in ``cachedir/state_plans``, one
file for each thing that was asked for, readable by the owner alone, since changes may hold secrets.
The next real run of the same puts its own answers beside it. Nothing else reads these files.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import asdict, dataclass, field
from saltlite.disk import PRIVATE_DIR, make_dir, newest_first, read_regular, write_file
from saltlite.errors import SaltliteError

log = logging.getLogger(__name__)

FOLDER = "state_plans"
MAX_PLANS = 100
LIMIT_BYTES = 64 * 1024 * 1024

OF_NEW_FILES = frozenset({"new", "diff", "mode", "user", "group", "attrs"})
"""What may be told of a file that was announced as a new one."""

Answers = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked for: environment → SLS names, and what was laid over the pillar."""

    wanted: Mapping[str, Any]
    pillar: Mapping[str, Any] = field(default_factory=dict)
    exclude: Any = None

    def key(self) -> str:
        """The name of its file."""
        text = json.dumps(asdict(self), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


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
            found: dict[str, Any] = {"planned": _build_entry(ctx, answers)}
        else:
            read = _read_plan(path)
            if read is None:
                return
            found = {**read, "done": _build_entry(ctx, answers)}
        text = json.dumps(found, default=str)
        if len(text) <= LIMIT_BYTES:
            write_file(path, text.encode(), mode=0o600)
            _forget_old(path.parent)
    except (SaltliteError, OSError) as error:
        log.warning("the plan of this run was not kept: %s", error)


def find_plan(ctx: MinionContext, asked: Asked) -> Mapping[str, Any] | None:
    """``{"planned": {"jid", "states"}, "done": ...}``; ``None`` if there was no test run."""
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
        what = _find_deviation(before, answer)
        if what:
            yield Difference(tag, what, _describe_answer(before), _describe_answer(answer))
    for tag, before in planned.items():
        if tag not in done:
            yield Difference(tag, "was in the plan and did not run", _describe_answer(before), None)


def _find_deviation(planned: Mapping[str, object], done: Mapping[str, object]) -> str:
    if done.get("result") is False:
        return "" if planned.get("result") is False else "failed"
    if planned.get("result") is False:
        return "was to fail and did not"
    foresaw, made = planned.get("changes") or {}, done.get("changes") or {}
    if planned.get("result") is not None and made and not foresaw:
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
    if "newfile" in foresaw:
        return OF_NEW_FILES.issuperset(made)
    if [*foresaw] == ["cmd"] or ([*foresaw], [*made]) == (["new"], ["diff"]):
        return True
    return foresaw.keys() == made.keys() and all(
        _is_as_foreseen(value, made[key]) for key, value in foresaw.items()
    )


def _describe_answer(answer: Mapping[str, object]) -> dict[str, Any]:
    return {key: answer.get(key) for key in ("result", "changes", "comment")}


def _build_entry(ctx: MinionContext, answers: Answers) -> dict[str, Any]:
    states = {tag: _describe_answer(answer) for tag, answer in answers.items()}
    return {"jid": str(ctx.job.get("jid", "")), "states": states}


def _forget_old(folder: Path) -> None:
    """Keep the plans that were written last."""
    for path in newest_first(folder, ".json")[MAX_PLANS:]:
        path.unlink(missing_ok=True)


def _plan_path(ctx: MinionContext, asked: Asked) -> Path:
    return Path(ctx.config.paths.cachedir, FOLDER, f"{asked.key()}.json")


def _read_plan(path: Path) -> dict[str, Any] | None:
    """A kept plan; one that cannot be read counts as none."""
    try:
        data = read_regular(path, limit_bytes=LIMIT_BYTES)
        found = json.loads(data) if data else None
    except (SaltliteError, ValueError) as error:
        log.warning("%s is no plan of a run: %s", path, error)
        return None
    return found if isinstance(found, dict) and "planned" in found else None
