"""``salt.utils.event``: fire events on the minion's or the master's bus, and hear them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Any

from saltlite.errors import SaltliteError
from saltlite.loader import surroundings
from saltlite.loader.surroundings import CURRENT

TAGEND = "\n\n"
TAGPARTER = "/"
SALT = "salt"

LONGEST_WAIT_S = 5.0
"""Where no end is said, the bus is asked again after so long."""


def _starts_with(tag: str, wanted: str) -> bool:
    return tag.startswith(wanted)


def _ends_with(tag: str, wanted: str) -> bool:
    return tag.endswith(wanted)


def _contains(tag: str, wanted: str) -> bool:
    return wanted in tag


def _matches_regex(tag: str, wanted: str) -> bool:
    return re.search(wanted, tag) is not None


MATCHES: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {
        "startswith": _starts_with,
        "endswith": _ends_with,
        "find": _contains,
        "regex": _matches_regex,
        "fnmatch": fnmatch.fnmatchcase,
    }
)
"""How a tag is compared with the wanted one, by Salt's names."""


def tagify(suffix: Any = "", prefix: str = "", base: str = SALT) -> str:
    """The tag of an event: its parts with ``/`` between them."""
    parts = [base, *str(prefix).split(TAGPARTER)]
    parts += suffix if isinstance(suffix, (list, tuple)) else [suffix]
    return TAGPARTER.join(str(part) for part in parts if part not in ("", None))


class SaltEvent:
    """The bus of the minion or master that runs the file.

    Engines, jobs of minions and runners can hear it: from the first look on, or with ``listen``
    from the beginning. So can a plain script, whose options or ``sock_dir`` say which bus.
    """

    def __init__(self, node: str = "minion", sock_dir: object = None, opts: Any = None,
                 listen: bool = False, *args: Any, **kwargs: Any) -> None:  # fmt: skip
        self.node = node
        self.opts = opts
        self._sock_dir = str(sock_dir) if sock_dir else None
        self._around = CURRENT.get(None)
        self._bus: Any = None
        if listen:
            self.connect_pub()

    def __enter__(self) -> SaltEvent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.destroy()

    def connect_pub(self, timeout: float | None = None) -> bool:
        """Hear the bus from now on; ``False`` where there is none to be heard."""
        if self._bus is None and self._around is None and surroundings.outside is not None:
            try:
                self._bus = surroundings.outside.listen(self.node, self._sock_dir, self.opts)
            except SaltliteError:
                return False  # as with Salt: there may be a bus later
        listen = None if self._around is None else getattr(self._around.ctx, "listen", None)
        if self._bus is None and listen is not None:
            self._bus = listen("")
        return self._bus is not None

    def subscribe(self, tag: str | None = None, match_type: str | None = None) -> None:
        """Hear the bus from now on; tags are chosen where events are taken."""
        self.connect_pub()

    def unsubscribe(self, tag: str | None = None, match_type: str | None = None) -> None:
        """Nothing is kept of tags that are not asked for."""

    def get_event(
        self,
        wait: float | None = 5,
        tag: str = "",
        full: bool = False,
        match_type: str | None = None,
        no_block: bool = False,
        auto_reconnect: bool = False,
    ) -> Any:
        """The next event whose tag fits: its data, or with ``full`` a map of ``tag`` and ``data``.

        ``None`` if none comes within ``wait`` seconds; with ``wait=None`` there is no end.
        """
        from time import monotonic

        if not self.connect_pub():
            return None
        fits = MATCHES[match_type or "startswith"]
        until_s = None if wait is None else monotonic() + (0 if no_block else wait)
        while True:
            left_s = LONGEST_WAIT_S if until_s is None else max(0.0, until_s - monotonic())
            event = self._bus.get(left_s)
            if event is not None and fits(event.tag, tag):
                return {"tag": event.tag, "data": event.data} if full else event.data
            if event is None and until_s is not None and monotonic() >= until_s:
                return None

    def get_event_noblock(self) -> Any:
        """The next event if there is one: a map of ``tag`` and ``data``."""
        return self.get_event(full=True, no_block=True)

    def iter_events(
        self,
        tag: str = "",
        full: bool = False,
        match_type: str | None = None,
        auto_reconnect: bool = False,
    ) -> Iterator[Any]:
        """Each event whose tag fits, for ever."""
        while self.connect_pub():
            found = self.get_event(None, tag, full, match_type)
            if found is not None:
                yield found

    def fire_event(self, data: Any, tag: str, timeout: float = 1000) -> bool:
        """Fire an event; ``False`` without a bus."""
        around = self._around or CURRENT.get(None)
        if around is None and surroundings.outside is not None:
            return self._fire_outside(surroundings.outside, dict(data), tag)
        events = getattr(around.ctx, "events", None) if around is not None else None
        if events is None:
            return False
        events.fire(tag, dict(data))
        return True

    def _fire_outside(self, outside: surroundings.Outside, data: dict[str, Any], tag: str) -> bool:
        try:
            with outside.pusher(self.node, self._sock_dir, self.opts) as pusher:
                return bool(pusher.fire(tag, data))
        except SaltliteError:
            return False

    def fire_master(self, data: object, tag: str, timeout: float = 1000) -> bool:
        """Fire an event on the master's bus, from a minion."""
        around = self._around or CURRENT.get(None)
        if around is None or "event.fire_master" not in around.salt:
            return False
        return bool(around.salt["event.fire_master"](data, tag))

    def destroy(self) -> None:
        """Hear no more."""
        bus, self._bus = self._bus, None
        if bus is not None:
            bus.close()


MinionEvent = MasterEvent = LocalClientEvent = NamespacedEvent = SaltEvent


def get_event(
    node: str,
    sock_dir: object = None,
    transport: object = None,
    opts: Any = None,
    listen: bool = True,
    **kwargs: Any,
) -> SaltEvent:
    """The bus."""
    return SaltEvent(node, sock_dir, opts, listen)


def get_master_event(
    opts: Any = None, sock_dir: object = None, listen: bool = True, **kwargs: Any
) -> SaltEvent:
    """The master's bus."""
    return SaltEvent("master", sock_dir, opts, listen)
