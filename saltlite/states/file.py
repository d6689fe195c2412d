"""Files, directories and links as they shall be."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.errors import FunctionError, RenderError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules import file as files
from saltlite.modules._file import lines as line_edits
from saltlite.modules._file import owners, place, sources, texts
from saltlite.modules._file.managing import File
from saltlite.modules._file.permissions import Wanted
from saltlite.states._file import contents as content_of
from saltlite.states._file import directory as directories
from saltlite.states._file import edits, keyvalues, moves, serial, tree
from saltlite.states._file.checks import failure, misnamed, require_owners, system_errors
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
    return ManagedFile(file=file, rendered=rendered, check=check, forget=not keep_source)


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
    if sources.is_local(str(source)) and sources.local_path(str(source)) == file.name:
        raise FunctionError("Source file cannot be the same as destination")
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
        name=name, own=own, file_mode=wanted_mode if file_mode is None else file_mode,
        recursion=directories.recursion(recurse, own, max_depth), clean=clean,
        keep=_required(ctx, require, name) if clean else frozenset(), exclude=exclude_pat,
        makedirs=makedirs, force=force, backupname=str(backupname or ""), follow=follow_symlinks,
        allow_symlink=allow_symlink, children_only=children_only,
    )  # fmt: skip


def _required(ctx: MinionContext, require: Any, name: str) -> frozenset[str]:
    """The paths below a directory that required states are about, and those they are in."""
    low = ctx.state.get("lowstate", ())
    pairs = [
        pair for one in (require if isinstance(require, list) else []) if isinstance(one, dict)
        for pair in one.items()
    ]  # fmt: skip
    return directories.kept(name, low, pairs)


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


def append(
    ctx: MinionContext,
    name: str,
    text: Any = None,
    makedirs: bool = False,
    source: Any = None,
    source_hash: Any = None,
    template: Any = "jinja",
    sources: Any = None,
    source_hashes: Any = None,
    defaults: Any = None,
    context: Any = None,
    ignore_whitespace: bool = True,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """Lines that shall be in a file; those that are not there are added at its end."""
    wrong = misnamed(name, "append")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    wanted = edits.chunks(ctx, text, source, sources, template, context, defaults, saltenv)
    added = edits.Added(name, begin=False, header=False, spaces_differ=ignore_whitespace)
    return added.declared(wanted, makedirs=makedirs)


def prepend(
    ctx: MinionContext,
    name: str,
    text: Any = None,
    makedirs: bool = False,
    source: Any = None,
    source_hash: Any = None,
    template: Any = "jinja",
    sources: Any = None,
    source_hashes: Any = None,
    defaults: Any = None,
    context: Any = None,
    header: Any = None,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """Lines that shall be in a file; those that are not there are put before it."""
    wrong = misnamed(name, "prepend")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    wanted = edits.chunks(ctx, text, source, sources, template, context, defaults, saltenv)
    added = edits.Added(name, begin=True, header=bool(header), spaces_differ=True)
    return added.declared(wanted, makedirs=makedirs)


def replace(
    ctx: MinionContext,
    name: str,
    pattern: str,
    repl: Any,
    count: int = 0,
    flags: Any = 8,
    bufsize: Any = 1,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: Any = None,
    backup: Any = ".bak",
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    backslash_literal: bool = False,
    encoding: Any = None,
) -> Declared:
    """Whatever a regular expression matches, replaced."""
    wrong = misnamed(name, "replace")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if not os.path.exists(name):
        if ignore_if_missing:
            return Verdict(result=True, comment=edits.UNCHANGED)
        return edits.not_found(name)

    def edit(dry_run: bool) -> Any:
        return files.replace(
            name, pattern, repl, count=count, flags=flags, bufsize=bufsize,
            append_if_not_found=append_if_not_found, prepend_if_not_found=prepend_if_not_found,
            not_found_content=not_found_content, backup=backup, dry_run=dry_run,
            show_changes=show_changes, ignore_if_missing=ignore_if_missing,
            backslash_literal=backslash_literal, encoding=encoding,
        )  # fmt: skip

    return edits.dry(edit, "Changes would have been made")


def line(
    ctx: MinionContext,
    name: str,
    content: Any = None,
    match: Any = None,
    mode: Any = None,
    location: Any = None,
    before: Any = None,
    after: Any = None,
    show_changes: bool = True,
    backup: Any = False,
    quiet: bool = False,
    indent: bool = True,
    create: bool = False,
    user: Any = None,
    group: Any = None,
    file_mode: Any = None,
) -> Declared:
    """One line of a file."""
    wrong = misnamed(name, "line")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    there = os.path.isfile(name)
    if not there and not create:
        return edits.not_found(name)
    edit = line_edits.Edit(
        mode=line_edits.checked_mode(mode, content), content=content, match=match,
        location=location, before=before, after=after, indent=indent,
    )  # fmt: skip

    def run(dry_run: bool) -> Any:
        if not dry_run:
            if not there:
                require_owners(user, group)
                wanted = Wanted(user=user, group=group, mode=file_mode)
                number = None if file_mode is None else owners.mode_number(file_mode)
                place.create(name, b"", number, wanted.owner())
            return files.line(
                name, content, match, mode, location, before, after, show_changes, backup, quiet,
                indent,
            )  # fmt: skip
        old = edits.lines_of(name)
        new = line_edits.edited(old, edit)
        if new == old:
            return False
        return texts.unified(old, new) if show_changes else True

    return edits.dry(run, "Changes would be made")


def blockreplace(
    ctx: MinionContext,
    name: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    source: Any = None,
    source_hash: Any = None,
    template: Any = "jinja",
    sources: Any = None,
    source_hashes: Any = None,
    defaults: Any = None,
    context: Any = None,
    content: Any = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: Any = ".bak",
    show_changes: bool = True,
    append_newline: Any = None,
    insert_before_match: Any = None,
    insert_after_match: Any = None,
    saltenv: str = "base",
) -> Declared:
    """The text between two markers."""
    wrong = misnamed(name, "blockreplace")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    if not os.path.exists(name):
        return edits.not_found(name)
    block = str(content)
    if source or sources:
        parts = edits.chunks(ctx, "", source, sources, template, context, defaults, saltenv)
        block += "".join(parts)

    def edit(dry_run: bool) -> Any:
        return files.blockreplace(
            name, marker_start, marker_end, block, append_if_not_found, prepend_if_not_found,
            backup, dry_run, show_changes, append_newline, insert_before_match,
            insert_after_match,
        )  # fmt: skip

    try:
        return edits.dry(edit, "Changes would be made")
    except FunctionError as error:
        return failure(f"Encountered error managing block: {error}. See the log for details.")


def comment(
    ctx: MinionContext,
    name: str,
    regex: str,
    char: str = "#",
    backup: Any = ".bak",
    ignore_missing: bool = False,
) -> Declared:
    """Lines that are commented out."""
    wrong = misnamed(name, "comment")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    return edits.commenting(name, regex, char, backup, out=True, ignore_missing=ignore_missing)


def uncomment(
    ctx: MinionContext, name: str, regex: str, char: str = "#", backup: Any = ".bak"
) -> Declared:
    """Lines that are no comments."""
    wrong = misnamed(name, "uncomment")
    if wrong:
        return wrong
    return edits.commenting(os.path.expanduser(name), regex, char, backup, out=False)


def copy(
    ctx: MinionContext,
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    preserve: bool = False,
    user: Any = None,
    group: Any = None,
    mode: Any = None,
    dir_mode: Any = None,
    subdir: bool = False,
    **kwargs: Any,
) -> Declared:
    """A copy of a file of this machine."""
    wrong = misnamed(name, "copy")
    if wrong:
        return wrong
    source = os.path.expanduser(source)
    if not os.path.isabs(source):
        return failure(f'Source file "{source}" is not present')
    wanted = Wanted() if preserve else Wanted(user=user, group=group, mode=mode)
    name = os.path.expanduser(name)
    return moves.copied(name, source, wanted, force=force, makedirs=makedirs, subdir=subdir)


def rename(
    ctx: MinionContext,
    name: str,
    source: str,
    force: bool = False,
    makedirs: bool = False,
    **kwargs: Any,
) -> Declared:
    """A file under another name than the one that it had."""
    wrong = misnamed(name, "rename")
    if wrong:
        return wrong
    source = os.path.expanduser(source)
    return moves.renamed(os.path.expanduser(name), source, force=force, makedirs=makedirs)


def touch(
    ctx: MinionContext, name: str, atime: Any = None, mtime: Any = None, makedirs: bool = False
) -> Declared:
    """A file with its times set."""
    wrong = misnamed(name, "touch")
    if wrong:
        return wrong
    return moves.touched(os.path.expanduser(name), atime, mtime, makedirs=makedirs)


def recurse(
    ctx: MinionContext,
    name: str,
    source: Any,
    keep_source: bool = True,
    clean: bool = False,
    require: Any = None,
    user: Any = None,
    group: Any = None,
    dir_mode: Any = None,
    file_mode: Any = None,
    sym_mode: Any = None,
    template: Any = None,
    context: Any = None,
    replace: bool = True,
    defaults: Any = None,
    include_empty: bool = False,
    backup: Any = "",
    include_pat: Any = None,
    exclude_pat: Any = None,
    maxdepth: Any = None,
    keep_symlinks: bool = False,
    force_symlinks: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """A directory of the file server with all that is in it."""
    wrong = misnamed(name, "recurse")
    if wrong:
        return wrong
    if "mode" in kwargs:
        return failure(
            "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'."
        )
    name = os.path.expanduser(name).rstrip("/")
    if saltenv == "base":
        saltenv = kwargs.get("__env__") or saltenv
    for one in source if isinstance(source, list) else [source]:
        if not str(one).startswith("salt://"):
            return failure(f"Invalid source '{one}' (must be a salt:// URI)")
    require_owners(user, group)
    origin = _tree_source(ctx, source, saltenv)
    wish = tree.Wish(
        include=include_pat, exclude=exclude_pat, include_empty=include_empty,
        depth=None if maxdepth is None else int(maxdepth), keep_symlinks=keep_symlinks,
    )  # fmt: skip

    def of_file(path: str, below: str) -> Any:
        head, _, query = origin.partition("?")
        return managed(
            ctx, path, f"{head}/{below}{'?' if query else ''}{query}", user=user, group=group,
            mode=file_mode, template=template, context=context, replace=replace,
            defaults=defaults, backup=backup, saltenv=saltenv, dir_mode=dir_mode,
            show_changes=kwargs.get("show_changes", True),
        )  # fmt: skip

    def of_link(path: str, target: str) -> Any:
        return symlink(ctx, path, target, force=force_symlinks, user=user, group=group)

    dirs = Wanted(user=user, group=group, mode=dir_mode)
    found = tree.listing(ctx, origin, saltenv, wish)
    return tree.Tree(
        name=name, parts=tree.declared(name, found, dirs, of_file, of_link), clean=clean,
        exclude=exclude_pat, keep=_required(ctx, require, name),
    )  # fmt: skip


def _tree_source(ctx: MinionContext, source: Any, saltenv: str) -> str:
    try:
        given = source if isinstance(source, list) else [source]
        found, _ = sources.chosen(ctx, [str(one).rstrip("/") for one in given], "", saltenv)
    except FunctionError as error:
        raise FunctionError(f"Recurse failed: {error}") from error
    return str(found)


def serialize(
    ctx: MinionContext,
    name: str,
    dataset: Any = None,
    dataset_pillar: Any = None,
    user: Any = None,
    group: Any = None,
    mode: Any = None,
    backup: Any = "",
    makedirs: bool = False,
    show_changes: Any = True,
    create: bool = True,
    merge_if_exists: bool = False,
    encoding: Any = None,
    encoding_errors: str = "strict",
    serializer: Any = None,
    serializer_opts: Any = None,
    deserializer_opts: Any = None,
    check_cmd: Any = None,
    tmp_dir: str = "",
    tmp_ext: str = "",
    saltenv: str = "base",
    **kwargs: Any,
) -> Declared:
    """Data in a file: yaml, json and what other formats there are."""
    if not name:
        return failure("Must provide name to file.serialize")
    name = os.path.expanduser(name)
    if not create and not os.path.isfile(name):
        comment = f"File {name} is not present and is not set for creation"
        return Verdict(result=True, comment=comment)
    form = serial.form(serializer, kwargs.get("formatter"))
    if dataset is not None and dataset_pillar:
        return failure("Only one of 'dataset' and 'dataset_pillar' is permitted")
    if dataset_pillar:
        dataset = traverse(ctx.pillar, dataset_pillar, {})
    if dataset is None:
        return failure("Neither 'dataset' nor 'dataset_pillar' was defined")
    difference: Any = None
    if merge_if_exists:
        there = serial.existing(name, form, deserializer_opts)
        if there is not None:
            dataset = serial.merged(there, dataset)
            difference = serial.difference(there, dataset)
            if difference is None:
                comment = f"The file {name} is in the correct state"
                return Verdict(result=True, comment=comment)
    file = File(
        name=name, source_sum={}, wanted=Wanted(user=user, group=group, mode=mode),
        saltenv=saltenv, contents=serial.text(dataset, form, serializer_opts), backup=backup,
        makedirs=makedirs, show_changes=show_changes, encoding=encoding,
        encoding_errors=encoding_errors,
    )  # fmt: skip
    return ManagedFile(
        file=file, check=(str(check_cmd), tmp_ext) if check_cmd else None,
        difference=difference if show_changes else None,
        intention=f"Dataset will be serialized and stored into {name}",
    )  # fmt: skip


def keyvalue(
    ctx: MinionContext,
    name: str,
    key: Any = None,
    value: Any = None,
    key_values: Any = None,
    separator: str = "=",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    search_only: bool = False,
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    count: int = 1,
    uncomment: Any = None,
    key_ignore_case: bool = False,
    value_ignore_case: bool = False,
) -> Declared:
    """Values of keys in a file of such lines. As in Salt, ``search_only`` keeps nothing back."""
    wrong = misnamed(name, "keyvalue")
    if wrong:
        return wrong
    name = os.path.expanduser(name)
    given = key_values or ({key: value} if key is not None and value is not None else {})
    if not given:
        return failure("file.keyvalue key and value not supplied and key_values is empty")
    if not os.path.isfile(name):
        return Verdict(result=bool(ignore_if_missing), comment=f"unable to open {name}")
    wanted = keyvalues.KeyValues(
        values={str(one): str(its) for one, its in given.items()}, separator=separator,
        count=count, uncomment=str(uncomment or ""), append=append_if_not_found,
        prepend=prepend_if_not_found, key_ignore_case=key_ignore_case,
        value_ignore_case=value_ignore_case,
    )  # fmt: skip
    found = keyvalues.applied(edits.lines_of(name), wanted)
    if not found.changed:
        return Verdict(result=True, comment="")
    changes = {"diff": "".join(found.told)} if show_changes else {}
    would = f"File {name} is set to be changed ({found.changed} lines)"
    if show_changes:
        would += "\nPredicted diff:\n" + "".join(f"\r\t\t{line}" for line in found.told)

    def act(ctx: MinionContext) -> Verdict:
        with system_errors():
            place.put(name, "".join(found.lines).encode())
        comment = f"Changed {found.changed} lines"
        return Verdict(result=True, comment=comment, changes=changes)

    return Action(would=would, run=act, changes=changes)
