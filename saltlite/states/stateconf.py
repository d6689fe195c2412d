"""``stateconf.*``: parameters for the renderer stateconf; applying them does nothing."""

from __future__ import annotations

from typing import Any

from saltlite.highstate.resource import Declared, Verdict


def set_(name: str, **kwargs: Any) -> Declared:
    """Succeed; the renderer has read the parameters."""
    return Verdict(result=True, comment="")


def context(name: str, **kwargs: Any) -> Declared:
    """Succeed; nothing reads these parameters."""
    return Verdict(result=True, comment="")
