"""Files that shall be as a source or a text says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import replace
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.providers.file import content, managed, sources, texts
from saltlite.providers.file.managed import DesiredFile
from saltlite.providers.file.paths import home
from saltlite.providers.file.permissions import DesiredPermissions, refuse_context
from saltlite.providers.file.sources import Source, Template


def source_list(
    ctx: MinionContext, source: object, source_hash: object, saltenv: object
) -> tuple[Any, Any]:
    """The first of several sources that is there, and its hash.

    CLI Example:

        salt '*' file.source_list '[salt://motd.web1, salt://motd]' '' base
    """
    found = sources.choose_source(
        ctx, Source(source=source, source_hash=source_hash, saltenv=str(saltenv or "base"))
    )
    return found.source, found.source_hash


def apply_template_on_contents(
    ctx: MinionContext,
    contents: str,
    template: str,
    context: object,
    defaults: object,
    saltenv: str,
) -> Any:
    """A text with a template engine applied.

    CLI Example:

        salt '*' file.apply_template_on_contents '{{ a }}' jinja '{a: 1}' '{}' base
    """
    engine = Template(template=template, context=context, defaults=defaults)
    try:
        engine.refuse_unknown()
    except FunctionError as error:
        return {"result": False, "comment": str(error)}
    return engine.render(ctx, contents, saltenv)


def get_managed(
    ctx: MinionContext,
    name: str,
    template: object,
    source: object,
    source_hash: object,
    source_hash_name: object,
    user: object,
    group: object,
    mode: object,
    attrs: object,
    saltenv: str,
    context: object,
    defaults: object,
    skip_verify: bool = False,
    verify_ssl: bool = True,
    use_etag: bool = False,
    **kwargs: Any,
) -> tuple[str, Mapping[str, str], str]:
    """Path of the content of a managed file, its hash, and a complaint.

    CLI Example:

        salt '*' file.get_managed /etc/motd jinja salt://motd '' '' root root 644 '' base '{}' '{}'
    """
    given = locals()
    origin, engine = read_fields(Source, given), read_fields(Template, given)
    return sources.fetch_managed(ctx, name, origin, engine, _seen_by_templates(given))


def _seen_by_templates(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {part: arguments[part] for part in ("user", "group", "mode", "attrs")}


def get_diff(
    ctx: MinionContext,
    file1: str,
    file2: str,
    saltenv: str = "base",
    show_filenames: bool = True,
    show_changes: bool = True,
    template: bool = False,
    source_hash_file1: object = None,
    source_hash_file2: object = None,
) -> str:
    """What turns one file into another; they are here or at any address.

    CLI Example:

        salt '*' file.get_diff /home/fred/.vimrc salt://users/fred/.vimrc
    """
    paths, missing = [], []
    for source, source_hash in ((file1, source_hash_file1), (file2, source_hash_file2)):
        path = _local_copy(ctx, source, saltenv, source_hash)
        paths.append(path)
        missing += [] if path else [f"File {source} not found"]
    if missing:
        raise FunctionError(
            "Failed to cache one or more files. Additional info follows:\n\n- "
            + "\n- ".join(missing)
        )
    return texts.compare_files(
        paths[0],
        paths[1],
        names=show_filenames,
        show=show_changes,
        obfuscate=template and managed.obfuscates(ctx),
    )


def _local_copy(ctx: MinionContext, source: str, saltenv: str, source_hash: Any) -> str:
    if not sources.is_local(source):
        return sources.client(ctx).cache_file(source, saltenv, source_hash=source_hash)
    path = sources.local_path(source)
    if not os.path.isabs(path):
        raise FunctionError(f"Path '{path}' is not absolute")
    return path


def check_file_meta(
    ctx: MinionContext,
    name: str,
    sfn: Any,
    source: object,
    source_sum: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    contents: object = None,
    seuser: object = None,
    serole: object = None,
    setype: object = None,
    serange: object = None,
    verify_ssl: bool = True,
    follow_symlinks: bool = False,
) -> dict[str, Any]:
    """What of a file is not as it shall be.

    CLI Example:

        salt '*' file.check_file_meta /etc/motd '' salt://motd '{}' root root 644 None base
    """
    refuse_context("file.check_file_meta", seuser, serole, setype, serange)
    file = _declare_file(locals())
    return managed.find_differences(file, managed.read_file(ctx, file))


def _declare_file(
    arguments: Mapping[str, Any], encoding: str | None = None, errors: str = "strict"
) -> DesiredFile:
    """A file from the arguments of a function; the content is ``contents``, ``sfn`` or a source."""
    source = None
    if arguments["sfn"] or arguments["source"]:
        known = arguments["source_sum"] or {}
        source = replace(read_fields(Source, arguments), known=known, path=arguments["sfn"] or "")
    return read_fields(DesiredFile, {
        **arguments, "name": home(arguments["name"]), "source": source,
        "follow": arguments["follow_symlinks"],
        "wanted": read_fields(DesiredPermissions, arguments),
        "contents": managed.encode_contents(arguments["contents"], encoding, errors),
    })  # fmt: skip


def check_managed(
    ctx: MinionContext,
    name: str,
    source: object,
    source_hash: object,
    source_hash_name: object,
    user: object,
    group: object,
    mode: object,
    attrs: object,
    template: object,
    context: object,
    defaults: object,
    saltenv: str,
    contents: object = None,
    skip_verify: bool = False,
    seuser: object = None,
    serole: object = None,
    setype: object = None,
    serange: object = None,
    follow_symlinks: bool = False,
    **kwargs: Any,
) -> tuple[bool | None, str]:
    """Whether a file is as it shall be (``None``: it is not), and a sentence about it.

    CLI Example:

        salt '*' file.check_managed /etc/motd salt://motd '' '' root root 644 '' None None None base
    """
    refuse_context("file.check_managed", seuser, serole, setype, serange)
    found = _find_changes(ctx, locals())
    if isinstance(found, tuple):
        return found
    changes = managed.without_owners(home(name), found)
    if not changes:
        return True, f"The file {home(name)} is in the correct state"
    shown = "".join(f"{part}: {value}\n" for part, value in changes.items())
    return None, f"The following values are set to be changed:\n{shown}"


def check_managed_changes(
    ctx: MinionContext,
    name: str,
    source: object,
    source_hash: object,
    source_hash_name: object,
    user: object,
    group: object,
    mode: object,
    attrs: object,
    template: object,
    context: object,
    defaults: object,
    saltenv: str,
    contents: object = None,
    skip_verify: bool = False,
    keep_mode: bool = False,
    seuser: object = None,
    serole: object = None,
    setype: object = None,
    serange: object = None,
    verify_ssl: bool = True,
    follow_symlinks: bool = False,
    **kwargs: Any,
) -> Any:
    """What would change of a file: a map, or ``(False, complaint)``.

    CLI Example:

        salt '*' file.check_managed_changes /etc/m salt://m '' '' root root 644 '' '' {} {} base
    """
    refuse_context("file.check_managed_changes", seuser, serole, setype, serange)
    return _find_changes(ctx, locals(), keep_mode=keep_mode)


def _find_changes(
    ctx: MinionContext, given: Mapping[str, Any], *, keep_mode: bool = False
) -> dict[str, Any] | tuple[bool, str]:
    chosen = sources.choose_source(ctx, read_fields(Source, given))
    sfn, mode = "", given["mode"]
    known: Mapping[str, str] = {}
    if given["contents"] is None:
        sfn, known, complaint = sources.fetch_managed(
            ctx, given["name"], chosen, read_fields(Template, given), _seen_by_templates(given)
        )
        if complaint:
            content.drop_scratch(sfn)
            return False, complaint
    if keep_mode and chosen.source and sfn:
        mode = managed.source_mode(ctx, chosen) or mode
    try:
        found = {**given, "sfn": sfn, "source": chosen.source, "source_sum": known, "mode": mode}
        file = _declare_file(found)
        return managed.find_differences(file, managed.read_file(ctx, file))
    finally:
        content.drop_scratch(sfn)


def manage_file(
    ctx: MinionContext,
    name: str,
    sfn: Any,
    ret: dict[str, Any] | None,
    source: object,
    source_sum: Any,
    user: Any,
    group: Any,
    mode: Any,
    attrs: Any,
    saltenv: str,
    backup: object,
    makedirs: bool = False,
    template: object = None,
    show_changes: object = True,
    contents: object = None,
    dir_mode: object = None,
    follow_symlinks: bool = True,
    skip_verify: bool = False,
    keep_mode: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
    seuser: object = None,
    serole: object = None,
    setype: object = None,
    serange: object = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a file what it shall be; gives back as a state does.

    ``sfn`` is what ``file.get_managed`` gave. ``backup`` is ``minion`` to keep a copy.

    CLI Example:

        salt '*' file.manage_file /etc/motd '' '{}' salt://motd '{}' root root 644 '' base ''
    """
    refuse_context("file.manage_file", seuser, serole, setype, serange)
    file = _declare_file(locals(), encoding, encoding_errors)
    if keep_mode:
        file = managed.with_source_mode(ctx, file)
    return managed.manage_file(ctx, file, ret)
