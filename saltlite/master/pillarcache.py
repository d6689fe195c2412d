"""``pillar_cache``: pillar that was compiled a while ago is given again.

What is kept of a minion goes when the minion refreshes its pillar (``clean_cache``), when its time
is over, and with its key: another key of the same id does not get it. ``disk`` keeps it in
``cachedir/pillar_cache``, for all workers; ``memory`` in each worker for itself, with no more on
disk than when it was cleaned.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from saltlite.config.master import PillarOptions
from saltlite.core.dataclasses import dataclass
from saltlite.errors import StoreError, WireError
from saltlite.master.minioncache import COMPILED
from saltlite.transport.codec import pack_bin, unpack_bin

if TYPE_CHECKING:
    from saltlite.master.stores import FactStore, KeyReader

log = logging.getLogger(__name__)

KEPT_IN_MEMORY: Final = 1000
BYTES_IN_MEMORY: Final = 32 * 1024 * 1024
"""Pillars in a worker's memory, and what they take; the oldest go first."""

SWEEP_S: Final = 10.0
"""How often a worker looks which of them it has for nothing."""

ENVS_KEPT: Final = 16
"""Environments of one minion on disk; a minion may ask for any."""

CLEANED: Final = "cleaned"


@dataclass(frozen=True, slots=True)
class _Held:
    """A pillar in memory, packed, and the stamp of the key that it was compiled for."""

    made_s: float
    key: object
    data: bytes


class _Memory:
    """Pillars in the memory of one worker, by minion and environment."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], _Held] = OrderedDict()
        self._bytes = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(list(self._held))

    def get(self, place: tuple[str, str]) -> _Held | None:
        return self._held.get(place)

    def put(self, place: tuple[str, str], held: _Held) -> None:
        self.drop(place)
        # It would push out all others, and then itself.
        if len(held.data) > BYTES_IN_MEMORY:
            return
        self._held[place] = held
        self._bytes += len(held.data)
        while len(self._held) > KEPT_IN_MEMORY or self._bytes > BYTES_IN_MEMORY:
            self.drop(next(iter(self._held)))

    def drop(self, place: tuple[str, str]) -> None:
        gone = self._held.pop(place, None)
        if gone is not None:
            self._bytes -= len(gone.data)


class PillarCache:
    """Compiled pillar by minion and environment. Times are of the wall clock, in seconds."""

    def __init__(
        self,
        options: PillarOptions,
        minions: FactStore,
        wall_s: Callable[[], float],
        key_stamp: Callable[[str], object | None],
    ) -> None:
        """``key_stamp`` tells the accepted key of a minion from any other it had, or will have.

        It is ``None`` for who is not accepted; nothing is kept of them.
        """
        self._options = options
        self._key_stamp = key_stamp
        self._minions = minions
        self._wall_s = wall_s
        self._memory = _Memory()
        self._swept_s = 0.0

    @classmethod
    def of_keys(
        cls,
        options: PillarOptions,
        minions: FactStore,
        wall_s: Callable[[], float],
        keys: KeyReader,
    ) -> PillarCache:
        """The cache of a master: another key under an id is not given what the last one was."""
        return cls(
            options,
            minions,
            wall_s,
            lambda minion_id: (key := keys.load_accepted(minion_id)) and key.stamp,
        )

    def get(self, minion_id: str, pillarenv: str | None) -> dict[str, Any] | None:
        """The pillar of a minion, ``None`` if it has to be compiled."""
        kept = self._read_kept(minion_id)
        made_s, pillar = self._find_kept(kept, minion_id, pillarenv or "")
        cleaned_s = kept.get(CLEANED, 0)
        age_s = self._wall_s() - made_s
        # A negative age is of a clock that was wrong.
        if not isinstance(pillar, dict) or not 0 <= age_s < self._options.pillar_cache_ttl:
            return None
        return pillar if isinstance(cleaned_s, (int, float)) and made_s >= cleaned_s else None

    def put(
        self, minion_id: str, pillarenv: str | None, pillar: Mapping[str, object], begun_s: float
    ) -> None:
        """Keep a pillar; a disk that does not take it only costs time later.

        ``begun_s`` is when its compilation began. What was cleaned since, or compiled of later
        files, is not replaced by it.
        """
        env = pillarenv or ""
        if self._options.pillar_cache_backend == "memory":
            self._put_in_memory(minion_id, env, begun_s, dict(pillar))
            return

        def add(kept: dict[str, Any]) -> dict[str, Any] | None:
            if not self._is_newest(kept, minion_id, env, begun_s):
                return None
            envs = kept.get("envs")
            envs = dict(envs) if isinstance(envs, dict) else {}
            # Put in anew at the end: the first to go is the one that was compiled longest ago.
            envs.pop(env, None)
            for old in list(envs)[: max(0, len(envs) - ENVS_KEPT + 1)]:
                del envs[old]
            return {**kept, "envs": {**envs, env: [begun_s, dict(pillar)]}}

        self._update(minion_id, add)

    def clean(self, minion_id: str) -> None:
        """What is kept of a minion does not count any more."""
        # A mark and not a removal: what is being compiled now must not count either.
        self._update(minion_id, lambda _kept: {CLEANED: self._wall_s()})

    def drop_gone(self) -> None:
        """Let go of pillars whose time is over, and of minions that are not accepted any more.

        For a worker to call whenever it has waited; it looks every ten seconds.
        """
        now_s = self._wall_s()
        # A clock that was set back must not put this off until it has caught up.
        if 0 <= now_s - self._swept_s < SWEEP_S:
            return
        self._swept_s = now_s
        for minion_id, env in self._memory:
            made_s, pillar = self._in_memory(minion_id, env)
            if pillar is None or not 0 <= now_s - made_s < self._options.pillar_cache_ttl:
                self._memory.drop((minion_id, env))

    def _put_in_memory(
        self, minion_id: str, env: str, begun_s: float, pillar: dict[str, Any]
    ) -> None:
        key = self._key_stamp(minion_id)
        if key is None or not self._is_newest(self._read_kept(minion_id), minion_id, env, begun_s):
            return
        try:
            # Packed, so that its size counts, and each reader has a map of his own.
            data = pack_bin(pillar)
        except WireError as error:
            log.error("The compiled pillar of minion %s is not kept: %s", minion_id, error)
            return
        self._memory.put((minion_id, env), _Held(begun_s, key, data))

    def _in_memory(self, minion_id: str, env: str) -> tuple[float, bytes | None]:
        held = self._memory.get((minion_id, env))
        if held is None or held.key != self._key_stamp(minion_id):
            return 0.0, None
        return held.made_s, held.data

    def _is_newest(
        self, kept: Mapping[str, object], minion_id: str, env: str, begun_s: float
    ) -> bool:
        """Whether nothing newer is known; times to come are of a clock that was wrong."""
        cleaned_s = kept.get(CLEANED, 0)
        others = [self._find_kept(kept, minion_id, env)[0], cleaned_s]
        now_s = self._wall_s()
        return not any(isinstance(one, (int, float)) and begun_s < one <= now_s for one in others)

    def _read_kept(self, minion_id: str) -> dict[str, Any]:
        return self._minions.read(COMPILED, minion_id) or {}

    def _find_kept(self, kept: Mapping[str, object], minion_id: str, env: str) -> tuple[float, Any]:
        if self._options.pillar_cache_backend == "memory":
            made_s, data = self._in_memory(minion_id, env)
            return made_s, None if data is None else unpack_bin(data)
        envs = kept.get("envs")
        found = envs.get(env) if isinstance(envs, dict) else None
        if not isinstance(found, (list, tuple)) or len(found) != 2:
            return 0.0, None
        made_s, pillar = found
        return (float(made_s), pillar) if isinstance(made_s, (int, float)) else (0.0, None)

    def _update(
        self, minion_id: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]
    ) -> None:
        def check(kept: dict[str, Any]) -> dict[str, Any] | None:
            # Under the minion's lock: nothing is left of one whose key has gone meanwhile.
            return change(kept) if self._key_stamp(minion_id) is not None else None

        try:
            self._minions.update(COMPILED, minion_id, check)
        except StoreError as error:
            log.error("The compiled pillar of minion %s is not kept: %s", minion_id, error)
