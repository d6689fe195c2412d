"""``salt.utils.http``."""

from __future__ import annotations

from typing import Any

from saltlite.compat.salt.exceptions import CommandExecutionError
from saltlite.loader.surroundings import CURRENT


def query(url: str, method: str = "GET", **kwargs: Any) -> Any:
    """What a web server answers: the function ``http.query``.

    Raises:
        CommandExecutionError: it is not there.
    """
    around = CURRENT.get(None)
    if around is None or "http.query" not in around.salt:
        raise CommandExecutionError("'http.query' is not available.")
    for name in ("opts", "backend"):
        kwargs.pop(name, None)
    return around.salt["http.query"](url, method=method, **kwargs)
