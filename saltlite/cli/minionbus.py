"""The bus and the jobs of the minion that runs on this machine, for functions under ``salt-call``.

So a minion hears what is done beside it: ``salt-call saltutil.sync_all`` refreshes its modules too.
And a run of states under ``salt-call`` does not begin while a job of that minion runs some.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltlite.config.minion import MinionConfig
    from saltlite.core.plain import PlainMap
    from saltlite.core.services import EventSink
    from saltlite.transport.bus import EventSubscriber

log = logging.getLogger(__name__)

PREFIX = "minion_event_"


class MinionBus:
    """Fires on the minion's bus, one connection for each event. Fulfils ``context.EventSink``."""

    def __init__(self, config: MinionConfig) -> None:
        self._config = config

    def fire(self, tag: str, data: PlainMap) -> None:
        """Fire one event; nothing happens if that minion has gone."""
        from saltlite.transport.addresses import MinionSockets
        from saltlite.transport.bus import EventPusher

        paths, identity = self._config.paths, self._config.identity
        sockets = MinionSockets(Path(paths.sock_dir), identity.id, self._config.files.hash_type)
        if not sockets.event_pull.exists():
            log.debug("event %s has nowhere to go", tag)
            return
        with EventPusher(sockets.event_pull) as pusher:
            pusher.fire(tag, data)


def minion_bus(config: MinionConfig) -> EventSink:
    """The bus of the minion of this configuration; one that drops all if none seems to run."""
    from saltlite.context import NoEvents

    try:
        names = os.listdir(config.paths.sock_dir)
    except OSError:
        names = []
    return MinionBus(config) if any(name.startswith(PREFIX) for name in names) else NoEvents()


class NotedJobs:
    """The jobs that the minion has noted on disk. Fulfils ``context.JobTable``."""

    def __init__(self, config: MinionConfig) -> None:
        self._path = Path(config.paths.cachedir) / "proc"

    def running(self) -> list[PlainMap]:
        """Those whose processes live."""
        if not os.path.isdir(self._path):
            return []
        from saltlite.minion.proc import ProcDir, show_job

        entries = ProcDir(self._path).entries()
        return [show_job(entry.job, entry.pid) for entry in entries if entry.alive()]

    def signal(self, jid: str, number: int) -> str:
        """No job of this process; those of the minion are signalled by itself."""
        return ""


def listen_to_minion(config: MinionConfig, prefix: str) -> EventSubscriber:
    """Hears the events of the minion of this configuration whose tags begin with ``prefix``."""
    from saltlite.transport.addresses import MinionSockets
    from saltlite.transport.bus import EventSubscriber

    paths, identity = config.paths, config.identity
    sockets = MinionSockets(Path(paths.sock_dir), identity.id, config.files.hash_type)
    return EventSubscriber(sockets.event_pub, (prefix,))
