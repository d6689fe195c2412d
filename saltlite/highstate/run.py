"""Run compiled states one after the other, as their requisites allow.

The order has been settled before (:mod:`saltlite.highstate.graph`); here is decided, state by
state, whether it runs, runs its answer to a watched change, or is passed over, and what is said.
States marked ``parallel`` begin in their turn, in processes of their own; who has one of them as a
requisite waits for it. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.aggregate import aggregator, is_asked, prepare
from saltlite.highstate.call import (
    Answer,
    Chunk,
    Refused,
    call,
    load_function,
    text_of,
    watches,
)
from saltlite.highstate.control import may_go_on
from saltlite.highstate.low import LOWSTATE, low_tag
from saltlite.highstate.retry import Retry

if TYPE_CHECKING:
    from saltlite.highstate.graph import Unheard
    from saltlite.highstate.parallel import Beside

NO_ONCHANGES = "State was not run because none of the onchanges reqs changed"
NO_ONFAIL = "State was not run because onfail req did not change"
NO_PREREQ = "No changes detected"

Edge = tuple[str, str]
"""Kind of a requisite, and the tag of the state that it names."""


@dataclass(frozen=True, slots=True)
class Held:
    """A state that is not run, and why."""

    result: bool
    comment: str
    ran: bool = True


@dataclass(slots=True)
class Run:
    """One run of states. ``told`` hears of each return as it comes, and of how many there are."""

    ctx: MinionContext
    test: bool = False
    failhard: bool = False
    told: Callable[[str, Answer, int], None] | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """Comments of states that cannot run, since their requisites do not resolve."""
    unheard: Sequence[Unheard] = ()
    chunks: Mapping[str, Chunk] = field(default_factory=dict)
    """What is run, by tag, in its order."""
    requisites: Mapping[str, Sequence[Edge]] = field(default_factory=dict)
    running: dict[str, Answer] = field(default_factory=dict)
    number: int = 0
    listening: list[tuple[Chunk, str]] = field(default_factory=list)
    foreseen: dict[str, Answer] = field(default_factory=dict)
    """What a test run of a state said that another is a ``prereq`` of."""
    beside: Beside | None = None
    """The states that go on in processes of their own, once there was one."""
    stopped: bool = False
    """Whether a state has failed that nothing may follow."""
    prepared: set[str] = field(default_factory=set)
    """State modules whose ``mod_init`` was called."""

    def all(
        self, low: Sequence[Chunk], requisites: Mapping[str, Sequence[Edge]]
    ) -> dict[str, Answer]:
        """Run chunks that are in order already; the returns by tag."""
        self.chunks = {low_tag(chunk): chunk for chunk in low}
        self.requisites = requisites
        try:
            self._in_turn()
        except BaseException:
            if self.beside is not None:
                self.beside.kill()
            raise
        if not self.stopped:
            self._run_listeners()
            for module, name, teller in self.unheard:
                if not teller or self.running.get(teller, {}).get("changes"):
                    self._report_unheard(module, name)
        if self.beside is None:
            return self.running
        return dict(sorted(self.running.items(), key=lambda item: int(item[1]["__run_num__"])))

    def _in_turn(self) -> None:
        jid = str(self.ctx.job.get("jid", ""))
        for number, (tag, chunk) in enumerate(self.chunks.items(), 1):
            if self.beside:
                self._collect_answers(self.beside.take_ended())
            if self.stopped or not may_go_on(self.ctx, jid, str(chunk["__id__"])):
                break
            if self.ctx.begins is not None:
                name = f"{chunk['state']}.{chunk['fun']} {chunk['__id__']}"
                self.ctx.begins(name, number, len(self.chunks))
            self._run_one(tag, chunk)
        while self.beside:
            self._collect_answers([self.beside.next()])

    def _run_one(self, tag: str, chunk: Chunk) -> None:
        edges = self.requisites.get(tag, ())
        self.listening += [(chunk, other) for kind, other in edges if kind.startswith("listen")]
        held = self._find_hold(edges)
        if self.stopped:
            return
        if tag in self.problems:
            held = Held(False, self.problems[tag])
        if held is not None:
            answer = self._answer_for_held(chunk, held)
        elif any(kind == "prerequired" and self._has_failed(other) for kind, other in edges):
            answer = self._not_prepared(tag, chunk)
        elif chunk.get("parallel") and self._try_to_begin(tag, chunk, edges):
            return
        else:
            answer = self._run_watched(chunk, edges)
        self._take_answer(tag, answer)

    def _take_answer(self, tag: str, answer: Answer) -> None:
        """Note a state's answer, and tell it."""
        self.running[tag] = answer
        hard = self.chunks[tag].get("failhard", self.failhard)
        if hard and not self.test:  # a test run tells of all
            self.stopped = self.stopped or answer.get("result") is False
        if self.told is not None:
            self.told(tag, answer, len(self.chunks))

    def _run_watched(self, chunk: Chunk, edges: Sequence[Edge]) -> Answer:
        """Run it, and its answer to changes in what it watches, where it has one."""
        if is_asked(chunk, self.ctx.config.files.state_aggregate):
            chunk = self._aggregate_chunk(chunk)
        answer = self.run_one(chunk)
        changed = [
            other for kind, other in edges if kind.startswith("watch") and self._has_changed(other)
        ]
        if not changed or answer.get("changes") or answer.get("skip_watch"):
            return answer
        if not watches(self.ctx, str(chunk["state"])):
            return answer
        firm = [other for kind, other in edges if kind == "watch" and other in changed]
        return self.run_one(_mod_watch_chunk(chunk, [self.chunks[other] for other in firm]))

    def _aggregate_chunk(self, chunk: Chunk) -> Chunk:
        """The chunk with the work of others that could run by now, if its module takes it over."""
        join = aggregator(self.ctx, str(chunk["state"]))
        if join is None:
            return chunk
        ready = [other for tag, other in self.chunks.items() if self._is_ready(tag, other)]
        made = join(dict(chunk), ready, dict(self.running))
        return made if isinstance(made, Mapping) else chunk

    def _is_ready(self, tag: str, chunk: Chunk) -> bool:
        """Whether a state that has not run yet could run, and surely will."""
        if tag in self.running or tag in self.problems or (self.beside and tag in self.beside):
            return False
        edges = [edge for edge in self.requisites.get(tag, ()) if not edge[0].startswith("listen")]
        if any("prereq" in kind or other not in self.running for kind, other in edges):
            return False
        return self._find_hold(edges) is None

    # --- processes of their own ------------------------------------------------------------------

    def _try_to_begin(self, tag: str, chunk: Chunk, edges: Sequence[Edge]) -> bool:
        """Let a state run beside the others, as soon as there is a place; whether that can be."""
        from saltlite.highstate.parallel import AT_ONCE, Beside, may_fork

        if not may_fork():
            return False
        if self.beside is None:
            self.beside = Beside(self.ctx, self.ctx.config.files.state_max_parallel or AT_ONCE)
        while len(self.beside) >= self.beside.at_once:
            self._collect_answers([self.beside.next()])
        number, self.number = self.number, self.number + 1
        load_function(self.ctx, chunk)
        self.beside.start(
            tag, number, lambda: {**self._run_watched(chunk, edges), "__run_num__": number}
        )
        return True

    def _collect_answers(self, tags: Sequence[str]) -> None:
        """Wait for states that run beside the others."""
        for tag in tags:
            if self.beside is None or tag not in self.beside:
                continue
            chunk, number = self.chunks[tag], self.beside.number(tag)
            answer = self.beside.answer(tag)
            if isinstance(answer, str):
                ended = self._answer_for_held(chunk, Held(False, answer))
                answer = {**ended, "__run_num__": number, "__parallel__": True}
            self._reload_changed(chunk, answer)
            self._take_answer(tag, answer)

    def _run_listeners(self) -> None:
        """What listens is told last, once if one of them changed, even if it failed then."""
        told: set[str] = set()
        for chunk, other in self.listening:
            own = low_tag(chunk)
            moved = self.running.get(other, {}).get("changes")
            if own in told or not moved or not watches(self.ctx, str(chunk["state"])):
                continue
            told.add(own)
            late = {**_mod_watch_chunk(chunk, []), "__id__": f"listener_{chunk['__id__']}"}
            del late["__reqs__"]
            answer = self.run_one(late)
            self.running[low_tag(late)] = answer
            if self.told is not None:
                self.told(low_tag(late), answer, len(self.chunks))

    def _report_unheard(self, module: str, name: str) -> None:
        answer: Answer = {
            "comment": f"Referenced state {module}: {name} does not exist",
            "name": f"listen_{module}:{name}",
            "result": False,
            "changes": {},
            "__run_num__": self.number,
        }
        self.number += 1
        self.running[f"Listen_Error_|-listen_{name}_|-listen_{module}_|-Listen_Error"] = answer

    # --- requisites ------------------------------------------------------------------------------

    def _has_changed(self, tag: str) -> bool:
        answer = self.running.get(tag, {})
        return bool(answer.get("changes")) and answer.get("result") is not False

    def _has_failed(self, tag: str) -> bool:
        return self.running.get(tag, {}).get("result") is False

    def _find_hold(self, edges: Sequence[Edge]) -> Held | None:
        """What keeps a state from running; failed requisites before all else."""
        if not edges:
            return None
        if self.beside:
            own = (other for kind, other in edges if not kind.startswith("listen"))
            self._collect_answers([*own])
        of: dict[str, list[str]] = {}
        for kind, tag in edges:
            of.setdefault(kind, []).append(tag)
        failed = self._list_failures(of)
        if failed:
            return self._hold_for(self._in_order(failed))
        if not self._onfail_is_met(of):
            return Held(True, NO_ONFAIL, ran=False)
        if not self._onchanges_is_met(of):
            return Held(True, NO_ONCHANGES, ran=False)
        return self._check_prereq(of)

    def _hold_for(self, failed: Sequence[str]) -> Held:
        names = ", ".join(dict.fromkeys(_name_of(self.chunks[tag]) for tag in failed))
        return Held(False, f"One or more requisite failed: {names}")

    def _list_failures(self, of: Mapping[str, Sequence[str]]) -> list[str]:
        failed = [
            tag
            for kind in ("require", "watch")
            for tag in of.get(kind, ())
            if self._has_failed(tag)
        ]
        for kind in ("require_any", "watch_any"):
            tags = of.get(kind, ())
            if tags and all(self._has_failed(tag) for tag in tags):
                failed += tags
        if failed:
            failed += [tag for tag in of.get("onfail", ()) if self._has_failed(tag)]
        return failed

    def _in_order(self, tags: Sequence[str]) -> list[str]:
        wanted = set(tags)
        return [tag for tag in self.running if tag in wanted]

    def _onfail_is_met(self, of: Mapping[str, Sequence[str]]) -> bool:
        """Whether what was to fail did; what would change in a test run may fail in a real one."""
        fell = {
            kind: [self.running.get(tag, {}).get("result") is not True for tag in of.get(kind, ())]
            for kind in ("onfail", "onfail_any", "onfail_all")
        }
        some = [fell[kind] for kind in ("onfail", "onfail_any") if fell[kind]]
        return all(any(each) for each in some) and all(fell["onfail_all"])

    def _onchanges_is_met(self, of: Mapping[str, Sequence[str]]) -> bool:
        """Whether one of them all changed."""
        tags = [*of.get("onchanges", ()), *of.get("onchanges_any", ())]
        return not tags or any(self._has_changed(tag) for tag in tags)

    def _check_prereq(self, of: Mapping[str, Sequence[str]]) -> Held | None:
        tags = of.get("prereq", ())
        if not tags:
            return None
        for tag in tags:
            if tag not in self.foreseen:
                self.foreseen[tag] = self._run_as_test(tag)
        failed = [tag for tag in tags if self.foreseen[tag].get("result") is False]
        if failed:
            return self._hold_for(failed)
        if any(self.foreseen[tag].get("changes") or _is_open(self.foreseen[tag]) for tag in tags):
            return None
        return Held(True, NO_PREREQ)

    def _run_as_test(self, tag: str) -> Answer:
        """What a state would do, for one that wants to run before it."""
        chunk = self.chunks[tag]
        if tag in self.problems:
            return {"result": False, "changes": {}, "comment": self.problems[tag]}
        held = self._find_hold(self.requisites.get(tag, ()))
        if held is not None:
            return {"result": held.result, "changes": {}, "comment": held.comment}
        try:
            return call(self.ctx, chunk, test=True)
        except Refused as error:
            return {"result": False, "changes": {}, "comment": str(error)}

    # --- one state -------------------------------------------------------------------------------

    def _answer_for_held(self, chunk: Chunk, held: Held) -> Answer:
        answer: Answer = {
            "changes": {},
            "result": held.result,
            "duration": 0.0,
            "start_time": _time_of_day(),
            "comment": held.comment,
        }
        if not held.ran:
            answer["__state_ran__"] = False
        answer |= {"__run_num__": self.number, "__sls__": chunk.get("__sls__")}
        self.number += 1
        return answer | {"__id__": chunk["__id__"], "name": chunk["name"]}

    def _not_prepared(self, tag: str, chunk: Chunk) -> Answer:
        """What would have been done, had what was to run before it not failed."""
        foreseen = self.foreseen.get(tag) or self._run_as_test(tag)
        number, self.number = self.number, self.number + 1
        more = {"__run_num__": number, "__sls__": chunk.get("__sls__"), "__id__": chunk["__id__"]}
        return {**foreseen, "name": chunk["name"], "changes": {}, **more}

    def run_one(self, chunk: Chunk) -> Answer:
        """Run one state, as often as its ``retry`` asks for."""
        retry = Retry.of(chunk.get("retry"))
        answer = self._run_timed(chunk)
        if retry is None:
            return answer
        if self.test:
            answer["comment"] = f"{answer['comment']}  {retry.announcement}"
            return answer
        start, began, told = time.monotonic(), answer.get("start_time"), list[str]()
        for number in range(1, retry.attempts):
            if answer.get("result") == retry.until:
                break
            told.append(retry.line_about(number, answer.get("result"), text_of(answer["comment"])))
            time.sleep(retry.pause_s)
            answer = self._run_timed(chunk)
        if told:
            answer["comment"] = "\n".join([*told, text_of(answer["comment"])])
            answer["start_time"] = began
            answer["duration"] = round((time.monotonic() - start) * 1000, 3)
        return answer

    def _run_timed(self, chunk: Chunk) -> Answer:
        number, self.number = self.number, self.number + 1
        began = _time_of_day()
        start = time.monotonic()
        prepare(self.ctx, chunk, self.prepared)
        try:
            answer = self._run_once(chunk)
        except Refused as error:
            answer = {"result": False, "name": chunk["name"], "changes": {}, "comment": str(error)}
            return answer | {"__run_num__": number}
        answer = {**answer, "__sls__": chunk.get("__sls__"), "__run_num__": number}
        answer["start_time"] = began
        answer["duration"] = round((time.monotonic() - start) * 1000, 3)
        answer["__id__"] = chunk["__id__"]
        if chunk.get("parallel"):
            answer["__parallel__"] = True
        self._reload_changed(chunk, answer)
        return answer

    def _run_once(self, chunk: Chunk) -> Answer:
        retcode = self.ctx.state.get("retcode", 0)
        answer = call(self.ctx, chunk, test=self.test)
        self.ctx.state["retcode"] = retcode  # of the run, not of what its states called
        return answer

    def _reload_changed(self, chunk: Chunk, answer: Answer) -> None:
        """Look anew at what a state may have changed."""
        if (self.test or not answer.get("changes")) and not chunk.get("reload_modules"):
            return
        if chunk.get("reload_modules") or chunk.get("reload_grains"):
            self.ctx.functions.reload()
        if chunk.get("reload_grains") and self.ctx.refresh_grains is not None:
            self.ctx.grains = self.ctx.refresh_grains()
        if chunk.get("reload_pillar"):
            self.ctx.functions.call("saltutil.refresh_pillar")


def run_chunk(ctx: MinionContext, chunk: Chunk, *, test: bool = False) -> Answer:
    """Run one state that depends on nothing."""
    return Run(ctx, test=test).run_one(chunk)


def run_low(
    ctx: MinionContext,
    low: Sequence[Chunk],
    requisites: Mapping[str, Sequence[Edge]],
    *,
    test: bool,
    problems: Mapping[str, str] | None = None,
    unheard: Sequence[Unheard] = (),
    told: Callable[[str, Answer, int], None] | None = None,
) -> dict[str, Answer]:
    """Run ordered chunks; the returns by tag, in the order in which they ran."""
    hard = ctx.config.files.failhard
    ctx.state[LOWSTATE] = low
    run = Run(ctx, test=test, failhard=hard, told=told, problems=problems or {}, unheard=unheard)
    ctx.state["running"] = run.running  # custom states see what has run
    return run.all(low, requisites)


def _time_of_day() -> str:
    """The time of day here, as returns have it."""
    return datetime.now().astimezone().time().isoformat("microseconds")


def _mod_watch_chunk(chunk: Chunk, changed: Sequence[Chunk]) -> dict[str, Any]:
    """The chunk that calls a module's answer to watched changes."""
    return {
        **chunk,
        "fun": "mod_watch",
        "sfun": chunk["fun"],
        "__reqs__": {"watch": [dict(other) for other in changed]},
    }


def _is_open(answer: Answer) -> bool:
    return answer.get("result") is None


def _name_of(chunk: Chunk) -> str:
    return f"{chunk.get('__sls__')}.{chunk['__id__']}"
