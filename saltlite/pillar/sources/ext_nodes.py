"""``ext_nodes``: the ``parameters`` of an external node classifier.

``ext_pillar: [{ext_nodes: COMMAND}]`` beside ``master_tops: {ext_nodes: COMMAND}``. A classifier
that fails is an error of the pillar: states are not to run without what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.pillar.external import ExternalFailed
from saltlite.providers.node_classifier import classify


def ext_pillar(
    ctx: MinionContext, _pillar: Mapping[str, object], command: str
) -> Mapping[str, Any]:
    """What the command prints as ``parameters`` for a minion; nothing if it prints none.

    Raises:
        ExternalFailed: it prints something else there.
        ClassifierFailed: it fails.
    """
    said = classify(ctx.host, command, ctx.config.identity.id)
    parameters = said.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise ExternalFailed("parameters are no map")
    return parameters
