"""Files, directories and links as they shall be."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RenderError
from saltlite.highstate.resource import Declared, Verdict
from saltlite.modules._file import owners, place, sources
from saltlite.modules._file.managing import File
from saltlite.modules._file.permissions import Wanted
from saltlite.states._file import contents as content_of
from saltlite.states._file import directory as directories
from saltlite.states._file.checks import failure, misnamed, system_errors
from saltlite.states._file.links import HardLink, Symlink
from saltlite.states._file.managed import KeptFile, ManagedFile
from saltlite.states._file.presence import Absent, Node

DELIMITER = ":"


def managed(
    ctx: MinionContext,
    name: str,
    source: Any = None,
    source_hash: Any = "",
    source_hash_name: Any = None,
    keep_source: bool = True,
    user: Any = None,
    group: Any = None,
    mode: Any = None,
    attrs: Any = None,
    template: Any = None,
    makedirs: bool = False,
    dir_mode: Any = None,
    context: Any = None,
    replace: bool = True,
    defaults: Any = None,
    backup: Any = "",
    show_changes: Any = True,
    create: bool = True,
    contents: Any = None,
    tmp_dir: str = "",
    tmp_ext: str = "",
    contents_pillar: Any = None,
    contents_grains: Any = None,
    contents_newline: bool = True,
    contents_delimiter: str = DELIMITER,
    encoding: Any = None,
    encoding_errors: str = "strict",
    allow_empty: bool = True,
    follow_symlinks: bool = True,
    check_cmd: Any = None,
    skip_verify: bool = False,
    selinux: Any = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """A file with its content, owner and mode."""
    if not name:
        return failure("Destination file name is required")
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"Specified file {name} is not an absolute path")
    given = [way is not None for way in (contents, contents_pillar, contents_grains)]
    keep_mode = str(mode).lower() == "keep"
    _no_conflict(source, context, defaults, keep_mode=keep_mode, has_contents=any(given))
    there = os.path.lexists(name)
    if not create and not there:
        comment = f"File {name} is not present and is not set for creation"
        return Verdict(result=True, comment=comment)
    wanted = Wanted(user=user, group=group, mode=None if keep_mode else mode, attrs=attrs)
    file = File(
        name=name, source_sum={}, wanted=wanted, saltenv=saltenv, follow=follow_symlinks,
        backup=backup, makedirs=makedirs, dir_mode=dir_mode, show_changes=show_changes,
        skip_verify=skip_verify, keep_mode=keep_mode, encoding=encoding,
        encoding_errors=encoding_errors, verify_ssl=verify_ssl, use_etag=use_etag,
    )  # fmt: skip
    if there and os.path.isfile(name) and (not replace or not (source or any(given))):
        return KeptFile(file=file)
    rendered: bytes | None = None
    if any(given):
        file.contents = content_of.given(
            ctx, contents, contents_pillar, contents_grains, newline=contents_newline,
            delimiter=contents_delimiter, allow_empty=allow_empty,
        )  # fmt: skip
        if template and file.contents:
            file.contents = _rendered(ctx, file.contents, template, context, defaults, saltenv)
    elif source:
        origin = {"template": template, "context": context, "defaults": defaults}
        rendered = _located(ctx, file, source, source_hash, source_hash_name, origin)
    check = (str(check_cmd), tmp_ext) if check_cmd else None
    return ManagedFile(file=file, rendered=rendered, check=check)


def _no_conflict(
    source: Any, context: Any, defaults: Any, *, keep_mode: bool, has_contents: bool
) -> None:
    """Raises FunctionError for arguments that exclude one another or are no maps."""
    ways = "'contents', 'contents_pillar', or 'contents_grains'"
    if keep_mode and has_contents:
        raise FunctionError(f"Mode preservation cannot be used in combination with {ways}")
    if source and has_contents:
        raise FunctionError(f"'source' cannot be used in combination with {ways}")
    for word, value in (("Context", context), ("Defaults", defaults)):
        if value and not isinstance(value, dict):
            raise FunctionError(f"{word} must be formed as a dict")


def _rendered(
    ctx: MinionContext, text: str, template: str, context: Any, defaults: Any, saltenv: str
) -> str:
    if not sources.is_engine(template):
        raise FunctionError(f"Specified template format {template} is not supported")
    return sources.render(ctx, text, template, saltenv, context, defaults)


def _located(
    ctx: MinionContext,
    file: File,
    source: Any,
    source_hash: Any,
    source_hash_name: Any,
    origin: dict[str, Any],
) -> bytes | None:
    """Say in the file where its content is; gives back the content if a template made it."""
    prefix = "Unable to manage file: "
    try:
        source, source_hash = sources.chosen(ctx, source, source_hash, file.saltenv)
        with system_errors():
            file.sfn, file.source_sum, complaint = sources.managed(
                ctx, file.name, source, source_hash, source_hash_name, file.saltenv,
                skip_verify=file.skip_verify, verify_ssl=file.verify_ssl,
                use_etag=file.use_etag, **origin,
            )  # fmt: skip
    except FunctionError as error:
        raise FunctionError(f"{prefix}{error}") from error
    except RenderError as error:
        raise FunctionError(f"{prefix}{error.salt_text}") from error
    if complaint:
        raise FunctionError(f"{prefix}{complaint}")
    file.source = source
    if not origin["template"]:
        return None
    with open(file.sfn, "rb") as stream:
        data = stream.read()
    place.drop_scratch(file.sfn)
    return data


def directory(
    ctx: MinionContext,
    name: str,
    user: Any = None,
    group: Any = None,
    recurse: Any = None,
    max_depth: Any = None,
    dir_mode: Any = None,
    file_mode: Any = None,
    makedirs: bool = False,
    clean: bool = False,
    require: Any = None,
    exclude_pat: Any = None,
    follow_symlinks: bool = False,
    force: bool = False,
    backupname: Any = None,
    allow_symlink: bool = True,
    children_only: bool = False,
    mode: Any = None,
    **kwargs: Any,
) -> Declared:
    """A directory, and whose and how open everything in it is."""
    wrong = misnamed(name, "directory")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if name != "/":
        name = name.rstrip("/")
    wanted_mode = mode if dir_mode is None else dir_mode
    own = Wanted(user=user, group=group, mode=wanted_mode, attrs=kwargs.get("attrs"))
    return directories.Directory(
        name=name, own=own, file_mode=mode if file_mode is None else file_mode,
        recursion=directories.recursion(recurse, own, max_depth), clean=clean,
        keep=_required(ctx, require, name) if clean else frozenset(), exclude=exclude_pat,
        makedirs=makedirs, force=force, backupname=str(backupname or ""), follow=follow_symlinks,
        allow_symlink=allow_symlink, children_only=children_only,
    )  # fmt: skip


def _required(ctx: MinionContext, require: Any, name: str) -> frozenset[str]:
    """The paths below a directory that required states are about, and those they are in."""
    kept: set[str] = set()
    for one in require if isinstance(require, list) else []:
        for value in one.values() if isinstance(one, dict) else []:
            path = str(value)
            while path.startswith(f"{name}/"):
                kept.add(path)
                path = os.path.dirname(path)
    return frozenset(kept)


def symlink(
    ctx: MinionContext,
    name: str,
    target: str,
    force: bool = False,
    backupname: Any = None,
    makedirs: bool = False,
    user: Any = None,
    group: Any = None,
    mode: Any = None,
    atomic: bool = False,
    disallow_copy_and_unlink: bool = False,
    inherit_user_and_group: bool = False,
    follow_symlinks: bool = True,
    **kwargs: Any,
) -> Declared:
    """A symbolic link."""
    wrong = misnamed(name, "symlink")
    if wrong:
        return wrong
    name, own = os.path.expanduser(name), owners.user_name(os.geteuid())
    user = own if user is None else user
    if group is None:
        uid = owners.user_id(user)
        group = _primary_group(uid)
    for word, value, number in (
        ("User", user, owners.user_id(user)), ("Group", group, owners.group_id(group)),
    ):  # fmt: skip
        if number == "":
            return failure(f"{word} {value} does not exist")
    return Symlink(
        name=name, target=target, owner=(user, group), force=force,
        backupname=str(backupname or ""), makedirs=makedirs,
        dirs=Wanted(user=user, group=group, mode=mode),
    )  # fmt: skip


def _primary_group(uid: Any) -> Any:
    import pwd

    try:
        return owners.group_name(pwd.getpwuid(uid).pw_gid)
    except (KeyError, TypeError):
        return owners.group_name(os.getegid())


def hardlink(
    ctx: MinionContext,
    name: str,
    target: str,
    force: bool = False,
    makedirs: bool = False,
    user: Any = None,
    group: Any = None,
    dir_mode: Any = None,
    **kwargs: Any,
) -> Declared:
    """Another name of a file."""
    wrong = misnamed(name, "hardlink")
    if wrong:
        return wrong
    target = os.path.expanduser(target)
    if not os.path.isabs(target):
        return failure(f"Specified target {target} is not an absolute path")
    dirs = Wanted(user=user, group=group, mode=dir_mode)
    name = os.path.expanduser(name)
    return HardLink(name=name, target=target, force=force, makedirs=makedirs, dirs=dirs)


def absent(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Nothing at a path."""
    return misnamed(name, "absent") or Absent(os.path.expanduser(name))


def exists(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Something has to be at a path."""
    if not name:
        return failure("Must provide name to file.exists")
    if os.path.exists(os.path.expanduser(name)):
        return Verdict(result=True, comment=f"Path {name} exists")
    return failure(f"Specified path {name} does not exist")


def missing(ctx: MinionContext, name: str, **kwargs: Any) -> Declared:
    """Nothing may be at a path."""
    if not name:
        return failure("Must provide name to file.missing")
    if os.path.exists(os.path.expanduser(name)):
        return failure(f"Specified path {name} exists")
    return Verdict(result=True, comment=f"Path {name} is missing")


def mknod(
    ctx: MinionContext,
    name: str,
    ntype: str,
    major: int = 0,
    minor: int = 0,
    user: Any = None,
    group: Any = None,
    mode: Any = "0600",
) -> Declared:
    """A device or named pipe."""
    if ntype not in ("c", "b", "p"):
        return failure(
            f"Node type unavailable: '{ntype}'. Available node types are character ('c'), block"
            " ('b'), and pipe ('p')"
        )
    wanted = Wanted(user=user, group=group, mode=mode)
    name = os.path.expanduser(name)
    return Node(name=name, kind=ntype, major=int(major), minor=int(minor), wanted=wanted)


def mod_watch(ctx: MinionContext, name: str, sfun: str = "", **kwargs: Any) -> Declared:
    """What is watched has changed: the file is looked at again."""
    from saltlite.states.registry import resolve

    return resolve(f"file.{sfun}", ctx).call(name=name, **kwargs)
