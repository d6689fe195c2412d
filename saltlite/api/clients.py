"""The master as salt-api sees it: clear commands on its request port, and its event bus.

Every command carries the credentials of whoever asks; the local key is never read. Jobs are
gathered by :class:`saltlite.client.collect.Collector`, as ``salt`` does it.
Source: docs/wire.md, docs/api.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import zmq
import zmq.asyncio

from saltlite.api import limits, saltbus
from saltlite.api.events import NOT_RUNNING, EventFeed, JobListener
from saltlite.api.hearers import Hearers, Lookout
from saltlite.api.lowstate import Call, Credentials, LocalCall, RunCall
from saltlite.api.messages import HttpError
from saltlite.api.results import (
    as_http_error,
    gather_returns,
    show_published,
    show_return,
    show_run,
)
from saltlite.client.collect import Collector, MinionReturn, Outcome, ReturnStore
from saltlite.client.identity import process_user
from saltlite.client.job_request import JobRequest, jid_as_text
from saltlite.client.jobs import (
    ASK_TIMEOUT_S,
    CALL_TIMEOUT_S,
    PUBLISH_TIMEOUT_S,
    JobClient,
    LateStore,
    find_request_address,
    syndics_hold_s,
)
from saltlite.core import dataclasses
from saltlite.core.messages import Envelope, PublishLoad, PublishReply, refusal
from saltlite.errors import (
    ConnectionBroke,
    MasterAbsent,
    MasterRefused,
    RequestTimeout,
    WireError,
)
from saltlite.master.presence import connections_to
from saltlite.transport.addresses import MasterSockets
from saltlite.transport.areq import AsyncRequester
from saltlite.transport.bus import EventPusher, pack_event
from saltlite.transport.codec import pack, unpack

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig

log = logging.getLogger(__name__)

IDLE_CONNECTIONS_MOST: Final = 16
PRESENCE_S: Final = 1.0
"""How long it is believed that the master is there, or is not."""

CONNECT_S: Final = 2.0
LOGIN_TIMEOUT_S: Final = 60.0
BATCH_PULSE_S: Final = 0.5
ASKS_AS: Final = "salt-api"
"""Whom a publish names; the master puts who logged in there. Real Salt wants one."""

_LOAD_FIELDS: Final = frozenset(
    ("cmd", "fun", "arg", "kwarg", "client", "user", "key", "token", "eauth", "username",
     "password", "full_return", "print_event", "loads")
)  # fmt: skip
"""Names that a keyword beside ``fun`` must not have."""


class RequestPool:
    """Connections to the request port; each has one request under way."""

    def __init__(self, address: str, context: zmq.asyncio.Context) -> None:
        self._address = address
        self._context = context
        self._idle: list[AsyncRequester] = []

    async def request(self, frame: bytes, timeout_s: float) -> bytes:
        """One frame and its reply; raises as :meth:`AsyncRequester.request`."""
        requester = (
            self._idle.pop() if self._idle else AsyncRequester(self._address, context=self._context)
        )
        try:
            return await requester.request(frame, timeout_s=timeout_s)
        finally:
            if len(self._idle) < IDLE_CONNECTIONS_MOST:
                self._idle.append(requester)
            else:
                requester.close()

    def close(self) -> None:
        """Close all connections that are idle."""
        for requester in self._idle:
            requester.close()
        self._idle.clear()


class MasterClient:
    """Runs calls on the master. Use it in one loop, from :meth:`open` to :meth:`close`.

    ``store`` opens the job store, where this process may read it: returns that the bus lost are
    found there.
    """

    def __init__(
        self, config: MasterConfig, *, store: Callable[[], ReturnStore] | None = None
    ) -> None:
        self.config = config
        self._context = zmq.asyncio.Context()
        self._plain: zmq.Context[zmq.Socket[bytes]] = zmq.Context.shadow(self._context.underlying)
        sockets = MasterSockets(Path(config.paths.sock_dir))
        self._bus_path = sockets.event_pub
        self._pull_path = sockets.event_pull
        self._pusher: EventPusher | None = None
        self.feed = EventFeed(sockets.event_pub, self._plain)
        self._pool = RequestPool(find_request_address(config), self._context)
        self._open_store = store
        self._lookout = Lookout(self._look_at_connections)
        self._seen_at = 0.0
        self._is_there = False
        self._is_closed_known = False

    @property
    def is_salts(self) -> bool:
        """Whether the master is a real Salt's."""
        return self.feed.is_salts

    def open(self) -> None:
        """Connect to the bus."""
        self.feed.open()
        with contextlib.suppress(HttpError):
            self.require_master()  # says if its sockets are closed to this user

    def close(self) -> None:
        """Give back all sockets."""
        self.feed.close()
        self._pool.close()
        if self._pusher is not None:
            self._pusher.close()
        self._context.destroy(linger=0)

    def require_master(self) -> None:
        """Ensure that a master runs.

        Raises:
            HttpError: 503, none does.
        """
        now = time.monotonic()
        if now - self._seen_at >= PRESENCE_S:
            self._is_there = self._look_for_master()
            self._seen_at = now
        if not self._is_there:
            raise HttpError(503, NOT_RUNNING)

    def _look_for_master(self) -> bool:
        try:
            is_there = _someone_listens(self._bus_path)
        except PermissionError:
            if not self._is_closed_known:
                log.error("%s", _describe_closed(self._bus_path, "@events"))
            self._is_closed_known = True
            return False
        self._is_closed_known = False
        return is_there

    async def send(self, load: Mapping[str, Any], timeout_s: float) -> Any:
        """One clear command and its answer.

        Raises:
            HttpError: 401 or 400 where the master refuses, 503 or 504 where it does not answer.
        """
        self.require_master()
        try:
            frame = pack(Envelope(enc="clear", load=dict(load)).to_wire())
        except WireError as error:
            raise HttpError(400, f"The command {error}") from None
        try:
            answer = unpack(await self._pool.request(frame, timeout_s))
        except ConnectionBroke:
            raise HttpError(503, NOT_RUNNING) from None
        except RequestTimeout:
            raise HttpError(504, "The master did not answer in time") from None
        except WireError as error:
            log.warning("An answer of the master does not decode: %s", error)
            raise HttpError(503, "The master's answer was not understood") from None
        refused = refusal(answer) if answer != "" else None
        if refused is not None:
            raise as_http_error(MasterRefused(*refused))
        return answer

    # --- logins --------------------------------------------------------------------------

    async def make_token(self, fields: Mapping[str, object]) -> dict[str, Any] | None:
        """Log in: the token's map, or ``None`` for credentials that are wrong."""
        names = ("username", "password", "eauth", "token_expire")
        known = {name: fields[name] for name in names if fields.get(name) is not None}
        answer = await self.send({"cmd": "mk_token", **known}, LOGIN_TIMEOUT_S)
        return answer if isinstance(answer, dict) and answer.get("token") else None

    async def look_up_token(self, token: str) -> dict[str, Any] | None:
        """The map of a token that is valid."""
        answer = await self.send({"cmd": "get_token", "token": token}, CALL_TIMEOUT_S)
        return answer if isinstance(answer, dict) and answer.get("name") else None

    async def remove_token(self, token: str) -> None:
        """End a token, so that nobody can use it any more; where the master knows how."""
        try:
            await self.send({"cmd": "del_token", "token": token}, CALL_TIMEOUT_S)
        except HttpError as error:
            log.warning("A token was not removed: %s", error.text)

    async def authorize(self, calls: Sequence[Call], credentials: Credentials) -> None:
        """Ensure that all of several calls are allowed before the first of them runs.

        A real Salt master cannot be asked; there each call is checked in its turn.

        Raises:
            HttpError: 401, one of them is not.
        """
        loads = [self._load_of(call, {}) for call in calls]
        answer = await self.send(
            {"cmd": "authorize", **credentials, "loads": loads}, CALL_TIMEOUT_S
        )
        if isinstance(answer, Mapping) and answer.get("refused"):
            raise as_http_error(MasterRefused(*_name_and_message(answer["refused"])))

    # --- calls ---------------------------------------------------------------------------

    async def run(self, call: Call, credentials: Credentials) -> list[Any]:
        """The results of one call: one, but for batches.

        Raises:
            HttpError: it cannot be run, is not allowed, or takes too long.
        """
        try:
            return await asyncio.wait_for(self._run(call, credentials), limits.CALL_S)
        except asyncio.TimeoutError:
            raise HttpError(504, "The call took too long; what it started goes on") from None
        except MasterAbsent as error:
            raise HttpError(503, str(error)) from None

    async def _run(self, call: Call, credentials: Credentials) -> list[Any]:
        if isinstance(call, RunCall):
            return [await self._run_on_master(call, credentials)]
        if call.client == "local_async":
            return [show_published(await self.publish(call, credentials))]
        if call.client == "local_batch":
            return await self._run_batch(call, credentials)
        if call.client == "local_subset":
            return [await self._run_subset(call, credentials)]
        return [gather_returns(call, await self.run_job(call, credentials))]

    def _load_of(self, call: Call, credentials: Credentials) -> dict[str, Any]:
        if isinstance(call, RunCall):
            return _run_load(call, credentials)
        return _publish_load(call, credentials)

    async def publish(
        self, call: LocalCall, credentials: Credentials, *, timeout_s: float = PUBLISH_TIMEOUT_S
    ) -> PublishReply | None:
        """Publish a job; ``None`` if no minion matches."""
        answer = await self.send(_publish_load(call, credentials), timeout_s)
        try:
            reply = PublishReply.from_wire(answer)
        except WireError:
            raise HttpError(503, "The master's answer was not understood") from None
        return None if reply.jid is None else reply

    async def run_job(self, call: LocalCall, credentials: Credentials) -> list[Outcome]:
        """Publish a job and gather what its minions return."""
        self.require_master()
        await self.feed.wait_until_connected(CONNECT_S)
        listener = self.feed.listen_to_job()
        hearers = Hearers(self._lookout.look)
        try:
            reply = await self.publish(call, credentials)
            if reply is None or reply.jid is None:
                return []
            listener.name(reply.jid)
            collector = self._collector(call, listener)
            collector.add(reply.jid, reply.minions, missing=reply.missing)
            ask = partial(self._ask, credentials, listener)
            return await _gather(collector, listener, ask, reply.jid, hearers)
        finally:
            listener.close()

    def _look_at_connections(self) -> frozenset[str] | None:
        """The connections of minions; not known where some may be below syndics."""
        if self.feed.is_salts or self.config.syndic.order_masters:
            return None
        return connections_to(self.config.network.publish_port)

    def _collector(self, call: LocalCall, listener: JobListener) -> Collector:
        jobs = self.config.jobs
        given, gather = call.timeout_s, call.gather_job_timeout_s
        return Collector(
            listener,
            timeout_s=float(jobs.timeout if given is None else given),
            gather_job_timeout_s=float(jobs.gather_job_timeout if gather is None else gather),
            ask=lambda _jid, _minions: None,
            store=LateStore(self._open_store) if self._open_store is not None else None,
            hold_s=syndics_hold_s(self.config),
        )

    async def _ask(
        self, credentials: Credentials, listener: JobListener, jid: str, minions: Sequence[str]
    ) -> str | None:
        """Publish ``find_job``; the jid of that question."""
        call = LocalCall(
            client="local_async",
            tgt=list(minions),
            tgt_type="list",
            fun="saltutil.find_job",
            arg=[jid],
        )
        try:
            reply = await self.publish(call, credentials, timeout_s=ASK_TIMEOUT_S)
        except HttpError as error:
            log.debug("minions of %s are not asked: %s", jid, error.text)
            return None
        if reply is None or reply.jid is None:
            return "none"  # nobody to ask is an answer too: the silence that follows counts
        listener.name(reply.jid)
        return reply.jid

    async def _run_subset(self, call: LocalCall, credentials: Credentials) -> dict[str, Any]:
        """The job on some of the minions that have the function."""
        wanted = [call.fun] if isinstance(call.fun, str) else call.fun
        question = dataclasses.replace(
            call, client="local", fun="sys.list_functions", arg=[], ret="", jid="", options={}
        )
        try:
            outcomes = await self.run_job(question, credentials)
        except HttpError as error:
            if error.status != 401:
                raise
            outcomes = []  # who may not ask for functions may still run this one
            return gather_returns(call, await self._run_on_some(call, credentials))
        able = [
            one.id
            for one in outcomes
            if isinstance(one, MinionReturn)
            and isinstance(one.return_, list)
            and all(name in one.return_ for name in wanted)
        ]
        chosen = random.sample(able, min(call.subset, len(able)))
        if not chosen:
            return {}
        narrowed = dataclasses.replace(call, tgt=chosen, tgt_type="list")
        outcomes = await self.run_job(narrowed, credentials)
        return gather_returns(dataclasses.replace(call, tgt_type="glob"), outcomes)

    async def _run_on_some(self, call: LocalCall, credentials: Credentials) -> list[Outcome]:
        """As :meth:`_run_subset`, of the minions that answer a ``test.ping``."""
        ping = dataclasses.replace(call, client="local", fun="test.ping", arg=[], options={})
        found = await self.run_job(ping, credentials)
        alive = [one.id for one in found if isinstance(one, MinionReturn)]
        chosen = random.sample(alive, min(call.subset, len(alive)))
        narrowed = dataclasses.replace(call, tgt=chosen, tgt_type="list")
        return await self.run_job(narrowed, credentials) if chosen else []

    async def _run_batch(self, call: LocalCall, credentials: Credentials) -> list[Any]:
        """In a thread: a batch is the command line's own, and rare."""
        stop = asyncio.Event()
        work = asyncio.to_thread(self._batch, call, credentials, stop)
        try:
            return await work
        except MasterRefused as error:
            raise as_http_error(error) from None
        except RequestTimeout:
            raise HttpError(504, "The master did not answer in time") from None
        finally:
            stop.set()

    def _batch(
        self, call: LocalCall, credentials: Credentials, stop: asyncio.Event
    ) -> list[dict[str, Any]]:
        from saltlite.client.batch import Batch

        request = JobRequest(
            tgt=call.tgt,
            fun=call.fun,
            arg=call.arg,
            tgt_type=call.tgt_type,
            ret=call.ret,
            timeout_s=call.timeout_s,
            options={**call.options, **credentials},
        )
        found: list[dict[str, Any]] = []
        with (
            JobClient(self.config, store=self._open_store) as local,
            Batch(local, request, call.batch, pulse_s=BATCH_PULSE_S) as batch,
        ):
            for outcome in batch:
                if isinstance(outcome, MinionReturn):
                    found.append({outcome.id: show_return(outcome, full=call.full_return)})
                if stop.is_set():
                    break
        return found

    # --- runners and wheel functions -----------------------------------------------------

    async def _run_on_master(self, call: RunCall, credentials: Credentials) -> Any:
        if call.kind == "wheel":
            answer = await self.send(_run_load(call, credentials), self._patience(call))
            return _tag_and_jid(answer) if call.is_async else answer
        if call.is_async:
            return await self.send(_run_load(call, credentials), CALL_TIMEOUT_S)
        self.require_master()
        await self.feed.wait_until_connected(CONNECT_S)
        with self.feed.expect_run() as expected:
            answer = await self.send(_run_load(call, credentials), CALL_TIMEOUT_S)
            tag = f"{_tag_and_jid(answer)['tag']}/ret"
            data = await expected.data_of(tag, self._patience(call))
        if data is None:
            raise HttpError(504, "The runner has not returned in time; it goes on")
        return show_run(data, tag, full=call.full_return)

    def _patience(self, call: RunCall) -> float:
        return call.timeout_s or float(self.config.api.rest_timeout)

    def fire(self, tag: str, data: Mapping[str, Any]) -> bool:
        """Put an event on the master's bus.

        Raises:
            WireError: it cannot be one.
            HttpError: 503, there is no master, or this user may not fire events.
        """
        self.require_master()
        if self._pull_path.exists() and not os.access(self._pull_path, os.W_OK):
            log.error("%s", _describe_closed(self._pull_path, "@fire"))
            raise HttpError(503, "The master takes no events from this server")
        if self.feed.is_salts:
            limit = self.config.events.max_event_size
            event = pack_event(tag, dict(data), datetime.now(timezone.utc), max_bytes=limit)
            return saltbus.fire(self._pull_path, event, has_lengths=self.feed.has_lengths)
        if self._pusher is None:
            self._pusher = EventPusher(
                self._pull_path,
                context=self._plain,
                timeout_s=0.2,
                max_bytes=self.config.events.max_event_size,
            )
        return self._pusher.fire(tag, dict(data))


async def _gather(
    collector: Collector,
    listener: JobListener,
    ask: Callable[[str, Sequence[str]], Any],
    job: str,
    hearers: Hearers,
) -> list[Outcome]:
    """Drive a collector to its end, in the loop; what its ``step`` does, blocking."""
    outcomes: list[Outcome] = []
    while not collector.is_done:
        outcomes += collector.finish()
        for jid, minions in collector.questions():
            collector.note_probe(jid, await ask(jid, minions))
        patience_s = hearers.patience(collector.patience())
        outcomes += collector.take(await listener.wait(patience_s))
        if not collector.is_done and await hearers.are_all(len(collector.gather(job).returned)):
            outcomes += collector.give_up(job)
    return outcomes


def _publish_load(call: LocalCall, credentials: Credentials) -> dict[str, Any]:
    load = PublishLoad(
        tgt=call.tgt,
        fun=call.fun,
        arg=[jid_as_text(one) for one in call.arg],
        tgt_type=call.tgt_type,
        ret=call.ret,
        jid=call.jid,
        user=ASKS_AS,
        kwargs={**call.options, **credentials},
    )
    return load.to_wire()


def _run_load(call: RunCall, credentials: Credentials) -> dict[str, Any]:
    """The load of a runner or wheel function, in the form that real Salt's master takes as well."""
    load: dict[str, Any] = {"cmd": call.kind, "fun": call.fun, **credentials}
    kwarg = {name: jid_as_text(value) for name, value in call.kwarg.items()}
    if call.kind == "runner":
        return {**load, "kwarg": {"arg": call.arg, "kwarg": kwarg}}
    if call.arg:
        load["arg"] = call.arg
    if kwarg.keys() & _LOAD_FIELDS:
        return {**load, "kwarg": kwarg}
    return {**kwarg, **load}


def _tag_and_jid(answer: object) -> dict[str, str]:
    """What an asynchronous call is answered with, out of either form of the master's answer."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("tag"), str):
        raise HttpError(503, "The master's answer was not understood")
    data = answer.get("data")
    jid = answer.get("jid") or (data.get("jid") if isinstance(data, Mapping) else "")
    return {"tag": answer["tag"], "jid": str(jid)}


def _name_and_message(refused: object) -> tuple[str, str]:
    fields = refused if isinstance(refused, Mapping) else {}
    return str(fields.get("name", "")), str(fields.get("message", ""))


def _describe_closed(path: Path, entry: str) -> str:
    """One line for who runs this process: which socket is closed to it, and what opens it."""
    user = process_user()
    return (
        f"No permission to use {path}: add publisher_acl: {{{user}: ['{entry}']}} to the master's "
        "configuration and start it anew"
    )


def _someone_listens(path: Path) -> bool:
    """Whether a process has this Unix socket open; a file may outlive a killed one.

    Raises:
        PermissionError: it is closed to this user.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
            probe.connect(str(path))
    except BlockingIOError:
        return True
    except PermissionError:
        raise
    except OSError:
        return False
    return True
