"""Modules of external authentication: ours, and users' ``_auth`` files, which win.

A user's file has the functions of Salt: ``auth(username, password)``, and perhaps
``groups(username)``, ``acl(username)`` and ``process_acl(auth_list, opts)``. Those of a name get
what else is known of the login, ``password`` and ``eauth``, if they take it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.context import NoFunctions
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionUnavailable
from saltlite.loader.catalogue import AUTH, directories

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig

FUNCTIONS: Final = ("auth", "groups", "acl", "is_valid", "process_acl")


@dataclass(frozen=True, slots=True)
class LoginModule:
    """The functions of one module, ready to be called with a name; ``None`` for those not there.

    ``auth``, ``groups`` and ``acl`` take the password as well. ``process_acl`` turns an access list
    into another one. ``acl`` gives entries beside those of the configuration, or with
    ``acl_is_whole`` in place of them, ``None`` where it has nothing to say.
    """

    auth: Callable[[str, str], Any]
    groups: Callable[[str, str], Any] | None = None
    acl: Callable[[str, str], Any] | None = None
    is_valid: Callable[[str], Any] | None = None
    process_acl: Callable[[list[Any]], Any] | None = None
    acl_is_whole: bool = False


@dataclass
class _AuthFiles:
    """What users' files are loaded for."""

    config: MasterConfig
    functions: NoFunctions = field(default_factory=NoFunctions)


def module_names(config: MasterConfig) -> list[str]:
    """The names that ``external_auth`` may have here, sorted. Nothing is imported."""
    return sorted({*AUTH, *_custom_names(config)})


def load_module(config: MasterConfig, name: str, ctx: object) -> LoginModule:
    """One module; ours get ``ctx`` as their first argument.

    Raises:
        FunctionUnavailable: there is none, or it has no ``auth``.
    """
    if name in _custom_names(config):
        return _load_custom(config, name)
    module = AUTH.load(name)
    found = {} if module is None else vars(module)
    if "auth" not in found:
        raise FunctionUnavailable(f"{name}.auth")
    bound = {one: partial(found[one], ctx) for one in FUNCTIONS if one in found}
    groups = bound.get("groups")
    return LoginModule(
        bound["auth"],
        groups and (lambda username, _password: groups(username)),
        bound.get("acl"),
        bound.get("is_valid"),
        bound.get("process_acl"),
    )


def _load_custom(config: MasterConfig, name: str) -> LoginModule:
    from saltlite.config.opts import flat_opts
    from saltlite.loader.surroundings import Surroundings

    functions = Surroundings(_AuthFiles(config)).modules(AUTH.name)
    auth, process_acl = functions.get(f"{name}.auth"), functions.get(f"{name}.process_acl")
    if auth is None:
        raise FunctionUnavailable(f"{name}.auth")
    return LoginModule(
        auth,
        _with_login(functions.get(f"{name}.groups"), name),
        _with_login(functions.get(f"{name}.acl"), name),
        process_acl=None
        if process_acl is None
        else lambda one: process_acl(one, flat_opts(config)),
        acl_is_whole=True,
    )


def _with_login(function: Callable[..., Any] | None, name: str) -> Callable[[str, str], Any] | None:
    """The function, called with the name and with what else it takes of a login."""
    if function is None:
        return None
    import inspect

    known = inspect.signature(function).parameters.values()
    takes_all = any(one.kind is one.VAR_KEYWORD for one in known)
    taken = {one.name for one in known}

    def call(username: str, password: str) -> Any:
        login = {"password": password, "eauth": name}
        return function(username, **{k: v for k, v in login.items() if takes_all or k in taken})

    return call


def _custom_names(config: MasterConfig) -> set[str]:
    return {
        path.stem
        for directory in directories(config, AUTH.name)
        for path in Path(directory).glob("*.py")
        if not path.name.startswith(("_", "."))
    }
