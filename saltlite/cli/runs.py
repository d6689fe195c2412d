"""What runners and wheel functions get, put together: for ``salt-run``, and for the master's runs.

``runners`` knows neither the master's package nor the client's, and these two do not know each
other; here they meet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite.core import dataclasses
from saltlite.errors import MasterAbsent, StoreError

if TYPE_CHECKING:
    from saltlite.client.runner import Ran, RunnerClient
    from saltlite.config.master import MasterConfig
    from saltlite.engine_context import EngineContext
    from saltlite.master.run_requests import RunOutcome, RunRequest
    from saltlite.master.stores import CommandStores
    from saltlite.reactor.render import ReactionRenderer
    from saltlite.runner_context import (
        ClusterAccess,
        Listener,
        ReactorAccess,
        Reports,
        RunnerContext,
    )

log = logging.getLogger(__name__)

BUS_TIMEOUT_S = 5.0


@contextmanager
def runner_context(
    config: MasterConfig,
    write: Callable[[str], None],
    user: str = "",
    *,
    pillar_patterns: bool = True,
    reads_only: bool = False,
) -> Iterator[RunnerContext]:
    """What runners may reach; ``write`` prints a line, ``user`` is who asked (else whoever we are).

    With ``reads_only`` no job store is made where there is none. Without ``pillar_patterns`` all
    targets compare whole values of pillar.
    Files and sockets are opened when they are needed first, and closed at the end.
    """
    from saltlite.cli import regexes, stores
    from saltlite.client.identity import sender
    from saltlite.client.jobs import JobClient
    from saltlite.client.local import LocalClient
    from saltlite.core.targets import Target, compare_whole
    from saltlite.loader.master_functions import RunnerFunctions
    from saltlite.runner_context import RunnerContext

    regexes.match_outside()
    with ExitStack() as stack:
        opened = stores.open_stores(config)
        store = opened.open_jobs(read_only=reads_only)
        stack.callback(store.close)
        local = stack.enter_context(
            LocalClient(
                JobClient(
                    config,
                    store=lambda: store,
                    connections=lambda: _find_connections(config),
                    pillar_patterns=pillar_patterns,
                )
            )
        )
        events = stores.LazyEvents(config)
        stack.callback(events.close)

        def expected_ids(tgt: str | list[str], kind: str, *, greedy: bool = True) -> list[str]:
            target = Target(tgt, kind)
            if not pillar_patterns:
                target = compare_whole(target, nodegroups=config.targets.nodegroups)
            return stores.list_expected_minions(config, opened, target, greedy=greedy)

        context = RunnerContext(
            config=config,
            jobs=stores.JobReader(store, config),
            keys=stores.KeyDirectory(config, opened, fire=events.fire),
            key_material=stores.KeyMaterial(config, opened),
            cache=opened.banks,
            events=events,
            local=local,
            listen=lambda prefix: listen(config, prefix),
            accepted=lambda: stores.list_accepted_minions(opened),
            connected=lambda: stores.find_connected(opened),
            expected=expected_ids,
            cached=lambda tgt, kind: expected_ids(tgt, kind, greedy=False),
            write=write,
            forget_token=lambda token: stores.forget_token(config, token),
            user=user or sender(),
        )
        context.reports = lambda: _reports(opened, stack)
        context.reactor = lambda: _reactor_access(context)
        context.cluster = lambda: _cluster_access(config)
        context.functions = RunnerFunctions(context)
        context.run = partial(run_another, context)
        yield context


def _find_connections(config: MasterConfig) -> frozenset[str] | None:
    from saltlite.master.presence import connections_to

    return connections_to(config.network.publish_port)


def _reports(opened: CommandStores, stack: ExitStack) -> Reports:
    stack.callback(opened.reports.close)
    return opened.reports


def _reactor_access(ctx: RunnerContext) -> ReactorAccess:
    from saltlite.cli.reactions import ReactorClient

    return ReactorClient(ctx)


def _cluster_access(config: MasterConfig) -> ClusterAccess:
    from saltlite.cluster.administration import ClusterAdministration

    return ClusterAdministration(config)


def reaction_renderer(config: MasterConfig) -> ReactionRenderer:
    """What renders on the master, for the life of this process."""
    from saltlite.cli.reactions import renderer_for

    # Never closed: what templates opened ends with the process.
    context = runner_context(config, lambda line: log.info("%s", line))
    return renderer_for(context.__enter__(), config)


@contextmanager
def engine_context(config: MasterConfig, name: str) -> Iterator[EngineContext]:
    """What an engine of the master may reach; what its runners print goes to the log."""
    from saltlite.engine_context import EngineContext
    from saltlite.masterside.context import execution_context

    with runner_context(config, lambda line: log.info("%s", line)) as runner:
        yield EngineContext(
            name=name,
            config=config,
            minion=execution_context(runner),
            listen=runner.listen,
            runner=runner,
        )


def run_another(
    ctx: RunnerContext, kind: str, fun: str, arg: Sequence[object], kwarg: Mapping[str, object]
) -> dict[str, Any]:
    """Run a ``runner`` or ``wheel`` function from within another, as a job of its own.

    ``return``, ``success``, ``jid``, ``user``, and ``wrong``: whether the arguments were; such a
    return is Salt's text about them.

    Raises:
        FunctionUnavailable: there is no such function.
    """
    from saltlite.client.runner import RunnerClient, WheelClient
    from saltlite.loader.master_functions import RunnerFunctions

    own = dataclasses.replace(ctx, jid="", state={})
    own.functions = RunnerFunctions(own)
    own.reactor = lambda: _reactor_access(own)
    own.run = partial(run_another, own)
    client = WheelClient(own) if kind == "wheel" else RunnerClient(own)
    ran = client.run(fun, arg, kwarg)
    told = {"jid": ran.jid, "user": ctx.user, "wrong": ran.wrong is not None}
    if ran.wrong is not None:
        said = explain_wrong(ran.wrong, ran.doc)
        return {"return": said, "success": True, **told}  # as Salt does
    return {"return": ran.return_, "success": ran.success and not ran.retcode, **told}


def explain_wrong(wrong: str, doc: str) -> str:
    """Salt's text about arguments that a runner does not take."""
    return f"\nPassed invalid arguments: {wrong}\n\nUsage:\n{doc}"


def execute(config: MasterConfig, request: RunRequest) -> RunOutcome:
    """Run a runner or wheel function that the master was asked for; never raises for its faults.

    What it prints goes to the log.
    """
    from saltlite.master.run_requests import RunOutcome

    with runner_context(
        config,
        lambda line: log.info("%s", line),
        request.user,
        pillar_patterns=request.pillar_patterns,
    ) as ctx:
        ran = _run_request(ctx, request)
        if request.schedule:
            from saltlite.cli.scheduled_runs import report

            report(ctx, request, ran)
        return RunOutcome(ran.return_, ran.success)


def _run_request(ctx: RunnerContext, request: RunRequest) -> Ran:
    """Run it; what could not be run is told and kept as a run that failed."""
    from saltlite.client.runner import Ran, RunnerClient, WheelClient
    from saltlite.errors import SaltliteError

    client = WheelClient(ctx) if request.kind == "wheel" else RunnerClient(ctx)
    fun, arg, kwarg = request.fun, request.arg, request.kwarg
    try:
        if request.by_signature:
            arg, kwarg = _lay_out(client, ctx, fun, kwarg)
        ran = client.run(fun, arg, kwarg, jid=request.jid)
    except SaltliteError as error:
        why = str(error)
    else:
        if ran.wrong is None:
            return ran
        why = explain_wrong(ran.wrong, ran.doc)
    client.fail(fun, arg, kwarg, request.jid, why)
    return Ran(request.jid, why, success=False)


def _lay_out(
    client: RunnerClient, ctx: RunnerContext, fun: str, kwarg: Mapping[str, object]
) -> tuple[list[Any], dict[str, Any]]:
    from saltlite.reactor.arguments import lay_out

    return lay_out(client.kind.resolve(fun, ctx).call, kwarg)


def why_missing(
    config: MasterConfig, jid: str, minions: Sequence[str], *, silent: Collection[str] = ()
) -> dict[str, Any]:
    """Why minions did not return a job: minion id → the map that ``jobs.why`` tells of it.

    For ``salt``, at its end; asks the minions that seem to be there, but for ``silent`` ones.
    Nothing for a limited user, who may not read what it takes.

    Raises:
        MasterAbsent: no master runs here any more.
    """
    from saltlite.jobs.why import reasons

    with runner_context(config, lambda _line: None) as ctx:
        try:
            return reasons(ctx, jid, minions, silent=silent)
        except (StoreError, OSError) as error:
            log.debug("%s", error)
            return {}


def listen(config: MasterConfig, prefix: str) -> Listener:
    """Listen to events whose tags begin so.

    Raises:
        MasterAbsent: nobody publishes events here.
    """
    from saltlite.client.jobs import NOT_RUNNING
    from saltlite.transport.addresses import MasterSockets
    from saltlite.transport.bus import EventSubscriber

    path = MasterSockets(Path(config.paths.sock_dir)).event_pub
    listener = EventSubscriber(path, (prefix,))
    if not listener.connect_confirmed(BUS_TIMEOUT_S):
        listener.close()
        raise MasterAbsent(NOT_RUNNING)
    return listener
