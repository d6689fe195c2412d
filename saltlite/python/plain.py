"""What Salt's own Python interface stands on in a plain script: configuration, clients, buses."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.config.load import load_master, load_minion
from saltlite.config.opts import flat_opts
from saltlite.errors import SaltliteError, UsageError

if TYPE_CHECKING:
    from saltlite.client.local import LocalClient
    from saltlite.client.runner import RunnerClient
    from saltlite.loader.surroundings import Surroundings
    from saltlite.python.caller import Caller
    from saltlite.runner_context import RunnerContext
    from saltlite.transport.bus import EventPusher, EventSubscriber

VARIABLES: Final[Mapping[str, str]] = {
    "master": "SALT_MASTER_CONFIG",
    "minion": "SALT_MINION_CONFIG",
}
"""They win over the file that a script names, as with Salt."""

CONNECT_TIMEOUT_S: Final = 5.0


class PlainScript:
    """Fulfils :class:`saltlite.loader.surroundings.Outside`."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}
        self._surroundings: dict[str, Surroundings] = {}
        # Scripts close nothing: what is left at their end would keep ZeroMQ waiting.
        self._clients: weakref.WeakSet[LocalClient] = weakref.WeakSet()
        self._runs = ExitStack()
        atexit.register(self.close)

    def close(self) -> None:
        """Give back all sockets and files."""
        for client in list(self._clients):
            client.close()
        for caller in self._callers.values():
            caller.close()
        self._runs.close()

    def options(self, role: str, path: str | None = None) -> dict[str, Any]:
        """See ``Outside``."""
        found = _find_file(role, path)
        return flat_opts(load_master(found) if role == "master" else load_minion(found))

    def local_client(
        self, path: str | None = None, opts: Mapping[str, Any] | None = None
    ) -> LocalClient:
        """See ``Outside``."""
        from saltlite.cli.stores import open_jobs
        from saltlite.client.jobs import JobClient
        from saltlite.client.local import LocalClient
        from saltlite.master.presence import connections_to

        config = load_master(_file_of(opts, "master", path))
        client = LocalClient(
            JobClient(
                config,
                store=lambda: open_jobs(config),
                connections=lambda: connections_to(config.network.publish_port),
            )
        )
        self._clients.add(client)
        return client

    def runner_client(self, kind: str, opts: Mapping[str, Any] | None = None) -> RunnerClient:
        """See ``Outside``."""
        from saltlite.client.runner import RunnerClient, WheelClient

        context = self._open_runs(_file_of(opts, "master", None))
        return WheelClient(context) if kind == "wheel" else RunnerClient(context)

    def minion(
        self, path: str | None = None, opts: Mapping[str, Any] | None = None
    ) -> Surroundings:
        """See ``Outside``."""
        from saltlite.loader.surroundings import surroundings
        from saltlite.python.caller import Caller

        found = _file_of(opts, "minion", path)
        if found not in self._surroundings:
            wishes = {"file_client": "local"} if (opts or {}).get("file_client") == "local" else {}
            caller = self._callers[found] = Caller(found, overrides=wishes)
            self._surroundings[found] = surroundings(caller.context)
        return self._surroundings[found]

    def call(
        self, fun: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], around: Surroundings
    ) -> Any:
        """See ``Outside``."""
        caller = next(one for one in self._callers.values() if one.context is around.ctx)
        return caller.call(fun, *args, kwarg=kwargs)

    def listen(
        self, node: str, sock_dir: str | None, opts: Mapping[str, Any] | None
    ) -> EventSubscriber:
        """See ``Outside``."""
        from saltlite.transport.bus import EventSubscriber

        bus = EventSubscriber(_find_bus(node, sock_dir, opts)[1])
        bus.connect_confirmed(CONNECT_TIMEOUT_S)
        return bus

    def pusher(
        self, node: str, sock_dir: str | None, opts: Mapping[str, Any] | None
    ) -> EventPusher:
        """See ``Outside``."""
        from saltlite.transport.bus import EventPusher

        return EventPusher(_find_bus(node, sock_dir, opts)[0])

    def _open_runs(self, path: str) -> RunnerContext:
        from saltlite.cli.runs import runner_context

        return self._runs.enter_context(runner_context(load_master(path), print))


def _find_file(role: str, path: str | None) -> str:
    found = os.environ.get(VARIABLES[role]) or path
    return found or os.path.join(os.environ.get("SALT_CONFIG_DIR") or "/etc/salt", role)


def _file_of(opts: Mapping[str, Any] | None, role: str, path: str | None) -> str:
    """The file that options came from: a client is made of the file, not of what was changed."""
    named = (opts or {}).get("conf_file")
    return str(named) if named else _find_file(role, path)


def _find_bus(node: str, sock_dir: str | None, opts: Mapping[str, Any] | None) -> tuple[Path, Path]:
    """Where events are pushed and where they are heard.

    Raises:
        UsageError: it is neither the master's bus nor a minion's.
        SaltliteError: the configuration cannot be read.
    """
    from saltlite.transport.addresses import MasterSockets, MinionSockets

    if node == "master":
        place = sock_dir or load_master(_file_of(opts, "master", None)).paths.sock_dir
        sockets: MasterSockets | MinionSockets = MasterSockets(Path(place))
    elif node == "minion":
        config = load_minion(_file_of(opts, "minion", None), cache_id=False)
        place = sock_dir or config.paths.sock_dir
        sockets = MinionSockets(Path(place), config.identity.id, config.files.hash_type)
    else:
        raise UsageError(f"no such event bus: {node!r}; there are master and minion")
    if not sockets.event_pub.exists():
        raise SaltliteError(f"nobody publishes events at {sockets.event_pub}")
    return sockets.event_pull, sockets.event_pub
