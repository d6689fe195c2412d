"""Where custom code of each kind lies; all that a call without custom code pays for.

Source: config.md (minion and master), modules.md 2, observed on Salt 3006.30.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

OPTIONS: Final = {
    "modules": "module_dirs",
    "states": "states_dirs",
    "grains": "grains_dirs",
    "renderers": "render_dirs",
    "returners": "returner_dirs",
    "output": "outputter_dirs",
    "utils": "utils_dirs",
    "runners": "runner_dirs",
    "wheel": "wheel_dirs",
    "pillar": "pillar_dirs",
    "tops": "top_dirs",
    "matchers": "matchers_dirs",
    "beacons": "beacons_dirs",
    "engines": "engines_dirs",
    "executors": "executors_dirs",
    "sdb": "sdb_dirs",
    "serializers": "serializers_dirs",
    "proxy": "proxy_dirs",
}
"""Kind of custom code → the option with further directories of it.

The kind is also the name of its directory below ``extension_modules``, and with an underscore
before it the one below a file root.
"""


def directories(config: Any, kind: str) -> list[str]:
    """The directories that may hold files of ``kind``, the first wins; they need not be there.

    ``config`` is a minion's or a master's.
    """
    option = OPTIONS.get(kind, "")
    own = _option(config, option)
    general = _option(config, "module_dirs")
    below = [os.path.join(root, kind) for root in general]
    return [*below, *own, synced(config, kind)]


def synced(config: Any, kind: str) -> str:
    """Where synchronised files of ``kind`` lie."""
    return os.path.join(config.paths.extension_modules, kind)


def is_empty(config: Any, kind: str) -> bool:
    """Whether there is no custom code of ``kind``; costs a look at each directory's names."""
    return not any(_has_code(directory) for directory in directories(config, kind))


def _has_code(directory: str) -> bool:
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any(not name.startswith(("_", ".")) for name in names)


def _option(config: Any, name: str) -> Sequence[str]:
    value = getattr(config.paths, name, None) or config.extra.get(name) or ()
    return [value] if isinstance(value, str) else value
