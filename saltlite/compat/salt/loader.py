"""``salt.loader``: the functions that the file's own surroundings have."""

from __future__ import annotations

from typing import Any

from saltlite.compat.salt.client import _current_surroundings


def minion_mods(opts: object = None, *args: Any, **kwargs: Any) -> Any:
    """``__salt__``."""
    return _current_surroundings().salt


def grains(opts: object = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """``__grains__`` as a dict."""
    return dict(_current_surroundings().grains)


def utils(opts: object = None, *args: Any, **kwargs: Any) -> Any:
    """``__utils__``."""
    return _current_surroundings().utils


def states(opts: object = None, *args: Any, **kwargs: Any) -> Any:
    """``__states__``."""
    return _current_surroundings().states


def runner(opts: object = None, *args: Any, **kwargs: Any) -> Any:
    """Runners, where the file is one."""
    return _current_surroundings().salt


def returners(opts: object = None, *args: Any, **kwargs: Any) -> Any:
    """Custom returners."""
    from saltlite.loader.dunders import SaltFunctions

    modules = _current_surroundings().modules("returners")
    return SaltFunctions(lambda: modules)
