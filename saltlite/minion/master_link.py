"""The sockets to one master, driven by its :class:`~saltlite.minion.session.Session`.

Carries out what the session says (authenticate, subscribe, wait), reports back what came of it, and
gives the rest of the minion three things: requests to the master, the jobs it publishes, and the
sending of returns. Source: docs/wire.md#sockets, #what-the-minion-does-next, #requests,
#publications; zguide, Lazy Pirate.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import zmq
import zmq.asyncio
from zmq.utils.monitor import parse_monitor_message

from saltlite.channel.handshake import Accepted as Let_in
from saltlite.channel.handshake import MinionHandshake
from saltlite.channel.minion import MinionChannel
from saltlite.channel.publication import (
    StalePublication,
    message_of,
    subscriptions,
)
from saltlite.config.minion import MinionConfig
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.messages import Envelope, Job
from saltlite.crypto.keys import PrivateKey, PublicKey
from saltlite.errors import (
    AuthError,
    ConnectionBroke,
    CryptoError,
    KeyPending,
    KeyRejected,
    MasterUntrusted,
    RequestTimeout,
    SaltliteError,
    StoreError,
    WireError,
)
from saltlite.minion import session as fsm
from saltlite.minion.capabilities import Offers
from saltlite.minion.masters import MasterAddress, resolve, tcp_options
from saltlite.minion.outbox import Outbox, Spool
from saltlite.minion.pki import MinionKeys
from saltlite.minion.publications import Publications
from saltlite.minion.rejoin import Rejoin, is_wanted
from saltlite.minion.tasks import Tasks, wait_until_set
from saltlite.transport.addresses import tcp
from saltlite.transport.areq import AsyncRequester
from saltlite.transport.codec import pack
from saltlite.transport.pub import connect_subscriber

log = logging.getLogger(__name__)

AUTH_SENDS: Final = 3
# Three that are not answered are a dead connection; TCP alone may take minutes to find it.
HEARTBEAT_MS: Final = 30_000
HEARTBEAT_TIMEOUT_MS: Final = 90_000
LOST_S: Final = 30.0
"""A subscription that has been down for so long is made anew, with the name resolved again.

With ``master_type: failover`` and ``master_alive_interval`` the other masters are tried after that
interval, if it is shorter.
"""

DROPPED_LOG_S: Final = 60.0
KEY_WAIT_S: Final = 1.0
"""Between two sign-ins for what is kept, at least: a master may give a new session with each."""

PING_TIMEOUT_S: Final = 5.0
UNSET_PUBLISH_PORT: Final = 4506
"""A ``publish_port`` of this in the minion's file counts as none. Source: docs/wire.md#sockets."""

WATCHED: Final = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
"""What is to be known of the subscription's connection."""

# A REQ socket has one request at a time: what jobs ask must not hold up their returns.
MAIN, ASIDE = "main", "aside"

IDLE_S: Final[Mapping[str, float]] = {MAIN: 60.0, ASIDE: 3.0}
"""A connection without a request for so long is closed: it costs its master 28 KiB."""

KEEP_IT: Final = ""
"""A master's answer to a return that it cannot record now.

Source: docs/wire.md#requests, #_return.
"""


class LinkOver(SaltliteError):
    """The master was left before it answered."""


@dataclass(frozen=True, slots=True, repr=False)
class SessionKeys:
    """What one successful ``_auth`` gave."""

    let_in: Let_in
    channel: MinionChannel
    offers: Offers = field(default_factory=Offers)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are, towards every master."""

    minion_id: str
    key: PrivateKey
    files: MinionKeys
    sign_key: PublicKey | None


class LinkOwner(Protocol):
    """The minion, as its links see it."""

    @property
    def autosign_grains(self) -> Mapping[str, Any]:
        """Grains to send along with ``_auth``."""

    def waiting(self) -> None:
        """The link waits for something outside: a key to be accepted, a master to come up."""

    def on_idle(self) -> None:
        """A connection that nobody used was closed."""

    def on_publication(self, link: Link, job: Job) -> None:
        """A job came that was not checked for anything but its form."""

    def on_subscription(self, link: Link) -> None:
        """The subscription is up: the first time, or again after it was lost."""


class Link:
    """One master. ``name`` is how it is called in logs and in the spool.

    ``topics`` are subscribed to with ``zmq_filtering`` instead of a minion's.
    """

    def __init__(
        self,
        master: MasterAddress,
        identity: Identity,
        config: MinionConfig,
        owner: LinkOwner,
        context: zmq.asyncio.Context,
        *,
        failover: bool = False,
        topics: Sequence[bytes] = (),
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._topics = topics
        self.name = master.name
        self._master = master
        self._identity = identity
        self._config = config
        self._owner = owner
        self._context = context
        self._chance = chance
        self._session = fsm.Session(master.name, _session_options(config, failover), chance)
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[fsm.Exit | fsm.GiveUp] = self._loop.create_future()
        self._tasks = Tasks(self._end_by)
        self._timer: asyncio.TimerHandle | None = None
        alive_s = config.network.master_alive_interval
        self._lost_after_s = min(LOST_S, alive_s) if failover and alive_s > 0 else LOST_S
        self._lost_timer: asyncio.TimerHandle | None = None
        self._reauth_timer: asyncio.TimerHandle | None = None
        self._rejoin = Rejoin(self._loop, self._connect_anew, chance)
        self._rejoins = is_wanted(config.source)
        self._idle_timers: dict[str, asyncio.TimerHandle] = {}
        self._address = ""
        self._attempts = 0
        self._tcp = tcp_options(config.network)
        self._requesters: dict[str, AsyncRequester] = {}
        self._subscriber: zmq.asyncio.Socket | None = None
        self._publisher = ""
        self._keys: SessionKeys | None = None
        self._keys_changed = asyncio.Event()
        self._publications = Publications(require_signature=config.auth.sign_pub_messages)
        self._key_timer: asyncio.TimerHandle | None = None
        self._is_shut_out = False
        self._keeps_returns = False
        self._dropped = 0
        self._dropped_said_s = float("-inf")

    # --- life ------------------------------------------------------------------

    async def run(self) -> fsm.Exit | fsm.GiveUp:
        """Be connected until the session ends; why it ended."""
        self._report_event(fsm.Started())
        try:
            return await self._over
        finally:
            await self._close_sockets()

    def stop(self) -> None:
        """End, whatever is going on."""
        self._report_event(fsm.SessionStopped())

    def give_up(self, reason: str) -> None:
        """Leave this master for the first one of the list."""
        if not self._over.done():
            log.info("Leaving master %s: %s", self.name, reason)
            self._over.set_result(fsm.GiveUp(reason, start_over=True))

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._over.done()

    @property
    def is_up(self) -> bool:
        """Whether the master has let us in."""
        return self._keys is not None

    def _report_event(self, event: fsm.Event) -> None:
        """Tell the session what happened, and do what it says."""
        for instruction in self._session.on(event, time.monotonic()):
            self._carry_out(instruction)

    def _carry_out(self, instruction: fsm.Instruction) -> None:
        if isinstance(instruction, fsm.Say):
            log.log(instruction.level, "%s", instruction.text)
        elif isinstance(instruction, fsm.Authenticate):
            self._tasks.start(self._sign_in())
        elif isinstance(instruction, fsm.Wait):
            self._owner.waiting()
            self._timer = self._loop.call_later(
                instruction.seconds, self._report_event, fsm.WaitOver()
            )
        elif isinstance(instruction, fsm.Connect):
            self._subscribe_to_jobs()
        # Exit or GiveUp; whichever comes first is how the link ends.
        elif not self._over.done():
            self._over.set_result(instruction)

    def _end_by(self, error: BaseException) -> None:
        # The parent starts the loop again.
        if not self._over.done():
            self._over.set_exception(error)

    async def _close_sockets(self) -> None:
        once = (self._timer, self._lost_timer, self._reauth_timer, self._key_timer)
        for timer in (*once, *self._idle_timers.values()):
            if timer is not None:
                timer.cancel()
        self._keys_changed.set()  # nobody waits for those of a master that was left
        # Ended before the sockets are closed under them.
        await self._tasks.close()
        self._drop_subscriber()
        for requester in self._requesters.values():
            requester.close()

    # --- authentication --------------------------------------------------------

    async def _sign_in(self) -> None:
        self._report_event(await self._auth_outcome())
        # What did not open was the reason for asking: the new keys may be those of it.
        if self._session.state is fsm.State.UP:
            self._open_again()

    async def _auth_outcome(self) -> fsm.Event:
        """Ask once, and say in the session's words how it ended."""
        auth = self._config.auth
        try:
            await self._find_address()
            return self._let_in(await self._ask_in())
        except KeyPending:
            self._shut_out()
            return fsm.Pending()
        except KeyRejected as error:
            self._shut_out()
            return fsm.Rejected(str(error))
        except MasterUntrusted as error:
            # The one untrusted key that ends the minion: the user has named its fingerprint.
            if auth.master_finger and "fingerprint" in str(error):
                return fsm.WrongFinger(str(error))
            return fsm.Failed(str(error))
        except RequestTimeout:
            return fsm.Failed(f"no answer from {self._address}")
        except OSError as error:
            return fsm.Unresolved(f"its name does not resolve: {error.strerror or error}")
        except (AuthError, CryptoError, WireError, StoreError) as error:
            return fsm.Failed(str(error))

    def _shut_out(self) -> None:
        """What is published while our key is not accepted is not for us, also not afterwards."""
        self._is_shut_out = True
        self._publications.forget()

    async def _find_address(self) -> None:
        """Resolve the name anew; with several addresses each attempt takes the next one."""
        ipv6_first = bool(self._config.network.ipv6)
        addresses = await resolve(self._master, self._loop, ipv6_first=ipv6_first)
        if not addresses:
            raise OSError("the name has no address")
        # An address that has worked is kept for as long as the name has it.
        if self._keys is None or self._address not in addresses:
            address = addresses[self._attempts % len(addresses)]
            if address != self._address:
                self._retire_requesters()
            self._address = address
        self._attempts += 1

    async def _ask_in(self) -> Let_in:
        auth = self._config.auth
        handshake = MinionHandshake(
            self._identity.key,
            self._identity.minion_id,
            enc_algo=auth.encryption_algorithm,
            sig_algo=auth.signing_algorithm,
            pinned=self._identity.files.load_pinned(),
            pinned_path=self._identity.files.pin_path,
            sign_key=self._identity.sign_key,
            always_verify=auth.always_verify_signature,
            open_mode=auth.open_mode,
            master_finger=auth.master_finger,
            hash_type=self._config.files.hash_type,
            autosign_grains=self._owner.autosign_grains,
        )
        # A few only: after them the session waits at random, which gives a full master a pause.
        left = max(1, min(AUTH_SENDS, auth.auth_tries))
        while True:
            left -= 1
            with _pass_over_timeout(left):
                # Each has its nonce: a late reply to the one before does not count.
                frame = handshake.request()
                return handshake.accept(await self._exchange_frames(frame, MAIN, auth.auth_timeout))

    def _let_in(self, let_in: Let_in) -> fsm.Accepted:
        """Pin the master at first contact and take its keys into use."""
        # Before its keys are used: if it cannot be written, a next start would trust any master.
        if let_in.replaces_pinned or self._identity.files.load_pinned() is None:
            self._identity.files.pin(let_in.master_key)
            log.info("master %s: its key is trusted from now on", self.name)
        old = self._keys.let_in if self._keys is not None else None
        auth = self._config.auth
        channel = MinionChannel(
            self._identity.minion_id,
            self._identity.key,
            let_in.session,
            auth.encryption_algorithm,
            auth.signing_algorithm,
            let_in.master_key,
            sign_messages=auth.minion_sign_messages,
        )
        self._keys = SessionKeys(let_in, channel)
        self._publications.take_key(let_in.aes, let_in.master_key)
        self._is_shut_out = False
        # Wakes all who wait; whoever comes later waits for the keys after these.
        self._keys_changed.set()
        self._keys_changed = asyncio.Event()
        # The session asks less and less often as long as nothing new comes of it.
        same = old is not None and (old.aes, old.session) == (let_in.aes, let_in.session)
        return fsm.Accepted(new_keys=not same)

    # --- the subscription ------------------------------------------------------

    def _subscribe_to_jobs(self) -> None:
        keys = self._keys
        if keys is None:
            return
        self._drop_subscriber()
        returns = self._config.returns
        monitors: list[zmq.asyncio.Socket] = []
        self._publisher = tcp(self._address, self._publish_port(keys))
        subscriber = connect_subscriber(
            self._context,
            self._publisher,
            prefixes=self._prefixes(),
            routing_id=self._identity.minion_id.encode(),
            reconnect_ms=returns.recon_default,
            reconnect_max_ms=returns.recon_max,
            randomize=returns.recon_randomize,
            heartbeat_ivl_ms=HEARTBEAT_MS,
            heartbeat_timeout_ms=HEARTBEAT_TIMEOUT_MS,
            tcp=self._tcp,
            # A monitor that is made later could miss the first handshake.
            before_connect=lambda one: monitors.append(one.get_monitor_socket(WATCHED)),
        )
        self._subscriber = subscriber
        # The first connection has the same limit as one that is lost later.
        self._watch_for_loss()
        self._tasks.start(self._read_publications(subscriber, monitors[0]))

    def _prefixes(self) -> list[bytes]:
        filtering = self._config.network.zmq_filtering
        if filtering and self._topics:
            return list(self._topics)
        return subscriptions(self._identity.minion_id, filtering=filtering)

    def _publish_port(self, keys: SessionKeys) -> int:
        """The port the master told, unless the user has set another one."""
        configured = self._config.network.publish_port
        is_set = "publish_port" in self._config.source and configured != UNSET_PUBLISH_PORT
        return configured if is_set else keys.let_in.publish_port

    async def _read_publications(
        self, subscriber: zmq.asyncio.Socket, monitor: zmq.asyncio.Socket
    ) -> None:
        watch = self._loop.create_task(self._watch_connection(monitor))
        try:
            while True:
                self._heard_safely(await subscriber.recv_multipart())
        # One that was closed for its successor ends so, too.
        except zmq.ZMQError:
            if subscriber is self._subscriber:
                raise
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            monitor.close(linger=0)

    async def _watch_connection(self, monitor: zmq.asyncio.Socket) -> None:
        """Learn when the connection comes and goes; libzmq mends it by itself."""
        broke = False
        while True:
            event = parse_monitor_message(await monitor.recv_multipart())["event"]
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                if self._lost_timer is not None:
                    self._lost_timer.cancel()
                self._rejoin.note_up()
                log.info("Subscribed to the jobs of master %s", self.name)
                self._owner.on_subscription(self)
                # Not after the first handshake: the keys have just come.
                if broke:
                    self._ask_for_keys_soon()
            else:
                broke = True
                log.info("Connection to master %s broke; it is tried again", self.name)
                self._watch_for_loss()
                if self._rejoins:
                    self._rejoin.note_loss()

    def _connect_anew(self) -> None:
        """Now, in place of when libzmq would do it by itself."""
        subscriber = self._subscriber
        if subscriber is None:
            return
        with contextlib.suppress(zmq.ZMQError):  # of an address that cannot be reached now
            subscriber.disconnect(self._publisher)
        with contextlib.suppress(zmq.ZMQError):
            subscriber.connect(self._publisher)

    def _ask_for_keys_soon(self) -> None:
        """All minions of a master that started anew come back at once, so each waits a while."""
        if self._reauth_timer is not None:
            self._reauth_timer.cancel()
        delay_s = self._config.auth.random_reauth_delay * self._chance()
        self._reauth_timer = self._loop.call_later(delay_s, self._report_event, fsm.Reconnected())

    def _watch_for_loss(self) -> None:
        if self._lost_timer is not None:
            self._lost_timer.cancel()
        self._lost_timer = self._loop.call_later(self._lost_after_s, self._complain_of_loss)

    def _complain_of_loss(self) -> None:
        """Say so until the subscription is up; the session may be busy with something else."""
        self._watch_for_loss()
        self._report_event(fsm.Lost())

    def _drop_subscriber(self) -> None:
        self._rejoin.stop()
        if self._subscriber is not None:
            subscriber, self._subscriber = self._subscriber, None
            subscriber.disable_monitor()
            subscriber.close(linger=0)

    # --- publications ----------------------------------------------------------

    def _heard_safely(self, frames: list[bytes]) -> None:
        """Whatever one publication does to us, the next one is heard."""
        try:
            self._take_frames(frames)
        except Exception:  # the worker loop: one publication must not end the minion
            log.exception("master %s: a publication cannot be handled", self.name)

    def _take_frames(self, frames: list[bytes]) -> None:
        try:
            message = message_of(frames)
        except WireError as error:
            self._drop_publication(error)
            return
        try:
            self._open_publication(message)
        except CryptoError:
            if self._is_shut_out:
                log.debug("master %s: a publication is not for us", self.name)
                return
            self._publications.keep(message)
            self._report_event(fsm.Undecryptable())

    def _open_again(self) -> None:
        """We have signed in: what could not be opened may open now, or after another time."""
        for message, since_s in self._publications.take_kept():
            self._open_late(message, since_s)
        if self._publications.has_kept and self._key_timer is None:
            # A little later than the session wants: a timer may be early by a tick of the clock.
            pause_s = max(KEY_WAIT_S, self._session.asks_again_s - time.monotonic() + 0.01)
            self._key_timer = self._loop.call_later(pause_s, self._ask_for_key)

    def _open_late(self, message: bytes, since_s: float) -> None:
        try:
            self._open_publication(message)
        except CryptoError as error:
            if not self._publications.keep(message, since_s):
                self._drop_publication(error)

    def _ask_for_key(self) -> None:
        self._key_timer = None
        if self._publications.has_kept:
            self._report_event(fsm.Undecryptable())

    def _open_publication(self, message: bytes) -> None:
        """Check, decrypt and hand on one publication; raises CryptoError for unknown keys."""
        try:
            self._owner.on_publication(self, self._publications.open(message))
        except StalePublication:
            log.debug("master %s: a publication was repeated", self.name)
        except WireError as error:
            self._drop_publication(error)

    def _drop_publication(self, error: SaltliteError) -> None:
        self._dropped += 1
        now_s = time.monotonic()
        # Junk can come as fast as the network is: one line a minute, with how many.
        if now_s - self._dropped_said_s < DROPPED_LOG_S:
            return
        log.warning("master %s: %d publications dropped: %s", self.name, self._dropped, error)
        self._dropped, self._dropped_said_s = 0, now_s

    # --- requests --------------------------------------------------------------

    async def request(
        self,
        load: Mapping[str, object],
        *,
        timeout_s: float | None = None,
        tries: int | None = None,
        lane: str = ASIDE,
        text: bool = True,
    ) -> Any:
        """One encrypted request and its reply; waits to be let in first.

        ``timeout_s`` and ``tries`` are ``request_channel_timeout`` and ``request_channel_tries``
        unless given. ``lane`` keeps requests of one kind from waiting for those of another.
        ``text=False`` leaves strings bytes (file chunks).

        Raises:
            LinkOver: the link ended before there was an answer.
            RequestTimeout: no answer at all.
            CryptoError: no answer that can be believed, also after authenticating again.
            WireError: the load cannot travel.
        """

        def read(keys: SessionKeys, reply: bytes, nonce: str) -> Any:
            return keys.channel.open(reply, nonce, text=text)

        return await self._ask_master(load, read, timeout_s, tries, lane)

    async def pillar(self, load: Mapping[str, object]) -> dict[str, Any]:
        """The pillar; ``load`` is that of a ``_pillar`` request. Raises as :meth:`request`."""

        def read(keys: SessionKeys, reply: bytes, nonce: str) -> dict[str, Any]:
            return keys.channel.open_pillar(reply, nonce)

        pillar: dict[str, Any] = await self._ask_master(load, read, None, None, ASIDE)
        return pillar

    async def _ask_master(
        self,
        load: Mapping[str, object],
        read: Callable[[SessionKeys, bytes, str], Any],
        timeout_s: float | None,
        tries: int | None,
        lane: str,
    ) -> Any:
        returns = self._config.returns
        wait_s = returns.request_channel_timeout if timeout_s is None else timeout_s
        left = max(1, returns.request_channel_tries if tries is None else tries)
        broke = False
        while True:
            self._check_goes_on()
            left -= 1
            try:
                return await self._ask_once(load, read, wait_s, lane)
            except RequestTimeout as error:
                self._check_goes_on()
                # Whoever answers there was replaced: that counts once only.
                is_first = isinstance(error, ConnectionBroke) and not broke
                if not left and not is_first:
                    raise
                left, broke = left + is_first, broke or is_first

    def _check_goes_on(self) -> None:
        if self._over.done():
            raise LinkOver(f"master {self.name} was left")

    async def _ask_once(
        self,
        load: Mapping[str, object],
        read: Callable[[SessionKeys, bytes, str], Any],
        timeout_s: float,
        lane: str,
    ) -> Any:
        """Ask; if the answer does not open, authenticate again and ask once more."""
        keys = await self._other_keys_than(None, timeout_s)
        try:
            return await self._ask_with(keys, load, read, timeout_s, lane)
        except CryptoError as error:
            log.debug("master %s: %s; authenticating again", self.name, error)
        # Else somebody has signed in meanwhile: one authentication serves all who wait.
        if keys is self._keys:
            self._report_event(fsm.Undecryptable())
        keys = await self._other_keys_than(keys, timeout_s)
        return await self._ask_with(keys, load, read, timeout_s, lane)

    async def _ask_with(
        self,
        keys: SessionKeys,
        load: Mapping[str, object],
        read: Callable[[SessionKeys, bytes, str], Any],
        timeout_s: float,
        lane: str,
    ) -> Any:
        refusal = keys.offers.refusal(load)
        if refusal is not None:
            return refusal
        # Sealed for each try: a master takes a nonce once.
        frame, nonce = keys.channel.seal(load)
        answer = read(keys, await self._exchange_frames(frame, lane, timeout_s), nonce)
        keys.offers.heard(load, answer)
        return answer

    async def _exchange_frames(self, frame: bytes, lane: str, timeout_s: float) -> bytes:
        """One frame out and one in; the connection is closed after a while without any."""
        reply = await self._requester_of(lane).request(frame, timeout_s=timeout_s)
        if lane in self._idle_timers:
            self._idle_timers[lane].cancel()
        self._idle_timers[lane] = self._loop.call_later(IDLE_S[lane], self._close_idle, lane)
        return reply

    def _close_idle(self, lane: str) -> None:
        """A master has a connection less for every minion that wants nothing."""
        self._idle_timers.pop(lane, None)
        requester = self._requesters.get(lane)
        if requester is not None and not requester.busy:
            self._requesters.pop(lane).close()
            self._owner.on_idle()

    async def _other_keys_than(self, old: SessionKeys | None, timeout_s: float) -> SessionKeys:
        """The keys now, unless they are ``old``; then those of the next authentication."""
        deadline_s = time.monotonic() + timeout_s
        while self._keys is None or self._keys is old:
            self._check_goes_on()
            left_s = deadline_s - time.monotonic()
            if not await wait_until_set(self._keys_changed, max(0.0, left_s)):
                raise RequestTimeout(self._address or self.name, timeout_s)
        return self._keys

    def _requester_of(self, lane: str) -> AsyncRequester:
        if lane not in self._requesters:
            address = tcp(self._address, self._master.port)
            self._requesters[lane] = AsyncRequester(address, context=self._context, tcp=self._tcp)
        return self._requesters[lane]

    def _retire_requesters(self) -> None:
        """The address has changed; what is under way may still be answered at the old one."""
        patience_s = self._config.returns.request_channel_timeout + 1
        for requester in self._requesters.values():
            self._loop.call_later(patience_s, requester.close)
        self._requesters.clear()

    # --- returns ---------------------------------------------------------------

    async def send_returns(self, outbox: Outbox, spool: Spool, changed: asyncio.Condition) -> None:
        """Send what this master is to have, one return after the other, until cancelled."""
        # What was under way goes to the next master, or to this one when it is back.
        with contextlib.suppress(LinkOver):
            await self._send_always(outbox, spool, changed)

    async def _send_always(self, outbox: Outbox, spool: Spool, changed: asyncio.Condition) -> None:
        failing = False
        outbox.begin_link(self.name)
        while True:
            for expired in outbox.take_expired(time.monotonic()):
                log.error("the return of job %s is lost: no master took it for a day", expired)
                outbox.done(expired)
                spool.remove(expired)
            name = await self._next_return(outbox, changed)
            acknowledged = await self._send_return(name, outbox, spool)
            # The first that gets through: what waits for its time need not wait for it any more.
            if acknowledged and failing:
                outbox.master_is_back(time.monotonic())
            failing = not acknowledged

    async def _next_return(self, outbox: Outbox, changed: asyncio.Condition) -> str:
        while True:
            async with changed:
                now_s = time.monotonic()
                name = outbox.due(self.name, now_s)
                if name is not None:
                    return name
                next_s = outbox.next_due_s(self.name)
                # Never 0: a time that is rounded would make a loop without a pause.
                wait_s = None if next_s is None else max(0.05, next_s - now_s)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(changed.wait(), wait_s)

    def _tell_of_kept(self, words: str, jid: str, why: object) -> None:
        """A warning for the first return that has to wait; of those after it nobody learns more."""
        log.log(logging.INFO if self._keeps_returns else logging.WARNING, words, jid, why)
        self._keeps_returns = True

    async def _send_return(self, name: str, outbox: Outbox, spool: Spool) -> bool:
        """Send one return; whether the master has it, or has said that it never takes it."""
        parcel = spool.get(name)
        if parcel is None:
            outbox.done(name)
            return True
        returns = self._config.returns
        # At random between the two options, so that minions do not repeat in step.
        spread_s = max(0.0, returns.return_retry_timer_max - returns.return_retry_timer)
        timeout_s = max(1.0, returns.return_retry_timer + spread_s * self._chance())
        try:
            reply = await self.request(parcel.load, timeout_s=timeout_s, tries=1, lane=MAIN)
        except (RequestTimeout, CryptoError) as error:
            if outbox.put_off(name, time.monotonic()) == 1:
                self._tell_of_kept("the return of job %s is kept for later: %s", name, error)
                # It may have to outlive a power cut now. In a thread: a disk can take seconds.
                await asyncio.to_thread(spool.flush, name)
            return False
        except WireError as error:
            log.error("the return of job %s is lost: it cannot be sent: %s", name, error)
            reply = None
        if reply == KEEP_IT:
            if outbox.put_off(name, time.monotonic()) == 1:
                self._tell_of_kept("the return of job %s is not stored by %s now", name, self.name)
            return False
        # A master of Salt answers None, whichever job it is.
        if reply is not None and reply is not True:
            owner = outbox.refuse(name, self.name)
            if owner is not None:
                self._tell_of_kept("the return of job %s is kept for master %s", name, owner)
                await asyncio.to_thread(spool.flush, name)
                return True
            log.warning("master %s refuses the return of job %s", self.name, name)
        self._keeps_returns = False
        outbox.done(name)
        spool.remove(name)
        return True


async def answers(master: MasterAddress, context: zmq.asyncio.Context) -> bool:
    """Whether a master is there: any reply to a clear ``ping`` counts.

    Source: docs/wire.md#others.
    """
    frame = pack(Envelope(enc="clear", load={"cmd": "ping"}).to_wire())
    try:
        addresses = await resolve(master, asyncio.get_running_loop())
        requester = AsyncRequester(tcp(addresses[0], master.port), context=context)
        try:
            await requester.request(frame, timeout_s=PING_TIMEOUT_S)
        finally:
            requester.close()
    except (OSError, IndexError, SaltliteError):
        return False
    return True


def _pass_over_timeout(tries_left: int) -> AbstractContextManager[bool | None]:
    """Passes over a timeout while there are tries left."""
    if tries_left:
        return contextlib.suppress(RequestTimeout)
    return contextlib.nullcontext()


def _session_options(config: MinionConfig, failover: bool) -> fsm.SessionOptions:
    auth = config.auth
    return fsm.SessionOptions(
        acceptance_wait_time_s=auth.acceptance_wait_time,
        acceptance_wait_time_max_s=auth.acceptance_wait_time_max,
        rejected_retry=auth.rejected_retry,
        random_reauth_delay_s=auth.random_reauth_delay,
        failover=failover,
        retry_dns_s=config.network.retry_dns,
        retry_dns_count=config.network.retry_dns_count,
    )
