"""HTTP as a client: one request and its answer, or a file that is fetched.

Used by ``http.query``, by the file client for ``http://`` sources, and by whatever else asks the
web. Built on :mod:`urllib.request`, imported only when something is asked.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.numbers import is_digits
from saltlite.disk import write_file
from saltlite.errors import FunctionError
from saltlite.version import __version__
from saltlite.web.deadline import Deadline

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 20.0
TIMEOUT_S = 3600.0
FILE_LIMIT_BYTES = 100 * 1024**3
BODY_LIMIT_BYTES = 100 * 1024 * 1024
PIECE_BYTES = 256 * 1024
SCHEMES = ("http", "https", "ftp")
FILE_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Credentials:
    """What proves who asks. ``repr`` shows none of it."""

    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """What is asked. ``cert`` is a file with certificate and key, or the two files.

    ``timeout_s`` is for all of it, to the last byte, and ``limit_bytes`` for the body.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    credentials: Credentials | None = None
    verify_ssl: bool = True
    ca_bundle: str | None = None
    cert: str | tuple[str, str] | None = None
    timeout_s: float = TIMEOUT_S
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    limit_bytes: int = BODY_LIMIT_BYTES
    follow: bool = True
    """Whether a redirection is followed; else it is the answer."""


@dataclass(frozen=True, slots=True)
class WebBounds:
    """What the configuration says of every request."""

    timeout_s: float = TIMEOUT_S
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    limit_bytes: int = FILE_LIMIT_BYTES

    @classmethod
    def of(cls, config: MasterConfig | MinionConfig) -> WebBounds:
        """``http_request_timeout``, ``http_connect_timeout`` and ``http_max_body``."""
        files = config.files
        return cls(
            files.http_request_timeout or TIMEOUT_S,
            files.http_connect_timeout or CONNECT_TIMEOUT_S,
            files.http_max_body or FILE_LIMIT_BYTES,
        )


@dataclass(frozen=True, slots=True)
class WebReply:
    """What came: also when its status says that it is an error."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


_NO_BOUNDS = WebBounds()


class WebError(FunctionError):
    """No answer came, or none that is meant as one; the text has no address."""


def ask(request: WebRequest) -> WebReply:
    """Send a request and read the whole answer.

    Raises:
        WebError: there is no answer, it took too long, or it is larger than its limit,
            ``BODY_LIMIT_BYTES`` at most.
    """
    limit_bytes = min(request.limit_bytes, BODY_LIMIT_BYTES)
    with _open_response(request) as (response, deadline):
        body = b"".join(_read_pieces(response, deadline, limit_bytes))
        return WebReply(
            status=int(response.status or 0),
            reason=str(response.reason),
            headers=dict(response.headers.items()),
            body=body,
        )


def download(
    url: str,
    target: Path,
    *,
    verify_ssl: bool = True,
    use_etag: bool = False,
    bounds: WebBounds = _NO_BOUNDS,
) -> bool:
    """Fetch a file; ``False`` if the copy at ``target`` is still the same (``use_etag``).

    A user and password in the address are sent as basic authentication.

    Raises:
        WebError: it cannot be fetched; the text says why and which address, without a password.
    """
    try:
        return _download_to(url, target, verify_ssl, use_etag, bounds)
    except WebError as error:
        raise WebError(f"Error: {error} reading {redact_url(url)}") from error


def _download_to(
    url: str, target: Path, verify_ssl: bool, use_etag: bool, bounds: WebBounds
) -> bool:
    etag_file = target.with_name(target.name + ".etag")
    headers = {}
    if use_etag and target.is_file() and etag_file.is_file():
        headers["If-None-Match"] = etag_file.read_text().strip()
    request = WebRequest(
        url=url,
        headers=headers,
        verify_ssl=verify_ssl,
        timeout_s=bounds.timeout_s,
        connect_timeout_s=bounds.connect_timeout_s,
    )
    with _open_response(request) as (response, deadline):
        if response.status == http.client.NOT_MODIFIED:
            return False
        if response.status and response.status >= http.client.BAD_REQUEST:
            raise WebError(f"HTTP {response.status}: {response.reason}")
        write_file(
            target,
            _read_pieces(response, deadline, bounds.limit_bytes),
            mode=FILE_MODE,
            flush=False,
        )
        if use_etag and response.headers.get("Etag"):
            write_file(etag_file, response.headers["Etag"].encode(), mode=FILE_MODE, flush=False)
    return True


def redact_url(url: str) -> str:
    """An address as it may be logged: without user and password."""
    try:
        parsed = urllib.parse.urlsplit(url)
    except ValueError:
        return "an address that is not well formed"
    host = parsed.netloc.rpartition("@")[2]
    return urllib.parse.urlunsplit(parsed._replace(netloc=host))


@contextlib.contextmanager
def _open_response(request: WebRequest) -> Iterator[tuple[Any, Deadline]]:
    """The response, with any status, and when it has to be over; its body is to be read yet."""
    try:
        prepared = _prepare_request(request)
    except ValueError as error:
        raise WebError(str(error)) from error
    deadline = Deadline(request.timeout_s, request.connect_timeout_s)
    opener = urllib.request.build_opener(
        *deadline.handlers(_tls_context(request)), _EveryStatus(request.follow)
    )
    log.debug("%s %s", request.method, redact_url(request.url))
    try:
        response = opener.open(prepared, timeout=deadline.wait_s())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise WebError(_error_words(error)) from error
    with response:
        yield response, deadline


class _EveryStatus(urllib.request.HTTPErrorProcessor):
    """Answers that are errors are answers; redirections are followed, if they may be."""

    def __init__(self, follow: bool) -> None:
        self._follow = follow

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        if self._follow and response.status in (301, 302, 303, 307, 308):
            return super().http_response(request, response)
        return response

    https_response = http_response


def _prepare_request(request: WebRequest) -> urllib.request.Request:
    url, credentials = _without_credentials(request.url)
    parsed = urllib.parse.urlsplit(url)
    if parsed.scheme not in SCHEMES or not parsed.hostname:
        raise WebError(f"Unsupported url scheme: {redact_url(request.url)}")
    quoted = urllib.parse.quote(url, safe="%/:=&?~#+!$,;'@()*[]")
    headers = {"User-Agent": f"Salt/{__version__}", **request.headers}
    prepared = urllib.request.Request(  # noqa: S310 - the scheme was checked above
        quoted, data=request.body, headers=headers, method=request.method
    )
    credentials = request.credentials or credentials
    if credentials is not None:
        prepared.add_unredirected_header("Authorization", _basic_header(credentials))
    return prepared


def _without_credentials(url: str) -> tuple[str, Credentials | None]:
    parsed = urllib.parse.urlsplit(url)
    userinfo, mark, host = parsed.netloc.rpartition("@")
    if not mark:
        return url, None
    user, _, password = userinfo.partition(":")
    clean = urllib.parse.urlunsplit(parsed._replace(netloc=host))
    return clean, Credentials(urllib.parse.unquote(user), urllib.parse.unquote(password))


def _basic_header(credentials: Credentials) -> str:
    import base64

    both = f"{credentials.username}:{credentials.password}".encode()
    return "Basic " + base64.b64encode(both).decode("ascii")


def _tls_context(request: WebRequest) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=request.ca_bundle)
        if isinstance(request.cert, str):
            context.load_cert_chain(request.cert)
        elif request.cert is not None:
            context.load_cert_chain(*request.cert)
    except OSError as error:
        raise WebError(f"certificates cannot be read: {error}") from error
    if not request.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _read_pieces(response: Any, deadline: Deadline, limit_bytes: int) -> Iterator[bytes]:
    """The body piece by piece; an error when it ends early, is too large or takes too long."""
    announced, got = response.headers.get("Content-Length", ""), 0
    while True:
        try:
            deadline.wait_s()
            piece = response.read1(PIECE_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise WebError(_error_words(error)) from error
        if not piece:
            break
        got += len(piece)
        if got > limit_bytes:
            raise WebError(f"more than {limit_bytes} bytes")
        yield piece
    if is_digits(announced) and int(announced) != got:
        raise WebError(f"{got} of {announced} bytes came")


def _error_words(error: Exception) -> str:
    """Why there was no answer. Source: observed on Salt 3006.30."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, OSError) and not isinstance(reason, ssl.SSLError) and reason.errno:
        return f"[Errno {reason.errno}] {reason.strerror or os.strerror(reason.errno)}"
    return str(reason)
