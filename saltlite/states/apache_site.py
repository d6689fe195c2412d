"""Sites of Apache that are enabled or not, on Debian."""

from __future__ import annotations

from saltlite.modules import apache
from saltlite.states._apache import Enabled


def enabled(name: str) -> Enabled:
    """A site that is enabled."""
    return _declare_site(name, wanted=True)


def disabled(name: str) -> Enabled:
    """A site that is not enabled."""
    return _declare_site(name, wanted=False)


def _declare_site(name: str, *, wanted: bool) -> Enabled:
    return Enabled(
        kind="site",
        name=str(name),
        wanted=wanted,
        check=apache.check_site_enabled,
        switch=apache.a2ensite if wanted else apache.a2dissite,
    )
