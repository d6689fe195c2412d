"""``auth.*``: tokens of external authentication."""

from __future__ import annotations

from typing import Any

from saltlite.core.plain import Plain
from saltlite.errors import MasterRefused
from saltlite.runner_context import RunnerContext


def mk_token(ctx: RunnerContext, **load: Any) -> Plain:
    """Have the running master check a login and make a token; ``""`` if the login is wrong.

    The password and the token are on no record and no event.

    CLI Example:

        salt-run auth.mk_token username=saltdev password=saltdev eauth=pam
        salt-run auth.mk_token username=saltdev password=saltdev eauth=pam token_expire=3600
    """
    names = ("eauth", "username", "password", "token_expire")
    shown = {name: load[name] for name in names if name in load}
    texts = {name: str(value) for name, value in shown.items() if name != "token_expire"}
    try:
        return ctx.local.call_master({**shown, **texts, "cmd": "mk_token"})
    except MasterRefused as error:
        if error.name:
            raise
        return ""


def del_token(ctx: RunnerContext, token: str) -> bool:
    """Remove a token; whether there was one.

    CLI Example:

        salt-run auth.del_token 6556760736e4077daa601baec2b67c24
    """
    return ctx.forget_token(str(token))
