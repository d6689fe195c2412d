"""The functions of our own plug-ins, by Salt's names.

A plug-in is one Python file, or a package whose ``PARTS`` say which file has which functions. Which
plug-ins there are, :mod:`saltlite.loader.catalogue` knows.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType

NAMED_OTHERWISE: Mapping[str, str] = {
    "acl": "linux_acl",
    "cmd": "cmdmod",
    "debconf": "debconfmod",
    "docker": "dockermod",
    "group": "groupadd",
    "ini": "ini_manage",
    "ip": "",
    "locale": "localemod",
    "log": "logmod",
    "pkg": "",
    "random": "mod_random",
    "service": "",
    "shadow": "linux_shadow",
    "sys": "sysmod",
    "sysctl": "linux_sysctl",
    "user": "useradd",
    "virtualenv": "virtualenv_mod",
}
"""Modules whose file in Salt has another name, and that name; ``""`` if it is that of a back end.

A user's file that is called as one of Salt's own files takes its place whole; one that is called as
the module adds to it. ``disable_modules`` means files. Source: observed on Salt 3006.30.
"""


class Parts(Mapping[str, FunctionType]):
    """The functions of a package by Salt's names. A look at one imports the file it is in.

    ``parts`` is file → names of its functions as Python has them; the names alone import nothing.
    """

    def __init__(self, package: str, parts: Mapping[str, Sequence[str]]) -> None:
        self._homes = {
            public_name(function): (f"{package}.{part}", function)
            for part, functions in parts.items()
            for function in functions
        }

    def __getitem__(self, name: str) -> FunctionType:
        part, function = self._homes[name]
        # A run looks up hundreds; who asks while another thread imports the part waits for it.
        loaded = vars(sys.modules[part]).get(function) if part in sys.modules else None
        found: FunctionType = loaded or vars(importlib.import_module(part))[function]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


def functions_of(module: ModuleType) -> Mapping[str, FunctionType]:
    """The functions that one of our own modules has for others, by Salt's names.

    What a file imports is not among them, nor what begins with an underscore or is named in its
    ``INTERNAL``: that is for states.
    """
    parts = getattr(module, "PARTS", None)
    if parts is not None:
        return Parts(module.__name__, parts)
    internal = getattr(module, "INTERNAL", ())
    return {
        public_name(name): value
        for name, value in vars(module).items()
        if isinstance(value, FunctionType)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and name not in internal
    }


def public_name(function: str) -> str:
    """Salt's name of a function: one that Python keeps for itself has an underscore after it."""
    return function.removesuffix("_")
