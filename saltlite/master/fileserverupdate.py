"""FileserverUpdate: fetches what the file server has from elsewhere (``gitfs``), again and again.

A process of its own, that is there only with such a back end: a remote that does not answer keeps
nobody else waiting. The workers see what it fetched by its files.
"""

from __future__ import annotations

import time
from pathlib import Path

import zmq

from saltlite.config.master import MasterConfig
from saltlite.fileserver.gitfs import Gitfs
from saltlite.master.child import Life


class FileserverUpdate:
    """The process that updates. ``run`` is its whole life."""

    def __init__(self, config: MasterConfig) -> None:
        self._gitfs = Gitfs(config.files, Path(config.paths.cachedir), config.extra)

    def run(self, life: Life) -> None:
        """Update until told to stop; one remote at a time, so that this shows life."""
        poller = zmq.Poller()
        life.register(poller)
        life.ready()
        while not life.stopping:
            for remote in self._gitfs.remotes_due(time.monotonic()):
                life.beat()
                remote.fetch()
                # Each remote may take long; a stop does not wait for those that are left.
                if life.stopping:
                    return
            life.poll(poller)
