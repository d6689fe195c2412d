"""What is in an archive, unpacked."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import replace
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Declared, Verdict
from saltlite.providers.file import hashes, sources
from saltlite.providers.file.sources import Source
from saltlite.states._archive.extracted import Extracted, Owner
from saltlite.states._archive.notes import Note
from saltlite.states._archive.unpacking import Archive, format_of
from saltlite.states.file._checks import failure, system_errors

KEEP_TWICE = (
    "Both 'keep_source' and 'keep' were used. Since these both do the same thing, 'keep' was"
    " ignored."
)
NO_HASH = "The 'source_hash_update' argument is ignored when 'source_hash' is not also specified."
ON_THE_COMMAND_LINE = (
    "Using a password in combination with setting 'use_cmd_unzip' to True is considered insecure."
    " It is recommended to remove the 'use_cmd_unzip' argument (or set it to False) and allow Salt"
    " to extract the archive using Python's built-in ZIP file support."
)


def extracted(
    ctx: MinionContext,
    name: str,
    source: object,
    source_hash: object = None,
    source_hash_name: object = None,
    source_hash_update: bool = False,
    skip_files_list_verify: bool = False,
    skip_verify: bool = False,
    password: object = None,
    options: Any = None,
    list_options: Any = None,
    force: bool = False,
    overwrite: bool = False,
    clean: bool = False,
    clean_parent: bool = False,
    user: object = None,
    group: object = None,
    if_missing: object = None,
    trim_output: Any = False,
    use_cmd_unzip: Any = None,
    extract_perms: bool = True,
    enforce_toplevel: bool = True,
    enforce_ownership_on: object = None,
    archive_format: object = None,
    use_etag: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """What is in an archive, unpacked below a directory."""
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"{name} is not an absolute path")
    if os.path.lexists(name) and not os.path.isdir(name):
        return failure(f"{name} exists and is not a directory")
    name = f"{name.rstrip('/')}/"
    owner = Owner(user=user, group=group, below=_owned_path(name, enforce_ownership_on))
    owner.ids()  # complains
    if clean and clean_parent:
        return failure("Only one of 'clean' and 'clean_parent' can be set to True")
    if if_missing and not os.path.isabs(str(if_missing)):
        return failure("Value for 'if_missing' is not an absolute path")
    if if_missing and os.path.exists(str(if_missing)):
        return Verdict(result=True, comment=f"Path {if_missing} exists")
    chosen = sources.choose_source(ctx, read_fields(Source, locals()))
    source = _show_source(str(chosen.source or ""))
    chosen = replace(chosen, source=source)
    kind = format_of(source, archive_format)
    _check_format(kind, password, options, use_cmd_unzip)
    if chosen.source_hash and not skip_verify:
        chosen = replace(chosen, known=sources.find_sum(ctx, chosen))
    wanted = chosen.known
    note = None
    if wanted and (source_hash_update or skip_files_list_verify):
        note = Note.of(ctx, name, source, wanted)
    if note is not None and skip_files_list_verify and note.is_of() and os.path.isdir(name):
        return Verdict(
            result=True,
            comment=f"Archive {source} existing source sum is the same as the expected one and"
            " skip_files_list_verify argument was set to True. Extraction is not needed",
        )
    archive = Archive(
        kind=kind, source=source, options=None if options is None else str(options),
        path=_cache_source(ctx, chosen),
        password=None if password is None else str(password), modes=extract_perms,
        by_program=bool(use_cmd_unzip or options), trim=trim_output or False,
    )  # fmt: skip
    members = archive.members(ctx, list_options)
    if enforce_toplevel and (len(members["top_level_dirs"]) != 1 or members["top_level_files"]):
        return failure(
            "Archive does not have a single top-level directory. To allow this archive to be"
            " extracted, set 'enforce_toplevel' to False. To avoid a 'tar-bomb' it may also be"
            " advisable to set a top-level directory by adding it to the 'name' value (for"
            f" example, setting 'name' to {os.path.join(name, 'some_dir')} instead of {name})."
        )
    told = {
        KEEP_TWICE: "keep" in kwargs and "keep_source" in kwargs,
        NO_HASH: source_hash_update and not chosen.source_hash,
        ON_THE_COMMAND_LINE: password is not None and use_cmd_unzip,
    }
    return Extracted(
        name=name, archive=archive, members=members, owner=owner, guard=str(if_missing or ""),
        force=force, overwrite=overwrite, clean=clean, clean_parent=clean_parent,
        forget=not kwargs.get("keep_source", kwargs.get("keep", True)), note=note,
        update=note is not None, warnings=[warning for warning, holds in told.items() if holds],
    )  # fmt: skip


def _owned_path(name: str, given: object) -> str:
    """The path whose owner is set in place of that of the members; empty without one."""
    if not given:
        return ""
    path = str(given)
    if not os.path.isabs(path):
        raise FunctionError("Value for 'enforce_ownership_on' is not an absolute path")
    if not f"{os.path.normpath(path)}/".startswith(f"{os.path.normpath(name)}/"):
        raise FunctionError(f"Value for 'enforce_ownership_on' must be within {name}")
    return path


def _show_source(source: str) -> str:
    """What a source is called: a file of this machine by its path, which has to be there."""
    if not source:
        raise FunctionError('Invalid source ""')
    if not sources.is_local(source):
        return source
    path = os.path.abspath(sources.local_path(source))
    if not os.path.isfile(path):
        raise FunctionError(f"Source file '{path}' does not exist")
    return path


def _check_format(kind: str, password: object, options: object, use_cmd_unzip: object) -> None:
    """Raises FunctionError for arguments that this format does not take."""
    if password is not None and kind != "zip":
        raise FunctionError("The 'password' argument is only supported for zip archives")
    if options and kind == "rar":
        raise FunctionError(
            "The 'options' argument is only compatible with the following archive formats: tar, zip"
        )
    if options and kind == "zip" and use_cmd_unzip is not None and not use_cmd_unzip:
        raise FunctionError(
            "'use_cmd_unzip' cannot be set to False if CLI options are being specified (via the"
            " 'options' argument). Either remove 'use_cmd_unzip', or set it to True."
        )


def _cache_source(ctx: MinionContext, source: Source) -> str:
    """The path of the archive here, with the hash that it shall have."""
    url, wanted = source.url, source.known
    if sources.is_of_web(url) and not (wanted or source.skip_verify or source.use_etag):
        raise sources.unverified(url)
    path = url
    if not sources.is_local(url):
        try:
            path = sources.client(ctx).cache_file(
                url, source.saltenv, source_hash=wanted.get("hsum"), use_etag=source.use_etag
            )
        except SaltliteError as error:
            raise FunctionError(f"Failed to cache {url}: {error}") from error
    if not path or not os.path.isfile(path):
        raise FunctionError(f"Failed to cache {url}, check minion log for more information")
    if wanted:
        with system_errors():
            actual = hashes.file_hash(path, wanted["hash_type"])
        if actual != wanted["hsum"]:
            raise FunctionError(_say_mismatch(url, path, actual, wanted["hsum"]))
    return path


def _say_mismatch(source: str, path: str, actual: str, wanted: str) -> str:
    if sources.is_local(source):
        return f"{source} does not match the desired source_hash {wanted}"
    return (
        f"File is cached to {path}, but the hash ({actual}) does not match the specified hash"
        f" ({wanted})"
    )
