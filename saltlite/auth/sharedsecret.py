"""Let in whoever knows the option ``sharedsecret``, under any name."""

from __future__ import annotations

import hmac

from saltlite.providers.login import AuthContext


def auth(ctx: AuthContext, username: str, password: str) -> bool:
    """Compare the password with the option; without one nobody gets in."""
    secret = ctx.opts.get("sharedsecret")
    if not isinstance(secret, str) or not secret:
        return False
    return hmac.compare_digest(
        password.encode("utf-8", "surrogateescape"), secret.encode("utf-8", "surrogateescape")
    )
