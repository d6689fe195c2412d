"""State functions by name. Only the module that is asked for is imported; users' files come first.

A built-in state module is a file of plain functions with Salt's signatures, or several (see
:mod:`saltlite.loader.builtin`). One that needs the machine takes ``ctx: MinionContext`` first. A
trailing underscore is dropped from names. A function named ``mod_watch`` is called when something
that is watched has changed; it also gets ``sfun``, the function that was declared.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import FunctionType
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.highstate.resource import Declared
from saltlite.loader.builtin import functions_of

_NAMES: tuple[str, ...] = (
    # one a line, sorted
    "acl",
    "alias",
    "alternatives",
    "apache_conf",
    "apache_module",
    "apache_site",
    "archive",
    "blockdev",
    "cmd",
    "cron",
    "debconf",
    "docker_container",
    "docker_image",
    "docker_volume",
    "environ",
    "event",
    "file",
    "firewalld",
    "gem",
    "git",
    "gpg",
    "grains",
    "group",
    "host",
    "http",
    "ini",
    "iptables",
    "kmod",
    "locale",
    "lvm",
    "module",
    "mount",
    "mysql_database",
    "mysql_grants",
    "mysql_user",
    "network",
    "npm",
    "pip",
    "pkg",
    "pkgrepo",
    "postgres_database",
    "postgres_extension",
    "postgres_group",
    "postgres_privileges",
    "postgres_schema",
    "postgres_user",
    "rabbitmq_cluster",
    "rabbitmq_plugin",
    "rabbitmq_policy",
    "rabbitmq_upstream",
    "rabbitmq_user",
    "rabbitmq_vhost",
    "rsync",
    "salt",
    "schedule",
    "selinux",
    "service",
    "ssh_auth",
    "ssh_known_hosts",
    "stateconf",
    "supervisord",
    "sysctl",
    "test",
    "timezone",
    "user",
    "virtualenv",
    "x509",
)

STATES: Mapping[str, str] = {name: f"saltlite.states.{name}" for name in _NAMES}
"""Salt's name of a state module, and the Python module that has its functions."""

MOD_WATCH = "mod_watch"
_OWN = "saltlite.states.own"


@dataclass(frozen=True, slots=True)
class StateFunction:
    """A state function that is ready to be called. ``is_users`` ones give finished returns."""

    name: str
    call: Callable[..., Declared]
    is_users: bool = False


def resolve(name: str, ctx: MinionContext) -> StateFunction:
    """The state function ``module.function``.

    Raises:
        FunctionUnavailable: there is none.
    """
    module, _, function = name.partition(".")
    users = _of_user(module, ctx)
    if users is not None and function in users:
        return StateFunction(name, users[function], is_users=True)
    found = functions(module).get(function)
    if found is None:
        raise FunctionUnavailable(name)
    code = found.__code__
    takes_context = code.co_argcount > 0 and code.co_varnames[0] == "ctx"
    return StateFunction(name, partial(found, ctx) if takes_context else found)


@cache
def functions(module: str) -> Mapping[str, FunctionType]:
    """The functions of a built-in state module by Salt's names; none if there is no module."""
    if module not in STATES:
        return {}
    return functions_of(importlib.import_module(STATES[module]))


def _of_user(module: str, ctx: MinionContext) -> Mapping[str, Callable[..., Any]] | None:
    from saltlite.loader.user import UserModules

    modules: UserModules = ctx.state.setdefault(_OWN, UserModules(ctx, "states"))
    source = modules.source(module)
    return None if source is None else source.functions
