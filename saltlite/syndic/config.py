"""A syndic's options: the master's and the minion's of this machine, read as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.config.load import load_master, load_minion
from saltlite.config.master import MasterConfig
from saltlite.config.minion import MinionConfig
from saltlite.core.dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SyndicConfig:
    """``minion`` is what it is towards the masters above: their addresses are in its ``master``."""

    master: MasterConfig
    minion: MinionConfig

    @property
    def user(self) -> str:
        """Who it runs as: whoever may read the lower master's files."""
        return self.master.syndic.syndic_user or self.master.process.user

    @property
    def pidfile(self) -> str:
        """Where its process id is."""
        return self.master.syndic.syndic_pidfile


def load_syndic(config_dir: Any, overrides: Mapping[str, object]) -> SyndicConfig:
    """Read both files of a directory.

    Raises:
        ConfigError: something is wrong in one of them.
    """
    master = load_master(config_dir, overrides, daemon=True)
    return SyndicConfig(master, make_minion(master, load_minion(config_dir)))


def make_minion(master: MasterConfig, minion: MinionConfig) -> MinionConfig:
    """The configuration of the minion that a syndic is towards the masters above."""
    options = master.syndic
    network = replace(
        minion.network,
        master=options.syndic_master,
        master_port=options.syndic_master_port or minion.network.master_port,
        master_type="str",
    )
    auth = replace(minion.auth, master_finger=minion.auth.syndic_finger)
    # The port in the file is that of the lower master, where the minion of this machine listens.
    source = {name: one for name, one in minion.source.items() if name != "publish_port"}
    return replace(minion, network=network, auth=auth, source=source)
