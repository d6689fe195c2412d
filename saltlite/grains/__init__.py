"""What a machine says about itself: one file per topic, each a reading and a pure parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.host import Host


def load_grains(config: MinionConfig, host: Host, *, refresh: bool = False) -> dict[str, Any]:
    """All grains of this machine, in Salt's order of precedence.

    With ``grains_cache`` they may be those of before, unless they are to ``refresh``.
    """
    return LazyGrains(config, host, refresh=refresh).all()


class LazyGrains(Mapping[str, Any]):
    """Grains that are collected when somebody looks at them.

    The resolver and programs are asked only when somebody looks at a name that they give, or at all
    grains; ZeroMQ is loaded for its version then too.
    """

    def __init__(self, config: MinionConfig, host: Host, *, refresh: bool = False) -> None:
        self._config = config
        self._host = host
        self._refresh = refresh
        self._grains: dict[str, Any] | None = None
        self._quick: dict[str, Any] | None = None
        self._without_resolver: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if self._grains is None and self._is_configured(name):
            return self._config.grains.grains[name]
        if self._grains is None and self._is_quick(name):
            return self._quick_ones(name)[name]
        return self.all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def __bool__(self) -> bool:
        return True  # there is the id at least; no reason to collect any

    def all(self) -> dict[str, Any]:
        """Every grain."""
        if self._grains is None:
            from saltlite.grains import cached

            self._grains = None if self._refresh else cached.fetch(self._config)
        if self._grains is None:
            from saltlite.grains.collect import collect

            self._grains = collect(self._config, self._host, self._quick)
            cached.keep(self._config, self._grains)
        return self._grains

    def _is_configured(self, name: str) -> bool:
        """Whether the configuration has the last word on this grain, so that none is collected."""
        options = self._config.grains
        return name in options.grains and not (options.grains_cache or options.grains_blacklist)

    def _is_quick(self, name: str) -> bool:
        """Whether this grain is to be had without the resolver and ZeroMQ.

        Users' functions get all grains, and what is kept is quicker still.
        """
        from saltlite.grains.names import RESOLVED
        from saltlite.grains.process import ZMQ_VERSION
        from saltlite.loader import catalogue

        return (
            name not in (*RESOLVED, ZMQ_VERSION)
            and not self._config.grains.grains_cache
            and not catalogue.has_custom_code(self._config, "grains")
        )

    def _quick_ones(self, name: str) -> dict[str, Any]:
        """Those that are had without the resolver, those of programs if ``name`` is one of them."""
        from saltlite.grains import collect

        is_new = self._quick is None
        if self._quick is None:
            self._quick = collect.quick(self._config, self._host)
        if name in collect.OF_PROGRAMS and not self._quick.keys() & collect.OF_PROGRAMS:
            self._quick |= collect.of_programs(self._config, self._host, self._quick)
            is_new = True
        if is_new:
            self._without_resolver = collect.with_users(self._config, self._host, self._quick)
        return self._without_resolver
