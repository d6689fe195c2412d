"""``http_json`` and ``http_yaml``: what a web server says.

``%s`` in the address is the minion's id, and with ``with_grains`` ``<os>`` the value of a grain;
both are quoted. Source: Salt's documentation of the drivers.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import traverse
from saltlite.core.lazyregex import regex
from saltlite.pillar.external import ExternalFailed
from saltlite.templates.pipe import TemplateSource, render

_GRAIN = regex(r"<(.*?)>")


def source_with(renderer: str) -> Callable[..., Mapping[str, Any]]:
    """The source whose text this renderer reads."""

    def source(
        ctx: MinionContext,
        _pillar: Mapping[str, object],
        url: str,
        with_grains: bool = False,
        header_dict: Mapping[str, str] | None = None,
        auth: str | None = None,
        username: str | None = None,
        password: str | None = None,
        namespace: str | None = None,
    ) -> Mapping[str, Any]:
        """Ask the server and read its answer; raises ExternalFailed."""
        from saltlite.web.client import Credentials, WebBounds, WebRequest, ask

        credentials = Credentials(username, password or "") if username else None
        bounds = WebBounds.of(ctx.config)
        request = WebRequest(
            url=_build_address(ctx, url, with_grains),
            headers=header_dict or {},
            credentials=credentials,
            timeout_s=bounds.timeout_s,
            connect_timeout_s=bounds.connect_timeout_s,
            limit_bytes=bounds.limit_bytes,
        )
        reply = ask(request)
        if reply.status >= 400:
            raise ExternalFailed(f"the server answers {reply.status} {reply.reason}")
        text = reply.body.decode("utf-8", "replace")
        data = render(TemplateSource(text=text, path="the server's answer"), ctx, renderer=renderer)
        if not isinstance(data, Mapping):
            raise ExternalFailed("the server's answer is no dictionary")
        return {namespace: data} if namespace else data

    return source


def _build_address(ctx: MinionContext, url: str, with_grains: bool) -> str:
    url = url.replace("%s", urllib.parse.quote(ctx.config.identity.id))
    if not with_grains:
        return url

    def value(match: re.Match[str]) -> str:
        found = traverse(ctx.grains, match[1])
        if found is None:
            raise ExternalFailed(f"there is no grain {match[1]}")
        return urllib.parse.quote(str(found))

    return _GRAIN.sub(value, url)
