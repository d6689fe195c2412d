"""What a minion tells the others: ``mine_functions``, read. Source: docs/wire.md#mine.

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

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.datalimits import mine_problem
from saltlite.errors import WireError

ACL_VERSION: Final = 1
_ACL = ("allow_tgt", "allow_tgt_type")


@dataclass(frozen=True, slots=True)
class MineEntry:
    """One thing to tell: the name it is stored under, what gives it, and who may read it."""

    name: str
    fun: str
    arg: list[Any] = field(default_factory=list)
    kwarg: dict[str, Any] = field(default_factory=dict)
    acl: dict[str, Any] = field(default_factory=dict)

    def storage_form(self, value: object) -> Any:
        """``value`` as it is stored: bare, or with who may read it."""
        if not self.acl:
            return value
        return {"__data__": value, "__saltmine_acl__": ACL_VERSION, **self.acl}


def entries(option: object) -> list[MineEntry]:
    """Read ``mine_functions``; what makes no sense is left out."""
    if isinstance(option, (list, tuple)):
        option = {name: [] for name in option if isinstance(name, str)}
    if not isinstance(option, Mapping):
        return []
    return [mine_entry(str(name), written) for name, written in option.items()]


def mine_load(data: Mapping[str, object], *, clear: bool = False) -> dict[str, Any]:
    """The load of ``_mine``.

    Raises:
        WireError: the data are larger than a master takes; the text names the largest entry.
    """
    # Told here, where the name can be told: a master would refuse the load as a whole.
    problem = mine_problem(data)
    if problem is not None:
        raise WireError(problem)
    return {"cmd": "_mine", "data": dict(data), "clear": clear}


def mine_entry(name: str, written: object) -> MineEntry:
    """One entry, with what is written below its name."""
    # A map alone is one item of the list: its keys are keywords.
    items = list(written) if isinstance(written, (list, tuple)) else [written or {}]
    fun = name
    arg: list[Any] = []
    acl: dict[str, Any] = {}
    kwarg: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, Mapping):
            arg.append(item)
            continue
        # It may stand in any item; without it the entry's name is the function.
        fun = str(item.get("mine_function", fun))
        acl |= {key: item[key] for key in _ACL if key in item}
        kwarg |= {
            str(key): value for key, value in item.items() if key not in (*_ACL, "mine_function")
        }
    return MineEntry(name, fun, arg, kwarg, acl)


def data_of(entry: object) -> Any:
    """What was told, without who may read it."""
    # Both keys: a function may give a map of its own that has one of them.
    if isinstance(entry, Mapping) and entry.get("__saltmine_acl__") and "__data__" in entry:
        return entry["__data__"]
    return entry
