"""Ask web servers. Source: observed on Salt 3006.30."""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError
from saltlite.fileserver.copies import replace_file

DECODE_TYPES = ("json", "xml", "yaml", "plain")
OUT_MODE = 0o600
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """What may be said of a request; ``None`` is what nobody said.

    The two renderers are ``None`` where what comes from a file is not a template.
    """

    test: Any = None
    test_url: object = None
    method: object = None
    params: Any = None
    data: Any = None
    data_file: Any = None
    data_renderer: str | None = None
    header_dict: Mapping[str, object] | None = None
    header_list: Iterable[object] | None = None
    header_file: Any = None
    header_renderer: str | None = None
    template_dict: Any = None
    agent: object = None
    auth: object = None
    username: object = None
    password: object = None
    verify_ssl: object = True
    ca_bundle: Any = None
    cert: Any = None
    timeout: Any = None
    raise_error: Any = True
    status: bool = False
    headers: bool = False
    text: bool = False
    text_out: Any = None
    headers_out: Any = None
    decode_out: Any = None
    decode: bool = False
    decode_type: Any = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> QueryOptions:
        """Of keyword arguments; ``data_render`` and ``header_render`` say whether to render."""
        engines = {
            f"{part}_renderer": str(given.get(f"{part}_renderer", ""))
            if given.get(f"{part}_render")
            else None
            for part in ("data", "header")
        }
        return read_fields(cls, {**given, **engines})


def query(ctx: MinionContext, url: str, **kwargs: Any) -> dict[str, Any]:
    """Ask a web server and return ``{"body"}``, or ``{"error"}`` with a ``status`` if it says no.

    ``method``, ``params`` (into the address), ``data`` (text, or a map that becomes a form),
    ``data_file``; ``header_dict``, ``header_list``, ``header_file``, ``agent``; ``username`` and
    ``password``, or both in a list as ``auth``; ``verify_ssl``, ``ca_bundle``, ``cert``;
    ``timeout`` in seconds.
    ``data_render`` and ``header_render`` render what comes from a file, with ``template_dict``.

    ``status``, ``headers`` and ``text`` add these to the answer. ``decode`` adds ``dict``, by
    ``decode_type`` (json, xml, yaml, plain) or the answer's own. ``text_out``, ``decode_out`` and
    ``headers_out`` are files to write. With ``raise_error=False`` a refusal is a body as any other.

    CLI Example:

        salt '*' http.query http://somelink.com/
        salt '*' http.query http://somelink.com/ method=POST params='{key1: val1}'
        salt '*' http.query http://somelink.com/ method=POST data='<xml>somecontent</xml>'
    """
    from saltlite.web import client as web

    options = QueryOptions.of(own_keywords(kwargs))
    test = ctx.config.files.test if options.test is None else options.test
    if test and not options.test_url:
        return {}
    given_up = options.raise_error
    _check_address(url)
    try:
        reply = web.ask(_send_request(ctx, url, options))
    except web.WebError as error:
        if not given_up:
            return {"body": None}
        return ({"status": 0} if options.status else {}) | {"error": str(error)}
    answer = {"test": True} if test else {}
    if given_up and reply.status >= 400:
        refused = {"status": reply.status, "error": f"HTTP {reply.status}: {reply.reason}"}
        return answer | refused | {"body": _decode_text(reply.body)}
    return answer | _build_answer(reply, options)


def wait_for_successful_query(
    ctx: MinionContext, url: str, wait_for: float = 300, **kwargs: Any
) -> dict[str, Any]:
    """Ask until the answer is no error, for ``wait_for`` seconds; the last answer.

    ``request_interval`` is the time between two tries, in seconds.

    CLI Example:

        salt '*' http.wait_for_successful_query http://somelink.com/ wait_for=160
    """
    pause_s = float(kwargs.pop("request_interval", 1))
    deadline_s = time.monotonic() + float(wait_for)
    while True:
        answer = query(ctx, url, **kwargs)
        left_s = deadline_s - time.monotonic()
        if "error" not in answer or left_s <= 0:
            return answer
        time.sleep(min(pause_s, left_s))


def _check_address(url: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise FunctionError(f"Unsupported url scheme: {url}")


def _send_request(ctx: MinionContext, url: str, options: QueryOptions) -> Any:
    from saltlite.web import client as web

    method = str(options.method or "GET").upper()
    headers = _build_headers(ctx, options)
    body = _build_body(ctx, options)
    if method == "POST" and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = FORM
    cert = options.cert
    bounds = web.WebBounds.of(ctx.config)
    return web.WebRequest(
        url=_with_query(url, options.params),
        method=method,
        body=b"" if body is None and method in ("POST", "PUT", "PATCH") else body,
        headers=headers,
        credentials=_read_credentials(options),
        verify_ssl=bool(options.verify_ssl),
        ca_bundle=options.ca_bundle,
        cert=tuple(cert) if isinstance(cert, (list, tuple)) else cert,
        timeout_s=float(options.timeout or bounds.timeout_s),
        connect_timeout_s=bounds.connect_timeout_s,
        limit_bytes=bounds.limit_bytes,
    )


def _with_query(url: str, params: Any) -> str:
    if not params:
        return url
    text = params if isinstance(params, str) else urllib.parse.urlencode(params, doseq=True)
    return f"{url}{'&' if '?' in url else '?'}{text}"


def _read_credentials(options: QueryOptions) -> Any:
    from saltlite.web.client import Credentials

    auth = options.auth
    if isinstance(auth, (list, tuple)) and len(auth) == 2:
        return Credentials(str(auth[0]), str(auth[1]))
    if options.username:
        return Credentials(str(options.username), str(options.password or ""))
    return None


def _build_headers(ctx: MinionContext, options: QueryOptions) -> dict[str, str]:
    lines: list[str] = []
    if options.header_file:
        text = _file_text(ctx, options.header_file, options, options.header_renderer)
        lines += text.splitlines()
    lines += [str(line) for line in options.header_list or ()]
    headers: dict[str, str] = {}
    for line in lines:
        name, mark, value = line.partition(":")
        if mark:
            headers[name.strip()] = value.strip()
    headers |= {str(name): str(value) for name, value in (options.header_dict or {}).items()}
    if options.agent:
        headers = {name: headers[name] for name in headers if name.lower() != "user-agent"}
        headers["User-Agent"] = str(options.agent)
    if any("\n" in text or "\r" in text for pair in headers.items() for text in pair):
        raise FunctionError("a header holds a line break")
    return headers


def _build_body(ctx: MinionContext, options: QueryOptions) -> bytes | None:
    data = options.data
    if options.data_file:
        data = _file_text(ctx, options.data_file, options, options.data_renderer)
    if isinstance(data, Mapping):
        data = urllib.parse.urlencode(data, doseq=True)
    if data is None or isinstance(data, bytes):
        return data
    return str(data).encode()


def _file_text(ctx: MinionContext, path: str, options: QueryOptions, engine: str | None) -> str:
    """The text of a file; rendered by an engine, unless that is ``None``."""
    content = ctx.host.read_bytes(path)
    if content is None:
        raise FunctionError(f"cannot read {path}")
    text = content.decode("utf-8", "replace")
    if engine is None:
        return text
    from saltlite.templates.template import render_template

    variables = options.template_dict or {}
    rendered = render_template(text, engine or "jinja", ctx, context=variables, path=path)
    return rendered.removesuffix("\n")


def _build_answer(reply: Any, options: QueryOptions) -> dict[str, Any]:
    text = _decode_text(reply.body)
    answer: dict[str, Any] = {"body": text}
    shown = "".join(f"{name}: {value}\n" for name, value in reply.headers.items())
    if options.status:
        answer["status"] = reply.status
    if options.headers:
        answer["headers"] = shown
    if options.text:
        answer["text"] = text
    kept = ((options.text_out, text), (options.headers_out, shown), (options.decode_out, text))
    for path, content in kept:
        if path:
            replace_file(Path(path), content.encode(), new_mode=OUT_MODE)
    if options.decode:
        answer |= _decode_body(text, options.decode_type or "auto", reply.headers)
    return answer


def _decode_text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise FunctionError(str(error)) from error


def _decode_body(text: str, kind: str, headers: Mapping[str, str]) -> dict[str, Any]:
    if kind == "auto":
        content_type = {name.lower(): value for name, value in headers.items()}.get(
            "content-type", "application/json"
        )
        kind = next((name for name in DECODE_TYPES[:3] if name in content_type), "plain")
    if kind not in DECODE_TYPES:
        return {"error": f"Invalid decode_type specified. Valid decode types are: {DECODE_TYPES!r}"}
    if kind == "plain":
        return {"text": text}
    return {"dict": _READERS[kind](text)}


def _parse_json(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError as error:
        raise FunctionError(f"the answer is no JSON: {error}") from error


def _parse_yaml(text: str) -> Any:
    from saltlite.config.yaml import load_plain

    return load_plain(text)


def _parse_xml(text: str) -> Any:
    from xml.etree import ElementTree

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FunctionError("the answer is XML with a document type, which is not read")
    try:
        return _convert_element(ElementTree.fromstring(text))  # noqa: S314 - without entities, see above
    except ElementTree.ParseError as error:
        raise FunctionError(f"the answer is no XML: {error}") from error


def _convert_element(element: Any) -> Any:
    """The text of an element, or one map for each element in it."""
    if len(element) == 0:
        return element.text
    return [{child.tag.rpartition("}")[2]: _convert_element(child)} for child in element]


_READERS = {"json": _parse_json, "yaml": _parse_yaml, "xml": _parse_xml}
