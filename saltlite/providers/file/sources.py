"""Where the content of a managed file comes from: addresses, their hashes, templates."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.providers.file import hashes
from saltlite.providers.file.content import keep_scratch

if TYPE_CHECKING:
    from saltlite.fileserver.client import FileClient

WEB = ("http", "https", "ftp", "swift", "s3")
NONE_FOUND = "none of the specified sources were found"

Managed = tuple[str, dict[str, str], str]
"""Path of the content, its hash and a complaint; an empty path: still at its source."""


def client(ctx: MinionContext) -> FileClient:
    """The file client of a context."""
    from saltlite.fileserver.client import file_client

    return file_client(ctx)


def scheme_of(source: str) -> str:
    """``salt``, ``http`` ...; empty for a path."""
    scheme, found, _ = source.partition("://")
    return scheme.lower() if found else ""


def local_path(source: str) -> str:
    """The path that a ``file://`` address names, or the path itself."""
    if scheme_of(source) == "file":
        return urllib.parse.unquote(source.partition("://")[2])
    return source


def is_local(source: str) -> bool:
    """Whether a source is a file of this machine."""
    return scheme_of(source) in ("", "file")


def is_of_web(source: str) -> bool:
    """Whether a source is neither of this machine nor of the file server."""
    return scheme_of(source) in WEB


def choose_source(
    ctx: MinionContext, source: object, source_hash: object, saltenv: Any
) -> tuple[Any, Any]:
    """The first of several sources that is there, and its hash; a single one is not looked at.

    Raises:
        FunctionError: none of them is there.
    """
    if not isinstance(source, list):
        return source, source_hash
    for one in source:
        name, its_hash = one, source_hash
        if isinstance(one, Mapping) and len(one) == 1:
            (name, given), *_ = one.items()
            its_hash = given or source_hash
        if _is_there(ctx, str(name), saltenv or "base"):
            return name, its_hash
    raise FunctionError(NONE_FOUND)


def _is_there(ctx: MinionContext, source: str, saltenv: str) -> bool:
    scheme = scheme_of(source)
    if is_local(source):
        path = local_path(source)
        return os.path.isabs(path) and os.path.exists(path)
    if scheme == "salt":
        return _on_the_server(ctx, source, saltenv)
    try:
        return bool(client(ctx).cache_file(source, saltenv))
    except SaltliteError:
        return False


def _on_the_server(ctx: MinionContext, source: str, saltenv: str) -> bool:
    """Whether the file server has a file or directory."""
    from saltlite.fileserver.paths import split_url

    files = client(ctx)
    if files.hash_file(source, saltenv) is not None:
        return True
    location = split_url(source)
    env = location.saltenv or saltenv
    return location.path.rstrip("/") in files.list_dirs(env, location.path)


def source_sum(
    ctx: MinionContext,
    file_name: str,
    source: str,
    source_hash: object,
    source_hash_name: object,
    saltenv: str,
    *,
    verify_ssl: bool = True,
) -> dict[str, str]:
    """``{"hash_type", "hsum"}`` of an expression, or from a file with hashes.

    Raises:
        FunctionError: there is none.
        OSError: the file with hashes cannot be read.
    """
    if not isinstance(source_hash, str):
        kind = type(source_hash).__name__
        raise TypeError(f"expected str, bytes or os.PathLike object, not {kind}")
    if not hashes.is_location(source_hash):
        return hashes.from_expression(source_hash)
    path = local_path(source_hash)
    if not is_local(source_hash):
        path = client(ctx).cache_file(source_hash, saltenv, verify_ssl=verify_ssl)
    if not path:
        raise FunctionError(f"Source hash file {source_hash} not found")
    found = extract(path, "", file_name, source, source_hash_name)
    if found is None:
        raise hashes.invalid(source_hash)
    return {"hsum": found["hsum"].lower(), "hash_type": found["hash_type"]}


def extract(
    path: str, hash_type: object, file_name: str, source: str, source_hash_name: object
) -> dict[str, str] | None:
    """The hash that a file with hashes has for another file; raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        return hashes.extract_hash(lines, hash_type, file_name, source, source_hash_name)


def fetch_managed(
    ctx: MinionContext,
    name: str,
    source: Any,
    source_hash: object,
    source_hash_name: object,
    saltenv: str,
    *,
    template: Any = None,
    context: object = None,
    defaults: Any = None,
    seen: Mapping[str, Any] | None = None,
    skip_verify: bool = False,
    verify_ssl: bool = True,
    use_etag: bool = False,
    lazy: bool = False,
) -> Managed:
    """Have the content of a managed file, rendered if it is a template.

    A template sees ``name``, ``source`` and ``seen`` (``user``, ``group``, ``mode``, ``attrs``),
    below what its defaults and context say. With ``lazy`` nothing is fetched for a file that has
    the hash of its source already.

    Raises:
        RenderError: the template does not render.
        OSError: a file of this machine cannot be read.
    """
    if not source:
        return "", {}, ""
    try:
        found = _locate_hash(
            ctx, name, str(source), source_hash, source_hash_name, saltenv,
            skip_verify, verify_ssl, use_etag,
        )  # fmt: skip
    except FunctionError as error:
        return "", {}, str(error)
    if isinstance(found, str):
        return "", {}, found
    path = local_path(source) if is_local(source) else ""
    if lazy and not template and found and has_content(name, found):
        return "", found, ""
    if not path and (template or scheme_of(source) in WEB):
        path, complaint = _fetch_copy(ctx, source, saltenv, found, verify_ssl, use_etag)
        if complaint:
            return "", {}, complaint
    if not template:
        return path, found, ""
    below = {"name": name, "source": source, **(seen or {}), **dict(defaults or {})}
    return _render_source(ctx, path, str(source), str(template), saltenv, context, below)


def has_content(name: str, wanted: Mapping[str, str]) -> bool:
    """Whether a file has the wanted hash already; it has not where none is wanted."""
    if not wanted:
        return False
    try:
        return (
            os.path.isfile(name) and hashes.file_hash(name, wanted["hash_type"]) == wanted["hsum"]
        )
    except OSError:
        return False


def _locate_hash(
    ctx: MinionContext,
    name: str,
    source: str,
    source_hash: object,
    source_hash_name: object,
    saltenv: str,
    skip_verify: bool,
    verify_ssl: bool,
    use_etag: bool,
) -> dict[str, str] | str:
    """The hash that a source shall have, or a complaint."""
    if scheme_of(source) == "salt":
        found = client(ctx).hash_file(source, saltenv)
        return found or f"Source file {source} not found in saltenv '{saltenv}'"
    path = local_path(source)
    if is_local(source) and not os.path.exists(path):
        return f"Local file source {path} does not exist"
    if source_hash and not skip_verify:
        return source_sum(
            ctx, name, source, source_hash, source_hash_name, saltenv, verify_ssl=verify_ssl
        )
    if is_local(source):
        form = ctx.config.files.hash_type
        return {"hsum": hashes.file_hash(path, form), "hash_type": form}
    if skip_verify or use_etag:
        return {}
    return (
        f"Unable to verify upstream hash of source file {source}, please set source_hash or set"
        " skip_verify or use_etag to True"
    )


def _fetch_copy(
    ctx: MinionContext,
    source: str,
    saltenv: str,
    wanted: Mapping[str, str],
    verify_ssl: bool,
    use_etag: bool,
) -> tuple[str, str]:
    """The path of the copy, and a complaint."""
    try:
        path = client(ctx).cache_file(
            source,
            saltenv,
            source_hash=wanted.get("hsum") if scheme_of(source) in WEB else None,
            verify_ssl=verify_ssl,
            use_etag=use_etag,
        )
    except SaltliteError as error:
        return "", f"Failed to cache {source}: {error}"
    return path, "" if path else f"Source file {source} not found in saltenv '{saltenv}'"


def _render_source(
    ctx: MinionContext,
    path: str,
    source: str,
    template: str,
    saltenv: str,
    context: object,
    defaults: object,
) -> Managed:
    if not is_engine(template):
        return path, {}, f"Specified template format {template} is not supported"
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    name = source.removeprefix("salt://").partition("?")[0] if scheme_of(source) == "salt" else ""
    data = render(ctx, text, template, saltenv, context, defaults, path=path, name=name).encode()
    form = ctx.config.files.hash_type
    scratch = keep_scratch(data)
    return scratch, {"hash_type": form, "hsum": hashes.file_hash(scratch, form)}, ""


def is_engine(template: str) -> bool:
    """Whether there is a template engine of this name."""
    from saltlite.templates.template import ENGINES

    return template in ENGINES


def render(
    ctx: MinionContext,
    text: str,
    template: str,
    saltenv: str,
    context: Any,
    defaults: Any,
    *,
    path: str = "",
    name: str = "",
) -> str:
    """A text template with what lies in ``context`` on top of ``defaults``.

    Raises:
        RenderError: it does not render.
        ValueError: context or defaults are no maps.
    """
    from saltlite.templates.template import render_template

    return render_template(
        text,
        template,
        ctx,
        saltenv=saltenv or "base",
        context=dict(context or {}),
        defaults=dict(defaults or {}),
        path=path,
        name=name,
    )
