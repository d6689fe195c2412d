"""Configurations of Apache that are enabled or not, on Debian."""

from __future__ import annotations

from saltlite.modules import apache
from saltlite.states._apache import Enabled


def enabled(name: str) -> Enabled:
    """A configuration that is enabled."""
    return _declare_conf(name, wanted=True)


def disabled(name: str) -> Enabled:
    """A configuration that is not enabled."""
    return _declare_conf(name, wanted=False)


def _declare_conf(name: str, *, wanted: bool) -> Enabled:
    return Enabled(
        kind="conf",
        name=str(name),
        wanted=wanted,
        check=apache.check_conf_enabled,
        switch=apache.a2enconf if wanted else apache.a2disconf,
    )
