"""``salt.utils.url``."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from saltlite.fileserver.paths import split_url

_AUTH = re.compile(r"(?<=://)[^/@]*@")


def parse(url: str) -> tuple[str, str | None]:
    """Path and environment of ``salt://path?saltenv=env``."""
    if not url.startswith("salt://"):
        return url, None
    location = split_url(url)
    return location.path, location.saltenv


def create(path: str, saltenv: str | None = None) -> str:
    """The URL of a path."""
    query = f"?saltenv={saltenv}" if saltenv else ""
    return f"salt://{path.lstrip('/')}{query}"


def is_escaped(url: str) -> bool:
    """Whether a URL begins with ``|``."""
    return url.removeprefix("salt://").startswith("|")


def escape(url: str) -> str:
    """The same URL, whose ``?`` means nothing."""
    if is_escaped(url):
        return url
    return f"salt://|{url[7:]}" if url.startswith("salt://") else f"|{url}"


def unescape(url: str) -> str:
    """The URL without ``|``."""
    head = "salt://" if url.startswith("salt://") else ""
    return f"{head}{url.removeprefix(head).lstrip('|')}"


def add_env(url: str, saltenv: str) -> str:
    """The URL in an environment."""
    if not url.startswith("salt://"):
        return url
    return create(parse(url)[0], saltenv)


def split_env(url: str) -> tuple[str, str | None]:
    """The URL without its environment, and that."""
    if not url.startswith("salt://"):
        return url, None
    path, saltenv = parse(url)
    return create(path), saltenv


def validate(url: str, protos: list[str] | tuple[str, ...]) -> bool:
    """Whether a URL has one of the schemes."""
    return urlsplit(url).scheme in protos


def strip_proto(url: str) -> str:
    """The URL without its scheme."""
    return re.sub("^[^:/]+://", "", url)


def add_http_basic_auth(
    url: str, user: str | None = None, password: str | None = None, https_only: bool = False
) -> str:
    """The URL with user and password.

    Raises:
        ValueError: it is no URL for one.
    """
    if user is None and password is None:
        return url
    parts = urlsplit(url)
    if https_only and parts.scheme != "https":
        raise ValueError("Basic Auth only supported for HTTPS")
    if not parts.netloc:
        raise ValueError(f"invalid URL {url}")
    secret = "" if password is None else f":{password}"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user or ''}{secret}@{host}"))


def redact_http_basic_auth(output: str) -> str:
    """A text whose URLs do not tell passwords."""
    return _AUTH.sub("<redacted>@", output)
