"""Events for scripts: hear those of the master's or the minion's bus, and fire some.

Stable: docs/python-api.md. For who may open the bus: root, the daemon's user, and on the master
users whose ``publisher_acl`` list has ``'@events'`` (to listen) or ``'@fire'``.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.errors import AccessDenied, MasterAbsent, RequestTimeout
from saltlite.transport.bus import Event, EventPusher, EventSubscriber

if TYPE_CHECKING:
    from saltlite.transport.addresses import MasterSockets, MinionSockets

CONNECT_TIMEOUT_S: Final = 5.0
WAIT_S: Final = 60.0
"""Between two looks whether there is an event, where no end is said."""

_WILD: Final = frozenset("*?[")


class Listener:
    """Hears events from the moment it is made. Iterate over it, in a ``with``.

    ``lost`` counts events that were missed because too many came; it is known only where all tags
    are listened to.
    """

    def __init__(self, subscriber: EventSubscriber, tags: tuple[str, ...], timeout_s: float | None):
        self._subscriber = subscriber
        self._tags = tags
        self._timeout_s = timeout_s

    @property
    def lost(self) -> int:
        """Events known to have been missed."""
        return self._subscriber.lost

    def get(self, timeout_s: float) -> Event | None:
        """The next event whose tag fits, ``None`` if none comes in so many seconds."""
        until_s = time.monotonic() + timeout_s
        while True:
            event = self._subscriber.get(max(0.0, until_s - time.monotonic()))
            if event is not None and self._fits(event.tag):
                return event
            if event is None and time.monotonic() >= until_s:
                return None

    def _fits(self, tag: str) -> bool:
        return any(
            fnmatch.fnmatchcase(tag, one) if _is_glob(one) else tag.startswith(one)
            for one in self._tags
        )

    def __iter__(self) -> Iterator[Event]:
        while True:
            event = self.get(WAIT_S if self._timeout_s is None else self._timeout_s)
            if event is not None:
                yield event
            elif self._timeout_s is not None:
                return

    def close(self) -> None:
        """Hear no more."""
        self._subscriber.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def listen(
    *tags: str,
    config_dir: str | Path | None = None,
    minion: bool = False,
    timeout_s: float | None = None,
) -> Listener:
    """Hear the events whose tags begin with one of ``tags``, or match it if it is a glob.

    Without tags all. When this is back the bus knows of it, so that no later event is missed.

    Args:
        tags: ``"salt/job/"``, ``"salt/job/*/ret/web*"``.
        config_dir: the directory of the daemon's configuration; ``None`` as for the commands.
        minion: the minion's own bus in place of the master's.
        timeout_s: iterating ends when so long no event came that fits; ``None``: never.

    Raises:
        MasterAbsent: no daemon runs here.
        AccessDenied: this user may not listen.
    """
    path = _sockets(config_dir, minion=minion).event_pub
    _check_socket(path)
    wanted = tags or ("",)
    subscriber = EventSubscriber(path, tuple(dict.fromkeys(_prefix_of(tag) for tag in wanted)))
    if not subscriber.connect_confirmed(CONNECT_TIMEOUT_S):
        subscriber.close()
        raise RequestTimeout("event bus", CONNECT_TIMEOUT_S)
    return Listener(subscriber, wanted, timeout_s)


def fire(
    tag: str,
    data: Mapping[str, Any],
    *,
    config_dir: str | Path | None = None,
    minion: bool = False,
) -> bool:
    """Put an event on the bus; ``False`` if the bus does not take it in time.

    Raises:
        MasterAbsent: no daemon runs here.
        AccessDenied: this user may not fire events.
        WireError: no such tag, or data that cannot be packed.
    """
    path = _sockets(config_dir, minion=minion).event_pull
    _check_socket(path)
    with EventPusher(path) as pusher:
        return pusher.fire(tag, data)


def _is_glob(tag: str) -> bool:
    return not _WILD.isdisjoint(tag)


def _prefix_of(tag: str) -> str:
    """What stands before the first character of a pattern."""
    return next((tag[:at] for at, letter in enumerate(tag) if letter in _WILD), tag)


def _sockets(config_dir: str | Path | None, *, minion: bool) -> MasterSockets | MinionSockets:
    from saltlite.config.load import load_master, load_minion
    from saltlite.transport.addresses import MasterSockets, MinionSockets

    if not minion:
        return MasterSockets(Path(load_master(config_dir, client=True).paths.sock_dir))
    config = load_minion(config_dir, cache_id=False)
    sock_dir = Path(config.paths.sock_dir)
    return MinionSockets(sock_dir, config.identity.id, config.files.hash_type)


def _check_socket(path: Path) -> None:
    """Say at once what ZeroMQ would try for ever."""
    import os

    try:
        path.stat()
    except PermissionError:
        raise AccessDenied(str(path)) from None
    except OSError:
        raise MasterAbsent(f"nobody publishes events at {path}: is the daemon running?") from None
    if not os.access(path, os.R_OK | os.W_OK):
        raise AccessDenied(str(path))
