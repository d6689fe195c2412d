"""Run compiled states one after the other, as their requisites allow.

The order has been settled before (:mod:`saltlite.highstate.graph`); here is decided, state by
state, whether it runs, runs its answer to a watched change, or is passed over, and what is said.
States marked ``parallel`` begin in their turn, in processes of their own; who has one of them as a
requisite waits for it. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.highstate.aggregate import aggregator, is_asked, prepare
from saltlite.highstate.call import RUNNING, Refused, call, load_function, watches
from saltlite.highstate.chunk import ABSENT, LOWSTATE, Chunk, LowState
from saltlite.highstate.control import may_go_on
from saltlite.highstate.replaced_files import hear, keeper_for
from saltlite.highstate.requisites import (
    CHANGES,
    FAILURE,
    FORESEEN,
    LISTEN,
    ONFAIL,
    PREREQ,
    PREREQUIRED,
    SUCCESS,
    WATCH,
    Requisite,
)
from saltlite.highstate.retry import Retry
from saltlite.highstate.state_return import NOT_DONE, StateReturn
from saltlite.loader.states import MOD_WATCH
from saltlite.openat import keep_with

if TYPE_CHECKING:
    from saltlite.highstate.graph import Edge, Unheard
    from saltlite.highstate.parallel import Beside

NO_ONCHANGES = "State was not run because none of the onchanges reqs changed"
NO_ONFAIL = "State was not run because onfail req did not change"
NO_PREREQ = "No changes detected"

NOT_RUN = StateReturn({})
"""What is known of a state that has not run, or never will."""

Named = Mapping[Requisite, Sequence[str]]
"""The requisites of a state: of each kind the tags that it names, one at least."""


@dataclass(frozen=True, slots=True)
class Held:
    """A state that is not run, and why."""

    result: bool
    comment: str
    ran: bool = True


@dataclass(slots=True)
class Run:
    """One run of states. ``told`` hears of each return as it comes, and of how many there are.

    ``returns`` and ``running`` have the same returns; ``running`` is what custom states are shown
    and the job's return, and has dictionaries.
    """

    ctx: MinionContext
    test: bool = False
    failhard: bool = False
    told: Callable[[str, StateReturn, int], None] | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """Comments of states that cannot run, since their requisites do not resolve."""
    unheard: Sequence[Unheard] = ()
    chunks: dict[str, Chunk] = field(default_factory=dict)
    """What is run, by tag, in its order."""
    requisites: Mapping[str, Sequence[Edge]] = field(default_factory=dict)
    returns: dict[str, StateReturn] = field(default_factory=dict)
    running: dict[str, dict[str, Any]] = field(default_factory=dict)
    number: int = 0
    listening: list[tuple[Chunk, str]] = field(default_factory=list)
    foreseen: dict[str, StateReturn] = field(default_factory=dict)
    """What a test run of a state said that another is a ``prereq`` of."""
    beside: Beside | None = None
    """The states that go on in processes of their own, once there was one."""
    noop: bool | Sequence[str] = False
    """Whether states are only planned: all, or those of SLS that one of these globs names."""
    stopped: bool = False
    """Whether a state has failed that nothing may follow."""
    prepared: set[str] = field(default_factory=set)
    """State modules whose ``mod_init`` was called."""

    def all(
        self, low: Sequence[Chunk], requisites: Mapping[str, Sequence[Edge]]
    ) -> dict[str, StateReturn]:
        """Run chunks that are in order already; the returns by tag."""
        self.chunks = {chunk.tag: chunk for chunk in low}
        self.requisites = requisites
        try:
            self._in_turn()
        # Also at a signal: their processes would go on with nobody to hear them.
        except BaseException:
            if self.beside is not None:
                self.beside.kill()
            raise
        if not self.stopped:
            # After failhard not even those that listen are told.
            self._run_listeners()
            for module, name, teller in self.unheard:
                if not teller or self._return_of(teller).changes:
                    self._report_unheard(module, name)
        if self.beside is None:
            return self.returns
        # Those beside the others end in any order; the return has them as they began.
        return dict(sorted(self.returns.items(), key=lambda item: item[1].number))

    def _in_turn(self) -> None:
        jid = self.ctx.jid
        for number, (tag, chunk) in enumerate(self.chunks.items(), 1):
            if self.beside:
                # Those that ended meanwhile are told now, not when somebody waits for them.
                self._collect_answers(self.beside.take_ended())
            if self.stopped or not may_go_on(self.ctx, jid, str(chunk.ident)):
                break
            if self.ctx.begins is not None:
                self.ctx.begins(f"{chunk.function} {chunk.ident}", number, len(self.chunks))
            self._run_one(tag, chunk)
        while self.beside:
            self._collect_answers([self.beside.next()])

    def _run_one(self, tag: str, chunk: Chunk) -> None:
        edges = self.requisites.get(tag, ())
        self.listening += [(chunk, other) for kind, other in edges if kind is LISTEN]
        held = self._find_hold(edges)
        if self.stopped:  # one that it waited for has failed meanwhile, and with failhard
            return
        if tag in self.problems:
            # What is wrong with its requisites counts more than what came of them.
            held = Held(False, self.problems[tag])
        if held is not None:
            answer = self._answer_for_held(chunk, held)
        elif any(kind is PREREQUIRED and self._has_failed(other) for kind, other in edges):
            # What was to run before it has failed, so it is not done either.
            answer = self._not_prepared(tag, chunk)
        elif chunk.options.parallel and self._try_to_begin(tag, chunk, edges):
            return
        else:
            answer = self._run_watched(chunk, edges)
        self._take_answer(tag, answer)

    def _take_answer(self, tag: str, answer: StateReturn) -> None:
        """Note a state's answer, and tell it."""
        own = self.chunks[tag].options.failhard
        hard = self.failhard if own is ABSENT else own
        if hard and not self.test:  # a test run tells of all
            self.stopped = self.stopped or answer.has_failed
        self._note_return(tag, answer)
        if self.told is not None:
            self.told(tag, answer, len(self.chunks))

    def _note_return(self, tag: str, answer: StateReturn) -> None:
        self.returns[tag] = answer
        self.running[tag] = answer.to_return()

    def _run_watched(self, chunk: Chunk, edges: Sequence[Edge]) -> StateReturn:
        """Run it, and its answer to changes in what it watches, where it has one."""
        if self._may_join(chunk) and is_asked(chunk, self.ctx.config.files.state_aggregate):
            chunk = self._aggregate_chunk(chunk)
        answer = self.run_one(chunk)
        changed = [
            (kind, other) for kind, other in edges if kind.reacts and self._has_changed(other)
        ]
        # As in Salt: a service that was just started need not be restarted for its configuration.
        if not changed or answer.changes or answer.skips_watch:
            return answer
        if not watches(self.ctx, str(chunk.state)):
            return answer
        # As in Salt mod_watch is shown those of watch alone, not those of watch_any.
        firm = [self.chunks[other].to_low() for kind, other in changed if kind is WATCH]
        return self.run_one(_mod_watch_chunk(chunk, __reqs__={WATCH.name: firm}))

    def _may_join(self, chunk: Chunk) -> bool:
        """Whether its work may be done together with others': not if it is planned or exported."""
        return not (self._is_noop(chunk) or chunk.options.export)

    def _aggregate_chunk(self, chunk: Chunk) -> Chunk:
        """The chunk with the work of others that could run by now, if its module takes it over."""
        join = aggregator(self.ctx, str(chunk.state))
        if join is None:
            return chunk
        ready = {tag: other.to_low() for tag, other in self.chunks.items() if self._is_ready(tag)}
        made = join(chunk.to_low(), [*ready.values()], dict(self.running))
        # It marks those whose work it took over, in the maps that it was given.
        self.chunks.update((tag, Chunk.from_low(low)) for tag, low in ready.items())
        self.ctx.state[LOWSTATE].replace(self.chunks.values())
        return Chunk.from_low(made) if isinstance(made, Mapping) else chunk

    def _is_ready(self, tag: str) -> bool:
        """Whether a state that has not run yet could run, and surely will."""
        if tag in self.returns or tag in self.problems or (self.beside and tag in self.beside):
            return False
        if not self._may_join(self.chunks[tag]):
            return False
        edges = [edge for edge in self.requisites.get(tag, ()) if edge[0] is not LISTEN]
        if any(kind in (PREREQ, PREREQUIRED) or other not in self.returns for kind, other in edges):
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
        # Taken before the fork: states are numbered as they begin.
        number, self.number = self.number, self.number + 1
        load_function(self.ctx, chunk)

        def work() -> dict[str, Any]:
            found = self._run_watched(chunk, edges)
            found.number = number  # the child counts on from its own copy of the run
            return found.to_return()

        self.beside.start(tag, number, work)
        return True

    def _collect_answers(self, tags: Sequence[str]) -> None:
        """Wait for states that run beside the others."""
        for tag in tags:
            if self.beside is None or tag not in self.beside:
                continue
            chunk, number = self.chunks[tag], self.beside.number(tag)
            found = self.beside.answer(tag)
            if isinstance(found, str):
                answer = self._answer_for_held(chunk, Held(False, found))
                answer.number = number
                answer.note_process()
            else:
                answer = StateReturn(found)
            # The child has reloaded for itself alone, and is gone.
            self._reload_changed(chunk, answer)
            self._take_answer(tag, answer)

    def _run_listeners(self) -> None:
        """What listens is told last, once if one of them changed, even if it failed then."""
        told: set[str] = set()
        for chunk, other in self.listening:
            heard = self._return_of(other)
            moved = heard.changes and not heard.is_noop
            if chunk.tag in told or not moved or not watches(self.ctx, str(chunk.state)):
                continue
            told.add(chunk.tag)
            # With its own id its return would take the place of the one that the state has already.
            late = replace(_mod_watch_chunk(chunk), ident=f"listener_{chunk.ident}")
            answer = self.run_one(late)
            self._note_return(late.tag, answer)
            if self.told is not None:
                self.told(late.tag, answer, len(self.chunks))

    def _report_unheard(self, module: str, name: str) -> None:
        answer = {
            "comment": f"Referenced state {module}: {name} does not exist",
            "name": f"listen_{module}:{name}",
            "result": False,
            "changes": {},
            "__run_num__": self.number,
        }
        self.number += 1
        tag = f"Listen_Error_|-listen_{name}_|-listen_{module}_|-Listen_Error"
        self._note_return(tag, StateReturn(answer))

    # --- requisites ------------------------------------------------------------------------------

    def _return_of(self, tag: str) -> StateReturn:
        return self.returns.get(tag, NOT_RUN)

    def _has_changed(self, tag: str) -> bool:
        return self._return_of(tag).has_changed

    def _has_failed(self, tag: str) -> bool:
        return self._return_of(tag).has_failed

    def _find_hold(self, edges: Sequence[Edge]) -> Held | None:
        """What keeps a state from running; failed requisites before all else."""
        if not edges:
            return None
        if self.beside:
            # What it names has to have come to an end; what it listens to may do so later.
            own = (other for kind, other in edges if kind is not LISTEN)
            self._collect_answers([*own])
        named: dict[Requisite, list[str]] = {}
        for kind, tag in edges:
            named.setdefault(kind, []).append(tag)
        failed = self._list_failures(named)
        if failed:
            return self._hold_for(self._in_order(failed))
        if not self._onfail_is_met(named):
            return Held(True, NO_ONFAIL, ran=False)
        if not self._onchanges_is_met(named):
            return Held(True, NO_ONCHANGES, ran=False)
        return self._check_prereq(named.get(PREREQ, ()))

    def _hold_for(self, failed: Sequence[str]) -> Held:
        names = ", ".join(dict.fromkeys(_name_of(self.chunks[tag]) for tag in failed))
        return Held(False, f"One or more requisite failed: {names}")

    def _list_failures(self, named: Named) -> list[str]:
        failed: list[str] = []
        for kind, tags in named.items():
            if kind.wants is SUCCESS:
                fell = [tag for tag in tags if self._has_failed(tag)]
                if len(fell) == len(tags) or not kind.suffices_one:
                    failed += fell
        if failed:  # Salt names these with them, but they alone are no failure
            failed += [tag for tag in named.get(ONFAIL, ()) if self._has_failed(tag)]
        return failed

    def _in_order(self, tags: Sequence[str]) -> list[str]:
        wanted = set(tags)
        # Told in the order in which they ran, not in that of the declaration.
        return [tag for tag in self.returns if tag in wanted]

    def _onfail_is_met(self, named: Named) -> bool:
        """Whether what was to fail did, of each kind for itself."""
        for kind, tags in named.items():
            if kind.wants is FAILURE:
                fell = (FAILURE.is_met(self._return_of(tag)) for tag in tags)
                if not (any(fell) if kind.suffices_one else all(fell)):
                    return False
        return True

    def _onchanges_is_met(self, named: Named) -> bool:
        """Whether one changed of those of all kinds together."""
        tags = [tag for kind, tags in named.items() if kind.wants is CHANGES for tag in tags]
        return not tags or any(CHANGES.is_met(self._return_of(tag)) for tag in tags)

    def _check_prereq(self, tags: Sequence[str]) -> Held | None:
        for tag in tags:
            if tag not in self.foreseen:
                # Once a run: several may want to run before the same one, and its test may be slow.
                self.foreseen[tag] = self._run_as_test(tag)
        failed = [tag for tag in tags if self.foreseen[tag].has_failed]
        if failed:
            return self._hold_for(failed)
        if not tags or any(FORESEEN.is_met(self.foreseen[tag]) for tag in tags):
            return None
        return Held(True, NO_PREREQ)

    def _run_as_test(self, tag: str) -> StateReturn:
        """What a state would do, for one that wants to run before it."""
        chunk = self.chunks[tag]
        if self._is_noop(chunk):
            # It will not be done, so nothing need run before it.
            return _build_bare_return(True, NOT_DONE)
        if tag in self.problems:
            return _build_bare_return(False, self.problems[tag])
        held = self._find_hold(self.requisites.get(tag, ()))
        if held is not None:
            # One that would be held back changes nothing, so nothing need run before it.
            return _build_bare_return(held.result, held.comment)
        try:
            return call(self.ctx, chunk, test=True)
        except Refused as error:
            return _build_bare_return(False, str(error))

    # --- one state -------------------------------------------------------------------------------

    def _answer_for_held(self, chunk: Chunk, held: Held) -> StateReturn:
        number, self.number = self.number, self.number + 1
        # The order of the keys is Salt's, and differs from that of a state that ran.
        return StateReturn(
            {
                "changes": {},
                "result": held.result,
                "duration": 0.0,
                "start_time": _time_of_day(),
                "comment": held.comment,
                **({} if held.ran else {"__state_ran__": False}),
                "__run_num__": number,
                "__sls__": chunk.sls,
                "__id__": chunk.ident,
                "name": chunk.name,
            }
        )

    def _not_prepared(self, tag: str, chunk: Chunk) -> StateReturn:
        """What would have been done, had what was to run before it not failed."""
        foreseen = self.foreseen.get(tag) or self._run_as_test(tag)
        number, self.number = self.number, self.number + 1
        more = {"__run_num__": number, "__sls__": chunk.sls, "__id__": chunk.ident}
        return StateReturn({**foreseen.to_return(), "name": chunk.name, "changes": {}, **more})

    def run_one(self, chunk: Chunk) -> StateReturn:
        """Run one state, as often as its ``retry`` asks for."""
        retry = Retry.of(chunk.options.retry)
        answer = self._run_timed(chunk)
        if retry is None:
            return answer
        if self.test:
            answer.comment = f"{answer.comment}  {retry.announcement}"
            return answer
        if self._is_noop(chunk):
            return answer  # it would never come to what it waits for
        start, began, told = time.monotonic(), answer.start_time, list[str]()
        for number in range(1, retry.attempts):
            if answer.result == retry.until:
                break
            # Each try has a number of its own in the run; the last one is the return's.
            told.append(retry.line_about(number, answer.result, answer.comment_text))
            time.sleep(retry.pause_s)
            answer = self._run_timed(chunk)
        if told:
            answer.comment = "\n".join([*told, answer.comment_text])
            answer.note_times(began, _since_ms(start))
        return answer

    def _run_timed(self, chunk: Chunk) -> StateReturn:
        number, self.number = self.number, self.number + 1
        began = _time_of_day()
        start = time.monotonic()
        prepare(self.ctx, chunk, self.prepared)
        try:
            answer = self._run_once(chunk)
        except Refused as error:
            # No times and no id: in Salt, too, what cannot be called has not begun.
            refused = {"result": False, "name": chunk.name, "changes": {}, "comment": str(error)}
            return StateReturn({**refused, "__run_num__": number})
        answer.note_run(
            sls=chunk.sls,
            ident=chunk.ident,
            number=number,
            start_time=began,
            duration_ms=_since_ms(start),
        )
        if chunk.options.parallel:
            answer.note_process()
        self._reload_changed(chunk, answer)
        return answer

    def _run_once(self, chunk: Chunk) -> StateReturn:
        retcode = self.ctx.retcode
        answer = _plan_only(self.ctx, chunk) if self._is_noop(chunk) else self._call_and_keep(chunk)
        self.ctx.retcode = retcode  # of the run, not of what its states called
        return answer

    def _call_and_keep(self, chunk: Chunk) -> StateReturn:
        """Call it, and keep what it replaces in the file bucket."""
        keeper = keeper_for(self.ctx, chunk, test=self.test)
        with keep_with(hear(keeper)):
            answer = call(self.ctx, chunk, test=self.test)
        if keeper is not None:
            keeper.note(answer)
        return answer

    def _is_noop(self, chunk: Chunk) -> bool:
        """Whether a state is only planned though the run acts. None can say that it is not."""
        if self.test:
            return False
        return bool(chunk.options.noop or self.noop is True) or names_sls(self.noop, chunk.sls)

    def _reload_changed(self, chunk: Chunk, answer: StateReturn) -> None:
        """Look anew at what a state may have changed."""
        options = chunk.options
        # reload_modules counts even if nothing changed: a package may have come by another way.
        if (self.test or answer.is_noop or not answer.changes) and not options.reload_modules:
            return
        if options.reload_modules or options.reload_grains:
            self.ctx.functions.reload()
        if options.reload_grains and self.ctx.refresh_grains is not None:
            self.ctx.grains = self.ctx.refresh_grains()
        if options.reload_pillar:
            self.ctx.functions.call("saltutil.refresh_pillar")


def run_chunk(ctx: MinionContext, chunk: Chunk, *, test: bool = False) -> StateReturn:
    """Run one state that depends on nothing."""
    return Run(ctx, test=test, noop=find_noop(ctx)).run_one(chunk)


def run_low(
    ctx: MinionContext,
    low: Sequence[Chunk],
    requisites: Mapping[str, Sequence[Edge]],
    *,
    test: bool,
    problems: Mapping[str, str] | None = None,
    unheard: Sequence[Unheard] = (),
    told: Callable[[str, StateReturn, int], None] | None = None,
) -> dict[str, StateReturn]:
    """Run ordered chunks; the returns by tag, in the order in which they ran."""
    hard = ctx.config.files.failhard
    ctx.state[LOWSTATE] = LowState(low)
    run = Run(
        ctx,
        test=test,
        failhard=hard,
        told=told,
        problems=problems or {},
        unheard=unheard,
        noop=find_noop(ctx),
    )
    ctx.state[RUNNING] = run.running  # custom states see what has run
    return run.all(low, requisites)


def find_noop(ctx: MinionContext) -> bool | Sequence[str]:
    """Which states are only planned, by the option ``state_noop`` or the pillar of that name."""
    option, pillar = ctx.config.files.state_noop, ctx.pillar.get("state_noop")
    if option is True or pillar is True:
        return True
    return [*_list_globs(option), *_list_globs(pillar)]


def _list_globs(given: object) -> Sequence[str]:
    if isinstance(given, str):
        return [given]
    return [str(one) for one in given] if isinstance(given, (list, tuple)) else []


def names_sls(globs: object, sls: object) -> bool:
    """Whether one of the globs names an SLS."""
    return any(fnmatch.fnmatchcase(str(sls or ""), one) for one in _list_globs(globs))


def _plan_only(ctx: MinionContext, chunk: Chunk) -> StateReturn:
    """What a state would do; functions that it calls see in the options that this is a test."""
    before = ctx.config
    ctx.config = replace(before, files=replace(before.files, test=True))
    try:
        answer = call(ctx, chunk, test=True)
    finally:
        ctx.config = before
    answer.note_noop()
    return answer


def _time_of_day() -> str:
    """The time of day here, as returns have it."""
    return datetime.now().astimezone().time().isoformat("microseconds")


def _since_ms(start: float) -> float:
    """The milliseconds since a moment of the monotonic clock, as returns have them."""
    return round((time.monotonic() - start) * 1000, 3)


def _mod_watch_chunk(chunk: Chunk, **more: object) -> Chunk:
    """The chunk that calls a module's answer to watched changes."""
    arguments = {**chunk.arguments, "sfun": chunk.fun, **more}
    return replace(chunk, fun=MOD_WATCH, arguments=arguments)


def _build_bare_return(result: bool, comment: str) -> StateReturn:
    """A return of which nobody but the run itself hears, or that is given its name later."""
    return StateReturn({"result": result, "changes": {}, "comment": comment})


def _name_of(chunk: Chunk) -> str:
    return f"{chunk.sls}.{chunk.ident}"
