"""What a state came to: Salt's dictionary of it, with names for what the engine looks at.

The dictionary is kept as it is and not taken apart: a custom state may put any key into it, in any
order, and all of it reaches the user as it came. It gets out at the edges alone: in the return of
the job, in events, and as ``__running__`` of custom states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

NOT_DONE: Final = "Not done: noop"
"""What a state says that would be done if it were not to be planned only."""


class StateReturn:
    """The return of one state; not finished before the run has put its number and times in."""

    __slots__ = ("_found",)

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found

    def __repr__(self) -> str:
        return f"StateReturn({self._found!r})"

    def to_return(self) -> dict[str, Any]:
        """The dictionary itself, no copy: states that run later are shown the same one."""
        return self._found

    @classmethod
    def from_custom(cls, given: Mapping[str, Any], name: Any) -> StateReturn:
        """From what a custom state gave, in the shape that all others have."""
        made = cls(dict(given))
        made._found.setdefault("name", name)
        # The run adds changes up and joins comments: nothing else must get that far.
        if not isinstance(made.changes, Mapping):
            made.changes = {}
        made.comment = made.comment_text
        warnings = made._found.get("warnings")
        if isinstance(warnings, str):
            made._found["warnings"] = [warnings]
        return made

    # --- what a state says ---------------------------------------------------------------------

    @property
    def name(self) -> Any:
        """The name of what the state is about."""
        return self._found.get("name")

    @property
    def result(self) -> Any:
        """``True``, ``False``, or ``None`` for what a test run would change."""
        return self._found.get("result")

    @result.setter
    def result(self, result: bool) -> None:
        self._found["result"] = result

    @property
    def changes(self) -> Any:
        """What changed, a map; ``None`` if nothing is said of it."""
        return self._found.get("changes")

    @changes.setter
    def changes(self, changes: Mapping[str, Any]) -> None:
        self._found["changes"] = changes

    @property
    def comment(self) -> Any:
        """The sentence about it."""
        return self._found.get("comment", "")

    @comment.setter
    def comment(self, comment: str) -> None:
        self._found["comment"] = comment

    @property
    def comment_text(self) -> str:
        """The comment, which may be a list of lines, as text."""
        comment = self.comment
        return "\n".join(map(str, comment)) if isinstance(comment, (list, tuple)) else str(comment)

    def add_warnings(self, texts: Iterable[str]) -> None:
        """Tell more that the user should know, whatever the result is."""
        known = self._found.get("warnings") or ()
        self._found["warnings"] = [*([known] if isinstance(known, str) else known), *texts]

    @property
    def skips_watch(self) -> bool:
        """Whether what it watches is nothing to it, since a condition kept it from running."""
        return bool(self._found.get("skip_watch"))

    @property
    def has_failed(self) -> bool:
        """Whether its result is ``False``; ``None``, which test runs have, is no failure."""
        return self.result is False

    @property
    def has_changed(self) -> bool:
        """Whether it changed something, or in a test run would, and did not fail."""
        return bool(self.changes) and not self.has_failed and not self.is_noop

    @property
    def is_noop(self) -> bool:
        """Whether it was only planned, in a run that else acts."""
        return bool(self._found.get("__noop__"))

    # --- what its run adds ---------------------------------------------------------------------

    @property
    def number(self) -> int:
        """The number of the state in its run."""
        return int(self._found["__run_num__"])

    @number.setter
    def number(self, number: int) -> None:
        self._found["__run_num__"] = number

    @property
    def start_time(self) -> Any:
        """The time of day at which it began; ``None`` if it could not even begin."""
        return self._found.get("start_time")

    def note_run(
        self, *, sls: Any, ident: Any, number: int, start_time: str, duration_ms: float
    ) -> None:
        """Say which state of the run it is, and what it took."""
        self._found |= {"__sls__": sls, "__run_num__": number}
        self.note_times(start_time, duration_ms)
        self._found["__id__"] = ident

    def note_times(self, start_time: str, duration_ms: float) -> None:
        """Say when it began and what it took."""
        self._found |= {"start_time": start_time, "duration": duration_ms}

    def note_noop(self) -> None:
        """Say that it was only planned; what it would change is changed for nobody."""
        self._found["__noop__"] = True
        # A check_cmd may have said of what is there already that all is well.
        if self.changes and not self.has_failed:
            self._found["result"] = None
        if self.result is None:
            self.comment = f"{self.comment_text}\n{NOT_DONE}".lstrip("\n")

    def note_replaced(self, kept: Mapping[str, str], warnings: Sequence[str]) -> None:
        """Say which files it replaced that were kept, by path the digest, and which were not."""
        if kept:
            self._found["replaced"] = dict(kept)
        if warnings:
            said = self._found.get("warnings") or []
            self._found["warnings"] = [*said, *warnings]

    def note_process(self) -> None:
        """Say that it ran beside others, in a process of its own."""
        self._found["__parallel__"] = True
