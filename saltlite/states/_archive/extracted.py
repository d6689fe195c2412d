"""The members of an archive below a directory, and whose they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, replace
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step, Verdict
from saltlite.providers import staging
from saltlite.providers.file import content, paths, permissions, sources
from saltlite.states._archive.notes import Note
from saltlite.states._archive.unpacking import Archive
from saltlite.states.file._checks import failure, system_errors

_TOPS = ("top_level_dirs", "top_level_files", "top_level_links")
_KINDS: Mapping[str, Callable[[int], bool]] = {
    "dirs": stat.S_ISDIR,
    "files": lambda mode: not stat.S_ISDIR(mode) and not stat.S_ISLNK(mode),
    "links": stat.S_ISLNK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDifferences:
    """What of the archive is not there, what is there as another kind, and whose the rest is.

    ``stale``: the note says that another archive was unpacked here. ``lost`` is where the owner is
    to be set, and nothing is there.
    """

    missing: Sequence[str] = ()
    wrong: Sequence[str] = ()
    foreign: Sequence[str] = ()
    stale: bool = False
    lost: str = ""
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose the members are; ``below`` is the path in place of the members, if not empty."""

    user: Any = None
    group: Any = None
    below: str = ""

    def ids(self) -> tuple[int, int]:
        """User and group id; raises FunctionError for a name that nobody has."""
        uid, gid, complaint = permissions.ids(self.user, self.group)
        if complaint:
            is_user = complaint.startswith("User")
            word, name = ("User", self.user) if is_user else ("Group", self.group)
            raise FunctionError(f"{word} {name} does not exist")
        return uid, gid

    def is_given(self) -> bool:
        """Whether there is anything to set."""
        return self.ids() != (permissions.UNCHANGED, permissions.UNCHANGED)

    def foreign(self, members: Sequence[str]) -> list[str]:
        """Those paths that are somebody else's."""
        uid, gid = self.ids()
        paths = _all_below(self.below) if self.below else members
        return [
            path for path in paths if os.path.lexists(path) and not _is_owned_by(path, uid, gid)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted(Resource[ArchiveDifferences]):
    """The members of an archive below ``name``, which ends in ``/``.

    ``guard`` is a path that makes it needless. With ``clean`` what is at the top of the archive is
    removed first, with ``clean_parent`` all that is in the directory. ``note`` remembers the
    archive; with ``update`` another one is unpacked though its members are there.
    """

    name: str
    archive: Archive
    members: Mapping[str, Sequence[str]]
    owner: Owner
    guard: str = ""
    force: bool = False
    overwrite: bool = False
    clean: bool = False
    clean_parent: bool = False
    forget: bool = False
    note: Note | None = None
    update: bool = False
    warnings: Sequence[str] = ()
    drawn: ClassVar[frozenset[str]] = frozenset(
        {"directories_created", "extracted_files", "removed", "updated ownership"}
    )

    def read(self, ctx: MinionContext) -> ArchiveDifferences:
        if self.guard and os.path.exists(self.guard):
            return ArchiveDifferences(guarded=True)
        missing, wrong, there = self._compare_members()
        if self.overwrite and not (missing or wrong):
            missing = ["."]
        with system_errors():
            stale = self._is_stale()
            foreign = self.owner.foreign(there)
            if not (missing or wrong or stale):
                self._remember_source(ctx)
        below = self.owner.below
        lost = below if below and not os.path.lexists(below) else ""
        return ArchiveDifferences(
            missing=missing, wrong=wrong, foreign=foreign, stale=stale, lost=lost
        )

    def _compare_members(self) -> tuple[list[str], list[str], list[str]]:
        missing: list[str] = []
        wrong: list[str] = []
        there: list[str] = []
        for kind, fits in _KINDS.items():
            for member in self.members[kind]:
                path = self._place_member(member).rstrip("/")
                try:
                    fitting = fits(os.lstat(path).st_mode)
                except FileNotFoundError:
                    missing.append(member)
                except NotADirectoryError:
                    pass  # what is in its way is told
                else:
                    (there if fitting else wrong).append(path if fitting else member)
        return missing, wrong, there

    def _place_member(self, member: str) -> str:
        """Where a member comes to lie: below the directory, whatever it calls itself."""
        if ".." in member.split("/"):
            raise FunctionError(f"{member} would be written outside of {self.name}")
        return os.path.join(self.name, member.lstrip("/"))

    def _is_stale(self) -> bool:
        if self.note is None or not self.update:
            return False
        return self.note.is_of(self.archive.path) is False

    def _remember_source(self, ctx: MinionContext) -> None:
        """All is here: note of which archive it is, and drop its copy if that is not to be kept."""
        if self.note is not None and not self.note.is_of():
            self.note.write()
        if self.forget and not sources.is_local(self.archive.source):
            paths.remove(self.archive.path)

    def plan(self, now: ArchiveDifferences) -> Sequence[Step] | Verdict:
        if now.guarded:
            return ()
        if now.wrong and not self.force:
            listed = "\n".join(f"- {path}" for path in now.wrong)
            return failure(
                f"The below paths (relative to {self.name}) exist, but are the incorrect type"
                " (file instead of directory, symlink instead of file, etc.). To proceed with"
                " extraction, set 'force' to True. Note that this will remove these paths before"
                f" extracting.\n\n{listed}"
            )
        own = Step(
            would=f"Ownership of what is in {self.name} would be updated",
            run=lambda ctx: self._give_to_owner(),
        )
        if now.missing or now.wrong or now.stale:
            would = (
                f"Archive {self.archive.source} would be extracted to {self.name}{_say_reason(now)}"
            )
            extract = Step(would=would, run=lambda ctx: self._extract_archive(ctx, now))
            remember = Step(would="", run=self._remember_extracted)
            return (extract, remember, own) if self.owner.is_given() else (extract, remember)
        if now.lost:
            return failure(_say_lost(now.lost))
        return (own,) if now.foreign else ()

    def plan_rest(
        self, after: ArchiveDifferences, steps: Sequence[Step]
    ) -> Sequence[Step] | Verdict:
        if _is_unpacked(steps):  # the program has had its way
            is_met = self.archive.is_shaped or list(after.missing) == ["."]
            after = replace(after, missing=() if is_met else after.missing, stale=False)
        return self.plan(after)

    def would(self, now: ArchiveDifferences, steps: Sequence[Step]) -> str:
        return steps[0].would

    def comment_unchanged(self, now: ArchiveDifferences) -> str:
        if now.guarded:
            return f"Path {self.guard} exists"
        return "All files in archive are already present"

    def comment_changed(
        self, before: ArchiveDifferences, after: ArchiveDifferences, steps: Sequence[Step]
    ) -> str:
        if not _is_unpacked(steps):
            return self.comment_unchanged(before)
        said = f"{self.archive.source} extracted to {self.name}{_say_reason(before)}"
        if self.archive.trim is not False:
            said += f". Output was trimmed to {self.archive.trim_count} number of lines"
        return said

    def changes(
        self, before: ArchiveDifferences, after: ArchiveDifferences, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return {part: its for step in steps for part, its in (step.output or {}).items()}

    def more(self) -> Mapping[str, Any]:
        return {"warnings": list(self.warnings)} if self.warnings else {}

    def _extract_archive(self, ctx: MinionContext, now: ArchiveDifferences) -> dict[str, Any]:
        """Unpack it; what was done, in the form of ``changes``."""
        with system_errors():
            done = self._make_room(now)
            if not os.path.isdir(self.name):
                uid, _ = self.owner.ids()
                paths.make_dirs(self.name.rstrip("/"), None, (uid, permissions.UNCHANGED))
                done["directories_created"] = [self.name]
            done["extracted_files"] = self._unpack_members(ctx)
        return done

    def _remember_extracted(self, ctx: MinionContext) -> None:
        missing, wrong, _ = self._compare_members()
        if not wrong and (self.archive.is_shaped or not missing):
            with system_errors():
                self._remember_source(ctx)

    def _unpack_members(self, ctx: MinionContext) -> list[str]:
        """Where others may write, the program works in a directory that they cannot reach."""
        members = [member for kind in _KINDS for member in self.members[kind]]
        if not staging.is_shared(self.name, members):
            return self.archive.unpack(ctx, self.name)
        existing = self.archive.existing()
        user = content.uid_of(self.owner.ids())
        with staging.aside(self.name, user=user, existing=existing) as folder:
            told = self.archive.unpack(ctx, folder)
        return [line.replace(folder, self.name.rstrip("/")) for line in told]

    def _make_room(self, now: ArchiveDifferences) -> dict[str, Any]:
        doomed = list(now.wrong)
        if self.clean:
            doomed += [member for top in _TOPS for member in self.members[top]]
        removed = []
        for path in map(self._place_member, doomed):
            if paths.remove(path.rstrip("/")) and path not in removed:
                removed.append(path)
        done: dict[str, Any] = {"removed": removed} if removed else {}
        if self.clean_parent and os.path.isdir(self.name):
            paths.remove(self.name.rstrip("/"))
            said = f"Directory {self.name} was removed prior to the extraction"
            done.setdefault("removed", said)
        return done

    def _give_to_owner(self) -> dict[str, Any]:
        uid, gid = self.owner.ids()
        with system_errors():
            if self.owner.below and not os.path.lexists(self.owner.below):
                raise FunctionError(_say_lost(self.owner.below))
            _, _, there = self._compare_members()
            foreign = self.owner.foreign(there)
            for path in sorted(foreign, key=lambda path: -path.count("/")):
                permissions.chown(path, uid, gid, follow=False)
        return {"updated ownership": True} if foreign else {}


def _is_unpacked(steps: Sequence[Step]) -> bool:
    return any("extracted_files" in (step.output or {}) for step in steps)


def _say_reason(seen: ArchiveDifferences) -> str:
    if seen.missing and list(seen.missing) != ["."]:
        return ", due to absence of one or more files/dirs"
    return ", due to source_hash update" if seen.stale else ""


def _say_lost(path: str) -> str:
    return (
        "While trying to enforce user/group ownership, the following paths were missing:\n\n"
        f"- {path}"
    )


def _all_below(path: str) -> Iterator[str]:
    """A path and all that is below it; links are not followed."""
    yield path
    for folder, folders, files in os.walk(path):
        yield from (os.path.join(folder, name) for name in (*folders, *files))


def _is_owned_by(path: str, uid: int, gid: int) -> bool:
    found = os.lstat(path)
    return uid in (permissions.UNCHANGED, found.st_uid) and gid in (
        permissions.UNCHANGED,
        found.st_gid,
    )
