"""Modules of external authentication: ours, and users' ``_auth`` files, which win.

A user's file has the functions of Salt: ``auth(username, password)``, and perhaps
``groups(username)`` and ``acl(username)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.context import NoFunctions
from saltlite.errors import FunctionUnavailable
from saltlite.loader.catalogue import AUTH, directories

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig

FUNCTIONS: Final = ("auth", "groups", "acl", "is_valid")


@dataclass(frozen=True, slots=True)
class LoginModule:
    """The functions of one module, ready to be called with a name; ``None`` for those not there.

    ``auth`` and ``acl`` take the password as well.
    """

    auth: Callable[[str, str], Any]
    groups: Callable[[str], Any] | None = None
    acl: Callable[[str, str], Any] | None = None
    is_valid: Callable[[str], Any] | None = None


@dataclass
class _AuthFiles:
    """What users' files are loaded for."""

    config: MasterConfig
    functions: NoFunctions = field(default_factory=NoFunctions)


def module_names(config: MasterConfig) -> list[str]:
    """The names that ``external_auth`` may have here, sorted. Nothing is imported."""
    return sorted({*AUTH, *_custom_names(config)})


def load_module(config: MasterConfig, name: str, ctx: Any) -> LoginModule:
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
    return LoginModule(**{one: partial(found[one], ctx) for one in FUNCTIONS if one in found})


def _load_custom(config: MasterConfig, name: str) -> LoginModule:
    from saltlite.loader.dunders import Surroundings

    functions = Surroundings(_AuthFiles(config)).modules(AUTH.name)
    auth, groups = functions.get(f"{name}.auth"), functions.get(f"{name}.groups")
    acl = functions.get(f"{name}.acl")
    if auth is None:
        raise FunctionUnavailable(f"{name}.auth")
    return LoginModule(
        auth,
        groups,
        None if acl is None else lambda username, _password: acl(username),
    )


def _custom_names(config: MasterConfig) -> set[str]:
    return {
        path.stem
        for directory in directories(config, AUTH.name)
        for path in Path(directory).glob("*.py")
        if not path.name.startswith(("_", "."))
    }
