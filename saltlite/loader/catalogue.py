"""Every kind of plug-in: the package that has ours, and where those of users lie.

A plug-in of ours is a file, or a folder with an ``__init__.py``, in the package of its kind. All
that is there without an underscore before its name is one, and its name is the file's: adding a
plug-in is adding a file, and no list is kept. The names are read from the directory, once in a
process, and nothing is imported by that.

A name that is asked for may come from a peer. It only chooses among the names that were found: no
text from outside ever becomes part of an import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final

ROOT: Final = os.path.dirname(os.path.dirname(__file__))
"""The directory of saltlite itself."""


class Kind:
    """One kind of plug-in.

    ``name`` is Salt's: users' files lie in the directory of that name below ``extension_modules``,
    and in one with an underscore before it below a file root. ``option`` names further directories.
    ``package`` has ours, below saltlite; without one there are only users'. ``context`` says what
    functions of ours may take as their first parameter, ``ctx``; ``None`` for nothing. ``caller``
    is the module below saltlite that calls them, where that is more than a call.
    """

    __slots__ = ("_modules", "caller", "context", "name", "option", "package")

    def __init__(
        self,
        name: str,
        option: str,
        package: str | None = None,
        context: str | None = None,
        caller: str = "",
    ) -> None:
        self.name = name
        self.option = option
        self.package = package
        self.context = context
        self.caller = caller
        self._modules: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"<Kind {self.name}>"

    def __contains__(self, name: object) -> bool:
        return name in self.modules()

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules())

    def modules(self) -> Mapping[str, str]:
        """The names of ours, sorted, and the Python module that each stands for."""
        if self._modules is None:
            self._modules = {} if self.package is None else _find_plugins(self.package)
        return self._modules

    def load(self, name: str) -> ModuleType | None:
        """The Python module of a plug-in of ours, imported now; ``None`` if there is none."""
        place = self.modules().get(name)
        module = None if place is None else import_module(place)
        # a folder without a file of its own is what another version has left behind
        return None if module is None or module.__file__ is None else module

    def load_caller(self) -> ModuleType:
        """The module that calls functions of this kind as the engine does, imported now."""
        return import_module(f"saltlite.{self.caller}")


def _find_plugins(package: str) -> dict[str, str]:
    """The plug-ins in a package of ours; a word that is Python's own has an underscore after it."""
    directory = os.path.join(ROOT, *package.split("."))
    with os.scandir(directory) as entries:
        stems = [stem for stem in map(_plugin_name, entries) if stem]
    return {stem.removesuffix("_"): f"saltlite.{package}.{stem}" for stem in sorted(stems)}


def _plugin_name(entry: os.DirEntry[str]) -> str:
    """The name of the plug-in that a file or folder is, ``""`` if it is none."""
    stem, suffix = os.path.splitext(entry.name)
    if stem.startswith(("_", ".")):
        return ""
    return stem if suffix == ".py" or (not suffix and entry.is_dir()) else ""


MODULES: Final = Kind("modules", "module_dirs", "modules", "MinionContext")
STATES: Final = Kind("states", "states_dirs", "states", "MinionContext", "highstate.call")
RETURNERS: Final = Kind("returners", "returner_dirs", "returners", "ReturnerContext")
RUNNERS: Final = Kind("runners", "runner_dirs", "runners", "RunnerContext")
WHEELS: Final = Kind("wheel", "wheel_dirs", "wheel", "RunnerContext")
BEACONS: Final = Kind("beacons", "beacons_dirs", "beacons", "BeaconContext")
ENGINES: Final = Kind("engines", "engines_dirs", "engines", "EngineContext")
AUTH: Final = Kind("auth", "auth_dirs", "auth", "AuthContext")
GRAINS: Final = Kind("grains", "grains_dirs")
RENDERERS: Final = Kind("renderers", "render_dirs", "renderers", "MinionContext")
OUTPUTTERS: Final = Kind("output", "outputter_dirs", "outputters")
PILLAR: Final = Kind("pillar", "pillar_dirs", "pillar.sources", "MinionContext")
TOPS: Final = Kind("tops", "top_dirs", "tops", "MinionContext")
MATCHERS: Final = Kind("matchers", "matchers_dirs")
EXECUTORS: Final = Kind("executors", "executors_dirs", "executors", "MinionContext")
SDB: Final = Kind("sdb", "sdb_dirs", "sdb")
PROVIDERS: Final = Kind("providers", "", "providers")
"""No kind of users' own: they take over ``pkg`` or ``service`` by a module of that name."""

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        MODULES,
        STATES,
        RETURNERS,
        RUNNERS,
        WHEELS,
        BEACONS,
        ENGINES,
        AUTH,
        GRAINS,
        RENDERERS,
        OUTPUTTERS,
        PILLAR,
        TOPS,
        MATCHERS,
        EXECUTORS,
        SDB,
        Kind("utils", "utils_dirs"),
        Kind("serializers", "serializers_dirs"),
        Kind("tokens", "tokens_dirs"),
        Kind("proxy", "proxy_dirs"),
    )
}
"""All kinds by Salt's name of the directory of users' own."""


# --- custom code of users ------------------------------------------------------------------------
# Source: docs/config.md (minion and master), docs/modules.md#what-a-file-finds, observed on Salt
# 3006.30.


def directories(config: object, kind: str) -> list[str]:
    """The directories that may hold users' files of ``kind``, the first wins; they need not exist.

    ``config`` is a minion's or a master's.
    """
    own = _directories_option(config, KINDS[kind].option) if kind in KINDS else ()
    below = [os.path.join(root, kind) for root in _directories_option(config, MODULES.option)]
    return [*below, *own, sync_dir(config, kind)]


def sync_dir(config: Any, kind: str) -> str:
    """Where synchronised files of ``kind`` lie."""
    return os.path.join(config.paths.extension_modules, kind)


def has_custom_code(config: object, kind: str) -> bool:
    """Whether users have files of ``kind``; all that a call without any pays for."""
    return any(_has_code(directory) for directory in directories(config, kind))


def _has_code(directory: str) -> bool:
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any(not name.startswith(("_", ".")) for name in names)


def _directories_option(config: Any, name: str) -> Sequence[str]:
    value = getattr(config.paths, name, None) or config.extra.get(name) or ()
    return [value] if isinstance(value, str) else value
