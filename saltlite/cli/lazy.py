"""Put off modules of Python that others import at their top and our commands hardly ever use.

Each costs milliseconds at every start of a command, and every process of a daemon a tenth to a
third of a megabyte for as long as it runs. Loaded before anything else, it imports little itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType

UNUSED: Mapping[str, Mapping[str, object]] = {
    "asyncio.sslproto": {},  # asyncio; TLS, which Salt's wire has not
    "inspect": {},  # dataclasses, for those without a docstring
    "ipaddress": {},  # pathlib, by way of urllib.parse
    "json": {},  # zmq's send_json
    "locale": {},  # subprocess, for text
    "pickle": {"DEFAULT_PROTOCOL": 5 if sys.version_info >= (3, 14) else 4},  # zmq's send_pyobj
    "tokenize": {},  # inspect and linecache, to read sources
}
"""Name of a module → what its importers take from it at once, which does not load it."""


def put_off(modules: Mapping[str, Mapping[str, object]] = UNUSED) -> None:
    """Let ``import name`` give a module that is loaded with the first look into it.

    ``importlib.util.LazyLoader`` would do, if the import statement itself were no such look.
    """
    for name, known in modules.items():
        if name not in sys.modules:
            sys.modules[name] = _stand_in(name, known)


def _stand_in(name: str, known: Mapping[str, object]) -> ModuleType:
    module = ModuleType(name, "Stands for a module until it is needed.")

    def load(attribute: str) -> object:
        if sys.modules.get(name) is module:
            del sys.modules[name]
        loaded = vars(importlib.import_module(name))
        vars(module).pop("__getattr__", None)
        vars(module).update(loaded)
        if attribute not in loaded:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return loaded[attribute]

    vars(module).update(known, __getattr__=load)
    return module
