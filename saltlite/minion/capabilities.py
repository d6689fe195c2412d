"""What a master has beyond Salt's: it is asked for nothing that it has not offered.

An offer holds as long as the keys of one authentication. Behind the same address, or taking over a
job whose master is lost, may be a master of Salt, whom a question of ours would only confuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.core.dataclasses import dataclass

_ASKED: Final = "_file_bundle"
_TELLS: Final = "_master_opts"


@dataclass(slots=True)
class Offers:
    """The offers of a master since it let us in."""

    _bundles: bool = False

    def refusal(self, load: Mapping[str, object]) -> Mapping[str, Any] | None:
        """The answer to a request that the master must not get; ``None`` for one that it may."""
        if self._bundles or load.get("cmd") != _ASKED:
            return None
        # Loaded only here: most minions never ask for a bundle in the loop's process.
        from saltlite.fileserver.bundle import NOTHING

        return NOTHING

    def heard(self, load: Mapping[str, object], reply: object) -> None:
        """Note what a reply offers, if it is one that does."""
        if load.get("cmd") == _TELLS:
            from saltlite.fileserver.bundle import most_paths

            self._bundles = most_paths(reply) > 0
