"""The source ``ext_nodes``: the classes that an external node classifier has for a minion.

They are SLS names, in its ``environment`` (``base`` without). Its ``parameters`` come into the
pillar by the source of the same name. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.providers.node_classifier import classify

BASE = "base"


class TopFailed(SaltliteError):
    """The classifier names no classes; the text says why."""


def top(ctx: MinionContext, command: object) -> Mapping[str, Any]:
    """Environment → SLS names, as the command prints them for a minion.

    Raises:
        SaltliteError: it gives none.
    """
    said = classify(ctx.host, command, ctx.config.identity.id)
    classes = said.get("classes")
    if not isinstance(classes, (list, Mapping)):
        name = str(command).split()[0]
        raise TopFailed(f"{name} prints no YAML with a list or map of classes")
    return {str(said.get("environment") or BASE): list(classes)}
