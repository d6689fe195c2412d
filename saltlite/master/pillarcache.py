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
        self,
        options: PillarOptions,
        minions: MinionCache,
        wall_s: Callable[[], float],
        has_key: Callable[[str], bool],
    ) -> None:
        """``has_key`` says whether a minion is accepted still; nothing is kept of others."""
        self._options = options
        self._has_key = has_key
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

    def put(
        self, minion_id: str, pillarenv: str | None, pillar: Mapping[str, Any], begun_s: float
    ) -> None:
        """Keep a pillar; a disk that does not take it only costs time later.

        ``begun_s`` is when its compilation began. What was cleaned since, or compiled of later
        files, is not replaced by it.
        """
        env = pillarenv or ""
        if self._options.pillar_cache_backend == "memory":
            self._put_in_memory(minion_id, env, begun_s, dict(pillar))
            return

        def added(kept: dict[str, Any]) -> dict[str, Any] | None:
            if not self._is_newest(kept, minion_id, env, begun_s):
                return None
            envs = kept.get("envs")
            envs = dict(envs) if isinstance(envs, dict) else {}
            envs.pop(env, None)
            for old in list(envs)[: max(0, len(envs) - ENVS_KEPT + 1)]:
                del envs[old]
            return {**kept, "envs": {**envs, env: [begun_s, dict(pillar)]}}

        self._update(minion_id, added)

    def clean(self, minion_id: str) -> None:
        """What is kept of a minion does not count any more."""
        self._update(minion_id, lambda _kept: {CLEANED: self._wall_s()})

    def _put_in_memory(
        self, minion_id: str, env: str, begun_s: float, pillar: dict[str, Any]
    ) -> None:
        if not self._is_newest(self._kept(minion_id), minion_id, env, begun_s):
            return
        self._memory[minion_id, env] = (begun_s, pillar)
        while len(self._memory) > KEPT_IN_MEMORY:
            self._memory.popitem(last=False)

    def _is_newest(self, kept: Mapping[str, Any], minion_id: str, env: str, begun_s: float) -> bool:
        """Whether nothing newer is known; times to come are of a clock that was wrong."""
        cleaned_s = kept.get(CLEANED, 0)
        others = [self._found(kept, minion_id, env)[0], cleaned_s]
        now_s = self._wall_s()
        return not any(isinstance(one, (int, float)) and begun_s < one <= now_s for one in others)

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

    def _update(
        self, minion_id: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]
    ) -> None:
        def checked(kept: dict[str, Any]) -> dict[str, Any] | None:
            return change(kept) if self._has_key(minion_id) else None

        try:
            self._minions.update(COMPILED, minion_id, checked)
        except StoreError as error:
            log.error("The compiled pillar of minion %s is not kept: %s", minion_id, error)
