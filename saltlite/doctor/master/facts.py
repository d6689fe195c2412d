"""What the checks of a master are given."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from saltlite.core.dataclasses import dataclass, field
from saltlite.doctor.machine import Machine

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.runner_context import RunnerContext

LOCK_FILE: Final = ".master.lock"


@dataclass(frozen=True, slots=True)
class MasterFacts:
    """The master's configuration, the machine, and what runners may reach.

    Nothing of ``ctx`` that changes anything is used: it is read.
    """

    config: MasterConfig
    ctx: RunnerContext
    machine: Machine = field(default_factory=Machine)
    ask: str = ""
    """Minions that may be asked, a glob; nobody without it."""

    @property
    def user(self) -> str:
        """Whom the master runs as."""
        return self.config.process.user

    @property
    def ports(self) -> dict[str, int]:
        """The two ports with their options."""
        network = self.config.network
        return {"publish_port": network.publish_port, "ret_port": network.ret_port}

    @property
    def lock_path(self) -> str:
        """The file that a master holds as long as it runs."""
        return os.path.join(self.config.paths.cachedir, LOCK_FILE)

    def find_master(self) -> int | None:
        """The process id of the master that runs here; ``None`` if none does."""
        return self.machine.lock_holder(self.lock_path)

    def read_grains(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The accepted minions of whom grains are cached, with these."""
        for minion in self.ctx.accepted():
            grains = self.ctx.cache.fetch("grains", minion)
            if isinstance(grains, Mapping):
                yield minion, grains

    def ask_worker(self, port: int, timeout_s: float) -> float | None:
        """How long a worker took to answer, in seconds; ``None`` if none did in time."""
        from saltlite.doctor.worker_ping import ask_worker

        return ask_worker(self.config.network.interface, port, timeout_s)
