"""Patches: whether one can be applied is found out by a dry run, forward and then backward."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, replace
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.providers import textfile
from saltlite.providers.file import content, programs
from saltlite.providers.file.managed import DesiredFile, fetch_content
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.providers.file.sources import Source, Template
from saltlite.states.file._checks import failure, system_errors
from saltlite.states.file.managed import add_source

_REFUSED = ("-i", "--input", "-r", "--reject-file", "-o", "--output")
_BACKWARD = ("-R", "--reverse")
APPLIED = "Patch was already applied"
_HINT = (
    " Run state again using the reject_file option to save rejects to a persistent file."
)  # fmt: skip


def patch(
    ctx: MinionContext,
    name: str,
    source: object = None,
    source_hash: object = None,
    source_hash_name: object = None,
    skip_verify: bool = False,
    template: object = None,
    context: object = None,
    defaults: object = None,
    options: object = "",
    reject_file: object = None,
    strip: object = None,
    saltenv: object = None,
    **kwargs: Any,
) -> Declared:
    """A patch that is applied to a file, or to the files of a directory."""
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"{name} is not an absolute path")
    if not os.path.exists(name):
        return failure(f"{name} does not exist")
    if not source:
        return failure("No source supplied for the patch")
    checked = _options_of(options, strip)
    origin = replace(
        read_fields(Source, locals()), source_hash=source_hash or "", saltenv=str(saltenv or "base")
    )
    file = DesiredFile(name=name, wanted=DesiredPermissions())
    file = add_source(ctx, file, origin, read_fields(Template, locals()))
    text = file.contents
    if text is None and file.source is not None:
        with system_errors(), open(fetch_content(ctx, file.source), "rb") as stream:
            text = stream.read()
    return Patch(
        name=name, text=text or b"", options=checked, reject_file=str(reject_file or "")
    ).declare(ctx)


def _options_of(given: object, strip: Any) -> list[str]:
    """The options of the program; raises FunctionError for such as are not allowed."""
    options = shlex.split(str(given or ""))
    refused = [one for one in options if one.partition("=")[0] in _REFUSED or _is_joined(one)]
    if refused:
        raise FunctionError(f"The following CLI options are not allowed: {', '.join(refused)}")
    if any(one in ("-p", "--strip", "--strip=") for one in options):
        raise FunctionError(
            "Invalid format for '-p' CLI option. Consider using the 'strip' option for this state."
        )
    if strip is not None and not any(one.startswith(("-p", "--strip")) for one in options):
        options.append(f"-p{int(strip)}")
    return options


def _is_joined(option: str) -> bool:
    """Whether a refused option is written together with its value."""
    return option[:2] in ("-i", "-r", "-o") and len(option) > 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch for a file, or for the files of a directory."""

    name: str
    text: bytes
    options: Sequence[str]
    reject_file: str = ""

    def declare(self, ctx: MinionContext) -> Declared:
        """What is to be done with it; raises FunctionError where there is no such program."""
        forward = self._try_patch(ctx, self.options)
        if not forward["retcode"]:
            # what a real run says, but for the number of the process
            said = forward["stdout"].replace("checking file ", "patching file ")
            changes = {**forward, "stdout": said}
            return Action(
                would="The patch would be applied", run=self._apply_patch, changes=changes
            )
        if "garbage" in forward["stderr"]:
            return failure(forward["stderr"])
        if not self._try_patch(ctx, self._reverse_options())["retcode"]:
            return Verdict(result=True, comment=APPLIED)
        return Action(
            would="",
            run=lambda ctx: self._keep_rejects(ctx, forward),
            foreseen=lambda ctx: self._refuse_patch(forward),
        )

    def _try_patch(self, ctx: MinionContext, options: Sequence[str]) -> dict[str, Any]:
        with content.scratch(self.text) as path:
            return programs.patch(ctx, self.name, path, options, dry_run=True)

    def _reverse_options(self) -> list[str]:
        kept = [one for one in self.options if one not in _BACKWARD]
        return kept if len(kept) < len(self.options) else [*kept, "-R"]

    def _apply_patch(self, ctx: MinionContext) -> Verdict:
        with content.scratch(self.text) as path, textfile.hold(ctx, self.name):
            done = programs.patch(ctx, self.name, path, self.options, dry_run=False)
        if done["retcode"]:
            return failure(done["stderr"] or done["stdout"])
        return Verdict(result=True, comment="Patch successfully applied", changes=done)

    def _keep_rejects(self, ctx: MinionContext, found: dict[str, Any]) -> Verdict:
        """Leave what cannot be applied in the file for it, and everything else as it is."""
        if not self.reject_file:
            return self._refuse_patch(found)
        with content.scratch(self.text) as path, content.scratch(b"") as nowhere:
            said = programs.patch(
                ctx, self.name, path, self.options, dry_run=False, rejects=self.reject_file,
                output=nowhere,
            )  # fmt: skip
        return self._refuse_patch(said)

    def _refuse_patch(self, found: dict[str, Any]) -> Verdict:
        hint = "" if self.reject_file else _HINT
        said = "\n".join(part for part in (found["stdout"], found["stderr"]) if part)
        return failure(
            "Patch would not apply cleanly, no changes made. Results of dry-run are below."
            f"{hint}\n\n{said}"
        )
