"""Checks one login by its module. Runs in a process of its own, and may take long.

Only modules that ``external_auth`` names are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.config.master import MasterConfig
from saltlite.config.opts import flat_opts
from saltlite.core.access import (
    GROUPS_LIMIT,
    SETTING_SIGN,
    find_fault,
    user_entries,
)
from saltlite.errors import LoginUnchecked, SaltliteError
from saltlite.loader.auth import LoginModule, load_module, module_names
from saltlite.master.loginproof import LoginProof
from saltlite.master.logins import NO_LOGIN, read_login
from saltlite.master.refusals import printable
from saltlite.providers.login import AuthContext

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
    """What a login proves; ``None`` if it is wrong. Raises LoginUnchecked."""
    shown = {"eauth": eauth, "username": username, "password": password}
    if read_login(shown) is NO_LOGIN or not is_usable(config, eauth):
        return None
    try:
        module = load_module(config, eauth, login_context(config, eauth))
        # True and nothing else: a module that returns a text or a map has not said yes.
        if module.auth(username, password) is not True:
            return None
        groups = _read_groups(
            module.groups(username, password) if module.groups is not None else []
        )
        entries, whole = _ask_for_rights(config, eauth, module, username, password, groups)
    except Exception as error:
        raise LoginUnchecked(_describe_failure(eauth, username, error)) from error
    return LoginProof(username, eauth, groups, entries, whole)


def _ask_for_rights(
    config: MasterConfig,
    eauth: str,
    module: LoginModule,
    username: str,
    password: str,
    groups: list[str],
) -> tuple[list[Any] | None, list[Any] | None]:
    """What a module says of the user's rights: entries beside the configuration's, or a whole list.

    That is the module of ``eauth_acl_module``, or the one of the login.
    """
    access = config.access
    source = access.eauth_acl_module
    if source and source != eauth:
        whole = _ask_other_module(config, source, username, password)
    else:
        whole = _read_entries(module.acl(username, password)) if module.acl is not None else None
        # Such a list goes beside the entries of the options, not in place of them.
        if whole is not None and not module.acl_is_whole:
            return whole, None
    if whole is not None or module.process_acl is None:
        return None, whole
    block = access.external_auth[eauth]
    listed = user_entries(block, username, groups, permissive=access.permissive_acl)
    # A copy: the module may change it, and it is compared with the original below.
    processed = _read_entries(module.process_acl(list(listed)))
    # Unchanged it is not kept in the token, so that later changes of the options count.
    return None, None if processed is None or processed == listed else processed


def _ask_other_module(
    config: MasterConfig, name: str, username: str, password: str
) -> list[Any] | None:
    """The access list by a module that has not checked the login; ``None`` if it has none."""
    # external_auth decides then, as the log has said at the start.
    if name not in module_names(config):
        return None
    module = load_module(config, name, login_context(config, name))
    found = _read_entries(module.acl(username, password)) if module.acl is not None else None
    if found is None or module.acl_is_whole:
        return found
    block = config.access.external_auth.get(name, {})
    return [*user_entries(block, username, is_named=True), *found]


def recheck_login(config: MasterConfig, eauth: str, username: str) -> bool:
    """Whether who logged in some time ago would still be let in, as far as can be known.

    Raises:
        LoginUnchecked: the module failed.
    """
    if not is_usable(config, eauth):
        return False
    try:
        module = load_module(config, eauth, login_context(config, eauth))
        # Most modules can tell only with the password; their tokens live until they expire.
        return module.is_valid is None or module.is_valid(username) is True
    except Exception as error:
        raise LoginUnchecked(_describe_failure(eauth, username, error)) from error


def login_context(config: MasterConfig, eauth: str) -> AuthContext:
    """What a module gets: all options, and the settings of its block."""
    block: Mapping[str, Any] = config.access.external_auth.get(eauth, {})
    settings = {
        key.removeprefix(SETTING_SIGN): value
        for key, value in block.items()
        if key.startswith(SETTING_SIGN)
    }
    return AuthContext(flat_opts(config), settings)


def _describe_failure(eauth: str, username: str, error: Exception) -> str:
    """Why a module failed. Of an error that is not ours the text could be the password."""
    why = str(error) if isinstance(error, (SaltliteError, OSError)) else type(error).__name__
    return f"eauth {eauth} failed for {printable(username, 80)}: {printable(why)}"


def _read_groups(found: object) -> list[str]:
    listed = found if isinstance(found, (list, tuple, set, frozenset)) else []
    return sorted({one for one in listed if isinstance(one, str)})[:GROUPS_LIMIT]


def _read_entries(found: object) -> list[Any] | None:
    return list(found)[:ENTRIES_LIMIT] if isinstance(found, (list, tuple)) else None
