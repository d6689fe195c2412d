"""Keys, certificates and requests as files. Source: observed on Salt 3006.30 with ``x509_v2``.

What is in a file is compared with what is declared, never the text: a certificate that is made
again would always be another. No key gets into changes or comments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import FunctionError
from saltlite.highstate.resource import OwnDeclared, Resource, Step, Verdict, realise
from saltlite.states.file.managed import managed

FILE_ARGUMENTS = frozenset({"user", "group", "mode", "makedirs", "dir_mode", "backup", "attrs"})


@dataclass(frozen=True, slots=True)
class OutputStatus:
    """A file: whether it is there, what of its content and of its owner and mode is another.

    ``complaint`` is why it must not be replaced; ``kept`` what is in it, for another encoding.
    """

    is_there: bool
    differences: Mapping[str, Any] = field(default_factory=dict)
    rights: Mapping[str, Any] = field(default_factory=dict)
    complaint: str = ""
    kept: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(Resource[OutputStatus]):
    """A file whose content is made when it is needed. ``how`` are arguments of ``file.managed``."""

    what: ClassVar[str]
    for_junk: ClassVar[str] = "created"
    """The word for what takes the place of a file that is something else."""

    name: str
    how: Mapping[str, Any]

    @abstractmethod
    def compare(self, ctx: MinionContext, data: bytes, now: datetime) -> OutputStatus:
        """What of a file that is there is another than declared."""

    @abstractmethod
    def make(self, ctx: MinionContext, now: datetime, before: OutputStatus) -> bytes:
        """New content; the same document where only what is around it is another."""

    def read(self, ctx: MinionContext) -> OutputStatus:
        data = ctx.host.read_bytes(self.name)
        if data is None:
            return OutputStatus(is_there=False)
        found = self.compare(ctx, data, datetime.now(timezone.utc))
        return replace(found, rights=self._find_rights(ctx))

    def _find_rights(self, ctx: MinionContext) -> Mapping[str, Any]:
        """Owner and mode that are others than declared."""
        kept = {**self.how, "replace": False, "makedirs": False}
        return realise(file_managed(ctx, self.name, kept), ctx, test=True).changes

    def plan(self, now: OutputStatus) -> list[Step] | Verdict:
        if now.complaint:
            return Verdict(result=False, comment=now.complaint)
        if not now.is_there:
            return [self._plan_step("created", {"created": self.name}, now)]
        if now.differences:
            verb = self.for_junk if "replaced" in now.differences else "recreated"
            return [self._plan_step(verb, now.differences, now)]
        if now.rights:
            return [
                Step(
                    would=f"The owner or mode of {self.name} would have been changed",
                    did=f"The owner or mode of {self.name} has been changed",
                    changes=now.rights,
                    run=self._set_rights,
                )
            ]
        return []

    def _plan_step(self, verb: str, changes: Mapping[str, object], before: OutputStatus) -> Step:
        return Step(
            would=f"The {self.what} would have been {verb}",
            did=f"The {self.what} has been {verb}",
            changes=changes,
            run=lambda ctx: self.write(ctx, before),
        )

    def write(self, ctx: MinionContext, before: OutputStatus) -> None:
        """Make the content and put it in place."""
        data = self.make(ctx, datetime.now(timezone.utc), before)
        with ctx.host.private_file(data) as source:  # it may be binary, and it may be a key
            given = {**self.how, "source": source, "skip_verify": True, "keep_source": False}
            _manage_file(ctx, self.name, {**given, "show_changes": False})

    def _set_rights(self, ctx: MinionContext) -> None:
        _manage_file(ctx, self.name, {**self.how, "replace": False})

    def comment_unchanged(self, now: OutputStatus) -> str:
        return f"The {self.what} is in the correct state"


def file_managed(ctx: MinionContext, name: str, how: Mapping[str, Any]) -> OwnDeclared:
    """``file.managed`` with these arguments, ``backup`` in the sense of the states of x509."""
    backup = how.get("backup", "")
    given = {**how, "backup": "minion" if backup is True else backup or ""}
    return managed(ctx, name, **given)


def _manage_file(ctx: MinionContext, name: str, how: Mapping[str, object]) -> None:
    verdict = realise(file_managed(ctx, name, how), ctx, test=False)
    if verdict.result is False:
        raise FunctionError(verdict.comment)


def split(given: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of ``file.managed``, and the others."""
    how = {name: value for name, value in given.items() if name in FILE_ARGUMENTS}
    return how, {name: value for name, value in given.items() if name not in FILE_ARGUMENTS}
