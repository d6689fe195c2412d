"""Reactor: reads the master's events, renders the files that match, and does what they say.

A process of its own, that is there only with ``reactor:``. It renders one event after the other, in
a process that may be lost over it (``renderprocess.py``). Jobs are published here, as the master's
user; runners and wheel functions go to ReactorRuns, which has a bounded number of processes and of
what waits for them, so that none of them holds up a job. What cannot be done is logged, counted,
and told by an event; nothing ends the process.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import zmq

from saltlite import disk
from saltlite.config.master import MasterConfig
from saltlite.core import tags
from saltlite.core.dataclasses import dataclass
from saltlite.core.ids import valid_function
from saltlite.core.messages import PublishLoad, PublishReply, refusal
from saltlite.core.proof import is_proven
from saltlite.errors import ConfigError, SaltliteError, StoreError, WireError
from saltlite.loader.arguments import KWARG
from saltlite.master.acl import AuthenticatedUser, key_path
from saltlite.master.child import Life
from saltlite.master.commands.publish import publish_as
from saltlite.master.context import Shared, make_context
from saltlite.master.refusals import printable
from saltlite.master.renderprocess import Answer, RendererGone, RenderProcess
from saltlite.master.run_queue import RunQueue
from saltlite.master.run_requests import RunRequest
from saltlite.master.runs import RunLimits
from saltlite.reactor.guard import PAUSE_S, RUNS_PER_S, LoopGuard
from saltlite.reactor.reactions import LOCAL, Reaction, compile_reactions
from saltlite.reactor.render import ReactionRenderer
from saltlite.reactor.source import EntrySource
from saltlite.reactor.table import Entries, ReactorEntry, read_entry
from saltlite.transport.bus import (
    EVENTS_LINGER_MS,
    TAG_END,
    Event,
    EventPusher,
    EventSubscriber,
    unpack_event,
)

log = logging.getLogger(__name__)

USER: Final = "Reactor"
"""Who runs runners and wheel functions. Events of this user cause nothing: they would go round."""

RENDER_LIMIT_S: Final = 10.0
RUN_LIMIT_S: Final = 3600.0
CONNECT_S: Final = 10.0
WAIT_S: Final = 0.5
TOLD_EVERY_S: Final = 60.0
EVENTS_AT_ONCE: Final = 100
"""Between two looks at signals."""

MakeRenderer = Callable[[MasterConfig], ReactionRenderer]
"""Makes what renders, in the process that does; layer 5 hands it in, for it knows clients."""


def run_limits(config: MasterConfig) -> RunLimits:
    """How much ReactorRuns does at once."""
    options = config.reactor
    return RunLimits(options.reactor_worker_threads, options.reactor_worker_hwm, RUN_LIMIT_S)


def answer_with(renderer: ReactionRenderer) -> Answer:
    """What the process that renders does with a request; nothing that a template does ends it."""

    def answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
        tag = request["tag"]
        try:
            if "data" not in request:
                return {"files": renderer.locate(request["file"], tag)}
            return {"value": renderer.render(request["file"], tag, request["data"])}
        except SaltliteError as error:
            return {"error": str(error)}
        except SystemExit as error:
            return {"error": f"{request['file']}: it called exit ({error.code})"}
        except Exception as error:
            log.exception("%s", request["file"])
            return {"error": f"{request['file']}: {type(error).__name__}: {error}"}

    return answer


@dataclass(slots=True)
class Dropped:
    """What was lost: how much, and when it was last told."""

    count: int = 0
    told_s: float | None = None

    def add(self, number: int, now_s: float) -> bool:
        """Count; whether it is time to tell."""
        self.count += number
        if self.told_s is not None and now_s - self.told_s < TOLD_EVERY_S:
            return False
        self.told_s = now_s
        return True


class Reactor:
    """The process that reacts. ``run`` is its whole life."""

    def __init__(self, shared: Shared, make_renderer: MakeRenderer) -> None:
        self._shared = shared
        self._leader = True
        self._guard = LoopGuard()
        self._dropped = Dropped()
        self._lost = 0
        self._render_process = RenderProcess(
            "salt-master Reactor render",
            lambda: answer_with(make_renderer(shared.config)),
            RENDER_LIMIT_S,
        )
        self._runs = RunQueue(shared.sockets.reactor_runs)

    def run(self, life: Life) -> None:
        """React until told to stop."""
        # Before the fork below: what renders is to be as nice.
        os.nice(self._shared.config.reactor.reactor_niceness or 0)
        self._life = life
        self._source = open_source(self._shared.config)
        # Before there is any socket: a process with ZeroMQ has threads, and must not fork.
        self._render_process.start(life)
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        sockets = self._shared.sockets
        limit = self._shared.config.events.max_event_size
        self._events = EventPusher(sockets.event_pull, context=context, max_bytes=limit)
        stores = self._shared.stores()
        self._master = make_context(
            self._shared,
            stores=stores,
            events=self._events,
            publisher=stores.open_publisher(context),
        )
        poller = zmq.Poller()
        life.register(poller)
        try:
            with EventSubscriber(sockets.event_pub, context=context) as bus:
                # Without an answer it goes on: the subscription holds as soon as the bus is back.
                bus.connect_confirmed(CONNECT_S)
                life.ready()
                while not life.stopping:
                    # For the heartbeat and signals alone; it is the bus that is waited for.
                    life.poll(poller, 0.0)
                    self._take_events(bus)
        finally:
            self._master.jobs.close()
            context.destroy(linger=EVENTS_LINGER_MS)

    def _take_events(self, bus: EventSubscriber) -> None:
        """Handle what is there, or wait a moment."""
        frame = bus.frame(WAIT_S)
        for _ in range(EVENTS_AT_ONCE):
            if frame is None or self._life.stopping:
                break
            self._handle_event(frame)
            frame = bus.frame(0.0)
        if frame is not None:
            # Taken from the bus before the loop ended, and on no record: it would be lost.
            self._handle_event(frame)
        if bus.lost > self._lost:
            missed, self._lost = bus.lost - self._lost, bus.lost
            self._note_dropped(missed, f"{missed} events were lost before the reactor saw them")

    def _handle_event(self, frame: bytes) -> None:
        """Handle one event; one that cannot be handled is dropped, and the next one comes.

        Raises:
            RendererGone: no event can be handled.
        """
        tag = frame.partition(TAG_END)[0].decode("utf-8", "replace")
        try:
            self._handle_tag(tag, frame)
        except RendererGone:
            raise
        # Whatever the data of one event did to the code, those behind it are handled.
        except Exception as error:
            log.exception("Reactor, tag %s", printable(tag, 200))
            why = f"an event could not be handled: {type(error).__name__}: {error}"
            self._note_dropped(1, why, is_said=True)

    def _handle_tag(self, tag: str, frame: bytes) -> None:
        if tag.startswith((tags.REACTOR, tags.REACTOR_MANAGE)):
            self._manage_reactors(tag, frame)
            return
        # One stat for an event: what was edited counts from the next one on.
        self._source.refresh()
        # By the tag alone: most events match nothing, and are never unpacked.
        entries = self._source.table.matching(tag)
        if not entries or not self._leader:
            return
        try:
            event = unpack_event(frame)
        except WireError as error:
            log.debug("not an event: %s", error)
            return
        if event.data.get("user") != USER:
            self._react_to(event, entries)

    # --- one event ---------------------------------------------------------------------------

    def _react_to(self, event: Event, entries: Sequence[ReactorEntry]) -> None:
        rendered = [
            pair
            for entry in entries
            for named in entry.files
            for pair in self._render_files(named, event)
        ]
        made = compile_reactions(rendered)
        for warning in made.warnings:
            log.warning("%s", printable(warning))
        for error in made.errors:
            log.error("Reactor, tag %s: %s", printable(event.tag, 200), printable(error))
        for reaction in made.reactions:
            # Each may wait for the Publisher, and an event may cause many.
            self._life.beat()
            self._start_reaction(reaction, event)

    def _render_files(self, named: str, event: Event) -> list[tuple[str, Any]]:
        """What the files that an entry names say; a file that does not render says nothing."""
        files = self._ask_renderer({"file": named, "tag": event.tag}).get("files") or ()
        pairs = []
        for path in files:
            answer = self._ask_renderer({"file": path, "tag": event.tag, "data": event.data})
            if "value" in answer:
                pairs.append((path, answer["value"]))
        return pairs

    def _ask_renderer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._render_process.ask(request, self._life)
        if answer.get("lost"):
            log.error(
                "%s: rendering it for tag %s took more than %g s, or ended the process",
                request["file"], printable(request["tag"], 200), RENDER_LIMIT_S,
            )  # fmt: skip
        elif "error" in answer:
            why = printable(str(answer["error"]))
            log.error("Reactor, tag %s: %s", printable(request["tag"], 200), why)
        return answer

    # --- one reaction ------------------------------------------------------------------------

    def _start_reaction(self, reaction: Reaction, event: Event) -> None:
        now_s = time.monotonic()
        # With the minion: a thousand that start at the same time are no loop.
        key = (reaction.sls, reaction.id, str(event.data.get("id", "")))
        if not self._guard.allows(key, now_s):
            why = f"it ran {RUNS_PER_S} times in a second and is paused for {PAUSE_S:g} s"
            self._note_dropped(1, why, reaction, is_said=not self._guard.begins_pause(key))
            return
        try:
            jid, problem = self._do_reaction(reaction)
        except (StoreError, WireError) as error:
            self._note_dropped(1, str(error), reaction)
            self._fire_reaction(reaction, event, "", str(error))
            return
        name, fun = printable(reaction.id, 200), printable(reaction.fun, 80)
        if problem:
            log.warning("%s: %s: %s", reaction.sls, name, printable(problem))
        else:
            log.info("Reaction %s: %s %s, %s", name, reaction.kind, fun, jid)
        self._fire_reaction(reaction, event, jid, problem)

    def _do_reaction(self, reaction: Reaction) -> tuple[str, str]:
        """Start it: the jid, and what is in its way.

        Raises:
            StoreError, WireError: it is lost.
        """
        # Rendered with what an event says, so it may be anything.
        if not valid_function(reaction.fun):
            return "", f"{reaction.fun!r:.80} is not the name of a function"
        return (
            self._publish_reaction(reaction)
            if reaction.kind == LOCAL
            else self._run_reaction(reaction)
        )

    def _publish_reaction(self, reaction: Reaction) -> tuple[str, str]:
        arg = list(reaction.arg)
        if reaction.kwarg:
            arg.append({**reaction.kwarg, KWARG: True})
        # Without rules: the master's own user may publish everything.
        user = AuthenticatedUser(self._shared.user, None)
        load = PublishLoad(
            tgt=reaction.tgt,
            fun=reaction.fun,
            arg=arg,
            tgt_type=reaction.tgt_type,
            ret=reaction.ret,
            user=user.name,
            kwargs=dict(reaction.options),
        )
        answer = publish_as(self._master, user, load)
        refused = refusal(answer)
        if refused is not None:
            return "", refused[1]
        reply = PublishReply.from_wire(answer)
        return reply.jid or "", "" if reply.jid else reply.error or "no minion matches"

    def _run_reaction(self, reaction: Reaction) -> tuple[str, str]:
        jid = self._shared.jids.next(self._master.now())
        self._runs.start(
            RunRequest(
                kind=reaction.kind,
                fun=reaction.fun,
                jid=jid,
                user=USER,
                arg=list(reaction.arg),
                kwarg=dict(reaction.kwarg),
                by_signature=reaction.by_signature,
            )
        )
        return jid, ""

    def _fire_reaction(self, reaction: Reaction, event: Event, jid: str, problem: str) -> None:
        """Fire which reaction caused which jid; what others sent is in it by its tag alone."""
        data: dict[str, Any] = {
            "id": reaction.id,
            "sls": reaction.sls,
            "kind": reaction.kind,
            "fun": reaction.fun,
            "jid": jid,
            "event": event.tag,
            "user": USER,
        }
        if reaction.kind == LOCAL:
            data |= {"tgt": reaction.tgt, "tgt_type": reaction.tgt_type}
        self._fire_event(tags.REACTION, data | ({"error": problem} if problem else {}))

    def _note_dropped(
        self, number: int, why: str, reaction: Reaction | None = None, *, is_said: bool = False
    ) -> None:
        named = {}
        if reaction is not None:
            named = {"id": reaction.id, "kind": reaction.kind, "fun": reaction.fun}
        if not is_said:
            what = " ".join(printable(one, 200) for one in named.values())
            log.error("Dropped: %s", ": ".join(part for part in (what, printable(why)) if part))
        if self._dropped.add(number, time.monotonic()):
            told = {"dropped": self._dropped.count, "why": why, "user": USER, **named}
            self._fire_event(tags.REACTOR_DROPPED, told)

    def _fire_event(self, tag: str, data: Mapping[str, Any]) -> None:
        try:
            self._events.fire(tag, data)
        except WireError as error:
            log.warning("Event %s was not fired: %s", tag, error)

    # --- salt-run reactor.* ------------------------------------------------------------------

    def _manage_reactors(self, tag: str, frame: bytes) -> None:
        asked = tag.removeprefix(tags.REACTOR_MANAGE)
        do = {
            "list": self._handle_list,
            "add": self._handle_add,
            "delete": self._handle_delete,
            "is_leader": self._is_leader,
            "set_leader": self._set_leader,
        }.get(asked)
        # What the reactor has fired itself ends here, as do its answers.
        if do is None or not tag.startswith(tags.REACTOR_MANAGE):
            return
        try:
            data = unpack_event(frame).data
        except WireError as error:
            log.debug("not an event: %s", error)
            return
        if not is_from_root(self._shared, tag, data):
            log.error("%s without the root key is refused", tag)
            return
        self._fire_event(tags.REACTOR_ANSWERS[asked], do(data))

    def _handle_list(self, _data: Mapping[str, object]) -> dict[str, Any]:
        reactors = [entry.as_map() for entry in self._source.table.entries]
        return {"reactors": reactors, "dropped": self._dropped.count}

    def _handle_add(self, data: Mapping[str, object]) -> dict[str, Any]:
        entry = read_entry({data.get("event"): data.get("reactors")})
        entries = self._source.table.entries
        if entry is None:
            return self._answer_change(False, "An event and a list of SLS files are needed.")
        if any(one.pattern == entry.pattern for one in entries):
            return self._answer_change(False, "Reactor already exists.")
        self._source.replace(Entries((*entries, entry)))
        return self._answer_change(True, "Reactor added.")

    def _handle_delete(self, data: Mapping[str, object]) -> dict[str, Any]:
        entries = self._source.table.entries
        left = tuple(one for one in entries if one.pattern != data.get("event"))
        if len(left) == len(entries):
            # Salt's own sentence, which callers may compare.
            return self._answer_change(False, "Reactor does not exists.")
        self._source.replace(Entries(left))
        return self._answer_change(True, "Reactor deleted.")

    def _answer_change(self, status: bool, comment: str) -> dict[str, Any]:
        return {**self._handle_list({}), "result": {"status": status, "comment": comment}}

    def _is_leader(self, _data: Mapping[str, object]) -> dict[str, Any]:
        return {"result": self._leader}

    def _set_leader(self, data: Mapping[str, object]) -> dict[str, Any]:
        self._leader = bool(data.get("value"))
        log.info("The reactor is %s", "the leader" if self._leader else "not the leader: it waits")
        return {"result": self._leader}


def open_source(config: MasterConfig) -> EntrySource:
    """The entries; none where the file that the option names cannot be used, which is logged."""
    value = config.reactor.reactor
    try:
        return EntrySource(value, config.source)
    except ConfigError as error:
        log.error("There are no reactions: %s", error)
    source = EntrySource([], {})
    if isinstance(value, str):
        # Once the file is mended it is read, without a restart.
        source.watch(value)
    return source


def is_from_root(shared: Shared, tag: str, data: Mapping[str, object]) -> bool:
    """Whether root or the master's user fired a management event."""
    for user in ("root", shared.user):
        key = disk.read_regular(key_path(shared.cachedir, user), limit_bytes=4096)
        if key and is_proven(key.decode("ascii", "replace"), tag, data, time.time()):
            return True
    return False
