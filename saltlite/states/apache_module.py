"""Modules of Apache that are enabled or not, on Debian."""

from __future__ import annotations

from saltlite.modules import apache
from saltlite.states._apache import Enabled


def enabled(name: str) -> Enabled:
    """A module that is enabled."""
    return _declared(name, wanted=True)


def disabled(name: str) -> Enabled:
    """A module that is not enabled."""
    return _declared(name, wanted=False)


def _declared(name: str, *, wanted: bool) -> Enabled:
    return Enabled(
        kind="module",
        name=str(name),
        wanted=wanted,
        check=apache.check_mod_enabled,
        switch=apache.a2enmod if wanted else apache.a2dismod,
    )
