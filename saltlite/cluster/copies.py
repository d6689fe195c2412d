"""What the bridge looks after besides jobs: copies of keys and facts, runs, presence."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from saltlite.cluster.bridge import Duty
from saltlite.cluster.engine import ClusterEngine
from saltlite.cluster.facts import FactsFeed
from saltlite.cluster.keys import CHANNEL, KeyFeed
from saltlite.cluster.nodes import Heart
from saltlite.cluster.presence import REPORT_S, PresenceReport
from saltlite.cluster.run_notes import RunNotesFeed
from saltlite.config.master import MasterConfig
from saltlite.master.keyactions import request_rotation
from saltlite.master.keystore import KeyState, KeyStore
from saltlite.master.minioncache import MinionCache
from saltlite.master.presence import LocalPresence

LOOK_S: Final = 1.0
"""How often each is looked at, whatever was said meanwhile."""


def list_duties(
    config: MasterConfig, engine: ClusterEngine, number: int, heart: Heart
) -> list[Duty]:
    """The duties of node ``number``."""
    pki_dir, cachedir = Path(config.paths.pki_dir), Path(config.paths.cachedir)
    keys = KeyFeed(engine, pki_dir, rotate=lambda: _ask_for_rotation(config))
    lease_s = config.cluster.cluster_lease
    runs = RunNotesFeed(engine, cachedir, number, lease_s=lease_s, may_judge=heart.may_judge)
    facts = FactsFeed(engine, cachedir, shares_pillar=config.cluster.cluster_cache_pillar)
    local = LocalPresence(config.network.publish_port, MinionCache(cachedir))
    presence, copy = PresenceReport(engine, local, number), KeyStore(pki_dir)
    return [
        Duty(keys.catch_up, LOOK_S, CHANNEL),
        Duty(keys.send_orders, LOOK_S),
        Duty(facts.catch_up, LOOK_S),
        Duty(runs.exchange, LOOK_S),
        Duty(lambda: presence.report(copy.ids(KeyState.ACCEPTED)), REPORT_S),
    ]


def _ask_for_rotation(config: MasterConfig) -> None:
    """As ``salt-key -d`` does; Maintenance and the Publisher see to it."""
    if config.keys.rotate_aes_key:
        request_rotation(Path(config.paths.cachedir))
