"""Where the content of a managed file comes from: addresses, their hashes, templates."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.errors import FunctionError, SaltliteError
from saltlite.providers.file import hashes
from saltlite.providers.file.content import keep_scratch

if TYPE_CHECKING:
    from saltlite.fileserver.client import FileClient

WEB = ("http", "https", "ftp", "swift", "s3")
NONE_FOUND = "none of the specified sources were found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a content comes from; the fields are called as Salt's arguments.

    ``source`` may be a list, of which the first that is there counts (:func:`choose_source`).
    ``known`` is the hash that the content has to have, as ``{"hash_type", "hsum"}``, empty as long
    as none is known; ``path`` is where the content lies here, empty while it is only at its source.
    """

    source: Any = None
    source_hash: Any = ""
    source_hash_name: Any = None
    saltenv: str = "base"
    skip_verify: bool = False
    verify_ssl: bool = True
    use_etag: bool = False
    known: Mapping[str, str] = field(default_factory=dict)
    path: str = ""

    @property
    def url(self) -> str:
        """The source as a text, of one that is chosen."""
        return str(self.source)

    def hash_type(self, ctx: MinionContext) -> str:
        """The kind of hash that the content is known by."""
        return self.known.get("hash_type") or ctx.config.files.hash_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """How a text becomes another; without an engine (``template``) it stays as it is."""

    template: Any = None
    context: Any = None
    defaults: Any = None

    def refuse_unknown(self) -> None:
        """Raise FunctionError if there is no such engine."""
        from saltlite.templates.template import ENGINES

        if self.template not in ENGINES:
            raise FunctionError(f"Specified template format {self.template} is not supported")

    def render(
        self, ctx: MinionContext, text: str, saltenv: str, *, path: str = "", name: str = ""
    ) -> str:
        """A text rendered, with what lies in ``context`` on top of ``defaults``.

        Raises:
            RenderError: it does not render.
            ValueError: context or defaults are no maps.
        """
        from saltlite.templates.template import render_template

        return render_template(
            text, str(self.template), ctx,
            saltenv=saltenv or "base", context=dict(self.context or {}),
            defaults=dict(self.defaults or {}), path=path, name=name,
        )  # fmt: skip


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


def choose_source(ctx: MinionContext, source: Source) -> Source:
    """The first of several that is there, with its hash; a single one is not looked at.

    Raises:
        FunctionError: none of them is there.
    """
    if not isinstance(source.source, list):
        return source
    for one in source.source:
        url, its_hash = one, source.source_hash
        if isinstance(one, Mapping) and len(one) == 1:
            (url, given), *_ = one.items()
            its_hash = given or its_hash
        if _is_there(ctx, str(url), source.saltenv or "base"):
            return replace(source, source=url, source_hash=its_hash)
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


def find_sum(ctx: MinionContext, source: Source, file_name: str = "") -> dict[str, str]:
    """``{"hash_type", "hsum"}`` of an expression, or from a file with hashes.

    ``file_name`` is looked for there, if there is no ``source_hash_name``.

    Raises:
        FunctionError: there is none.
        OSError: the file with hashes cannot be read.
    """
    given = source.source_hash
    if not isinstance(given, str):
        kind = type(given).__name__
        raise TypeError(f"expected str, bytes or os.PathLike object, not {kind}")
    if not hashes.is_location(given):
        return hashes.from_expression(given)
    path = local_path(given)
    if not is_local(given):
        path = client(ctx).cache_file(given, source.saltenv, verify_ssl=source.verify_ssl)
    if not path:
        raise FunctionError(f"Source hash file {given} not found")
    found = extract(path, "", file_name, source.url, source.source_hash_name)
    if found is None:
        raise hashes.invalid(given)
    return {"hsum": found["hsum"].lower(), "hash_type": found["hash_type"]}


def extract(
    path: str, hash_type: object, file_name: str, source: str, source_hash_name: object
) -> dict[str, str] | None:
    """The hash that a file with hashes has for another file; raises OSError."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        return hashes.extract_hash(lines, hash_type, file_name, source, source_hash_name)


def locate_content(
    ctx: MinionContext, name: str, source: Source, *, lazy: bool = False, here: bool = False
) -> Source:
    """A chosen source with the hash that its content has, and where that lies on this machine.

    Content of the file server stays there unless it shall be ``here``. With ``lazy`` nothing is
    fetched for a file ``name`` that has the hash of its source already.

    Raises:
        FunctionError: there is none, or nobody knows its hash.
        OSError: a file of this machine cannot be read.
    """
    source = replace(source, known=_find_known(ctx, name, source))
    if is_local(source.url):
        return replace(source, path=local_path(source.url))
    if lazy and not here and is_of_web(source.url) and has_content(name, source.known):
        return source
    if not here and not is_of_web(source.url):
        return source
    try:
        path = fetch_copy(ctx, source)
    except SaltliteError as error:
        raise FunctionError(f"Failed to cache {source.url}: {error}") from error
    if not path:
        raise FunctionError(_say_missing(source))
    if source.use_etag and not (source.known or source.skip_verify):
        # The server said that this is what it has now, as a hash would.
        form = source.hash_type(ctx)
        known = {"hash_type": form, "hsum": hashes.file_hash(path, form)}
        source = replace(source, known=known)
    return replace(source, path=path)


def fetch_copy(ctx: MinionContext, source: Source) -> str:
    """The path of a copy in the minion's cache, empty if the source is not there.

    Raises:
        SaltliteError: it cannot be had, or does not have its hash.
    """
    return client(ctx).cache_file(
        source.url, source.saltenv,
        source_hash=source.known.get("hsum") if is_of_web(source.url) else None,
        verify_ssl=source.verify_ssl, use_etag=source.use_etag,
    )  # fmt: skip


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


def _find_known(ctx: MinionContext, name: str, source: Source) -> Mapping[str, str]:
    """The hash that a source shall have."""
    url = source.url
    if scheme_of(url) == "salt":
        found = client(ctx).hash_file(url, source.saltenv)
        if not found:
            raise FunctionError(_say_missing(source))
        return found
    path = local_path(url)
    if is_local(url) and not os.path.exists(path):
        raise FunctionError(f"Local file source {path} does not exist")
    if source.source_hash and not source.skip_verify:
        return find_sum(ctx, source, name)
    if is_local(url):
        form = ctx.config.files.hash_type
        return {"hsum": hashes.file_hash(path, form), "hash_type": form}
    if source.skip_verify or source.use_etag:
        return {}
    raise unverified(source.url)


def _say_missing(source: Source) -> str:
    return f"Source file {source.url} not found in saltenv '{source.saltenv}'"


def unverified(url: str) -> FunctionError:
    """Salt's sentence about a source whose content nothing says to be right."""
    return FunctionError(
        f"Unable to verify upstream hash of source file {url}, please set source_hash or set"
        " skip_verify or use_etag to True"
    )


def render_source(
    ctx: MinionContext, name: str, source: Source, template: Template, seen: Mapping[str, Any]
) -> bytes:
    """The content of a source that is here, rendered.

    A template sees ``name``, ``source`` and ``seen`` (``user``, ``group``, ``mode``, ``attrs``),
    below what its defaults and context say.

    Raises:
        FunctionError: there is no such engine.
        RenderError: the template does not render.
    """
    template.refuse_unknown()
    with open(source.path, encoding="utf-8", newline="") as file:
        text = file.read()
    url = source.url
    inner = url.removeprefix("salt://").partition("?")[0] if scheme_of(url) == "salt" else ""
    below = {"name": name, "source": source.source, **seen, **dict(template.defaults or {})}
    whole = replace(template, defaults=below)
    return whole.render(ctx, text, source.saltenv, path=source.path, name=inner).encode()


def fetch_managed(
    ctx: MinionContext, name: str, source: Source, template: Template, seen: Mapping[str, Any]
) -> tuple[str, Mapping[str, str], str]:
    """Path of the content of a managed file, its hash and a complaint, as ``file.get_managed``.

    Without a path the content is still at its source; that of a template is in a scratch file.

    Raises:
        RenderError: the template does not render.
        OSError: a file of this machine cannot be read.
    """
    if not source.source:
        return "", {}, ""
    try:
        found = locate_content(ctx, name, source, here=bool(template.template))
    except FunctionError as error:
        return "", {}, str(error)
    if not template.template:
        return found.path, found.known, ""
    try:
        data = render_source(ctx, name, found, template, seen)
    except FunctionError as error:
        return found.path, {}, str(error)
    form = ctx.config.files.hash_type
    scratch = keep_scratch(data)
    return scratch, {"hash_type": form, "hsum": hashes.file_hash(scratch, form)}, ""
