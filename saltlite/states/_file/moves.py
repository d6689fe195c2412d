"""Files that are copied or renamed, and times that are set."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules import file as files
from saltlite.modules._file import hashes, permissions
from saltlite.modules._file.permissions import Wanted
from saltlite.states._file.checks import failure, require_owners, system_errors
from saltlite.states._file.presence import way_to


def copied(
    name: str,
    source: str,
    wanted: Wanted,
    *,
    force: bool,
    makedirs: bool,
    subdir: bool,
) -> Declared:
    """A copy of a file or directory; one that is there is left alone without ``force``."""
    shown = name
    if not os.path.exists(source):
        return failure(f'Source file "{source}" is not present')
    if subdir and os.path.isdir(name):
        name = os.path.join(name, os.path.basename(source))
    there = os.path.lexists(name)
    if there and not force:
        comment = f'The target file "{name}" exists and will not be overwritten'
        return Verdict(result=True, comment=comment)

    def act(ctx: MinionContext) -> Verdict:
        require_owners(wanted.user, wanted.group)
        missing = f"The target directory {os.path.dirname(name)} is not present"
        way_to(name, missing, Wanted(user=wanted.user, group=wanted.group), makedirs=makedirs)
        identical = there and _equal(source, name)
        if there and not identical:
            files.remove(name)
        files.copy(source, name, recurse=os.path.isdir(source))
        changes: dict[str, Any] = {name: source}
        ret, _ = permissions.check(name, None, wanted, ctx.host, follow=False, test=False)
        if not ret["result"]:
            raise FunctionError(str(ret["comment"]))
        comment = f'Copied "{source}" to "{shown}"'
        if identical:
            comment += " - files are identical but force flag is set"
        return Verdict(result=True, comment=comment, changes={**changes, **ret["changes"]})

    return Action(would=f'File "{source}" is set to be copied to "{name}"', run=act)


def _equal(one: str, other: str) -> bool:
    if not (os.path.isfile(one) and os.path.isfile(other)):
        return False
    with system_errors():
        return hashes.file_hash(one) == hashes.file_hash(other)


def renamed(name: str, source: str, *, force: bool, makedirs: bool) -> Declared:
    """A file or directory under another name."""
    if not os.path.lexists(source):
        comment = f'Source file "{source}" has already been moved out of place'
        return Verdict(result=True, comment=comment)
    there = os.path.lexists(name)
    if there and not force:
        comment = f'The target file "{name}" exists and will not be overwritten'
        return Verdict(result=True, comment=comment)

    def act(ctx: MinionContext) -> Verdict:
        missing = f"The target directory {os.path.dirname(name)} is not present"
        way_to(name, missing, Wanted(), makedirs=makedirs)
        if there:
            files.remove(name)
        files.move(source, name)
        comment = f'Moved "{source}" to "{name}"'
        return Verdict(result=True, comment=comment, changes={name: source})

    return Action(would=f'File "{source}" is set to be moved to "{name}"', run=act)


def touched(name: str, atime: Any, mtime: Any, *, makedirs: bool) -> Declared:
    """A file with its times set: now, or those given."""
    kind = "directory" if os.path.isdir(name) else "file"
    there = os.path.exists(name)

    def act(ctx: MinionContext) -> Verdict:
        missing = f"Directory not present to touch file {name}"
        way_to(name, missing, Wanted(), makedirs=makedirs)
        files.touch(name, atime, mtime)
        if there:
            comment = f"Updated times on {kind} {name}"
            return Verdict(result=True, comment=comment, changes={"touched": name})
        comment = f"Created empty file {name}"
        return Verdict(result=True, comment=comment, changes={"new": name})

    if there:
        would = f"Times set to be updated on {kind} {name}"
        return Action(would=would, changes={"touched": name}, run=act)
    return Action(would=f"File {name} is set to be created", changes={"new": name}, run=act)
