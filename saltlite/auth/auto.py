"""Let everybody in, with whatever password. For tests alone."""

from __future__ import annotations

from saltlite.providers.login import AuthContext


def auth(ctx: AuthContext, username: str, password: str) -> bool:
    """Believe anybody."""
    return True
