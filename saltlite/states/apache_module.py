"""Modules of Apache that are enabled or not, on Debian."""

from __future__ import annotations

from saltlite.modules import apache
from saltlite.states._apache import Enabled


def enabled(name: str) -> Enabled:
    """A module that is enabled."""
    return _declare_module(name, wanted=True)


def disabled(name: str) -> Enabled:
    """A module that is not enabled."""
    return _declare_module(name, wanted=False)


def _declare_module(name: str, *, wanted: bool) -> Enabled:
    return Enabled(
        kind="module",
        name=str(name),
        wanted=wanted,
        check=apache.check_mod_enabled,
        switch=apache.a2enmod if wanted else apache.a2dismod,
    )
