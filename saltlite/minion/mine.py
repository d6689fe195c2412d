"""What a minion tells the others: ``mine_functions``, read and run. Source: protocol.md 9.5.

The option, in the configuration or the pillar, is a list of function names, or a map::

    network.ip_addrs: [eth0]                  # positional arguments
    grains.items: {sanitize: True}            # keywords
    addresses:                                # another name for a function
      - mine_function: network.ip_addrs
      - eth0
      - allow_tgt: 'G@role:lb'                # who may read it
      - allow_tgt_type: compound
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from saltlite.context import MinionContext
from saltlite.loader.arguments import KWARG
from saltlite.minion.job import run_function

log = logging.getLogger(__name__)

ACL_VERSION: Final = 1
_ACL = ("allow_tgt", "allow_tgt_type")


@dataclass(frozen=True, slots=True)
class MineEntry:
    """One thing to tell: the name it is stored under, what gives it, and who may read it."""

    name: str
    fun: str
    arg: list[Any] = field(default_factory=list)
    acl: dict[str, Any] = field(default_factory=dict)

    def stored(self, value: Any) -> Any:
        """``value`` as it is stored: bare, or with who may read it."""
        if not self.acl:
            return value
        return {"__data__": value, "__saltmine_acl__": ACL_VERSION, **self.acl}


def entries(option: Any) -> list[MineEntry]:
    """Read ``mine_functions``; what makes no sense is left out with a line."""
    if isinstance(option, (list, tuple)):
        option = {name: [] for name in option if isinstance(name, str)}
    if not isinstance(option, Mapping):
        return []
    return [_entry(str(name), written) for name, written in option.items()]


def _entry(name: str, written: Any) -> MineEntry:
    items = list(written) if isinstance(written, (list, tuple)) else [written or {}]
    fun = name
    arg: list[Any] = []
    acl: dict[str, Any] = {}
    kwargs: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, Mapping):
            arg.append(item)
            continue
        fun = str(item.get("mine_function", fun))
        acl |= {key: item[key] for key in _ACL if key in item}
        kwargs |= {
            str(key): value for key, value in item.items() if key not in (*_ACL, "mine_function")
        }
    if kwargs:
        arg.append({**kwargs, KWARG: True})
    return MineEntry(name, fun, arg, acl)


def collect(option: Any, ctx: MinionContext) -> dict[str, Any]:
    """Run all functions; those that fail are named in the log and left out."""
    data = {}
    for entry in entries(option):
        outcome = run_function(entry.fun, entry.arg, {}, ctx)
        if outcome.success:
            data[entry.name] = entry.stored(outcome.value)
        else:
            log.warning("mine function %s fails and is left out", entry.name)
    return data
