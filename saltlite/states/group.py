"""Groups of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.modules import group
from saltlite.modules import user as users
from saltlite.states._fact import Fact

_CONFLICT = (
    'Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used '
    "together. "
)
_BOTH = "Error. Same user(s) can not be added and deleted simultaneously"
_CREATED_IN_PART = "Group {} has been created but, some changes could not be applied"


def present(
    name: str,
    gid: object = None,
    system: bool = False,
    addusers: object = None,
    delusers: object = None,
    members: object = None,
    non_unique: bool = False,
) -> Group | Verdict:
    """A group: its number, and who is in it.

    ``members`` are all that shall be in it; ``addusers`` and ``delusers`` leave the others alone.
    """
    if members is not None and (addusers or delusers):
        return Verdict(result=None, comment=_CONFLICT)
    added, removed = _split_names(addusers), _split_names(delusers)
    if set(added) & set(removed):
        return Verdict(result=None, comment=_BOTH)
    number = _parse_gid(gid)
    if not isinstance(number, int | None):
        return Verdict(result=False, comment=f"Invalid gid: {gid}")
    return Group(
        name=str(name),
        gid=number,
        system=system,
        added=added,
        removed=removed,
        members=None if members is None else _split_names(members),
        non_unique=non_unique,
    )


def absent(name: str) -> Fact:
    """See to it that there is no such group."""
    name = str(name)
    return Fact(
        holds=lambda ctx: not ctx.follow(group.info, name),
        make=lambda ctx: ctx.follow(group.delete, name),
        intent=f"Group {name} is set for removal",
        report=f"Removed group {name}",
        known="Group not present",
        told={name: ""},
        failed=f"Failed to remove group {name}",
    )


def _split_names(given: Any) -> tuple[str, ...]:
    listed = given.split(",") if isinstance(given, str) else given or ()
    return tuple(dict.fromkeys(str(each) for each in listed if each != ""))


def _parse_gid(gid: object) -> Any:
    return int(gid) if isinstance(gid, str) and is_digits(gid) else gid


@dataclass(frozen=True, slots=True)
class Groups:
    """One group as it is, ``None`` without it, and the names of groups by their numbers.

    ``strangers`` shall be in it and are no users; a state before may make them.
    """

    info: Mapping[str, Any] | None
    taken: Mapping[int, str]
    strangers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Resource[Groups]):
    """A group that is there."""

    name: str
    gid: Any
    system: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    members: tuple[str, ...] | None
    non_unique: bool
    drawn: ClassVar[frozenset[str]] = frozenset({"gid"})

    def read(self, ctx: MinionContext) -> Groups:
        there = {each["name"]: each for each in ctx.follow(group.getent)}
        taken = {each["gid"]: name for name, each in there.items()}
        strangers = [
            name for name in self.members or self.added if not ctx.follow(users.info, name)
        ]
        return Groups(there.get(self.name), taken, tuple(strangers))

    def plan(self, now: Groups) -> list[Step] | Verdict:
        if now.info is not None:
            return [
                self._plan_change(what, value) for what, value in self._find_wrong(now.info).items()
            ]
        if self.gid in now.taken and not self.non_unique:
            said = f"is already taken by group {now.taken[self.gid]}"
            return Verdict(
                result=False,
                comment=f"Group {self.name} is not present but gid {self.gid} {said}",
            )
        return self._plan_creation()

    def _find_wrong(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """What is not as declared, and its right value."""
        there = info["members"]
        wrong: dict[str, Any] = {}
        if self.gid is not None and info["gid"] != self.gid:
            wrong["gid"] = self.gid
        if self.members is not None and set(there) != set(self.members):
            wrong["members"] = list(self.members)
        wrong["addusers"] = [name for name in self.added if name not in there]
        wrong["delusers"] = [name for name in self.removed if name in there]
        return {what: value for what, value in wrong.items() if value or what in ("gid", "members")}

    def _plan_creation(self) -> list[Step]:
        inside = list(self.members if self.members is not None else self.added)
        shown = {"name": self.name, "passwd": "x", "gid": self.gid, "members": inside}
        create = Step(
            would=f"Group {self.name} set to be added",
            did=f"New group {self.name} created",
            changes={key: value for key, value in shown.items() if value is not None},
            run=self._create_group,
        )
        fill = Step(would="", run=partial(self._fill_group, inside=inside))
        return [create, fill] if inside else [create]

    def _create_group(self, ctx: MinionContext) -> None:
        made = ctx.follow(
            group.add, self.name, gid=self.gid, system=self.system, non_unique=self.non_unique
        )
        if not made:
            raise FunctionError(f"Failed to create new group {self.name}")

    def _fill_group(self, ctx: MinionContext, inside: list[str]) -> None:
        what = "addusers" if self.members is None else "members"
        if not self._set_value(ctx, what, inside):
            raise FunctionError(_CREATED_IN_PART.format(self.name))

    def _plan_change(self, what: str, value: object) -> Step:
        return Step(
            would=f"{what}: {value}",
            changes=_FINAL,
            run=partial(self._set_value, what=what, value=value),
        )

    def _set_value(self, ctx: MinionContext, what: str, value: Any) -> bool:
        """Change one thing. What could not be is found when the group is looked at again."""
        if what == "gid":
            return ctx.follow(group.chgid, self.name, value, non_unique=self.non_unique)
        if what == "members":
            return ctx.follow(group.members, self.name, ",".join(value))
        change = group.adduser if what == "addusers" else group.deluser
        done = [ctx.follow(change, self.name, user) for user in value]
        return all(done)

    def comment_unchanged(self, now: Groups) -> str:
        return f"Group {self.name} is present and up to date"

    def would(self, now: Groups, steps: Sequence[Step]) -> str:
        said = self._show_steps(steps) if now.info is not None else steps[0].would
        if now.strangers:
            missing = ", ".join(now.strangers)
            said = f"{said.rstrip()}\nIt will fail unless this run makes the users: {missing}"
        return said

    def comment_changed(self, before: Groups, after: Groups, steps: Sequence[Step]) -> str:
        return self._show_steps(steps) if before.info is not None else steps[0].did

    def unmet(self, after: Groups, left: Sequence[Step]) -> str:
        return f"{self._show_steps(left)}Some changes could not be applied"

    @staticmethod
    def _show_steps(steps: Sequence[Step]) -> str:
        lines = "".join(f"{step.would}\n" for step in steps)
        return f"The following group attributes are set to be changed:\n{lines}"

    def changes(self, before: Groups, after: Groups, steps: Sequence[Step]) -> dict[str, Any]:
        if after.info is None:
            return {}
        failed = self._find_wrong(after.info)
        if failed:
            return {"Failed": failed}
        return _FINAL if before.info is not None else dict(after.info)


_FINAL = {"Final": "All changes applied successfully"}
