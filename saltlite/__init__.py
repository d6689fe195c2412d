"""saltlite: Salt's core on Salt's own wire, small and fast.

For scripts: :class:`Client`, :class:`Caller` and :mod:`saltlite.events`; docs/python-api.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from saltlite import events as events
    from saltlite.client.collect import MinionReturn as MinionReturn
    from saltlite.client.collect import NotReturned as NotReturned
    from saltlite.errors import SaltliteError as SaltliteError
    from saltlite.python.caller import Caller as Caller
    from saltlite.python.client import Client as Client
    from saltlite.python.client import JobResult as JobResult

_PLACES = {
    "Caller": "saltlite.python.caller",
    "Client": "saltlite.python.client",
    "JobResult": "saltlite.python.client",
    "MinionReturn": "saltlite.client.collect",
    "NotReturned": "saltlite.client.collect",
    "SaltliteError": "saltlite.errors",
    "events": "saltlite.events",
}


def __getattr__(name: str) -> Any:
    # Imported when somebody looks: our own commands import this package, and need none of it.
    if name not in _PLACES:
        raise AttributeError(f"module 'saltlite' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_PLACES[name])
    return module if name == "events" else getattr(module, name)
