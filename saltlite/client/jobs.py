"""Jobs as the commands and salt-api handle them: publish, listen, wait; typed all the way.

Every job is listened for first and published second, so that no return is missed. Salt's own Python
interface is made of this one in :mod:`saltlite.client.local`.

Source: docs/wire.md#clear-commands; the client is told of results on the event bus
(docs/wire.md#events).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import zmq

from saltlite.channel.client import ClearChannel
from saltlite.client.collect import (
    JID_PREFIX,
    JOB_PREFIX,
    Collector,
    Events,
    JobRun,
    MinionReturn,
    NotReturned,
    Outcome,
    ReturnStore,
)
from saltlite.client.hearers import BlockingHearers, Connections
from saltlite.client.identity import local_key, sender
from saltlite.client.job_request import JobRequest, credentials_of
from saltlite.core.messages import (
    ASKED_AT,
    FOLLOW,
    NO_MINIONS,
    NOT_AUTHENTICATED,
    USER_UNKNOWN,
    PublishLoad,
    PublishReply,
    refusal,
)
from saltlite.errors import MasterAbsent, MasterRefused, RequestTimeout, StoreError
from saltlite.transport.addresses import MasterSockets, tcp
from saltlite.transport.bus import EventSubscriber

if TYPE_CHECKING:
    from saltlite.client.follow import FollowedJobs
    from saltlite.config.master import MasterConfig


log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 1.0
"""How long the master's event bus may take to answer before the master counts as not running."""

PUBLISH_TIMEOUT_S = 15.0
"""How long the master may take to answer ``publish``; never repeated, it could run twice."""

CALL_TIMEOUT_S = 60.0
"""How long the master may take to answer ``runner``, or to do what ``wheel`` asks."""

ASK_TIMEOUT_S = 5.0
RUN_PREFIX = "salt/run/"
RUN_PATIENCE_S = 60.0
"""Between two looks whether a run has ended; it may take for ever."""

NOT_KNOWN = frozenset({NOT_AUTHENTICATED, USER_UNKNOWN})
"""How a master calls it that it does not know a local key."""

NOT_RUNNING = "The salt master could not be contacted. Is master running?"
TIMED_OUT = (
    "Salt request timed out. The master is not responding. You may need to run your command with "
    "`--async` in order to bypass the congested event bus. With `--async`, the CLI tool will print "
    "the job id (jid) and exit immediately without listening for responses. You can then use "
    "`salt-run jobs.lookup_jid` to look up the results of the job in the job cache later."
)
"""Salt's sentences. Source: docs/command-line.md#missing-returns."""

SENT = "Executed command with job ID: {jid}"
NOT_TOLD = (
    "The master keeps no returns of its own (job_cache, ext_job_cache), so only who may listen to "
    "its event bus can wait for them."
)

NO_RESPONSE = "Minion did not return. [No response]"
NOT_CONNECTED = "Minion did not return. [Not connected]"
LOOK_UP = (
    "The minions may not have all finished running and any remaining minions will return upon "
    "completion. To look up the return data for this job later, run the following command:\n\n"
    "salt-run jobs.lookup_jid {jid}"
)


class JobClient:
    """Publishes jobs on the master of this machine and collects what minions return.

    ``store`` opens the job store when it is needed first (``None``: results come from the event bus
    alone). ``connected`` tells which minions have a connection to the publish port, ``None`` if
    that cannot be known. ``connections`` are those to the publish port: with it, who cannot have
    heard a job is not waited for by the methods that return no sooner than it is over.
    ``credentials``, a token or a login, are shown instead of the local key. Without
    ``pillar_patterns`` targets compare whole values of pillar.
    """

    def __init__(
        self,
        config: MasterConfig,
        *,
        store: Callable[[], ReturnStore] | None = None,
        connected: Callable[[], frozenset[str] | None] | None = None,
        connections: Callable[[], Connections] | None = None,
        credentials: Mapping[str, str] | None = None,
        pillar_patterns: bool = True,
    ) -> None:
        self.config = config
        self._pillar_patterns = pillar_patterns
        self._store_opener = store
        self._connected = connected
        self._connections = connections
        self._credentials = dict(credentials or {})
        self._store_opened: ReturnStore | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._followed: list[FollowedJobs] = []
        self.malformed = ""
        """What is wrong with the last target, in the words of the master."""

    def close(self) -> None:
        """Give back all sockets."""
        if self._context is not None:
            self._context.destroy(linger=0)
            self._context = None

    def __enter__(self) -> JobClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def start(self, request: JobRequest) -> JobRun | None:
        """Publish and listen; ``None`` if no minion matches.

        Raises:
            MasterAbsent: no master runs here.
            AccessDenied: this user may not speak to it.
            MasterRefused: the master does not allow it.
            RequestTimeout: the master does not answer.
        """
        events = self.listen()
        try:
            reply = self.publish(request)
        except BaseException:
            # Ctrl-C too: the subscriber keeps its socket until it is closed.
            events.close()
            raise
        if reply is None:
            events.close()
            return None
        return self.follow(events, reply, request.timeout_s, credentials_of(request.options))

    def follow(
        self,
        events: Events,
        reply: PublishReply,
        timeout_s: float | None = None,
        credentials: Mapping[str, object] = MappingProxyType({}),
    ) -> JobRun:
        """Collect the returns of a job that was published after ``events`` were listened to.

        ``credentials`` are shown when minions are asked about it; without, the local key.
        """
        collector = self.collector(events, timeout_s, credentials)
        collector.add(reply.jid or "", reply.minions, missing=reply.missing)
        # By a ticket only returns are told.
        is_ticketed = events in self._followed
        return JobRun(reply, events, collector, hears_progress=not is_ticketed)

    def collector(
        self,
        events: Events,
        timeout_s: float | None = None,
        credentials: Mapping[str, object] = MappingProxyType({}),
    ) -> Collector:
        """A collector without jobs that reads ``events`` and asks ``find_job`` through here."""
        # Who may not open the bus may not open the store either; he is told what is on record.
        has_store = self._store_opener is not None and events not in self._followed
        return Collector(
            events,
            timeout_s=self._timeout_s(timeout_s),
            gather_job_timeout_s=self.config.jobs.gather_job_timeout,
            ask=partial(self._ask_running, credentials),
            store=LateStore(self._open_job_store) if has_store else None,
            hold_s=syndics_hold_s(self.config),
        )

    def listen(self, prefix: str = JOB_PREFIX) -> Events:
        """Listen to the returns of all jobs; who may not, of his own from now on.

        Raises:
            MasterAbsent: nobody publishes events here.
        """
        path = MasterSockets(Path(self.config.paths.sock_dir)).event_pub
        try:
            # Who may not pass sock_dir is no user of '@events', and has his own returns alone.
            path.stat()
        except PermissionError:
            return self._follow_own()
        except OSError:
            raise MasterAbsent(NOT_RUNNING) from None
        if not os.access(path, os.R_OK | os.W_OK):  # ZeroMQ would try for ever, without a word
            return self._follow_own()
        prefixes = [prefix]
        if prefix == JOB_PREFIX and self.config.syndic.order_masters:
            prefixes.append(JID_PREFIX)
        events = EventSubscriber(path, prefixes, context=self._zmq_context())
        # A master that was killed has left the file behind, and nobody answers.
        if not events.connect_confirmed(CONNECT_TIMEOUT_S):
            events.close()
            raise MasterAbsent(TIMED_OUT)
        return events

    def _follow_own(self) -> FollowedJobs:
        """In place of the bus: the master is asked for what jobs of our own return."""
        from saltlite.client.follow import FollowedJobs

        followed = FollowedJobs(partial(self.send, timeout_s=ASK_TIMEOUT_S))
        # Closed ones are forgotten here: nobody tells the client when one is closed.
        self._followed = [*(one for one in self._followed if not one.closed), followed]
        return followed

    def publish(
        self, request: JobRequest, *, timeout_s: float = PUBLISH_TIMEOUT_S
    ) -> PublishReply | None:
        """Publish without listening; ``None`` if no minion matches. Raises as :meth:`start`."""
        options = {**self._credentials, **request.options}
        # The ticket comes with the reply to publish, so it has to be asked for here.
        followed = [one for one in self._followed if not one.closed]
        load = PublishLoad(
            tgt=request.tgt,
            fun=request.fun,
            arg=list(request.arg),
            tgt_type=self._kind_of(request),
            ret=request.ret,
            jid=request.jid,
            user=sender(),
            key=self._local_key(options),
            kwargs=options,
            to=self._syndics_timeout_s(request),
            extra={ASKED_AT: time.time_ns() // 1000, **({FOLLOW: True} if followed else {})},
        )
        answer = self._send_as_user(load.to_wire(), timeout_s)
        reply = PublishReply.from_wire(answer)
        # That nobody matches is no mistake in the target; any other reason is.
        is_told = reply.jid is None and not (reply.error or NO_MINIONS).startswith(NO_MINIONS)
        self.malformed = reply.error or "" if is_told else ""
        if reply.jid is None:
            return None
        if followed:
            self._follow_job(reply.jid, reply.ticket, len(reply.minions))
        return reply

    def _syndics_timeout_s(self, request: JobRequest) -> int | None:
        """What syndics are told of our patience, as Salt does; nobody else needs it."""
        if not self.config.syndic.order_masters:
            return None
        return int(self._timeout_s(request.timeout_s))

    def _kind_of(self, request: JobRequest) -> str:
        if self._pillar_patterns:
            return request.tgt_type
        from saltlite.core import targets  # few clients need it

        # Patterns would tell the pillar letter by letter to who may not read all of it.
        target = targets.Target(request.tgt, request.tgt_type)
        groups = self.config.targets.nodegroups
        return targets.compare_whole(target, nodegroups=groups).tgt_type

    def _follow_job(self, jid: str, ticket: str | None, expected: int) -> None:
        """Have the returns of a job of ours asked for."""
        # The job runs all the same, so its id is told with the reason.
        if not ticket:
            raise MasterRefused("", f"{SENT.format(jid=jid)}\n{NOT_TOLD}")
        for one in self._followed:
            if not one.closed:
                one.add(jid, ticket, expected)

    def _local_key(self, options: Mapping[str, object]) -> str | None:
        """The local key; ``None`` for who shows other credentials, which are to be judged alone."""
        if "token" in options or "eauth" in options:
            return None
        return local_key(Path(self.config.paths.cachedir))

    def _send_as_user(self, load: Mapping[str, Any], timeout_s: float) -> Any:
        """One clear command, once more if its local key was that of a master that has gone.

        Each start of a master makes another key: the one that was read may be too old when it is
        shown. Who is not known has done nothing, so nothing is done twice. Raises as :meth:`send`.
        """
        try:
            return self.send(load, timeout_s=timeout_s)
        except MasterRefused as error:
            shown = load.get("key")
            if not shown or error.name not in NOT_KNOWN:
                raise
            key = self._local_key({})
            if key == shown:
                raise
        return self.send({**load, "key": key}, timeout_s=timeout_s)

    def send(self, load: Mapping[str, Any], *, timeout_s: float = PUBLISH_TIMEOUT_S) -> Any:
        """One clear command and its answer.

        Raises:
            MasterRefused: the answer is an error.
            RequestTimeout: there is none.
        """
        address = find_request_address(self.config)
        with ClearChannel(address, timeout_s, context=self._zmq_context()) as channel:
            answer = channel.send(load)
        refused = refusal(answer)
        if refused is not None:
            raise MasterRefused(*refused)
        return answer

    def call_master(self, load: Mapping[str, object]) -> Any:
        """One clear command (``runner``, ``wheel``), with the local key unless it has credentials.

        Beside credentials nothing of the local user goes along: a real master would take it for
        arguments of the function.

        Raises:
            MasterRefused: the answer is an error.
            RequestTimeout: there is none.
        """
        shown = {**self._credentials, **load}
        has_login = "token" in shown or "eauth" in shown
        own = {} if has_login else {"user": sender(), "key": self._local_key(shown)}
        if (
            has_login or "key" in shown
        ):  # what is shown is judged alone: ours never stands in for it
            return self.send({**own, **shown}, timeout_s=CALL_TIMEOUT_S)
        return self._send_as_user({**own, **shown}, CALL_TIMEOUT_S)

    def run_on_master(self, load: Mapping[str, object]) -> tuple[str, Mapping[str, Any]]:
        """Have the master run a runner, and wait for it: its jid, and the data of its last event.

        Raises as :meth:`call_master`.
        """
        # Before it is asked for: a quick runner is done when the answer comes.
        events = self.listen(RUN_PREFIX)
        try:
            is_followed = events in self._followed
            told = self.call_master({**load, FOLLOW: True} if is_followed else load)
            jid, tag = told["jid"], f"{told['tag']}/ret"
            if is_followed:
                self._follow_job(jid, told.get(FOLLOW), 1)
            while True:
                event = events.get(RUN_PATIENCE_S)
                if event is not None and is_followed:
                    return jid, event.data["return"]  # on record: the data of the last event
                if event is not None and event.tag == tag:
                    return jid, event.data
        finally:
            events.close()

    def outcomes(self, request: JobRequest) -> Iterator[Outcome]:
        """Publish, and yield what comes of it, each minion once. Raises as :meth:`start`."""
        # Before the job goes out: a connection that ends right after may have heard it.
        # Who is connected says nothing of the minions of syndics.
        connections = None if self.config.syndic.order_masters else self._connections
        hearers = BlockingHearers(connections) if connections is not None else None
        run = self.start(request)
        if run is None:
            return
        with run:
            if hearers is None:
                yield from run
                return
            while not run.is_done:
                yield from run.step(hearers.patience())
                if not run.is_done and hearers.are_all(run.return_count):
                    yield from run.give_up()

    def subset_of(self, request: JobRequest, size: int) -> list[str]:
        """At most ``size`` of the minions that have the functions of a request, at random."""
        listing = JobRequest(
            tgt=request.tgt,
            fun="sys.list_functions",
            tgt_type=request.tgt_type,
            timeout_s=request.timeout_s,
        )
        found = (one for one in self.outcomes(listing) if isinstance(one, MinionReturn))
        return pick_able({one.id: one.return_ for one in found}, request.fun, size)

    def stored_returns(self, jid: str) -> Mapping[str, Mapping[str, Any]]:
        """What is on record of a job, by minion; nothing without a store. Does not wait."""
        return {} if self._store_opener is None else self._open_job_store().returns(jid)

    def explain_loss(self, outcome: NotReturned) -> str:
        """Salt's words about a minion that was given up.

        Source: docs/command-line.md#missing-returns.
        """
        connected = self._connected() if self._connected is not None else None
        # An empty set says as little as None: without cached grains nobody seems connected.
        if connected and not outcome.unknown and outcome.id not in connected:
            return NOT_CONNECTED
        return f"{NO_RESPONSE}\n{LOOK_UP.format(jid=outcome.jid)}"

    def _timeout_s(self, timeout_s: float | None) -> float:
        return float(self.config.jobs.timeout if timeout_s is None else timeout_s)

    def _zmq_context(self) -> zmq.Context[zmq.Socket[bytes]]:
        if self._context is None:
            self._context = zmq.Context()
        return self._context

    def _open_job_store(self) -> ReturnStore:
        if self._store_opened is None:
            assert self._store_opener is not None  # noqa: S101 - only called when there is one
            self._store_opened = self._store_opener()
        return self._store_opened

    def _ask_running(
        self, credentials: Mapping[str, object], jid: str, minions: Sequence[str]
    ) -> str | None:
        request = JobRequest(
            tgt=list(minions),
            fun="saltutil.find_job",
            arg=[jid],
            tgt_type="list",
            options=credentials,
        )
        try:
            reply = self.publish(request, timeout_s=ASK_TIMEOUT_S)
        except (RequestTimeout, MasterRefused):
            # Not answered, or refused for now: the collector asks again in a second.
            return None
        # Nobody to ask is an answer too: the silence that follows is what counts.
        return reply.jid if reply is not None else "none"


def pick_able(functions: Mapping[str, object], fun: str | list[str], size: int) -> list[str]:
    """At most ``size`` minions whose list of functions has all of ``fun``, at random."""
    import random

    wanted = [fun] if isinstance(fun, str) else fun
    able = [
        minion
        for minion, names in functions.items()
        if isinstance(names, (list, tuple)) and all(name in names for name in wanted)
    ]
    return random.sample(able, min(max(size, 0), len(able)))


def syndics_hold_s(config: MasterConfig) -> float:
    """How long a job of this master waits for syndics to name their minions."""
    return config.syndic.syndic_wait if config.syndic.order_masters else 0.0


def find_request_address(config: MasterConfig) -> str:
    """The address of the master's request port for who is on its machine."""
    network = config.network
    # A wildcard is where to listen, and no address to connect to.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(network.interface, network.interface)  # noqa: S104 - the wildcard
    return tcp(host, network.ret_port)


class LateStore:
    """A store that is opened when it is asked first; most jobs never need it."""

    def __init__(self, store: Callable[[], ReturnStore]) -> None:
        self._store = store

    def returns(self, jid: str) -> Mapping[str, Mapping[str, Any]]:
        """See :class:`ReturnStore`; nothing for a user or process that may not read it."""
        try:
            return self._store().returns(jid)
        except StoreError as error:
            log.debug("%s", error)
            return {}
