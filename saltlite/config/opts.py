"""The flat ``opts`` dict: made for user modules and ``config.get``, used by nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from saltlite.config.schema import option_name, options
from saltlite.core import dataclasses
from saltlite.core.lazyregex import regex

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig


def flat_opts(config: MasterConfig | MinionConfig) -> dict[str, Any]:
    """All options by name, unknown ones too, as Salt's ``__opts__`` has them.

    The dict is a fresh one each time; lists and maps in it are those of ``config``.
    """
    opts: dict[str, Any] = dict(config.extra)
    for part in dataclasses.fields(config):
        section = getattr(config, part.name)
        if not dataclasses.is_dataclass(section) or isinstance(section, type):
            continue
        for field in options(type(section)):
            opts[option_name(field)] = getattr(section, field.name)
    opts["config_dir"] = os.path.dirname(config.paths.conf_file)
    role = "master" if type(config).__name__ == "MasterConfig" else "minion"
    opts.setdefault("__role", role)  # a master's options that stand for a minion's stay a master's
    return opts


_SECRET = regex(r"(?:^|[._-])\w*(?:pass|passwd|password|passphrase|bindpw|secret)$", re.IGNORECASE)
MASK = "***"


def mask_secrets(options: Mapping[str, object]) -> dict[str, Any]:
    """A copy of options with ``***`` for passwords and their like, at any depth.

    A name says what is one: it ends with ``pass``, ``password``, ``passphrase``, ``bindpw``,
    ``secret``. What is empty stays: it shows that nothing is set.
    """
    return {name: _mask_secrets(value, str(name)) for name, value in options.items()}


def _mask_secrets(value: object, name: str) -> Any:
    if isinstance(value, Mapping):
        return mask_secrets(value)
    if isinstance(value, (list, tuple)):
        return [_mask_secrets(one, name) for one in value]
    return MASK if value and isinstance(value, (str, int)) and _SECRET.search(name) else value
