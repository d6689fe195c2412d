"""The request for a pillar. Source: protocol.md 9.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.core.datalimits import grains_problem
from saltlite.core.plain import PlainMap
from saltlite.errors import WireError

NO_OVERRIDE: PlainMap = {}


def pillar_load(
    config: MinionConfig,
    grains: Mapping[str, Any],
    *,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    override: PlainMap = NO_OVERRIDE,
    clean_cache: bool = False,
) -> dict[str, Any]:
    """The load of ``_pillar``; environments that are not given are those of the configuration.

    ``clean_cache``: what the master has compiled before does not count.

    Raises:
        WireError: the grains are larger than a master takes; the text names the largest.
    """
    problem = grains_problem(grains)
    if problem is not None:
        raise WireError(problem)
    saltenv = saltenv or config.files.saltenv
    if pillarenv is None:
        follows = config.pillar.pillarenv_from_saltenv
        pillarenv = saltenv if follows else config.pillar.pillarenv
    load: dict[str, Any] = {
        "cmd": "_pillar",
        "id": config.identity.id,
        "grains": dict(grains),
        "saltenv": saltenv,
        "pillarenv": pillarenv,
        "pillar_override": dict(override),
        "extra_minion_data": {},
        "ver": "2",
    }
    return {**load, "clean_cache": True} if clean_cache else load
