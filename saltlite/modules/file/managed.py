"""Files that shall be as a source or a text says."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers.file import content, managed, sources, texts
from saltlite.providers.file.paths import home
from saltlite.providers.file.permissions import DesiredPermissions, refuse_context


def source_list(
    ctx: MinionContext, source: object, source_hash: object, saltenv: object
) -> tuple[Any, Any]:
    """The first of several sources that is there, and its hash.

    CLI Example:

        salt '*' file.source_list '[salt://motd.web1, salt://motd]' '' base
    """
    return sources.choose_source(ctx, source, source_hash, saltenv)


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
    if not sources.is_engine(template):
        comment = f"Specified template format {template} is not supported"
        return {"result": False, "comment": comment}
    return sources.render(ctx, contents, template, saltenv, context, defaults)


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
) -> tuple[str, dict[str, str], str]:
    """Path of the content of a managed file, its hash, and a complaint.

    CLI Example:

        salt '*' file.get_managed /etc/motd jinja salt://motd '' '' root root 644 '' base '{}' '{}'
    """
    return sources.fetch_managed(
        ctx,
        name,
        source,
        source_hash,
        source_hash_name,
        saltenv,
        template=template,
        context=context,
        defaults=defaults,
        seen={"user": user, "group": group, "mode": mode, "attrs": attrs},
        skip_verify=skip_verify,
        verify_ssl=verify_ssl,
        use_etag=use_etag,
    )


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
    file = managed.File(
        name=home(name),
        sfn=sfn or "",
        source=source,
        source_sum=source_sum or {},
        wanted=DesiredPermissions(user=user, group=group, mode=mode, attrs=attrs),
        saltenv=saltenv,
        contents=contents,
        verify_ssl=verify_ssl,
        follow=follow_symlinks,
    )
    return managed.check_meta(ctx, file)


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
    found = check_managed_changes(
        ctx,
        name,
        source,
        source_hash,
        source_hash_name,
        user,
        group,
        mode,
        attrs,
        template,
        context,
        defaults,
        saltenv,
        contents,
        skip_verify,
        follow_symlinks=follow_symlinks,
    )
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
    source, source_hash = sources.choose_source(ctx, source, source_hash, saltenv)
    sfn = ""
    source_sum: dict[str, str] = {}
    if contents is None:
        sfn, source_sum, complaint = sources.fetch_managed(
            ctx,
            name,
            source,
            source_hash,
            source_hash_name,
            saltenv,
            template=template,
            context=context,
            defaults=defaults,
            seen={"user": user, "group": group, "mode": mode, "attrs": attrs},
            skip_verify=skip_verify,
            verify_ssl=verify_ssl,
        )
        if complaint:
            content.drop_scratch(sfn)
            return False, complaint
    if keep_mode and source and sfn:
        mode = managed.source_mode(ctx, str(source), saltenv) or mode
    try:
        return check_file_meta(
            ctx,
            name,
            sfn,
            source,
            source_sum,
            user,
            group,
            mode,
            attrs,
            saltenv,
            contents,
            verify_ssl=verify_ssl,
            follow_symlinks=follow_symlinks,
        )
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
    file = managed.File(
        name=home(name),
        sfn=sfn or "",
        source=source,
        source_sum=source_sum or {},
        wanted=DesiredPermissions(user=user, group=group, mode=mode, attrs=attrs),
        saltenv=saltenv,
        contents=contents,
        follow=follow_symlinks,
        backup=backup,
        makedirs=makedirs,
        dir_mode=dir_mode,
        show_changes=show_changes,
        skip_verify=skip_verify,
        keep_mode=keep_mode,
        encoding=encoding,
        encoding_errors=encoding_errors,
        verify_ssl=verify_ssl,
        use_etag=use_etag,
    )
    return managed.manage(ctx, file, ret)
