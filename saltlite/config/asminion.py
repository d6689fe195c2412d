"""A minion's configuration made of a master's: for functions and templates that run on the master.

They are written for minions, and see the master's files, options and directories. What a minion has
no option for is kept among the unknown ones, so that ``opts`` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.master import MasterConfig
from saltlite.config.minion import SECTIONS, MinionConfig
from saltlite.config.opts import flat_opts
from saltlite.config.schema import option_name, options


def as_minion(config: MasterConfig, minion_id: str) -> MinionConfig:
    """The configuration under which a master's functions run for ``minion_id``.

    Files are local, and nothing is returned.
    """
    values = {**flat_opts(config), "file_client": "local", "pub_ret": False}
    values["id"] = minion_id
    known: set[str] = set()
    made = {}
    for name, section in SECTIONS.items():
        own = {field.name: option_name(field) for field in options(section)}
        known.update(own.values())
        made[name] = section(**{key: values[word] for key, word in own.items() if word in values})
    return MinionConfig(**made, extra=_other_options(values, known), source=config.source)


def _other_options(values: Mapping[str, object], known: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in known}
