"""``import salt.…`` in users' files: answered by us, for what they import most.

From the first user's file on, the import system asks :class:`_Finder` for ``salt`` and all below
it. ``salt.utils.files`` is ``saltlite/compat/salt/utils/files.py``, and so on for all that is
there; anything else is an ImportError that says what is missing. That holds also where a real Salt
is installed beside us: its exceptions and its loader know nothing of ours, and half an answer is
harder to find than none. Only a process that has imported a real ``salt`` keeps it.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from saltlite.loader.catalogue import ROOT as SALTLITE

ROOT: Final = "salt"
HOME: Final = "saltlite.compat"
LOADED: Final = "salt.loaded"

MOVES: Final = "salt.ext.six.moves"
STANDARD: Final[Mapping[str, str]] = {
    f"{MOVES}.{name}": place
    for name, place in (
        ("builtins", "builtins"),
        ("configparser", "configparser"),
        ("http_client", "http.client"),
        ("queue", "queue"),
        ("urllib", "urllib"),
        ("urllib.error", "urllib.error"),
        ("urllib.parse", "urllib.parse"),
        ("urllib.request", "urllib.request"),
    )
}
"""Names of six that stand for modules of Python."""


def load(name: str) -> ModuleType:
    """Our own module with Salt's name ``name``, imported as plug-ins are: by name, when needed."""
    return importlib.import_module(STANDARD.get(name) or f"{HOME}.{name}")


def import_below(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of one of Salt's packages: what is below is imported when looked at.

    Many a file says ``import salt.utils`` and goes on with ``salt.utils.files``, which real Salt
    has imported by then.
    """

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{package}.{name}")
        except ImportError as error:
            raise AttributeError(str(error)) from None

    return __getattr__


def _find_place(name: str) -> str:
    """The folder or file that answers for a name, ``""`` for none."""
    place = os.path.join(SALTLITE, "compat", *name.split("."))
    if os.path.isdir(place):
        return place
    return f"{place}.py" if os.path.isfile(f"{place}.py") else ""


def install() -> None:
    """Answer imports of ``salt`` from now on, unless a real one was imported before."""
    if _FINDER in sys.meta_path or ROOT in sys.modules:
        return
    sys.meta_path.insert(0, _FINDER)
    importlib.import_module(ROOT)


def begin(fullname: str) -> importlib.machinery.ModuleSpec | None:
    """The spec of a name, from now on also of all below ``salt``; for plain scripts.

    Asked by a finder that comes last, so a real Salt has been looked for already.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    return _FINDER.find_spec(fullname, None)


def uninstall() -> None:
    """Answer no more, and forget what was answered; for tests."""
    if _FINDER not in sys.meta_path:
        return
    sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if name == ROOT or name.startswith(f"{ROOT}.")]:
        del sys.modules[name]


class _Answer:
    """Gives one of our modules under Salt's name of it."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Our module, which keeps its own name and spec."""
        found = load(spec.name)
        self._spec = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to execute."""
        module.__spec__ = self._spec


class _Finder:
    """Answers for ``salt`` and all below it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of an answer; ``None`` for what is no part of Salt.

        Raises:
            ImportError: it is part of Salt, and not answered.
        """
        if fullname.partition(".")[0] != ROOT or fullname.startswith(f"{LOADED}."):
            return None
        place = STANDARD.get(fullname) or _find_place(fullname)
        if not place:
            raise ImportError(
                f"saltlite has no {fullname} (docs/modules.md lists what it has of salt.*)",
                name=fullname,
            )
        # Of six.moves, which is a file, too: other names below it are modules of Python.
        is_package = not place.endswith(".py") or fullname == MOVES
        # Its classes are not derived from those of importlib.abc, which loads much to declare them.
        answer: Any = _Answer()
        return importlib.machinery.ModuleSpec(fullname, answer, is_package=is_package)


_FINDER: Final = _Finder()
