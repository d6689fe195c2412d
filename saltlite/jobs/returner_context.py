"""What a returner may reach: options and paths, of a minion or of a master."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Paths(Protocol):
    """The part of a configuration's paths that returners use."""

    @property
    def cachedir(self) -> str:
        """Where files of one's own go."""


class Config(Protocol):
    """The part of a configuration that returners use."""

    @property
    def paths(self) -> Paths:
        """Directories."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Options that saltlite itself does not know: ``sqlite3.database`` and the like."""


class ReturnerContext(Protocol):
    """A minion's context, a runner's, or a master's."""

    @property
    def config(self) -> Any:
        """A :class:`Config`."""

    @property
    def functions(self) -> Any:
        """What users' returners find in ``__salt__``."""


def options(
    ctx: ReturnerContext, name: str, ret: Mapping[str, Any] | None, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """A returner's options: from the configuration, under ``<name>.<option>``.

    A return's ``ret_config`` is a word before that (``other.sqlite3.database``), and its
    ``ret_kwargs`` go before both. Source: modules.md 2.
    """
    extra: Mapping[str, Any] = ctx.config.extra
    found = dict(defaults)
    prefixes = [name]
    wanted = (ret or {}).get("ret_config")
    if isinstance(wanted, str) and wanted:
        prefixes.append(f"{wanted}.{name}")
    for prefix in prefixes:
        nested = extra.get(prefix)
        for option in defaults:
            if isinstance(nested, Mapping) and option in nested:
                found[option] = nested[option]
            found[option] = extra.get(f"{prefix}.{option}", found[option])
    given = (ret or {}).get("ret_kwargs")
    if isinstance(given, Mapping):
        found |= {str(key): value for key, value in given.items() if key in defaults}
    return found
