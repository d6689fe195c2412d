"""Lines of the table of file systems: which one is meant, how it is brought in, what is said."""

from __future__ import annotations

from collections.abc import Sequence

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import mount as mounts
from saltlite.providers import textfile
from saltlite.providers.mount import active, fstab
from saltlite.states._fact import Fact

SAID = {
    "new": "Added new entry to the fstab.",
    "change": "Updated the entry in the fstab.",
    "present": "Entry already exists in the fstab.",
}


def words_of(given: object) -> tuple[str, ...]:
    """Options from a list or a text with commas, none of them empty."""
    words = given if isinstance(given, (list, tuple)) else str(given or "").split(",")
    return tuple(word.strip() for word in map(str, words) if word.strip())


def entry_of(
    name: str, device: str, fstype: str, opts: Sequence[str], dump: object, pass_num: object
) -> fstab.FstabLine:
    """A line as the table has it: blanks escaped, no options are ``defaults``."""
    return fstab.FstabLine(
        device=fstab.escape_path(device),
        name=fstab.escape_path(name),
        fstype=fstype,
        opts=",".join(opts) or "defaults",
        dump=str(dump),
        pass_num=str(pass_num),
    )


def table_at(ctx: MinionContext, path: str) -> str:
    """The text of a table; empty without one."""
    return textfile.load(ctx.host, path) or ""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line that the table at ``path`` shall have.

    The line there that agrees in all ``keys`` is the same one; ``keeps`` leaves it as it is.
    """

    path: str
    entry: fstab.FstabLine
    keys: tuple[str, ...]
    keeps: bool = False

    def answer(self, text: str) -> str:
        """What bringing it into this text means: ``new``, ``change`` or ``present``."""
        return self._with_entry(text)[1]

    def write(self, ctx: MinionContext) -> None:
        """Bring it into the table as it is by now."""
        users_own = ctx.functions.find_replacement(mounts.set_fstab)
        if users_own is not None:
            line = self.entry
            name, device = active.unescape_path(line.name), active.unescape_path(line.device)
            users_own(
                name, device, line.fstype, line.opts, line.dump, line.pass_num, self.path,
                match_on=list(self.keys), not_change=self.keeps,
            )  # fmt: skip
            return
        with textfile.hold(ctx, self.path):
            textfile.save(self.path, self._with_entry(table_at(ctx, self.path))[0])

    def _with_entry(self, text: str) -> tuple[str, str]:
        return fstab.with_entry(text, self.entry, self.keys, not_change=self.keeps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Resource[str]):
    """A line of the table."""

    path: str
    device: str
    wanted: TableLine
    mounts: bool

    def read(self, ctx: MinionContext) -> str:
        return table_at(ctx, self.wanted.path)

    def plan(self, now: str) -> list[Step]:
        answer = self.wanted.answer(now)
        if answer == "present":
            return []
        will, did = ("written", "added") if answer == "new" else ("updated", "updated")
        step = Step(
            would=f"{self.path} entry will be {will} in {self.wanted.path}.",
            did=f"{self.path} entry {did} in {self.wanted.path}.",
            changes={"persist": answer},
            run=self.wanted.write,
        )
        return [step, self._mount_step()] if answer == "new" and self.mounts else [step]

    def _mount_step(self) -> Step:
        def run(ctx: MinionContext) -> None:
            answer = ctx.follow(mounts.mount, self.path)
            if answer is not True:
                said = f"{self.path} entry added in {self.wanted.path}.\n"
                error = str(answer).removeprefix("mount: ")
                raise FunctionError(f"{said}Error while mounting {error}")

        return Step(
            would=f"Will mount {self.device} on {self.path}",
            did=f"Mounted {self.device} on {self.path}",
            run=run,
        )

    def comment_unchanged(self, now: str) -> str:
        return f"{self.path} entry was already in {self.wanted.path}."


def absent_line(path: str, device: str, config: str) -> Fact:
    """A line that is not in the table."""

    def holds(ctx: MinionContext) -> bool:
        table = table_at(ctx, config)
        return fstab.without_entry(table, path, device) == table

    return Fact(
        holds=holds,
        make=lambda ctx: ctx.follow(mounts.rm_fstab, path, device, config),
        intent=f"{path} entry will be removed from {config}.",
        report=f"{path} entry removed from {config}.",
        known=f"{path} entry is already missing in {config}.",
        told={"persist": "removed"},
    )
