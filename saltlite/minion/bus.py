"""The minion's own event bus, and what of it may go on to a master.

Local tools and the minion's own parts put events on a PULL socket; they come out of a PUB socket
for whoever listens, and a few tags are requests to the minion itself. Whoever reaches the socket
runs as the minion's user already, and still gets no more than local work: what is forwarded to a
master is decided by tag. Source: docs/wire.md#events; docs/security.md#impersonation,
CVE-2025-22236 and CVE-2025-22239.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Final

import zmq
import zmq.asyncio

from saltlite.core.lazyregex import regex
from saltlite.core.plain import PlainMap
from saltlite.disk import make_dir
from saltlite.errors import WireError
from saltlite.transport.addresses import MinionSockets
from saltlite.transport.bus import (
    Event,
    Relay,
    bind_bus,
    pack_event,
    take_subscription,
    unpack_event,
)

log = logging.getLogger(__name__)

TAG_LIMIT: Final = 256

# Salt before 3008 tells its tools of a new job with a tag that is the bare job id.
_BARE_JID = regex(r"[0-9]{20}(_[0-9]+)?")
_RESERVED = frozenset({"", "key", "minions", "new_job"})


def may_go_to_master(tag: object, minion_id: str) -> bool:
    """Whether an event with this tag may be fired on the master in this minion's name.

    Of ``salt/…`` only what is about this minion itself; of the rest everything that no part of a
    master understands as its own.
    """
    if not isinstance(tag, str) or len(tag) > TAG_LIMIT or not tag.isprintable():
        return False
    if tag in _RESERVED or tag.startswith("syndic/") or _BARE_JID.fullmatch(tag):
        return False
    # In any case of letters: what only looks like one of Salt's tags is not to pass either.
    if tag.partition("/")[0].lower() != "salt":
        return True
    # An id may have ``.`` and ``+``: unescaped, ``web.1`` could speak for ``webx1``.
    own = re.escape(minion_id)
    return bool(
        re.fullmatch(rf"salt/(minion|beacon)/{own}/.+", tag)
        or re.fullmatch(rf"salt/audit/{own}/(drift|failed|clean)", tag)
        or re.fullmatch(rf"salt/(job/\d+/(prog|start)|state_result/\d+)/{own}(/.+)?", tag)
    )


class MinionBus:
    """The two sockets, and every event of theirs once through ``heard``."""

    def __init__(
        self,
        context: zmq.asyncio.Context,
        sockets: MinionSockets,
        heard: Callable[[Event], None],
        *,
        max_event_bytes: int,
    ) -> None:
        """Bind; ``heard`` is called in the loop for every event and must not raise.

        Raises:
            ValueError, zmq.ZMQError, StoreError: the sockets cannot be made.
        """
        make_dir(sockets.sock_dir)
        self._heard = heard
        self._max_event_bytes = max_event_bytes
        self._relay = Relay()
        self._pull, self._publisher = bind_bus(context, sockets.event_pull, sockets.event_pub)

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put one event on the bus; one that is none is dropped with a line."""
        try:
            frame = pack_event(
                tag, data, datetime.now(timezone.utc), max_bytes=self._max_event_bytes
            )
        except WireError as error:
            log.warning("an event of this minion is dropped: %s", error)
            return
        self._pass_on([frame])

    async def run(self) -> None:
        """Serve both sockets until cancelled."""
        await asyncio.gather(self._from_pushers(), self._from_subscribers())

    def close(self) -> None:
        """Close both; the socket files go too."""
        self._pull.close(linger=0)
        self._publisher.close(linger=0)

    async def _from_pushers(self) -> None:
        while True:
            self._pass_on(await self._pull.recv_multipart())

    async def _from_subscribers(self) -> None:
        while True:
            frames = await self._publisher.recv_multipart()
            answer = take_subscription(self._relay, self._publisher, frames)
            if answer is not None:
                await self._publisher.send_multipart(answer)

    def _pass_on(self, frames: list[bytes]) -> None:
        published = self._relay.event(frames)
        # Any process of this user can push junk: a warning for each would fill the log.
        if published is None:
            log.debug("%d messages on the bus were no events", self._relay.dropped)
            return
        try:
            event = unpack_event(frames[0])
        except WireError as error:
            log.debug("not an event: %s", error)
            return
        # Sent on before it is looked at: what answers it must come later in the stream.
        self._publisher.send_multipart(published)
        self._heard(event)
