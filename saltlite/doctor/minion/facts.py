"""What the checks of a minion are given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.doctor.machine import Machine

if TYPE_CHECKING:
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MasterView

LOCK_FILE: Final = ".minion.lock"


@dataclass(frozen=True, slots=True)
class MinionFacts:
    """The minion's configuration, the machine, and how the masters see this minion.

    ``view`` is ``None`` where nobody can ask a master. ``pillar`` is what this process has of it,
    nothing where it would have to be fetched first. ``masterless`` minions have no master at all.
    """

    config: MinionConfig
    view: MasterView | None = None
    pillar: Mapping[str, Any] = field(default_factory=dict)
    machine: Machine = field(default_factory=Machine)

    @property
    def user(self) -> str:
        """Whom the minion runs as."""
        return self.config.process.user

    @property
    def is_masterless(self) -> bool:
        """Whether the configuration, not ``--local``, says that there is no master."""
        if self.config.network.master_type == "disable":
            return True
        source = self.config.source.get("file_client")
        is_local = self.config.files.file_client == "local"
        return is_local and source is not None and source.line is not None

    @property
    def lock_path(self) -> str:
        """The file that a minion holds as long as it runs."""
        return os.path.join(self.config.paths.cachedir, LOCK_FILE)

    def find_minion(self) -> int | None:
        """The process id of the minion that runs here; ``None`` if none does."""
        return self.machine.lock_holder(self.lock_path)
