"""``pillar_cache``: pillar that was compiled a while ago is given again.

What is kept of a minion goes when the minion refreshes its pillar (``clean_cache``), when its time
is over, and with its key. ``disk`` keeps it in ``cachedir/pillar_cache``, for all workers;
``memory`` in each worker for itself, with no more on disk than when it was cleaned.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from saltlite.config.master import PillarOptions
from saltlite.errors import StoreError
from saltlite.master.minioncache import COMPILED, MinionCache

log = logging.getLogger(__name__)

KEPT_IN_MEMORY: Final = 1000
"""Pillars in a worker's memory; the oldest go first."""

ENVS_KEPT: Final = 16
"""Environments of one minion on disk; a minion may ask for any."""

CLEANED: Final = "cleaned"


class PillarCache:
    """Compiled pillar by minion and environment. Times are of the wall clock, in seconds."""

    def __init__(
        self, options: PillarOptions, minions: MinionCache, wall_s: Callable[[], float]
    ) -> None:
        self._options = options
        self._minions = minions
        self._wall_s = wall_s
        self._memory: OrderedDict[tuple[str, str], tuple[float, dict[str, Any]]] = OrderedDict()

    def get(self, minion_id: str, pillarenv: str | None) -> dict[str, Any] | None:
        """The pillar of a minion, ``None`` if it has to be compiled."""
        kept = self._kept(minion_id)
        made_s, pillar = self._found(kept, minion_id, pillarenv or "")
        cleaned_s = kept.get(CLEANED, 0)
        age_s = self._wall_s() - made_s
        if not isinstance(pillar, dict) or not 0 <= age_s < self._options.pillar_cache_ttl:
            return None
        return pillar if isinstance(cleaned_s, (int, float)) and made_s >= cleaned_s else None

    def put(self, minion_id: str, pillarenv: str | None, pillar: Mapping[str, Any]) -> None:
        """Keep a pillar; a disk that does not take it only costs time later."""
        now, env = self._wall_s(), pillarenv or ""
        if self._options.pillar_cache_backend == "memory":
            self._memory[minion_id, env] = (now, dict(pillar))
            while len(self._memory) > KEPT_IN_MEMORY:
                self._memory.popitem(last=False)
            return
        kept = self._kept(minion_id)
        envs = kept.get("envs")
        envs = dict(envs) if isinstance(envs, dict) else {}
        envs.pop(env, None)
        for old in list(envs)[: max(0, len(envs) - ENVS_KEPT + 1)]:
            del envs[old]
        self._write(minion_id, {**kept, "envs": {**envs, env: [now, dict(pillar)]}})

    def clean(self, minion_id: str) -> None:
        """What is kept of a minion does not count any more."""
        self._write(minion_id, {CLEANED: self._wall_s()})

    def _kept(self, minion_id: str) -> dict[str, Any]:
        return self._minions.read(COMPILED, minion_id) or {}

    def _found(self, kept: Mapping[str, Any], minion_id: str, env: str) -> tuple[float, Any]:
        if self._options.pillar_cache_backend == "memory":
            return self._memory.get((minion_id, env), (0.0, None))
        envs = kept.get("envs")
        found = envs.get(env) if isinstance(envs, dict) else None
        if not isinstance(found, (list, tuple)) or len(found) != 2:
            return 0.0, None
        made_s, pillar = found
        return (float(made_s), pillar) if isinstance(made_s, (int, float)) else (0.0, None)

    def _write(self, minion_id: str, value: Mapping[str, Any]) -> None:
        try:
            self._minions.write(COMPILED, minion_id, dict(value))
        except StoreError as error:
            log.error("The compiled pillar of minion %s is not kept: %s", minion_id, error)
