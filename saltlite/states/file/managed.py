"""Files that shall have a content, and where it comes from."""

from __future__ import annotations

import os
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, OwnDeclared, Verdict
from saltlite.providers.file import hashes, sources
from saltlite.providers.file.managed import File
from saltlite.providers.file.permissions import NOT_SET, DesiredPermissions
from saltlite.states._file import accumulators, copies, serial
from saltlite.states._file import contents as content_of
from saltlite.states._file.checks import explain_bad_name, failure, owner_of
from saltlite.states._file.located import mark_location
from saltlite.states._file.managed import Check, KeptFile, ManagedFile

DELIMITER = ":"

FILE_MODE = (
    "The 'file_mode' argument will be ignored.  Please use 'mode' instead to set file permissions."
)

CONTEXT = {"seuser", "serole", "setype", "serange"}

DESERIALIZER = (
    "The 'deserializer_opts' option is ignored unless merge_if_exists is set to True."
)  # fmt: skip


def managed(
    ctx: MinionContext,
    name: str,
    source: object = None,
    source_hash: object = "",
    source_hash_name: object = None,
    keep_source: bool = True,
    user: Any = None,
    group: Any = None,
    mode: Any = None,
    attrs: Any = None,
    template: Any = None,
    makedirs: bool = False,
    dir_mode: object = None,
    context: Any = None,
    replace: bool = True,
    defaults: Any = None,
    backup: object = "",
    show_changes: object = True,
    create: bool = True,
    contents: Any = None,
    tmp_dir: str = "",
    tmp_ext: str = "",
    contents_pillar: object = None,
    contents_grains: object = None,
    contents_newline: bool = True,
    contents_delimiter: str = DELIMITER,
    encoding: Any = None,
    encoding_errors: str = "strict",
    allow_empty: bool = True,
    follow_symlinks: bool = True,
    check_cmd: object = None,
    skip_verify: bool = False,
    selinux: object = None,
    verify_ssl: bool = True,
    use_etag: bool = False,
    saltenv: str = "base",
    **kwargs: Any,
) -> OwnDeclared:
    """A file with its content, owner and mode."""
    if not name:
        return failure("Destination file name is required")
    name = os.path.expanduser(name)
    if not os.path.isabs(name):
        return failure(f"Specified file {name} is not an absolute path")
    if isinstance(selinux, dict) and CONTEXT & selinux.keys():
        return failure(NOT_SET.format("file.managed"))
    given = [way is not None for way in (contents, contents_pillar, contents_grains)]
    keep_mode = str(mode).lower() == "keep"
    _no_conflict(source, context, defaults, keep_mode=keep_mode, has_contents=any(given))
    warnings = (FILE_MODE,) if "file_mode" in kwargs else ()
    if not create and not os.path.isfile(name):
        comment = f"File {name} is not present and is not set for creation"
        return Verdict(result=True, comment=comment)
    context = accumulators.context(ctx, name, context)
    user = owner_of(user, kwargs)
    wanted = DesiredPermissions(
        user=user, group=group, mode=None if keep_mode else mode, attrs=attrs
    )
    file = File(
        name=name, source_sum={}, wanted=wanted, saltenv=saltenv, follow=follow_symlinks,
        backup=backup, makedirs=makedirs, dir_mode=dir_mode,
        show_changes=show_changes and not contents_pillar,  # pillar is secret
        skip_verify=skip_verify, keep_mode=keep_mode, encoding=encoding,
        encoding_errors=encoding_errors, verify_ssl=verify_ssl, use_etag=use_etag,
    )  # fmt: skip
    if (
        os.path.exists(name)
        and not os.path.isdir(name)
        and (not replace or not (source or any(given)))
    ):
        return KeptFile(file=file, warnings=warnings)
    rendered: bytes | None = None
    if any(given):
        file.contents = content_of.join_given(
            ctx, contents, contents_pillar, contents_grains, newline=contents_newline,
            delimiter=contents_delimiter, allow_empty=allow_empty,
        )  # fmt: skip
        if template and file.contents:
            file.contents = _render_text(ctx, file.contents, template, context, defaults, saltenv)
    elif source:
        origin = {"template": template, "context": context, "defaults": defaults}
        rendered = mark_location(ctx, file, source, source_hash, source_hash_name, origin)
    check = None
    if check_cmd:
        check = Check(command=str(check_cmd), folder=str(tmp_dir or ""), ending=str(tmp_ext or ""))
    return ManagedFile(
        file=file, rendered=rendered, check=check, forget=not keep_source, warnings=warnings
    )


def _no_conflict(
    source: object, context: object, defaults: object, *, keep_mode: bool, has_contents: bool
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


def _render_text(
    ctx: MinionContext, text: str, template: str, context: object, defaults: object, saltenv: str
) -> str:
    if not sources.is_engine(template):
        raise FunctionError(f"Specified template format {template} is not supported")
    return sources.render(ctx, text, template, saltenv, context, defaults)


def serialize(
    ctx: MinionContext,
    name: str,
    dataset: object = None,
    dataset_pillar: object = None,
    user: object = None,
    group: object = None,
    mode: object = None,
    backup: object = "",
    makedirs: bool = False,
    show_changes: Any = True,
    create: bool = True,
    merge_if_exists: bool = False,
    encoding: Any = None,
    encoding_errors: str = "strict",
    serializer: object = None,
    serializer_opts: object = None,
    deserializer_opts: object = None,
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
    show_changes = show_changes and not dataset_pillar  # pillar is secret
    difference: Any = None
    if merge_if_exists:
        there = serial.existing(name, form, deserializer_opts)
        if there is not None:
            dataset = serial.merge_data(there, dataset)
            difference = serial.difference(there, dataset)
            if difference is None:
                comment = f"The file {name} is in the correct state"
                return Verdict(result=True, comment=comment)
    file = File(
        name=name, source_sum={}, wanted=DesiredPermissions(user=user, group=group, mode=mode),
        saltenv=saltenv, contents=serial.content(dataset, form, serializer_opts), backup=backup,
        makedirs=makedirs, show_changes=show_changes, encoding=encoding,
        encoding_errors=encoding_errors,
    )  # fmt: skip
    return ManagedFile(
        file=file, difference=difference if show_changes else None,
        warnings=(DESERIALIZER,) if deserializer_opts and not merge_if_exists else (),
        intention=f"Dataset will be serialized and stored into {name}",
    )  # fmt: skip


def decode(
    ctx: MinionContext,
    name: str,
    encoded_data: object = None,
    contents_pillar: object = None,
    encoding_type: str = "base64",
    checksum: str = "md5",
) -> Declared:
    """A file with what a text in base64 stands for."""
    if not encoded_data and not contents_pillar:
        return failure("Specify either the 'encoded_data' or 'contents_pillar' argument.")
    if encoded_data and contents_pillar:
        return failure("Specify only one 'encoded_data' or 'contents_pillar' argument.")
    wrong = explain_bad_name(name, "decode")
    if wrong:
        return wrong
    if encoding_type != "base64":
        return failure(f"encoding_type: there is no {encoding_type} (only base64)")
    if checksum not in hashes.LENGTHS:
        return failure(f"checksum: there is no {checksum} (there are {', '.join(hashes.LENGTHS)})")
    if contents_pillar:
        encoded_data = traverse(ctx.pillar, contents_pillar, None)
        if encoded_data is None:
            return failure("Pillar data not found.")
    data = copies.decode_base64(encoded_data)
    return copies.Decoded(name=os.path.expanduser(name), data=data, form=checksum)
