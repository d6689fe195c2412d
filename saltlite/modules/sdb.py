"""Values from small databases that the configuration names: ``sdb://profile/key``.

A profile is an option: ``{driver: env}``, ``{driver: yaml, files: [...]}``, ``{driver: sqlite3,
database: path}``, or one whose driver is a user's own (``_sdb``, ``sdb_dirs``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.loader.builtin import functions_of
from saltlite.loader.catalogue import SDB, has_custom_code
from saltlite.providers import textfile

PREFIX = "sdb://"


Driver = Mapping[str, Callable[..., Any]]
"""What one kind of database can do: ``get``, and perhaps ``set`` and ``delete``."""


def get(ctx: MinionContext, uri: object, strict: bool = False) -> Any:
    """The value of an address; the address itself if it is none, unless ``strict``.

    CLI Example:

        salt '*' sdb.get sdb://mymemcached/foo
    """
    if not isinstance(uri, str) or not uri.startswith(PREFIX):
        return uri
    found = _find_driver(ctx, uri, strict)
    if found is None:
        return uri
    driver, key, profile = found
    return driver["get"](key, profile=profile)


def set_(ctx: MinionContext, uri: object, value: object) -> Any:
    """Store a value; ``False`` if there is no such profile.

    CLI Example:

        salt '*' sdb.set sdb://mymemcached/foo bar
    """
    found = _find_driver(ctx, uri, False)
    if found is None:
        return False
    driver, key, profile = found
    if "set" not in driver:
        raise FunctionError(f"driver {profile['driver']!r} cannot store values")
    return driver["set"](key, value, profile=profile)


def delete(ctx: MinionContext, uri: object) -> Any:
    """Remove a value; ``False`` if there is no such profile.

    CLI Example:

        salt '*' sdb.delete sdb://mymemcached/foo
    """
    found = _find_driver(ctx, uri, False)
    if found is None:
        return False
    driver, key, profile = found
    if "delete" not in driver:
        raise FunctionError(f"driver {profile['driver']!r} cannot remove values")
    return driver["delete"](key, profile=profile)


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


def _find_driver(
    ctx: MinionContext, uri: object, strict: bool
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
    driver = _load_driver(ctx, str(profile.get("driver")))
    if "get" not in driver:
        if strict:
            raise UsageError(f'SDB driver "{profile.get("driver")}" is not available')
        return None
    return driver, key, profile


def _load_driver(ctx: MinionContext, name: str) -> Driver:
    """The functions of a driver, a user's before one of ours; none if there is no such driver."""
    if has_custom_code(ctx.config, SDB.name):
        from saltlite.loader.surroundings import surroundings

        source = surroundings(ctx).modules(SDB.name).source(name)
        if source is not None:
            return source.functions
    module = SDB.load(name)
    return {} if module is None else functions_of(module)
