"""``import salt.…`` in users' files: answered by us, for what they import most.

From the first user's file on, the import system asks :class:`_Finder` for ``salt`` and all below
it. What the table names is one of our own modules, in :mod:`saltlite.loader.answers`; a package
above one is empty; anything else is an ImportError that says what is missing. That holds also where
a real Salt is installed beside us: its exceptions and its loader know nothing of ours, and half an
answer is harder to find than none. Only a process that has imported a real ``salt`` keeps it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any, Final

from saltlite.loader.answers import ANSWERS, STANDARD
from saltlite.version import __version__

ROOT: Final = "salt"
HOME: Final = "saltlite.loader.answers"
LOADED: Final = "salt.loaded"

_PLACES: Final = {**{name: f"{HOME}.{place}" for name, place in ANSWERS.items()}, **STANDARD}
"""Each answer and the module that gives it."""

PACKAGES: Final = frozenset(
    ".".join(parts[:depth])
    for parts in (name.split(".") for name in _PLACES)
    for depth in range(1, len(parts))
)
"""The names above an answer: ``salt``, ``salt.utils`` …"""


def install() -> None:
    """Answer imports of ``salt`` from now on, unless a real one was imported before."""
    if _FINDER in sys.meta_path or ROOT in sys.modules:
        return
    sys.meta_path.insert(0, _FINDER)
    importlib.import_module(ROOT)


def uninstall() -> None:
    """Answer no more, and forget what was answered; for tests."""
    if _FINDER not in sys.meta_path:
        return
    sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if name == ROOT or name.startswith(f"{ROOT}.")]:
        del sys.modules[name]


class _Package(types.ModuleType):
    """A package of answers: what is below it is imported when somebody looks.

    Many a file says ``import salt.utils`` and goes on with ``salt.utils.files``, which real Salt
    has imported by then.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except ImportError as error:
            raise AttributeError(str(error)) from None


class _Answer(importlib.abc.Loader):
    """Gives one of our modules under Salt's name of it."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Our module, which keeps its own name and spec."""
        if spec.name not in _PLACES:
            return _Package(spec.name)
        found = importlib.import_module(_PLACES[spec.name])
        self._spec = found.__spec__
        return found

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is left to execute."""
        if isinstance(module, _Package):
            vars(module)["__version__"] = __version__
        else:
            module.__spec__ = self._spec


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for ``salt`` and all below it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of an answer; ``None`` for what is no part of Salt.

        Raises:
            ImportError: it is part of Salt, and not answered.
        """
        if fullname.partition(".")[0] != ROOT or fullname.startswith(f"{LOADED}."):
            return None
        package = fullname in PACKAGES
        if package or fullname in _PLACES:
            return importlib.machinery.ModuleSpec(fullname, _Answer(), is_package=package)
        raise ImportError(
            f"saltlite has no {fullname} (docs/modules.md lists what it has of salt.*)",
            name=fullname,
        )


_FINDER: Final = _Finder()
