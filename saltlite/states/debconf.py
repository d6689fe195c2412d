"""Answers to what Debian packages ask when they are installed. Source: observed on Salt 3006.30.

Answers to questions for passwords are in no comment and no change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import DeclarationError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import debconf
from saltlite.providers import debconf as selections

_HIDDEN = "(password hidden)"


def set_(name: str, data: Mapping[str, Mapping[str, object]], **kwargs: Any) -> Answered:
    """Answers for the package ``name``: ``{question: {type: ..., value: ...}}``."""
    if not isinstance(data, Mapping):
        raise DeclarationError(f"debconf.set {name}: data is to be a map of questions")
    return Answered(
        package=name,
        answers=tuple(_parse_answer(name, question, given) for question, given in data.items()),
    )


def _parse_answer(package: str, question: str, given: Any) -> DebconfAnswer:
    for key in ("type", "value"):
        if not isinstance(given, Mapping) or key not in given:
            raise DeclarationError(f"debconf.set {package}: {question} needs a {key}")
    value = given["value"]
    if isinstance(value, bool):
        value = str(value).lower()
    return DebconfAnswer(str(question), str(given["type"]), str(value))


def set_file(
    ctx: MinionContext,
    name: str,
    source: str,
    template: str | None = None,
    context: Mapping[str, object] | None = None,
    defaults: Mapping[str, object] | None = None,
    saltenv: str = "base",
    **kwargs: Any,
) -> FromFile | Verdict:
    """Answers from a file, perhaps a template, as ``debconf-set-selections`` takes it."""
    for what, given in (("Context", context), ("Defaults", defaults)):
        if given and not isinstance(given, Mapping):
            return Verdict(result=False, comment=f"{what} must be formed as a dict")

    text = selections.text_of(
        ctx, source, saltenv, template=template, context=context, defaults=defaults
    )
    if text is None:
        return Verdict(result=False, comment=f"Unable to set debconf selections: no {source}")
    return FromFile(
        answers=tuple(
            _Line(package, DebconfAnswer(question, kind, value))
            for package, questions in selections.parse_given(text).items()
            for question, kind, value in questions
        ),
        text=text,
    )


@dataclass(frozen=True, slots=True)
class DebconfAnswer:
    """A question, its type and the answer."""

    question: str
    type: str
    value: str

    @property
    def safe_value(self) -> str:
        """The answer as it may be told."""
        return _HIDDEN if self.type == "password" else self.value

    def is_in(self, now: Sequence[Sequence[str]]) -> bool:
        """Whether it has been given; a missing answer is an empty one."""
        return any(
            (question, kind, value.strip()) == (self.question, self.type, self.value.strip())
            for question, kind, value in now
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Resource[list[list[str]]]):
    """Questions of a package that have these answers."""

    package: str
    answers: tuple[DebconfAnswer, ...]

    def read(self, ctx: MinionContext) -> list[list[str]]:
        return ctx.follow(debconf.show, self.package) or []

    def plan(self, now: list[list[str]]) -> list[Step]:
        return [
            Step(
                would=answer.question,
                changes={answer.question: answer.safe_value},
                run=partial(self._set_answer, answer=answer),
            )
            for answer in self.answers
            if not answer.is_in(now)
        ]

    def _set_answer(self, ctx: MinionContext, answer: DebconfAnswer) -> None:
        ctx.follow(debconf.set_, self.package, answer.question, answer.type, answer.value)

    def comment_unchanged(self, now: list[list[str]]) -> str:
        return "All specified answers are already set"

    def would(self, now: list[list[str]], steps: Sequence[Step]) -> str:
        return self._say_unchanged(steps)

    def comment_changed(
        self, before: list[list[str]], after: list[list[str]], steps: Sequence[Step]
    ) -> str:
        return self._say_unchanged(steps)

    def _say_unchanged(self, steps: Sequence[Step]) -> str:
        changed = {step.would for step in steps}
        kept = [each.question for each in self.answers if each.question not in changed]
        return "".join(["Unchanged answers: ", *(f"{each} " for each in kept)]) if kept else ""

    def unmet(self, after: list[list[str]], left: Sequence[Step]) -> str:
        return f"Some settings failed to be applied: {', '.join(step.would for step in left)}"


@dataclass(frozen=True, slots=True)
class _Line:
    """An answer, and the package whose question it is."""

    package: str
    answer: DebconfAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFile(Resource[dict[str, list[list[str]]]]):
    """The questions in a file, of whatever packages, have these answers."""

    answers: tuple[_Line, ...]
    text: str

    def read(self, ctx: MinionContext) -> dict[str, list[list[str]]]:
        return ctx.follow(debconf.get_selections)

    def plan(self, now: dict[str, list[list[str]]]) -> list[Step]:
        due = [each for each in self.answers if not each.answer.is_in(now.get(each.package, []))]
        step = Step(
            would="Debconf selections would have been set.",
            did="Debconf selections were set.",
            changes={each.answer.question: each.answer.safe_value for each in due},
            run=lambda ctx: selections.give(ctx.host, self.text),
        )
        return [step] if due else []

    def comment_unchanged(self, now: dict[str, list[list[str]]]) -> str:
        return "Debconf selections were set."
