"""``salt.utils.odict``: dicts in order, from times when dicts were not."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

__all__ = ["DefaultOrderedDict", "OrderedDict"]


class DefaultOrderedDict(OrderedDict):  # type: ignore[type-arg]
    """An ordered dict that makes what is not there."""

    def __init__(
        self, default_factory: Callable[[], Any] | None = None, *args: Any, **kwargs: Any
    ) -> None:
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable")
        super().__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key: object) -> Any:
        if self.default_factory is None:
            raise KeyError(key)
        self[key] = value = self.default_factory()
        return value
