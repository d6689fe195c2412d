"""All that an engine may reach. The daemon that runs it hands in what fulfils this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from saltlite.core.dataclasses import dataclass, field

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MinionContext
    from saltlite.runner_context import Listener, RunnerContext


@dataclass(slots=True, kw_only=True)
class EngineContext:
    """What ``start`` of an engine may reach.

    ``config`` is the daemon's own. ``minion`` has the execution functions, the grains and the
    pillar; on a master they are those of the master's own side. ``runner`` is ``None`` on a minion.
    ``listen`` hears the events of the daemon's bus whose tags begin with a text.
    """

    name: str
    config: MasterConfig | MinionConfig
    minion: MinionContext
    listen: Callable[[str], Listener]
    runner: RunnerContext | None = None
    state: MutableMapping[str, Any] = field(default_factory=dict)
    """Salt's ``__context__``."""

    @property
    def functions(self) -> Any:
        """What ``__salt__`` calls."""
        return self.minion.functions

    @property
    def events(self) -> Any:
        """The bus of the daemon."""
        return self.minion.events if self.runner is None else self.runner.events

    @property
    def grains(self) -> Mapping[str, Any]:
        """The grains of this machine."""
        return self.minion.grains

    @property
    def pillar(self) -> Mapping[str, Any]:
        """The pillar as it was when the engine was started."""
        return self.minion.pillar
