"""Checks one login by its module. Runs in a process of its own, and may take long.

Only modules that ``external_auth`` names are asked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from saltlite.config.master import MasterConfig
from saltlite.config.opts import flat_opts
from saltlite.core.access import GROUPS_LIMIT, SETTING_SIGN, find_fault, valid_login_name
from saltlite.errors import SaltliteError
from saltlite.loader.auth import load_module, module_names
from saltlite.master.loginproof import LoginProof
from saltlite.master.refusals import printable
from saltlite.providers.login import AuthContext

log = logging.getLogger(__name__)

PASSWORD_LIMIT: Final = 4096
ENTRIES_LIMIT: Final = 10_000


def is_usable(config: MasterConfig, eauth: object) -> bool:
    """Whether a module is there, named in ``external_auth``, and its block without a fault."""
    return (
        isinstance(eauth, str)
        and eauth in config.access.external_auth
        and eauth in module_names(config)
        and not find_fault(config.access.external_auth[eauth])
    )


def check_login(
    config: MasterConfig, eauth: str, username: str, password: str
) -> LoginProof | None:
    """What a login proves; ``None`` if it is wrong."""
    if not is_usable(config, eauth) or not valid_login_name(username):
        return None
    if len(password) > PASSWORD_LIMIT or "\0" in password:
        return None
    try:
        module = load_module(config, eauth, login_context(config, eauth))
        if module.auth(username, password) is not True:
            return None
        groups = module.groups(username) if module.groups is not None else []
        entries = module.acl(username, password) if module.acl is not None else None
    except Exception as error:  # noqa: BLE001 - whatever a module does, the login has failed
        _report(eauth, username, error)
        return None
    return LoginProof(username, eauth, _groups(groups), _entries(entries))


def recheck_login(config: MasterConfig, eauth: str, username: str) -> bool:
    """Whether who logged in some time ago would still be let in, as far as can be known."""
    if not is_usable(config, eauth):
        return False
    try:
        module = load_module(config, eauth, login_context(config, eauth))
        return module.is_valid is None or module.is_valid(username) is True
    except Exception as error:  # noqa: BLE001 - whatever a module does, the token is refused
        _report(eauth, username, error)
        return False


def login_context(config: MasterConfig, eauth: str) -> AuthContext:
    """What a module gets: all options, and the settings of its block."""
    block: Mapping[str, Any] = config.access.external_auth[eauth]
    settings = {
        key.removeprefix(SETTING_SIGN): value
        for key, value in block.items()
        if key.startswith(SETTING_SIGN)
    }
    return AuthContext(flat_opts(config), settings)


def _report(eauth: str, username: str, error: Exception) -> None:
    """Say why a module failed. Of an error that is not ours the text could be the password."""
    why = str(error) if isinstance(error, (SaltliteError, OSError)) else type(error).__name__
    log.error("eauth %s failed for %s: %s", eauth, printable(username, 80), printable(why))


def _groups(found: Any) -> list[str]:
    listed = found if isinstance(found, (list, tuple, set, frozenset)) else []
    return sorted({one for one in listed if isinstance(one, str)})[:GROUPS_LIMIT]


def _entries(found: Any) -> list[Any] | None:
    return list(found)[:ENTRIES_LIMIT] if isinstance(found, (list, tuple)) else None
