"""Look at grains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import DELIMITER, choose, traverse

OUTPUTTERS = {"items": "nested", "item": "nested", "setval": "nested"}

_SANITIZED = {
    "domain": "DOMAINNAME",
    "fqdn": "MINION.DOMAINNAME",
    "host": "MINION",
    "id": "MINION.DOMAINNAME",
    "localhost": "MINION",
    "nodename": "MINION",
}
"""What stands in for a grain that tells too much, with ``sanitize``."""

_MISSING = object()


def items(ctx: MinionContext, sanitize: bool = False) -> dict[str, Any]:
    """All grains; ``sanitize`` hides names of the machine.

    CLI Example:

        salt '*' grains.items
    """
    grains = dict(ctx.grains)
    return _sanitized(grains) if sanitize else grains


def item(ctx: MinionContext, *args: str, **kwargs: Any) -> dict[str, Any]:
    """Some grains; an unknown one is empty.

    ``default`` is for unknown ones, ``delimiter`` for nested ones, ``sanitize`` as for ``items``.

    CLI Example:

        salt '*' grains.item os osrelease oscodename
    """
    default, delimiter = kwargs.get("default", ""), kwargs.get("delimiter", DELIMITER)
    found = {str(name): traverse(ctx.grains, name, default, delimiter) for name in args}
    return _sanitized(found) if kwargs.get("sanitize") else found


def _sanitized(grains: Mapping[str, Any]) -> dict[str, Any]:
    hidden = {
        name: _SANITIZED[name] for name, value in grains.items() if name in _SANITIZED and value
    }
    serial = grains.get("serialnumber")
    if serial:
        hidden["serialnumber"] = f"{str(serial)[:-2]}XX"
    return {**grains, **hidden}


def get(
    ctx: MinionContext,
    key: str,
    default: Any = "",
    delimiter: str = DELIMITER,
    ordered: bool = True,
) -> Any:
    """One grain, also from within others: ``pkg:apache``.

    CLI Example:

        salt '*' grains.get pkg:apache
    """
    return traverse(ctx.grains, key, default, delimiter)


def fetch(
    ctx: MinionContext,
    key: str,
    default: Any = "",
    delimiter: str = DELIMITER,
    ordered: bool = True,
) -> Any:
    """The same as ``grains.get``."""
    return get(ctx, key, default, delimiter)


def ls(ctx: MinionContext) -> list[str]:
    """The names of all grains.

    CLI Example:

        salt '*' grains.ls
    """
    return sorted(ctx.grains)


def has_value(ctx: MinionContext, key: str) -> bool:
    """Whether there is such a grain, and it is not ``False``.

    CLI Example:

        salt '*' grains.has_value pkg:apache
    """
    return traverse(ctx.grains, key, False) is not False


def equals(ctx: MinionContext, key: str, value: Any) -> bool:
    """Whether a grain has this value; compared as text.

    CLI Example:

        salt '*' grains.equals fqdn example.com
    """
    found = traverse(ctx.grains, key, _MISSING)
    return found is not _MISSING and str(found) == str(value)


def filter_by(
    ctx: MinionContext,
    lookup_dict: Mapping[Any, Any],
    grain: str = "os_family",
    merge: Mapping[str, Any] | None = None,
    default: str = "default",
    base: str | None = None,
) -> Any:
    """The entry of a map that fits the value of a grain, ``default`` otherwise.

    CLI Example:

        salt '*' grains.filter_by '{Debian: Debheads rule, RedHat: I love my hat}'
    """
    values = traverse(ctx.grains, grain, [])
    return choose(lookup_dict, values, merged=merge, default=default, base=base)
