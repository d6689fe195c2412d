"""The pillar of a run without a master: compiled when somebody looks at it, if anybody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class LazyPillar(Mapping[str, Any]):
    """A mapping that is made at the first look."""

    def __init__(self, compile_it: Callable[[], Mapping[str, Any]]) -> None:
        self._compile = compile_it
        self._pillar: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return self._load_all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load_all())

    def __len__(self) -> int:
        return len(self._load_all())

    def __repr__(self) -> str:
        return repr(dict(self._load_all()))

    def _load_all(self) -> Mapping[str, Any]:
        if self._pillar is None:
            self._pillar = {}  # what is compiled may look at pillar, which is empty until then
            self._pillar = self._compile()
        return self._pillar
