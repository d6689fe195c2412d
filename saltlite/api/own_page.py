"""The page that comes with saltlite: served at ``/`` to browsers where no ``app`` is set.

Files without a build step, from the directory ``page``. What they may do is what their own policy
says: load and call what comes from this server, and nothing else. They hold no rights: they call
the same paths as everybody, with the session of who logged in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from saltlite.api.messages import Answer, Request
from saltlite.api.negotiation import HTML, HTML_PAGE, read_accept
from saltlite.api.static_files import serve_below, serve_file

DIRECTORY: Final = os.path.join(os.path.dirname(__file__), "page")
FOLDER: Final = "page"
"""The part of the path before the files that the page loads."""

HEADERS: Final = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-cache"),  # another version's files must not be mixed with these
)


def serve_own_page(request: Request, parts: Sequence[str]) -> Answer | None:
    """The answer to a browser that asks for the page or for one of its files, else ``None``.

    Raises:
        HttpError: 404 or 403, there is no such file.
    """
    if len(parts) == 2 and parts[0] == FOLDER:
        answer = serve_below(DIRECTORY, parts[1:], request)
    elif not parts and _names_html(request.headers.get("accept")):
        if not request.path.endswith("/"):  # what the page loads is named relative to it
            here = "".join(f"/{quote(part, safe='')}" for part in request.parts)
            return Answer(status=301, headers=[("Location", f"{here}/")])
        answer = serve_file(os.path.join(DIRECTORY, "index.html"), request, media_type=HTML_PAGE)
    else:
        return None
    answer.headers += HEADERS
    return answer


def _names_html(accept: str | None) -> bool:
    """Whether HTML is asked for by its name: ``*/*`` of a script means the answer in JSON."""
    return any(one.name == HTML for one in read_accept(accept or ""))
