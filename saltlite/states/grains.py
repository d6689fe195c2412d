"""Grains that the minion keeps in its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import DELIMITER, copy_data, traverse
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import grains

_ABSENT = "saltlite: there is no such grain"


def exists(ctx: MinionContext, name: str, delimiter: str = DELIMITER) -> Verdict:
    """Whether there is such a grain."""
    there = traverse(ctx.grains, _colon_key(name, delimiter), _ABSENT) is not _ABSENT
    return Verdict(result=there, comment="Grain exists" if there else "Grain does not exist")


def present(name: str, value: object, delimiter: str = DELIMITER, force: bool = False) -> Grain:
    """A grain with this value, also within others: ``a:b``.

    Lists and maps replace other values, and are replaced, only with ``force``.
    """
    return Grain(key=_colon_key(name, delimiter), value=value, force=force)


def absent(
    name: str, destructive: bool = False, delimiter: str = DELIMITER, force: bool = False
) -> NoGrain:
    """A grain without a value; with ``destructive`` no such grain."""
    return NoGrain(key=_colon_key(name, delimiter), destructive=destructive, force=force)


def list_present(name: str, value: object, delimiter: str = DELIMITER) -> InList:
    """A value, or all of a list, in a grain that is a list."""
    return InList(key=_colon_key(name, delimiter), value=value)


def list_absent(name: str, value: object, delimiter: str = DELIMITER) -> NotInList:
    """A value, or all of a list, not in a grain that is a list."""
    return NotInList(key=_colon_key(name, delimiter), values=_as_tuple(value))


def append(name: str, value: object, convert: bool = False, delimiter: str = DELIMITER) -> Appended:
    """A value in a grain that is a list; with ``convert`` one that is none becomes one."""
    return Appended(key=_colon_key(name, delimiter), value=value, convert=convert)


def _colon_key(name: str, delimiter: str) -> str:
    return str(name).replace(delimiter, DELIMITER)


def _as_tuple(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


class _Of(Resource[Mapping[str, Any]]):
    """What shall be true of the grain ``key``."""

    __slots__ = ()
    key: str

    def read(self, ctx: MinionContext) -> Mapping[str, Any]:
        return dict(
            copy_data({name: ctx.grains[name] for name in [self.top] if name in ctx.grains})
        )

    @property
    def top(self) -> str:
        """The grain that the key is in."""
        return self.key.partition(DELIMITER)[0]

    def value_in(self, now: Mapping[str, object]) -> Any:
        """The value as it is."""
        return traverse(now, self.key, _ABSENT)

    def around(self, now: Mapping[str, object], value: object) -> dict[str, Any]:
        """The top grain as it will be with a value."""
        top, *way = self.key.split(DELIMITER)
        if not way:
            return {top: value}
        whole = copy_data(now.get(top))
        below = whole = whole if isinstance(whole, dict) else {}
        for name in way[:-1]:
            inner = below.get(name)
            below[name] = below = inner if isinstance(inner, dict) else {}
        below[way[-1]] = value
        return {top: whole}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grain(_Of):
    """A grain that has a value."""

    key: str
    value: Any
    force: bool

    def plan(self, now: Mapping[str, object]) -> list[Step] | Verdict:
        there = self.value_in(now)
        if there is not _ABSENT and there == self.value:
            return []
        refused = "" if self.force else grains.refusal(now, self.key, self.value)
        if refused:
            return Verdict(result=False, comment=refused)
        is_new = there is _ABSENT
        step = Step(
            would=f"Grain {self.key} is set to be {'added' if is_new else 'changed'}",
            did=f"Set grain {self.key} to {self.value}",
            changes=self.around(now, self.value),
            run=partial(_set_grain, key=self.key, value=self.value, force=self.force),
        )
        return [step]

    def changes(
        self, before: Mapping[str, object], after: Mapping[str, object], steps: Sequence[Step]
    ) -> dict[str, Any]:
        return dict(after)

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        return "Grain is already set"


def _set_grain(
    ctx: MinionContext, key: str, value: object, *, force: bool, destructive: bool = False
) -> None:
    answer = ctx.follow(grains.set_, key, value, force, destructive)
    if answer["result"] is False:
        raise FunctionError(str(answer["comment"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoGrain(_Of):
    """A grain that has no value, or is not there."""

    key: str
    destructive: bool
    force: bool

    def plan(self, now: Mapping[str, object]) -> list[Step] | Verdict:
        there = self.value_in(now)
        if there is _ABSENT or (there is None and not self.destructive):
            return []
        refused = "" if self.force else grains.refusal(now, self.key, None)
        if refused:
            return Verdict(result=False, comment=refused)
        run = partial(
            _set_grain, key=self.key, value=None, force=self.force, destructive=self.destructive
        )
        if self.destructive:
            step = Step(
                would=f"Grain {self.key} is set to be deleted",
                did=f"Grain {self.key} was deleted",
                changes={"deleted": self.key},
                run=run,
            )
            return [step]
        step = Step(
            would=f"Value for grain {self.key} is set to be deleted (None)",
            did=f"Value for grain {self.key} was set to None",
            changes={"grain": self.key, "value": None},
            run=run,
        )
        return [step]

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        if self.value_in(now) is _ABSENT:
            return f"Grain {self.key} does not exist"
        return "Grain is already set"


def _is_list(value: object, key: str) -> Verdict | None:
    if isinstance(value, list):
        return None
    return Verdict(result=False, comment=f"Grain {key} is not a valid list")


@dataclass(frozen=True, slots=True, kw_only=True)
class InList(_Of):
    """Values in a grain that is a list, or will be one."""

    key: str
    value: Any

    def plan(self, now: Mapping[str, object]) -> list[Step] | Verdict:
        there = self.value_in(now)
        is_new = there is _ABSENT or there is None
        values = [] if is_new else there
        wrong = _is_list(values, self.key)
        if wrong is not None:
            return wrong
        if all(each in values for each in _as_tuple(self.value)):
            return []
        told = f"Value {self.value} is set to be appended to grain {self.key}"
        step = Step(
            would=f"Grain {self.key} is set to be added" if is_new else told,
            did=f"Append value {self.value} to grain {self.key}",
            changes={"new": self.around(now, [*values, *_as_tuple(self.value)])},
            run=partial(grains.append, key=self.key, val=_as_list(self.value)),
        )
        return [step]

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        return f"Value {self.value} is already in grain {self.key}"


def _as_list(value: object) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInList(_Of):
    """Values that are not in a grain that is a list."""

    key: str
    values: tuple[Any, ...]

    def plan(self, now: Mapping[str, object]) -> list[Step] | Verdict:
        there = self.value_in(now)
        if there is _ABSENT:
            return []
        wrong = _is_list(there, self.key)
        if wrong is not None:
            return wrong
        found = [each for each in self.values if each in there]
        return [
            Step(
                would=f"Value {each} in grain {self.key} is set to be deleted",
                did=f"Value {each} was deleted from grain {self.key}",
                changes={"deleted": found},
                run=partial(grains.remove, key=self.key, val=each),
            )
            for each in found
        ]

    def _values_left(self, now: Mapping[str, object]) -> list[str]:
        there = self.value_in(now)
        rest = [each for each in self.values if each not in there]
        return [f"Value {each} is absent from grain {self.key}" for each in rest]

    def would(self, now: Mapping[str, object], steps: Sequence[Step]) -> str:
        return "\n".join([*(step.would for step in steps), *self._values_left(now)])

    def comment_changed(
        self, before: Mapping[str, object], after: Mapping[str, object], steps: Sequence[Step]
    ) -> str:
        return "\n".join([*(step.did for step in steps), *self._values_left(before)])

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        if self.value_in(now) is _ABSENT:
            return f"Grain {self.key} does not exist"
        return "\n".join(self._values_left(now))


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended(_Of):
    """A value in a grain that is a list, or becomes one."""

    key: str
    value: Any
    convert: bool

    def plan(self, now: Mapping[str, object]) -> list[Step] | Verdict:
        there = self.value_in(now)
        if there is _ABSENT:
            comment = f"Grain {self.key} does not exist"
            return Verdict(result=False, comment=comment)
        wrong = None if self.convert else _is_list(there, self.key)
        if wrong is not None:
            return wrong
        if isinstance(there, list) and all(each in there for each in _as_tuple(self.value)):
            return []
        told = f"Value {self.value} in grain {self.key} is set to be added"
        turned = f"Grain {self.key} is set to be converted to list and value {self.value} will be"
        step = Step(
            would=told if isinstance(there, list) else f"{turned} added",
            did=f"Value {self.value} was added to grain {self.key}",
            changes={"added": self.value},
            run=partial(
                grains.append, key=self.key, val=_as_list(self.value), convert=self.convert
            ),
        )
        return [step]

    def comment_unchanged(self, now: Mapping[str, object]) -> str:
        return f"Value {self.value} is already in the list for grain {self.key}"
