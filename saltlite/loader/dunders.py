"""What Salt files find in their globals: ``__salt__``, ``__grains__`` and the others.

Each is a view of the context that the file was loaded for, so jobs in threads do not see each
other's values, and grains collected anew are seen at once. Source:
docs/modules.md#what-a-file-finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from saltlite.errors import FunctionUnavailable, SaltliteError
from saltlite.loader import shim


class Loads(Protocol):
    """What custom code is loaded for: a minion's context, or the one of a master's command.

    ``grains``, ``pillar``, ``state`` and ``local`` are used where they are there.
    """

    @property
    def config(self) -> Any:
        """The minion's or the master's configuration."""

    @property
    def functions(self) -> Any:
        """What ``__salt__`` calls: a registry with ``resolve`` and ``names``."""


class View(Mapping[str, Any]):
    """A mapping as it is at the moment of each look."""

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read = read

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(dict(self._read()))

    def value(self) -> Mapping[str, Any]:
        """The mapping itself; Salt's dunders have this method too."""
        return self._read()

    def copy(self) -> dict[str, Any]:
        """A dict of it."""
        return dict(self._read())


class SaltFunction:
    """One function as a Salt file calls it: what it raises are Salt's exceptions."""

    def __init__(self, name: str, call: Callable[..., Any], doc: str | None) -> None:
        self.__wrapped__ = call
        self.__name__ = name.rpartition(".")[2]
        self.__doc__ = doc
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; raises an exception of ``salt.exceptions`` where saltlite's own was raised."""
        try:
            return self._call(*args, **kwargs)
        except SaltliteError as error:
            raise shim.load("salt.exceptions").as_salt(error) from error


class SaltFunctions(Mapping[str, Any]):
    """``__salt__`` and its like: functions by name. ``__salt__.mod.fun`` works as well."""

    def __init__(self, functions: Callable[[], Any]) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> SaltFunction:
        if "." not in str(name):
            raise KeyError(f"The key '{name}' should contain a '.'")
        try:
            found = self._functions().resolve(name)
        except FunctionUnavailable:
            raise KeyError(name) from None
        return SaltFunction(name, found.call, found.text if hasattr(found, "text") else found.doc)

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions().names())

    def __len__(self) -> int:
        return len(self._functions().names())

    def __getattr__(self, module: str) -> SaltModule:
        if module.startswith("__"):
            raise AttributeError(module)
        return SaltModule(self, module)


class SaltModule:
    """``__salt__.mod``: the functions of one module as attributes."""

    def __init__(self, functions: SaltFunctions, name: str) -> None:
        self._functions = functions
        self._name = name

    def __getattr__(self, function: str) -> SaltFunction:
        try:
            return self._functions[f"{self._name}.{function}"]
        except KeyError:
            raise AttributeError(
                f"No attribute by the name of {function} was found on {self._name}"
            ) from None
