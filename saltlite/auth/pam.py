"""Let in accounts of this machine, as PAM says. Groups are those of the account.

The option ``auth.pam.service`` names the service of PAM; a caller cannot (CVE-2016-3176). An
account that is locked or has expired gets in no more than one whose password is wrong
(CVE-2022-22967).
"""

from __future__ import annotations

from saltlite.providers import pam
from saltlite.providers.login import AuthContext

SERVICE = "login"


def auth(ctx: AuthContext, username: str, password: str) -> bool:
    """Ask PAM for the password, and for the state of the account."""
    return bool(password) and pam.check_password(_service(ctx), username, password)


def groups(ctx: AuthContext, username: str) -> list[str]:
    """Name all groups of the account."""
    return pam.find_groups(username)


def is_valid(ctx: AuthContext, username: str) -> bool:
    """Ask for the state of the account alone."""
    return pam.check_account(_service(ctx), username)


def _service(ctx: AuthContext) -> str:
    return str(ctx.opts.get("auth.pam.service") or SERVICE)
