"""What is done when something that is watched has changed."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Declared


def mod_watch(ctx: MinionContext, name: str, sfun: str = "", **kwargs: Any) -> Declared:
    """What is watched has changed: the file is looked at again."""
    from saltlite.loader.states import resolve

    declared: Declared = resolve(f"file.{sfun}", ctx).call(name=name, **kwargs)
    return declared
