"""What is in an archive, unpacked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.modules import archive as archives
from saltlite.modules import file as files
from saltlite.modules._file import hashes, owners, place, sources
from saltlite.states._file.checks import Told, failure, system_errors

FORMATS = ("tar", "rar", "zip")
_ENDINGS = ((re.compile(r"\.(zip|jar|war|whl)$"), "zip"), (re.compile(r"\.rar$"), "rar"))


@dataclass(frozen=True, slots=True)
class Seen:
    """What of the archive is not there, what is there as another kind, and whose the rest is."""

    missing: Sequence[str]
    wrong: Sequence[str]
    foreign: Sequence[str]
    guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted(Resource[Seen]):
    """The members of an archive below a directory; ``guard`` is a path that makes it needless."""

    name: str
    source: str
    path: str
    kind: str
    members: Mapping[str, Sequence[str]]
    options: str = ""
    owner: tuple[Any, Any] = (None, None)
    force: bool = False
    overwrite: bool = False
    clean: bool = False
    trim: Any = False
    guard: str = ""
    password: str | None = None
    told: Told = field(default_factory=Told)

    def read(self, ctx: MinionContext) -> Seen:
        if self.guard and os.path.exists(self.guard):
            return Seen((), (), (), guarded=True)
        kinds = (("dirs", os.path.isdir), ("files", os.path.isfile), ("links", os.path.islink))
        missing, wrong, foreign = [], [], []
        uid, gid, _ = owners.ids(*self.owner)
        for kind, fits in kinds:
            for member in self.members[kind]:
                path = os.path.join(self.name, member)
                if not os.path.lexists(path):
                    missing.append(member)
                elif not fits(path):
                    wrong.append(member)
                elif not _belongs(path, uid, gid):
                    foreign.append(path)
        again = self.overwrite and not self.told.changes
        return Seen([*missing, "."] if again and not missing else missing, wrong, foreign)

    def plan(self, now: Seen) -> Sequence[Step] | Verdict:
        if now.wrong and not self.force:
            listed = "\n".join(f"- {os.path.join(self.name, path)}" for path in now.wrong)
            return failure(
                "The below paths (relative to "
                f"{self.name}) exist, but are the incorrect type (i.e. file instead of directory"
                f" or vice-versa). To proceed with extraction, set 'force' to True.\n\n{listed}"
            )
        if now.missing or now.wrong:
            would = f"{self.source} would be extracted to {self.name}"
            return (Step(would=would, run=lambda ctx: self._extract(ctx, now)),)
        if now.foreign:
            would = f"Ownership of what is in {self.name} would be updated"
            return (Step(would=would, run=lambda ctx: self._give(now.foreign)),)
        return ()

    def settled(self, now: Seen) -> str:
        if now.guarded:
            return f"Path {self.guard} exists"
        return "All files in archive are already present"

    def done(self, before: Seen, after: Seen, steps: Sequence[Step]) -> str:
        said = f"{self.source} extracted to {self.name}"
        if not before.missing and not before.wrong:
            return self.settled(before)
        if list(before.missing) == ["."]:
            return said
        return f"{said}, due to absence of one or more files/dirs"

    def changes(self, before: Seen, after: Seen, steps: Sequence[Step]) -> dict[str, Any]:
        return dict(self.told.changes)

    def _extract(self, ctx: MinionContext, now: Seen) -> None:
        with system_errors():
            for member in now.wrong:
                files.remove(os.path.join(self.name, member))
            if self.clean:
                self._empty()
            if not os.path.isdir(self.name):
                place.make_dirs(self.name.rstrip("/"), None)
                self.told.changes["directories_created"] = [self.name]
            names = self._unpacked(ctx)
        self.told.changes["extracted_files"] = names
        if self.owner != (None, None):
            every = [*self.members["dirs"], *self.members["files"], *self.members["links"]]
            self._give([os.path.join(self.name, member) for member in every])

    def _empty(self) -> None:
        tops = ("top_level_dirs", "top_level_files", "top_level_links")
        for member in (member for kind in tops for member in self.members[kind]):
            files.remove(os.path.join(self.name, member))

    def _unpacked(self, ctx: MinionContext) -> list[str]:
        if self.kind == "zip":
            return archives.unzip(
                ctx, self.path, self.name, options=self.options or None, trim_output=self.trim,
                password=self.password,
            )  # fmt: skip
        if self.kind == "rar":
            return archives.unrar(ctx, self.path, self.name, trim_output=self.trim)
        names = archives.tar(ctx, f"{self.options} -xvf", self.path, dest=self.name)
        return [name if self.options else name.rstrip("/") for name in names]

    def _give(self, paths: Sequence[str]) -> None:
        uid, gid, complaint = owners.ids(*self.owner)
        if complaint:
            raise FunctionError(complaint.strip())
        given = False
        with system_errors():
            for path in paths:
                if os.path.lexists(path) and not _belongs(path, uid, gid):
                    os.chown(path, uid, gid, follow_symlinks=False)
                    given = True
        if given:
            self.told.changes["updated ownership"] = True


def _belongs(path: str, uid: int, gid: int) -> bool:
    found = os.lstat(path)
    return uid in (owners.UNCHANGED, found.st_uid) and gid in (owners.UNCHANGED, found.st_gid)


def extracted(
    ctx: MinionContext,
    name: str,
    source: Any,
    source_hash: Any = None,
    source_hash_name: Any = None,
    source_hash_update: bool = False,
    skip_files_list_verify: bool = False,
    skip_verify: bool = False,
    password: Any = None,
    options: Any = None,
    list_options: Any = None,
    force: bool = False,
    overwrite: bool = False,
    clean: bool = False,
    clean_parent: bool = False,
    user: Any = None,
    group: Any = None,
    if_missing: Any = None,
    trim_output: Any = False,
    use_cmd_unzip: Any = None,
    extract_perms: bool = True,
    enforce_toplevel: bool = True,
    enforce_ownership_on: Any = None,
    archive_format: Any = None,
    use_etag: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """What is in an archive, unpacked below a directory."""
    if not os.path.isabs(os.path.expanduser(name)):
        return failure(f"{name} is not an absolute path")
    name = f"{os.path.expanduser(name).rstrip('/')}/"
    if if_missing and os.path.exists(if_missing):
        return Verdict(result=True, comment=f"Path {if_missing} exists")
    source, source_hash = sources.chosen(ctx, source, source_hash, saltenv)
    kind = _kind(str(source), archive_format)
    if source_hash and not skip_verify:
        wanted = sources.source_sum(
            ctx, "", str(source), source_hash, source_hash_name, saltenv
        )  # fmt: skip
    else:
        wanted = {}
    path = _cached(ctx, str(source), wanted, saltenv, skip_verify=skip_verify, use_etag=use_etag)
    found = archives.list_(
        ctx, path, archive_format=kind, options=list_options, verbose=True,
        strip_components=_stripped(options),
    )  # fmt: skip
    members = found if isinstance(found, dict) else {}
    if enforce_toplevel and (len(members["top_level_dirs"]) != 1 or members["top_level_files"]):
        return failure(
            "Archive does not have a single top-level directory. To allow this archive to be"
            " extracted, set 'enforce_toplevel' to False. To avoid a 'tar-bomb' it may also be"
            " advisable to set a top-level directory by adding it to the 'name' value (for"
            f" example, setting 'name' to {os.path.join(name, 'some_dir')} instead of {name})."
        )
    return Extracted(
        name=name, source=str(source), path=path, kind=kind, members=members,
        options=str(options or ""), owner=(user, group), force=force, overwrite=overwrite,
        clean=clean, trim=trim_output, guard=str(if_missing or ""), password=password,
    )  # fmt: skip


def _kind(source: str, given: Any) -> str:
    if given:
        kind = str(given).lower()
        if kind not in FORMATS:
            raise FunctionError(
                f"Invalid archive_format '{given}'. Either set it to a supported value"
                f" ({', '.join(FORMATS)}) or remove this argument and the archive format will be"
                " guessed based on file extension."
            )
        return kind
    plain = source.partition("?")[0].lower()
    return next((kind for ending, kind in _ENDINGS if ending.search(plain)), "tar")


def _stripped(options: Any) -> int | None:
    found = re.search(r"--strip(?:-components)?(?:=|\s+)(\d+)", str(options or ""))
    return int(found[1]) if found else None


def _cached(
    ctx: MinionContext,
    source: str,
    wanted: Mapping[str, str],
    saltenv: str,
    *,
    skip_verify: bool,
    use_etag: bool,
) -> str:
    """The path of the archive here, with the hash that it shall have."""
    if sources.scheme_of(source) in sources.WEB and not wanted and not skip_verify:
        raise FunctionError(
            f"Unable to verify upstream hash of source file {source}, please set source_hash or"
            " set skip_verify to True"
        )
    path = sources.local_path(source)
    if not sources.is_local(source):
        try:
            path = sources.client(ctx).cache_file(
                source, saltenv, source_hash=wanted.get("hsum"), use_etag=use_etag
            )
        except SaltliteError as error:
            raise FunctionError(f"Failed to cache {source}: {error}") from error
    if not path or not os.path.isfile(path):
        raise FunctionError(f"Failed to cache {source}, check minion log for more information")
    if wanted:
        with system_errors():
            actual = hashes.file_hash(path, wanted["hash_type"])
        if actual != wanted["hsum"]:
            raise FunctionError(f"{source} does not match the desired source_hash {wanted['hsum']}")
    return path
