"""Values from small databases that the configuration names: ``sdb://profile/key``.

A profile is an option: ``{driver: env}``, ``{driver: yaml, files: [...]}`` or ``{driver: sqlite3,
database: path}``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import SDB
from saltlite.providers import textfile

PREFIX = "sdb://"


Driver = Mapping[str, Callable[..., Any]]
"""What one kind of database can do: ``get``, and perhaps ``set`` and ``delete``."""


def get(ctx: MinionContext, uri: Any, strict: bool = False) -> Any:
    """The value of an address; the address itself if it is none, unless ``strict``.

    CLI Example:

        salt '*' sdb.get sdb://mymemcached/foo
    """
    if not isinstance(uri, str) or not uri.startswith(PREFIX):
        return uri
    found = _find(ctx, uri, strict)
    if found is None:
        return uri
    driver, key, profile = found
    return driver["get"](key, profile)


def set_(ctx: MinionContext, uri: Any, value: Any) -> Any:
    """Store a value; ``False`` if there is no such profile.

    CLI Example:

        salt '*' sdb.set sdb://mymemcached/foo bar
    """
    found = _find(ctx, uri, False)
    if found is None:
        return False
    driver, key, profile = found
    if "set" not in driver:
        raise FunctionError(f"driver {profile['driver']!r} cannot store values")
    return driver["set"](key, value, profile)


def delete(ctx: MinionContext, uri: Any) -> Any:
    """Remove a value; ``False`` if there is no such profile.

    CLI Example:

        salt '*' sdb.delete sdb://mymemcached/foo
    """
    found = _find(ctx, uri, False)
    if found is None:
        return False
    driver, key, profile = found
    if "delete" not in driver:
        raise FunctionError(f"driver {profile['driver']!r} cannot remove values")
    return driver["delete"](key, profile)


def get_or_set_hash(
    ctx: MinionContext,
    uri: str,
    length: int = 8,
    chars: str = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)",
) -> Any:
    """The value of an address; if there is none yet, a random text is stored there first.

    CLI Example:

        salt '*' sdb.get_or_set_hash sdb://mymemcached/foo
    """
    with textfile.hold_name(ctx, str(uri)):
        value = get(ctx, uri)
        if value is None or value == uri:
            value = "".join(secrets.choice(chars) for _ in range(int(length)))
            set_(ctx, uri, value)
        return value


def _find(
    ctx: MinionContext, uri: Any, strict: bool
) -> tuple[Driver, str, Mapping[str, Any]] | None:
    if not isinstance(uri, str) or not uri.startswith(PREFIX):
        return None
    name, slash, key = uri.removeprefix(PREFIX).partition("/")
    if not slash:
        return None
    profile = ctx.config.extra.get(name) or ctx.pillar.get(name)
    if not isinstance(profile, Mapping):
        if strict:
            raise UsageError(f'SDB profile "{name}" wasnt found in the minion configuration')
        return None
    module = SDB.load(str(profile.get("driver")))
    if module is None:
        if strict:
            raise UsageError(f'SDB driver "{profile.get("driver")}" is not available')
        return None
    return functions_of(module), key, profile
