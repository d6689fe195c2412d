"""The environment of the process that runs the job; ``salt-call`` alone keeps it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

log = logging.getLogger(__name__)


def setval(key: object, val: object, false_unsets: bool = False, permanent: bool = False) -> Any:
    """Set one variable; ``False`` empties it, or removes it with ``false_unsets``.

    Answers the value, ``None`` for one removed, ``False`` if it cannot be set.

    CLI Example:

        salt '*' environ.setval foo bar
    """
    if not isinstance(key, str):
        log.debug("environ.setval: the name is no text")
        return False
    if val is False and false_unsets:
        os.environ.pop(key, None)
        return None
    value = "" if val is False else val
    if not isinstance(value, str):
        log.debug("environ.setval: the value of %s is no text", key)
        return False
    os.environ[key] = value
    return value


def setenv(
    environ: object,
    false_unsets: bool = False,
    clear_all: bool = False,
    update_minion: bool = False,
    permanent: bool = False,
) -> Any:
    """Set several variables; with ``clear_all`` all others are emptied (or removed).

    CLI Example:

        salt '*' environ.setenv '{"foo": "bar", "baz": "quux"}'
    """
    if not isinstance(environ, Mapping):
        log.debug("environ.setenv: no map was given")
        return False
    done: dict[str, Any] = {}
    if clear_all is True:
        for key in set(os.environ) - set(environ):
            done[key] = setval(key, False, false_unsets)
    for key, value in environ.items():
        if not isinstance(value, str) and value is not False:
            log.debug("environ.setenv: the value of %s is no text", key)
            return False
        done[key] = setval(key, value, false_unsets)
    return done


def get(key: object, default: object = "") -> Any:
    """One variable.

    CLI Example:

        salt '*' environ.get foo
    """
    if not isinstance(key, str):
        log.debug("environ.get: the name is no text")
        return False
    return os.environ.get(key, default)


def has_value(key: object, value: object = None) -> bool:
    """Whether a variable is set, and to this value if one is given.

    CLI Example:

        salt '*' environ.has_value foo
    """
    if not isinstance(key, str) or key not in os.environ:
        return False
    return value is None or os.environ[key] == value


def item(keys: object, default: object = "") -> dict[str, Any]:
    """One variable or several, as a map.

    CLI Example:

        salt '*' environ.item '[foo, baz]'
    """
    if isinstance(keys, str):
        keys = [keys]
    if not isinstance(keys, list):
        log.debug("environ.item: neither a name nor a list of names")
        return {}
    return {key: os.environ.get(key, default) for key in keys}


def items() -> dict[str, str]:
    """All variables.

    CLI Example:

        salt '*' environ.items
    """
    return dict(os.environ)
