"""Entries in the access lists of files. Comments observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers import acl
from saltlite.providers.acl import Listed

SETTLED = "Permissions are in the desired state"


def present(
    name: str,
    acl_type: str,
    acl_name: str = "",
    perms: str | int = "",
    recurse: bool = False,
    force: bool = False,
) -> Declared:
    """An entry of the access list of ``name`` has these permissions (``rwx``, ``rX``, ``5``).

    ``acl_type`` is ``user``, ``group``, ``mask`` or ``other``, after ``default:`` for what new
    files in a directory get. ``recurse``: all below, too. ``force``: the other named entries go.
    """
    return _declare_present(name, acl_type, [str(acl_name)], perms, recurse, force)


def list_present(
    name: str,
    acl_type: str,
    acl_names: object = None,
    perms: str | int = "",
    recurse: bool = False,
    force: bool = False,
) -> Declared:
    """As :func:`present`, for several names."""
    return _declare_present(name, acl_type, _list_names(acl_names), perms, recurse, force)


def absent(
    name: str, acl_type: str, acl_name: str = "", perms: str = "", recurse: bool = False
) -> Declared:
    """No such entry in the access list of ``name``; with ``recurse`` in none below."""
    return AbsentEntries(
        path=str(name), kind=str(acl_type), names=(str(acl_name),), recurse=bool(recurse)
    )


def list_absent(
    name: str, acl_type: str, acl_names: object = None, recurse: bool = False
) -> Declared:
    """As :func:`absent`, for several names."""
    return AbsentEntries(
        path=str(name),
        kind=str(acl_type),
        names=tuple(_list_names(acl_names)),
        recurse=bool(recurse),
    )


def _list_names(given: Any) -> list[str]:
    if not given:
        return [""]
    return [given] if isinstance(given, str) else [str(one) for one in given]


def _declare_present(
    name: str, acl_type: str, names: Sequence[str], perms: str | int, recurse: bool, force: bool
) -> Declared:
    letters = _to_letters(str(perms))
    if letters is None:
        said = f"perms: {perms!r} has other letters than rwxX, and is no number from 0 to 7"
        return Verdict(result=False, comment=said)
    return PresentEntries(
        path=str(name),
        kind=str(acl_type),
        names=tuple(names),
        perms=letters,
        given=perms,
        recurse=bool(recurse),
        force=bool(force),
    )


def _to_letters(perms: str) -> str | None:
    """The permissions in letters, as setfacl understands a digit; ``None`` for what is neither."""
    if len(perms) == 1 and perms in "01234567":
        bits = ((4, "r"), (2, "w"), (1, "x"))
        return "".join(letter if int(perms) & bit else "-" for bit, letter in bits)
    return None if set(perms) - set("rwxX-") else perms


@dataclass(frozen=True, slots=True)
class AclStatus:
    """The lists of a file and, where it is asked for, of all below it."""

    exists: bool
    lists: Sequence[Listed] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entries(Resource[AclStatus]):
    """Entries of one kind, by the names that they are for."""

    path: str
    kind: str
    names: tuple[str, ...]
    recurse: bool

    def read(self, ctx: MinionContext) -> AclStatus:
        if not ctx.host.exists(self.path):
            return AclStatus(exists=False)
        return AclStatus(True, acl.list_files(ctx.host, [self.path], recursive=self.recurse))

    def find_entries(self, listed: Listed) -> dict[str, str]:
        """The permissions of the entries that are meant, by name."""
        kind, default = acl.kind_of(self.kind)
        return {
            entry.name: entry.permissions
            for entry in listed.entries
            if entry.kind == kind and entry.default == default and entry.name in self.names
        }

    def run(self, ctx: MinionContext, action: str, entries: Sequence[str]) -> None:
        words = ",".join(entries)
        done = acl.change(ctx.host, action, words, [self.path], recursive=self.recurse)
        if done.exit_code != 0:
            said = done.stderr.strip()
            raise FunctionError(f"Error updating permissions for {self.names_shown}: {said}")

    @property
    def names_shown(self) -> str:
        """The names as they are told."""
        return ", ".join(self.names)

    def missing(self) -> Verdict:
        return Verdict(result=False, comment=f"{self.path} does not exist")

    def comment_unchanged(self, now: AclStatus) -> str:
        return SETTLED


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentEntries(_Entries):
    """Entries with these permissions."""

    perms: str
    given: str | int
    force: bool = False

    def plan(self, now: AclStatus) -> Sequence[Step] | Verdict:
        if not now.exists:
            return self.missing()
        wrong = [one for one in now.lists if self._does_differ(one)]
        strangers = self._find_strangers(now.lists) if self.force else []
        if not wrong and not strangers:
            return []
        first = self.find_entries((wrong or list(now.lists))[0])
        return [self._plan_setting(first, strangers)]

    def _does_differ(self, listed: Listed) -> bool:
        _, default = acl.kind_of(self.kind)
        if default and self._is_file(listed):
            return False  # only directories have such entries
        there = self.find_entries(listed)
        return any(
            name not in there or there[name] != self._wanted_perms(listed) for name in self.names
        )

    def _is_file(self, listed: Listed) -> bool:
        import os

        return not os.path.isdir(listed.path)

    def _wanted_perms(self, listed: Listed) -> str:
        """The permissions as getfacl writes them; ``X`` means directories and programs."""
        runs = "x" in self.perms or ("X" in self.perms and self._may_run(listed))
        return "".join(
            letter if has else "-"
            for letter, has in (("r", "r" in self.perms), ("w", "w" in self.perms), ("x", runs))
        )

    def _may_run(self, listed: Listed) -> bool:
        if not self._is_file(listed):
            return True
        return any("x" in entry.permissions for entry in listed.entries if not entry.default)

    def _find_strangers(self, lists: Sequence[Listed]) -> list[str]:
        kind, default = acl.kind_of(self.kind)
        return sorted(
            {
                entry.name
                for listed in lists
                for entry in listed.entries
                if (entry.kind, entry.default) == (kind, default)
                and entry.name
                and entry.name not in self.names
            }
        )

    def _plan_setting(self, old: Mapping[str, str], strangers: Sequence[str]) -> Step:
        about = {"acl_name": self.names_shown, "acl_type": self.kind}
        changes: dict[str, Any] = {"new": {**about, "perms": self.given}}
        would = f"New permissions will be applied for {self.names_shown}: {self.given}"
        did = f"Applied new permissions for {self.names_shown}"
        if old:
            before = next(iter(old.values()))
            changes["old"] = {**about, "perms": before}
            arrow = f"{before} -> {self.given}"
            would = f"Updated permissions will be applied for {self.names_shown}: {arrow}"
            did = f"Updated permissions for {self.names_shown}"
        if strangers:
            changes["removed"] = list(strangers)

        def run(ctx: MinionContext) -> None:
            if strangers:
                self.run(ctx, "-x", [acl.spec(self.kind, name) for name in strangers])
            self.run(ctx, "-m", [acl.spec(self.kind, name, self.perms) for name in self.names])

        return Step(would=would, did=did, changes=changes, run=run)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentEntries(_Entries):
    """No such entries."""

    def plan(self, now: AclStatus) -> Sequence[Step] | Verdict:
        if not now.exists:
            return self.missing()
        found = {
            name: old for listed in now.lists for name, old in self.find_entries(listed).items()
        }
        there = {name: old for name, old in found.items() if name}  # the owner's always stays
        if not there:
            return []
        changes = {
            "removed": {"acl_name": ", ".join(sorted(there)), "acl_type": self.kind},
        }
        entries = [acl.spec(self.kind, name) for name in sorted(there)]
        return [
            Step(
                would="Removing permissions",
                did="Removing permissions",
                changes=changes,
                run=lambda ctx: self.run(ctx, "-x", entries),
            )
        ]
