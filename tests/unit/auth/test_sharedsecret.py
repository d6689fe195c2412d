"""The modules of external authentication that compare two texts: auto and sharedsecret."""

from __future__ import annotations

from typing import Any

from saltlite.auth import auto, sharedsecret
from saltlite.providers.login import AuthContext


def settings(**values: Any) -> AuthContext:
    return AuthContext({}, values)


def test_auto_and_sharedsecret() -> None:
    assert auto.auth(settings(), "anybody", "") is True
    for secret in (None, "", 5, ["x"]):
        assert sharedsecret.auth(AuthContext({"sharedsecret": secret}), "a", "") is False
    known = AuthContext({"sharedsecret": "wört"})
    assert sharedsecret.auth(known, "a", "wört") is True
    assert sharedsecret.auth(known, "a", "wort") is False
