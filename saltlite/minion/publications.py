"""What one master publishes, opened; or kept for a while, until its key is there.

A cluster of masters changes its publication key in one step, and its nodes notice one after the
other. So a publication may be under a key that the node that we sign in at does not give yet, or
under the one before ours, when its node is behind. No master publishes either of them again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from saltlite.channel.publication import open_publication
from saltlite.core.dataclasses import dataclass
from saltlite.core.messages import Job
from saltlite.crypto.cipher import Crypticle
from saltlite.crypto.keys import PublicKey
from saltlite.errors import CryptoError

KEPT_MOST: Final = 100
"""Publications. Without signatures anybody in between could send them."""

KEPT_S: Final = 10.0
"""Two nodes whose keys differ for longer do not reach each other."""

EARLIER_S: Final = 60.0
"""So long after a new key the one before it opens what was signed, and comes late."""


@dataclass(slots=True)
class _Key:
    """A publication key, and the highest serial that was read under it, 0 at first."""

    aes: str
    crypticle: Crypticle
    serial: int = 0


class Publications:
    """Those of one master.

    ``require_signature`` is ``sign_pub_messages``. ``now_s`` is a clock that is never set.
    """

    def __init__(
        self, *, require_signature: bool, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._require_signature = require_signature
        self._now_s = now_s
        self._master_key: PublicKey | None = None
        self._key: _Key | None = None
        self._earlier: _Key | None = None
        self._earlier_until_s = 0.0
        self._kept: deque[tuple[bytes, float]] = deque(maxlen=KEPT_MOST)

    def take_key(self, aes: str, master_key: PublicKey) -> None:
        """What a sign-in gave. Serials begin anew with a key; under the same one they go on."""
        self._master_key = master_key
        if self._key is not None and self._key.aes == aes:
            return
        # Back at a node that is behind: what was read under its key must not be read again.
        is_back = self._earlier is not None and self._earlier.aes == aes
        key = self._earlier if is_back else _Key(aes, Crypticle(aes))
        self._earlier, self._earlier_until_s = self._key, self._now_s() + EARLIER_S
        self._key = key

    def open(self, message: bytes) -> Job:
        """The job in a publication, which is read once.

        Raises:
            CryptoError: no key opens it; another sign-in may bring one that does.
            StalePublication: it was read before.
            WireError: it is none, or not signed by the master.
        """
        if self._key is None:
            raise CryptoError("no keys yet")
        try:
            return self._open_with(self._key, message)
        except CryptoError:
            # Who was shut out has that key, too: the master's signature is what tells them apart.
            opens_late = self._require_signature and self._now_s() < self._earlier_until_s
            if self._earlier is None or not opens_late:
                raise
            return self._open_with(self._earlier, message)

    def _open_with(self, key: _Key, message: bytes) -> Job:
        fields, serial = open_publication(
            message,
            crypticle=key.crypticle,
            last_serial=key.serial,
            master_key=self._master_key,
            require_signature=self._require_signature,
        )
        # Only of what holds: after a forged serial all that follow would look repeated.
        key.serial = max(serial, key.serial)
        return Job.from_wire(fields)

    @property
    def has_kept(self) -> bool:
        """Whether anything waits for a key."""
        return bool(self._kept)

    def keep(self, message: bytes, since_s: float | None = None) -> bool:
        """Keep it for a later sign-in, unless that has been done for long enough.

        ``since_s`` is what :meth:`take_kept` said of it, ``None`` the first time.
        """
        now_s = self._now_s()
        since_s = now_s if since_s is None else since_s
        if now_s - since_s >= KEPT_S:
            return False
        self._kept.append((message, since_s))
        return True

    def take_kept(self) -> list[tuple[bytes, float]]:
        """All that is kept, in order, each with the time since when."""
        taken = list(self._kept)
        self._kept.clear()
        return taken

    def forget(self) -> None:
        """Drop what is kept, and the earlier key: what was published is not for us."""
        self._kept.clear()
        self._earlier = None
