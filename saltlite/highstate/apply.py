"""From compiled states to the return of a job: refusals, progress events, retcodes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass, fields
from saltlite.core.jid import jid_time
from saltlite.core.tags import job_progress
from saltlite.errors import FunctionError, RenderError, SaltliteError, UsageError
from saltlite.fileserver.client import file_client
from saltlite.highstate import localconfig
from saltlite.highstate.chunk import EXPORTS, Chunk
from saltlite.highstate.compile import Compiled
from saltlite.highstate.control import forget
from saltlite.highstate.graph import Ordered, order
from saltlite.highstate.locations import place_errors
from saltlite.highstate.masking import MASK_KEYS, find_secrets, mask_answers, mask_data, mask_text
from saltlite.highstate.plans import Asked, keep
from saltlite.highstate.run import run_low
from saltlite.highstate.sls import StateTree
from saltlite.highstate.state_return import StateReturn

log = logging.getLogger(__name__)

COMPILE_ERROR, STATE_FAILURE, PILLAR_FAILURE = 1, 2, 5
POLL_S = 1.0

NO_TOP = "No Top file or master_tops data matches found. Please see master log for details."
NO_STATES = "No states found for this minion"
LOCKED = "lock_saltenv is enabled, saltenv cannot be changed"
BAD_PILLAR = "Pillar data must be formatted as a dictionary, unless pillar_enc is specified."

HARMLESS = frozenset(
    f"state.{name}"
    for name in (
        *("running", "event", "soft_kill", "pause", "resume", "get_pauses", "check_request"),
        *("clear_request", "list_disabled", "disable", "enable", "clear_cache"),
    )
)
"""Functions that a run of states need not wait for."""


Answers = dict[str, dict[str, Any]]
"""The returns of states by tag, as the job gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The keyword arguments of a call that are about its run, as they were given."""

    test: Any = None
    saltenv: Any = None
    queue: Any = None
    concurrent: Any = False
    pillar: Any = None
    exclude: Any = None
    pillarenv: Any = None
    state_events: Any = None
    force: Any = False
    noop: Any = None

    @classmethod
    def of(cls, given: Mapping[str, object]) -> _Given:
        names = (each.name for each in fields(cls))
        return cls(**{name: given[name] for name in names if name in given})


_OF_CALLS = frozenset(each.name for each in fields(_Given)) | {
    *("localconfig", "sync_mods", "terse", "mock", "pillar_enc", "orchestration_jid", "mods"),
    *("top", "show_low", "split", "batch", "full_return", "id_", "snapper_pre", "snapper_post"),
}
"""Keywords of calls that run SLS files or a top file; Salt's, also where they mean nothing here."""


def _refuse_slips(given: Mapping[str, object]) -> None:
    """Refuse a misspelt keyword: ``tets=True`` would be a run in earnest."""
    from saltlite.highstate.slips import is_one_slip

    for key in given:
        if key in _OF_CALLS or key.startswith("_"):
            continue
        for known in sorted(_OF_CALLS):
            if key[:1] == known[:1] and len(known) >= 4 and is_one_slip(key, known):
                raise UsageError(
                    f"'{key}' is no argument of a run of states; did you mean '{known}'?"
                )


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a call of a ``state`` function asks for beside its states."""

    test: bool
    saltenv: str
    queue: bool | int
    concurrent: bool
    pillar: Mapping[str, Any]
    config: MinionConfig
    """The options that count: the minion's, or those with a file of the call over them."""
    exclude: Any = None
    only_env: str | None = None
    """The environment that the call itself names: a top file is looked at for no other one."""
    pillarenv: str | None = None
    """The environment of pillar that the call itself names."""
    state_events: bool | None = None
    """Whether each state is told to the master; ``None`` if the call tells of none at all."""
    force: bool = False
    """Whether errors in the pillar are no reason to refuse."""
    noop: bool = False
    """Whether the call wants its states planned only."""

    @classmethod
    def of(cls, ctx: MinionContext, given: Mapping[str, object], *, tells: bool = False) -> Wishes:
        """From the keyword arguments; where they say nothing, from the options.

        ``test: true`` in the pillar counts like the option. Only calls with ``tells`` heed
        ``state_events``. Source: observed on Salt 3006.30.

        Raises:
            UsageError: ``pillar`` is not a map, or a keyword is surely misspelt.
            FunctionError: ``saltenv`` is not the one that is locked.
            SaltliteError: the file that ``localconfig`` names cannot be used.
        """
        if tells and not given.keys() <= _OF_CALLS:
            _refuse_slips(given)
        config, as_left = localconfig.read_for(ctx, given)
        files, call = config.files, _Given.of(as_left)
        # To name the environment that is locked in is no change.
        if call.saltenv and files.lock_saltenv and call.saltenv != files.saltenv:
            raise FunctionError(LOCKED)
        if call.pillar is not None and not isinstance(call.pillar, Mapping):
            raise UsageError(BAD_PILLAR)
        test = call.test
        if test is None:
            test = files.test or ctx.pillar.get("test") is True
        return cls(
            test=bool(test),
            saltenv=str(call.saltenv or files.saltenv or "base"),
            queue=_read_queue(files.state_queue if call.queue is None else call.queue),
            concurrent=bool(call.concurrent),
            pillar=call.pillar or {},
            exclude=call.exclude,
            config=config,
            only_env=call.saltenv,
            pillarenv=call.pillarenv,
            state_events=_state_events(config, call) if tells else None,
            force=bool(call.force),
            noop=bool(call.noop),
        )


def _state_events(config: MinionConfig, call: _Given) -> bool:
    asked = call.state_events
    return bool(config.files.state_events if asked is None else asked)


def _read_queue(given: object) -> bool | int:
    """Whether to wait for other runs; a number: only while there are no more of them."""
    return given if isinstance(given, int) else bool(given)


@contextmanager
def prepare_context(ctx: MinionContext, wishes: Wishes) -> Iterator[MinionContext]:
    """The context in which the call's states are compiled and run: its options, its pillar.

    The same one, or with ``localconfig`` one of its own, whose retcode becomes the job's.
    """
    if wishes.config is ctx.config:
        with _as_wished(ctx, wishes):
            yield ctx
        return
    own = localconfig.context_for(ctx, wishes.config)
    try:
        with _as_wished(own, wishes):
            yield own
    finally:
        ctx.retcode = own.retcode


@contextmanager
def _as_wished(ctx: MinionContext, wishes: Wishes) -> Iterator[None]:
    """Let the option ``test`` be the call's, and the pillar with what the call lays over it.

    As in Salt a minion's runs of states compile their pillar anew: they do not wait for a refresh
    of what it has in memory.
    """
    before = ctx.config, ctx.pillar
    if ctx.config.files.test != wishes.test:
        # Functions that states call look at the option, not at this call.
        files = dataclasses.replace(ctx.config.files, test=wishes.test)
        ctx.config = dataclasses.replace(ctx.config, files=files)
    if wishes.noop:
        files = dataclasses.replace(ctx.config.files, state_noop=True)
        ctx.config = dataclasses.replace(ctx.config, files=files)
    try:
        if not ctx.pillar_is_fresh or _changes_pillar(ctx, wishes):
            ctx.pillar = ctx.functions.call(
                "pillar.items",
                pillar=wishes.pillar,
                pillarenv=wishes.pillarenv,
                saltenv=wishes.only_env,
            )
        yield
    finally:
        # The same job may call other functions behind this one.
        ctx.config, ctx.pillar = before


def _changes_pillar(ctx: MinionContext, wishes: Wishes) -> bool:
    from_env = ctx.config.pillar.pillarenv_from_saltenv and wishes.only_env
    return bool(wishes.pillar or wishes.pillarenv or from_env)


def refusal(ctx: MinionContext, wishes: Wishes) -> list[str] | None:
    """Why no state may run now, as the job's return; ``None`` if one may. Sets the retcode."""
    while True:
        others = [] if wishes.concurrent else running(ctx)
        if not others:
            break
        # True waits for any number of others; a number only as long as there are no more.
        if not wishes.queue or (wishes.queue is not True and len(others) > wishes.queue):
            ctx.retcode = COMPILE_ERROR
            return others
        time.sleep(POLL_S)
    errors = [] if wishes.force else pillar_errors(ctx)
    if not errors:
        return None
    ctx.retcode = PILLAR_FAILURE
    return ["Pillar failed to render with the following messages:", *errors]


def pillar_errors(ctx: MinionContext) -> list[str]:
    """What went wrong when the pillar was compiled."""
    errors: Any = ctx.pillar.get("_errors") or []
    return [errors] if isinstance(errors, str) else list(map(str, errors))


def need_pillar(ctx: MinionContext) -> None:
    """Refuse to show what would be run with a pillar that is not whole, as Salt does.

    Raises:
        FunctionError: the pillar has errors.
    """
    errors = pillar_errors(ctx)
    if errors:
        listed = "\n".join(f"- {error}" for error in errors)
        raise FunctionError(f"Pillar failed to render. Additional info follows:\n\n{listed}")


def running(ctx: MinionContext) -> list[str]:
    """Salt's sentence about each other run of states on this minion."""
    return [
        _describe_job(job)
        for job in ctx.jobs.running()
        if str(job.get("jid", "")) != ctx.jid and _runs_states(job)
    ]


def _runs_states(job: Mapping[str, object]) -> bool:
    fun = job.get("fun", "")
    names = map(str, fun) if isinstance(fun, (list, tuple)) else [str(fun)]
    return any(name.startswith("state.") and name not in HARMLESS for name in names)


def _describe_job(job: Mapping[str, object]) -> str:
    jid = str(job.get("jid", ""))
    try:
        since = jid_time(jid).strftime("%Y, %b %d %H:%M:%S.%f")
    except ValueError:
        since = ""
    return (
        f'The function "{job.get("fun")}" is running as PID {job.get("pid")} and was started at '
        f"{since} with jid {jid}"
    )


def synchronise(ctx: MinionContext, saltenv: str) -> None:
    """Fetch changed custom code before it is used, as ``autoload_dynamic_modules`` says."""
    if not ctx.config.files.autoload_dynamic_modules:
        return
    try:
        found = ctx.functions.call("saltutil.sync_all", saltenv, refresh=False)
    except (SaltliteError, OSError) as error:
        # The run goes on with the code that is there.
        log.warning("custom code was not synchronised: %s", error)
        return
    if not isinstance(found, Mapping) or not any(found.values()):
        return
    # Only where something came: this throws away all that is loaded.
    ctx.functions.reload()
    if found.get("grains") and ctx.refresh_grains is not None:
        ctx.grains = ctx.refresh_grains()


def compile_states(ctx: MinionContext, make: Callable[[], Compiled]) -> Compiled:
    """What was compiled; a template that does not render is among its errors."""
    try:
        found = make()
    except RenderError as error:
        found = Compiled({}, errors=[error.salt_text])
    if found.errors:
        ctx.retcode = COMPILE_ERROR
        # The return has Salt's sentences as they are; file and line go to the log.
        for line in place_errors(StateTree(file_client(ctx)), found.errors, found.wanted):
            log.error("%s", line)
    return found


def apply(ctx: MinionContext, found: Compiled, wishes: Wishes) -> list[str] | Answers:
    """Run what was compiled; its errors, or the returns by tag. Sets the retcode."""
    if found.errors:
        ctx.retcode = COMPILE_ERROR
        return list(found.first_errors)
    settled = order(found.low, found.names)
    answers = _run_chunks(ctx, settled.low, settled, wishes, tells_all=_tells_all(found, wishes))
    # Of SLS and highstates alone: what has no name could not be found again.
    if found.wanted:
        if not wishes.test and not wishes.exclude:
            _retract_exports(ctx, found)
        asked = Asked(found.wanted, wishes.pillar, wishes.exclude)
        keep(ctx, asked, answers, test=wishes.test)
    return answers


def _retract_exports(ctx: MinionContext, found: Compiled) -> None:
    """Let the mine forget what these SLS export no longer; a minion that never did has no store."""
    if os.path.exists(os.path.join(ctx.config.paths.cachedir, EXPORTS)):
        from saltlite.highstate.exporting import retract

        retract(ctx, found.names, found.low, is_highstate=found.is_highstate)


def _tells_all(found: Compiled, wishes: Wishes) -> bool:
    """Whether the call, the minion or its master wants an event of each state."""
    if wishes.state_events is None:
        return False
    return wishes.state_events or found.state_events


def apply_some(
    ctx: MinionContext, found: Compiled, wishes: Wishes, ids: Sequence[str]
) -> list[str] | Answers:
    """Run the states of these ids, and those that they require; empty if there is none."""
    if found.errors:
        ctx.retcode = COMPILE_ERROR
        return list(found.first_errors)
    settled = order(found.low, found.names)
    wanted = [chunk.tag for chunk in settled.low if _is_meant(chunk, ids)]
    needed: set[str] = set()
    while wanted:
        tag = wanted.pop()
        if tag not in needed:
            needed.add(tag)
            # Also what those in turn require.
            wanted += [other for _, other in settled.requisites.get(tag, ())]
    low = [chunk for chunk in settled.low if chunk.tag in needed]
    return _run_chunks(ctx, low, settled, wishes) if low else {}


def _is_meant(chunk: Chunk, ids: Sequence[str]) -> bool:
    return str(chunk.ident) in ids


def _run_chunks(
    ctx: MinionContext,
    low: Sequence[Chunk],
    settled: Ordered,
    wishes: Wishes,
    *,
    tells_all: bool = False,
) -> Answers:
    asked = {chunk.tag: chunk.options.fire_event for chunk in low}
    secrets = find_secrets_of(ctx)
    for circle in settled.circles.values():
        log.error("recursive requisite: %s", " -> ".join(circle))

    def told(tag: str, answer: StateReturn, total: int) -> None:
        # What listens is told under a tag that is none of the chunks', and asks for no event.
        _fire_progress(ctx, asked.get(tag), answer, total, secrets, tells_all=tells_all)

    returns = run_low(
        ctx,
        low,
        settled.requisites,
        test=wishes.test,
        problems=settled.problems,
        unheard=settled.unheard,
        told=told,
    )
    # What was said to this run (pause, kill) is over with it.
    forget(ctx, ctx.jid)
    ctx.retcode = retcode_of(returns.values())
    answers = {tag: found.to_return() for tag, found in returns.items()}
    return mask_answers(answers, secrets) if secrets else answers


def find_secrets_of(ctx: MinionContext) -> tuple[str, ...]:
    """What is masked in the returns of a run; nothing where the option says so."""
    options = ctx.config.files
    if not options.state_mask_secrets:
        return ()
    named = ctx.pillar.get(MASK_KEYS)
    if named is not None and not isinstance(named, (list, tuple)):
        log.warning("%s of the pillar is no list, so it masks nothing", MASK_KEYS)
    more = named if isinstance(named, (list, tuple)) else ()
    return find_secrets(ctx.pillar, [*options.state_mask_keys, *more])


def retcode_of(returns: Iterable[StateReturn]) -> int:
    """The job's retcode for the returns of states."""
    return STATE_FAILURE if any(found.has_failed for found in returns) else 0


def _fire_progress(
    ctx: MinionContext,
    asked: object,
    answer: StateReturn,
    total: int,
    secrets: Sequence[str],
    *,
    tells_all: bool,
) -> None:
    """Tell the master of a finished state, if that is wanted; ``asked`` is its ``fire_event``."""
    minion, jid = ctx.config.identity.id, ctx.jid or "req"
    tags = []
    if tells_all:
        tags.append(job_progress(jid, minion, answer.number))
    if asked:
        name = asked if isinstance(asked, str) else mask_text(str(answer.name), secrets)
        tags.append(f"salt/state_result/{jid}/{minion}/{name}")
    for tag in tags:
        data = {"ret": mask_data(answer.to_return(), secrets), "len": total}
        try:
            ctx.functions.call("event.fire_master", data, tag, preload={"jid": jid})
        except SaltliteError as error:
            # States are not to fail because nobody could be told.
            log.warning("event %s was not fired: %s", tag, error)


def no_states(comment: str = NO_TOP) -> Answers:
    """The pseudo state that says that a top file has nothing to run.

    Source: tests/cases/data/cli_samples.yaml.
    """
    answer = {"result": False, "comment": comment, "name": "No States", "changes": {}}
    return {"no_|-states_|-states_|-None": {**answer, "__run_num__": 0}}
