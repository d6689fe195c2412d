"""What the handlers of a worker may reach, and how each worker makes it.

``Shared`` is made once, by the parent, before the fork; ``MasterContext`` by each worker, after
it, from ``Shared`` and the configuration. Nothing here opens a socket before it is used.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from saltlite.channel.handshake import MasterHandshake
from saltlite.channel.master import TokenCache
from saltlite.config.master import MasterConfig
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.plain import PlainMap
from saltlite.core.rare_lines import RareLine
from saltlite.crypto.cipher import new_key_string
from saltlite.errors import StoreError
from saltlite.fileserver.server import FileServer, file_server
from saltlite.master.acl import Access
from saltlite.master.asked import AskedMinions
from saltlite.master.autosign import AutoSign
from saltlite.master.embedded import make_jid_source, make_key_ring, open_stores
from saltlite.master.filehash import HASH_HERE_BYTES
from saltlite.master.job_mirror import JobMirror
from saltlite.master.keyactions import take_rotation_request
from saltlite.master.logins import LoginQueue
from saltlite.master.logintokens import LoginTokens
from saltlite.master.rates import SLOW_TARGETS_S, Rates, TimeBudgets
from saltlite.master.refusals import LINES_PER_S, Refusals
from saltlite.master.replay import ReplayTable, table_bytes
from saltlite.master.run_queue import RunQueue
from saltlite.master.run_requests import RunRequest
from saltlite.master.shared import Counter, GroupFlush, Proofs, SharedArea, SharedPairs
from saltlite.master.stores import (
    FactStore,
    Jids,
    JobSink,
    JobStore,
    Keys,
    Nonces,
    Pillars,
    PublicationKeyRing,
    SessionKeys,
    Stores,
)
from saltlite.transport.addresses import MasterSockets

if TYPE_CHECKING:
    from saltlite.cluster.membership import Membership
    from saltlite.crypto.keys import PrivateKey

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all processes of one master have in common."""

    config: MasterConfig
    key: PrivateKey
    sign_key: PrivateKey | None
    pub_sig: str | None
    """The prepared signature of ``master_use_pubkey_signature``."""
    user: str
    member: Membership | None = None
    """With ``cluster_id``: this master as a node."""
    # Made before the fork: memory that is made after it is shared with nobody.
    publication: PublicationKeyRing = field(default_factory=make_key_ring)
    jids: Jids = field(default_factory=make_jid_source)
    flush: GroupFlush = field(default_factory=GroupFlush)
    subscribers: Counter = field(default_factory=lambda: Counter("subscribers"))
    proofs: Proofs = field(default_factory=Proofs)
    # Never on disk, so that no proof and no ticket outlives the master.
    login_secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)
    """Seals what LoginServer has checked."""
    budgets: SharedPairs = field(default_factory=SharedPairs)
    """What minions and limited users have used of what they may do in a while."""
    nonces: SharedArea = field(default_factory=lambda: SharedArea("saltlite-nonces", table_bytes()))

    @property
    def cachedir(self) -> Path:
        """The master's cache directory."""
        return Path(self.config.paths.cachedir)

    @property
    def pki_dir(self) -> Path:
        """The master's key directory."""
        return Path(self.config.paths.pki_dir)

    @property
    def sockets(self) -> MasterSockets:
        """The master's Unix sockets."""
        return MasterSockets(Path(self.config.paths.sock_dir))

    def close(self) -> None:
        """Give back the shared memory; the children have ended."""
        areas = (
            self.publication,
            self.jids,
            self.flush,
            self.subscribers,
            self.proofs,
            self.budgets,
            self.nonces,
        )
        for area in areas:
            area.close()
        if self.member is not None:
            self.member.places.close()

    def renew_publication_key(self) -> bool:
        """Change the publication key if ``salt-key`` or ``revoke_auth`` asked; whether it was.

        Called before each publication, so that none can be read by a minion that was deleted
        before it. One look at the directory entry if nobody has asked.

        Raises:
            StoreError: the request cannot be removed; the key is as it was.
        """
        # Taken under the lock of the keys: nobody gets a serial of the old key after that.
        return self.publication.rotate_if(
            lambda: take_rotation_request(self.cachedir), new_key_string, time.monotonic()
        )

    def stores(self) -> Stores:
        """The stores, for the process that calls: what is open in them crosses no fork."""
        return open_stores(self.config, self.member, renew=self.renew_publication_key)

    def job_store(self) -> JobStore:
        """A job cache that shares its waits for the disk with the other processes."""
        return self.stores().open_jobs(flush=self.flush)

    def replay_table(self) -> ReplayTable:
        """The memory of nonces."""
        return ReplayTable(self.nonces.buffer)


class EventSink(Protocol):
    """Where events go."""

    def fire(self, tag: str, data: PlainMap) -> bool:
        """Put an event on the bus; ``False`` if the bus takes none."""


class LoginSink(Protocol):
    """Where logins go to be checked."""

    def begin(self, ticket: bytes, load: Mapping[str, object], login: Mapping[str, object]) -> None:
        """Hand a login over; raises StoreError if none is taken now."""


class RunSink(Protocol):
    """Where runners and wheel functions go to be run."""

    def start(self, request: RunRequest) -> None:
        """Hand a request over; raises StoreError if none is taken now."""


class MarkSink(Protocol):
    """Where is noted when something happened to a job."""

    def note(self, kind: int, jid: str, minion: str, *times_us: int) -> None:
        """See :class:`saltlite.jobs.marks.Marks`; never fails."""


class NoMarks:
    """Notes nothing."""

    def note(self, kind: int, jid: str, minion: str, *times_us: int) -> None:
        """Pass over it."""


@dataclass(slots=True)
class MasterContext:
    """All that a handler may reach. ``wall_s`` and ``steady_s`` are the only clocks."""

    shared: Shared
    stores: Stores
    keys: Keys
    sessions: SessionKeys
    jobs: JobStore
    minions: FactStore
    files: FileServer
    access: Access
    autosign: AutoSign
    handshake: MasterHandshake
    tokens: TokenCache
    replay: Nonces
    refusals: Refusals
    rates: Rates
    slow_targets: TimeBudgets
    events: EventSink
    publisher: JobSink
    runs: RunSink
    logins: LoginSink
    login_tokens: LoginTokens
    mirror: JobMirror
    pillars: Pillars
    extend: Callable[[float], None] = lambda _limit_s: None
    """Says that the request in hand may take this many seconds."""
    wall_s: Callable[[], float] = time.time
    steady_s: Callable[[], float] = time.monotonic
    asked: AskedMinions = field(default_factory=AskedMinions)
    store_errors: RareLine = field(default_factory=RareLine)
    # Each worker keeps its own: a module may be asked by each of them in one interval.
    looked_at: dict[str, float] = field(default_factory=dict)
    """Token → when its owner was last found to be welcome, by the steady clock."""
    marks: MarkSink = field(default_factory=NoMarks)
    came_us: int = 0
    """When the request in hand came to this machine; 0 is not known."""
    taken_us: int = 0
    """When this worker began with it."""

    @property
    def config(self) -> MasterConfig:
        """The configuration."""
        return self.shared.config

    def note_request(self, came_s: float) -> None:
        """Begin with a request that came then, by the steady clock (0: not known)."""
        self.taken_us = self.wall_us()
        waited_s = self.steady_s() - came_s if came_s else 0.0
        self.came_us = self.taken_us - int(waited_s * 1e6) if came_s else 0

    def tell_of_store(self, what: str, error: StoreError) -> None:
        """Have the log say it, unless it just did: each request meets a full disk."""
        more = self.store_errors.count(self.steady_s())
        if more is not None:
            log.error("%s: %s%s", what, error, more)

    def wall_us(self) -> int:
        """The wall clock in microseconds since the epoch."""
        return int(self.wall_s() * 1e6)

    def now(self) -> datetime:
        """The wall clock in UTC."""
        return datetime.fromtimestamp(self.wall_s(), tz=timezone.utc)


def make_context(
    shared: Shared,
    *,
    events: EventSink,
    publisher: JobSink,
    stores: Stores | None = None,
    workers: int = 1,
    **overrides: Any,
) -> MasterContext:
    """The context of one worker; ``workers`` share the budget of log lines.

    ``stores`` are those that the process has already.
    """
    config = shared.config
    # One of each for the whole process, for they keep in memory what they have read.
    stores = stores or shared.stores()
    context = MasterContext(
        shared=shared,
        stores=stores,
        keys=stores.keys,
        sessions=stores.sessions,
        jobs=stores.open_jobs(flush=shared.flush),
        minions=stores.facts,
        files=file_server(config, large=shared.cachedir, hash_here_bytes=HASH_HERE_BYTES),
        access=Access(config.access, shared.cachedir, shared.user),
        autosign=AutoSign(config.keys, shared.pki_dir),
        handshake=MasterHandshake(shared.key),
        # What one worker has proven with RSA the others believe.
        tokens=TokenCache(proofs=shared.proofs),
        replay=stores.open_nonces(shared.replay_table(), shared.nonces.lock),
        # Workers count each for itself; with their shares all together keep the bound.
        refusals=Refusals(time.monotonic, lines_per_s=LINES_PER_S / workers),
        rates=Rates(shared.budgets),
        slow_targets=TimeBudgets(SLOW_TARGETS_S, shared.budgets),
        events=events,
        publisher=publisher,
        # No sockets are opened here: these connect anew for each request they hand over.
        runs=RunQueue(shared.sockets.runs),
        logins=LoginQueue(shared.sockets.logins),
        login_tokens=LoginTokens(Path(config.paths.token_dir)),
        mirror=JobMirror(config),
        pillars=stores.open_pillars(overrides.get("wall_s", time.time)),
    )
    return replace(context, **overrides)
