"""Let in whom a web server lets in: name and password are sent to ``^url`` as a form.

Status 200 means that they are right. A list in JSON as the body has entries for the user's access
list, beside those of the configuration. Redirects are not followed: the password would go along.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from saltlite.errors import FunctionError
from saltlite.providers.login import AuthContext
from saltlite.web.client import WebReply, WebRequest, ask

TIMEOUT_S: Final = 5.0
BODY_LIMIT_BYTES: Final = 1024 * 1024
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}


def auth(ctx: AuthContext, username: str, password: str) -> bool:
    """Ask the server."""
    return _ask(_url(ctx), username, password).status == 200


def acl(ctx: AuthContext, username: str, password: str) -> list[Any] | None:
    """Read the entries in the server's answer; no list is none."""
    body = _ask(_url(ctx), username, password).body
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


@lru_cache(maxsize=1)
def _ask(url: str, username: str, password: str) -> WebReply:
    """Ask once for both functions; the process ends with the login."""
    form = urlencode({"username": username, "password": password})
    return ask(
        WebRequest(
            url=url,
            method="POST",
            body=form.encode(),
            headers=FORM,
            timeout_s=TIMEOUT_S,
            limit_bytes=BODY_LIMIT_BYTES,
            follow=False,
        )
    )


def _url(ctx: AuthContext) -> str:
    url = ctx.settings.get("url")
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
        raise FunctionError(f"^url: found {url!r:.80}, allowed: address with http or https")
    return url
