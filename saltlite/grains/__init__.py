"""What a machine says about itself: one file per topic, each a reading and a pure parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.host import Host


def load_grains(config: MinionConfig, host: Host) -> dict[str, Any]:
    """All grains of this machine, in Salt's order of precedence."""
    from saltlite.grains.collect import collect

    return collect(config, host)


class LazyGrains(Mapping[str, Any]):
    """Grains that are collected when somebody looks at them."""

    def __init__(self, config: MinionConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._grains: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return self._loaded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    def _loaded(self) -> dict[str, Any]:
        if self._grains is None:
            self._grains = load_grains(self._config, self._host)
        return self._grains
