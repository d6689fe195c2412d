"""The content of a file from its source, or what says why there is none."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, RenderError
from saltlite.providers.file import content, permissions, sources
from saltlite.providers.file.managed import File
from saltlite.states._file.checks import system_errors


def mark_location(
    ctx: MinionContext,
    file: File,
    source: object,
    source_hash: object,
    source_hash_name: object,
    origin: dict[str, Any],
) -> bytes | None:
    """Say in the file where its content is; gives back the content if a template made it."""
    prefix = "Unable to manage file: "
    own = file.wanted
    mode = None if own.mode is None else permissions.normalize_mode(own.mode)
    seen = {"user": own.user, "group": own.group, "mode": mode, "attrs": own.attrs}
    try:
        source, source_hash = sources.choose_source(ctx, source, source_hash, file.saltenv)
        with system_errors():
            file.sfn, file.source_sum, complaint = sources.fetch_managed(
                ctx, file.name, source, source_hash, source_hash_name, file.saltenv,
                skip_verify=file.skip_verify, verify_ssl=file.verify_ssl,
                use_etag=file.use_etag, lazy=True, seen=seen, **origin,
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
    content.drop_scratch(file.sfn)
    return data
