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
    ctx: ReturnerContext,
    name: str,
    ret: Mapping[str, object] | None,
    defaults: Mapping[str, object],
) -> dict[str, Any]:
    """A returner's options: under ``<name>.<option>``, or ``<option>`` in a map called ``<name>``.

    They may be in the configuration, a minion's grains or its pillar; the first that has one
    counts. A return's ``ret_config`` is a word before the name (``other.sqlite3.database``), and
    its ``ret_kwargs`` go before all. Source: docs/modules.md#what-a-file-finds.
    """
    found = dict(defaults)
    prefixes = [name]
    wanted = (ret or {}).get("ret_config")
    if isinstance(wanted, str) and wanted:
        prefixes.append(f"{wanted}.{name}")
    for prefix in prefixes:
        for place in reversed(_list_sources(ctx)):
            nested = place.get(prefix)
            for option in defaults:
                if isinstance(nested, Mapping) and option in nested:
                    found[option] = nested[option]
                found[option] = place.get(f"{prefix}.{option}", found[option])
    given = (ret or {}).get("ret_kwargs")
    if isinstance(given, Mapping):
        found |= {str(key): value for key, value in given.items() if key in defaults}
    return found


def _list_sources(ctx: ReturnerContext) -> list[Mapping[str, Any]]:
    """Where options may be, the first counts; a master has its configuration alone."""
    places = [ctx.config.extra, getattr(ctx, "grains", None), getattr(ctx, "pillar", None)]
    return [place for place in places if place]
