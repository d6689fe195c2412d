"""``salt.loader``: the functions that the file's own surroundings have."""

from __future__ import annotations

from typing import Any

from saltlite.loader.answers.client import _around


def minion_mods(opts: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``__salt__``."""
    return _around().salt


def grains(opts: Any = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """``__grains__`` as a dict."""
    return dict(_around().grains)


def utils(opts: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``__utils__``."""
    return _around().utils


def states(opts: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``__states__``."""
    return _around().states


def runner(opts: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Runners, where the file is one."""
    return _around().salt


def returners(opts: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Custom returners."""
    from saltlite.loader.dunders import SaltFunctions

    modules = _around().modules("returners")
    return SaltFunctions(lambda: modules)
