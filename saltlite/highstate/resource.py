"""What is declared, and the one place that acts on it.

A state function gives back a :class:`Resource` (what shall be), an :class:`Action` (what is to be
done and does not converge), or a :class:`Verdict` (a result that is known already). ``realise``
reads, plans and, unless this is a test run, acts and looks again; so a test run cannot say anything
else than what a real one would do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, overload

from saltlite.context import MinionContext
from saltlite.core.data import merge
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import SaltliteError

Now = TypeVar("Now")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do.

    ``would`` is the sentence of a test run, ``did`` the one afterwards. ``changes`` is what is
    expected to change, in the form of the state's ``changes``. ``run`` does it, and raises a
    SaltliteError if it cannot; what it gives back is the ``output`` of the step that was done, for
    a type whose changes nobody can read from the machine afterwards.
    """

    would: str
    run: Callable[[MinionContext], object]
    did: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    output: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a state: ``True``, ``False``, or ``None`` for what a test run would change.

    ``more`` are further keys of the return: ``warnings``, ``skip_watch``, ``pid`` ...
    """

    result: bool | None
    comment: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_return(self, name: str) -> dict[str, Any]:
        """The dictionary that a state gives back in Salt."""
        return {
            "name": name,
            "result": self.result,
            "changes": dict(self.changes),
            "comment": self.comment,
            **self.more,
        }


class Resource(ABC, Generic[Now]):
    """Something that shall be in a certain state. Subclasses are frozen dataclasses.

    ``drawn`` are the keys of ``changes`` whose values only exist afterwards: numbers that are
    drawn, what a program fills in. A test run needs not tell them; all others it must.
    """

    drawn: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def read(self, ctx: MinionContext) -> Now:
        """How it is now: the only look at the machine. Raises SaltliteError."""

    @abstractmethod
    def plan(self, now: Now) -> Sequence[Step] | Verdict:
        """What is to be done; nothing if it is as declared. Pure.

        A Verdict says that it cannot be done at all.
        """

    def plan_rest(self, after: Now, steps: Sequence[Step]) -> Sequence[Step] | Verdict:
        """What is still to be done after these steps: whatever :meth:`plan` still finds."""
        return self.plan(after)

    @abstractmethod
    def comment_unchanged(self, now: Now) -> str:
        """The comment if there is nothing to do."""

    def comment_changed(self, before: Now, after: Now, steps: Sequence[Step]) -> str:
        """The comment after the steps."""
        return "\n".join(step.did or step.would for step in steps)

    def would(self, now: Now, steps: Sequence[Step]) -> str:
        """The comment of a test run."""
        return "\n".join(step.would for step in steps)

    def would_leave(self, now: Now) -> str:
        """The comment of a test run that finds nothing to do."""
        return self.comment_unchanged(now)

    def more(self) -> Mapping[str, Any]:
        """Further keys of the return, as in a Verdict."""
        return {}

    def more_of_failed(self, error: SaltliteError) -> Mapping[str, Any]:
        """Further keys of the return after a step that failed."""
        return {}

    def changes(self, before: Now, after: Now, steps: Sequence[Step]) -> dict[str, Any]:
        """What has changed; without more knowledge, what the steps meant to."""
        return join_changes(steps)

    def changes_of_failed(self, before: Now, after: Now, steps: Sequence[Step]) -> dict[str, Any]:
        """What has changed though a step failed; ``steps`` are those before it."""
        return self.changes(before, after, steps) if steps else {}

    def describe_before(self, before: Now, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """What was there before, for changes that tell only the new value; by the same names.

        It goes beside ``changes`` into the return, as ``before``: there Salt's own form stays.
        """
        return {}

    def unmet(self, after: Now, left: Sequence[Step]) -> str:
        """The comment if the steps ran and something is still to be done."""
        return "\n".join(["The following is still to be done:", *(step.would for step in left)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What is done each time it is asked for: a command, a function, a restart.

    ``run`` gives the verdict; ``would`` is the comment of a test run, whose result is ``None``
    unless ``foreseen`` is the verdict of it.
    """

    would: str
    run: Callable[[MinionContext], Verdict]
    changes: Mapping[str, Any] = field(default_factory=dict)
    foreseen: Callable[[MinionContext], Verdict] | None = None


OwnDeclared = Resource[Any] | Action | Verdict
"""What the state functions of saltlite give back."""

Declared = OwnDeclared | Mapping[str, Any]
"""What any state function may give back; a mapping is the finished return of a user's state."""


def join_changes(steps: Sequence[Step]) -> dict[str, Any]:
    """The changes of several steps as one map."""
    changes: dict[str, Any] = {}
    # Map by map: several steps may each tell a part of what changed about one thing.
    for step in steps:
        changes = merge(changes, step.changes)
    return changes


@overload
def realise(declared: OwnDeclared, ctx: MinionContext, *, test: bool) -> Verdict: ...


@overload
def realise(
    declared: Declared, ctx: MinionContext, *, test: bool
) -> Verdict | Mapping[str, Any]: ...


def realise(declared: Declared, ctx: MinionContext, *, test: bool) -> Verdict | Mapping[str, Any]:
    """Make it so, or with ``test`` say what would be done. The only place that acts.

    A SaltliteError of a step ends the run; what has been done by then is read back and told.
    """
    if isinstance(declared, Resource):
        return _realise_held(declared, ctx, test=test)
    if isinstance(declared, Action):
        if not test:
            return declared.run(ctx)
        if declared.foreseen is not None:
            return declared.foreseen(ctx)
        return Verdict(result=None, comment=declared.would, changes=declared.changes)
    # A verdict, or what a user's own state has done already.
    return declared


def _realise_held(resource: Resource[Any], ctx: MinionContext, *, test: bool) -> Verdict:
    found = _realise_once(resource, ctx, test=test)
    more = resource.more()
    return replace(found, more={**found.more, **more}) if more else found


def _realise_once(resource: Resource[Any], ctx: MinionContext, *, test: bool) -> Verdict:
    before = resource.read(ctx)
    found = _realise_planned(resource, ctx, before, test=test)
    if not found.changes:
        return found
    were = resource.describe_before(before, found.changes)
    return replace(found, more={**found.more, "before": were}) if were else found


def _realise_planned(
    resource: Resource[Now], ctx: MinionContext, before: Now, *, test: bool
) -> Verdict:
    steps = resource.plan(before)
    if isinstance(steps, Verdict):
        return steps
    if not steps:
        # Some types say it otherwise in a test run, as Salt does.
        settled = resource.would_leave if test else resource.comment_unchanged
        return Verdict(result=True, comment=settled(before))
    if test:
        return Verdict(
            result=None, comment=resource.would(before, steps), changes=join_changes(steps)
        )
    done: list[Step] = []
    for step in steps:
        try:
            output = step.run(ctx)
        except SaltliteError as error:
            after = resource.read(ctx)
            # The step that failed may have done half of its work, so the machine is asked.
            changes = resource.changes_of_failed(before, after, done)
            more = resource.more_of_failed(error)
            return Verdict(result=False, comment=str(error), changes=changes, more=more)
        done.append(step if output is None else replace(step, output=output))
    after = resource.read(ctx)
    # What is told is what is there now, not what the steps were meant to do.
    left = resource.plan_rest(after, done)
    changes = resource.changes(before, after, done)
    if isinstance(left, Verdict):
        return Verdict(result=False, comment=left.comment, changes=changes)
    if left:
        return Verdict(result=False, comment=resource.unmet(after, left), changes=changes)
    comment = resource.comment_changed(before, after, done)
    return Verdict(result=True, comment=comment, changes=changes)
