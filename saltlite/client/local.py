"""Salt's Python client: publish a job, wait for the minions, hand out what they return.

Names, arguments and results are those of Salt's documented ``LocalClient``; the work is done by
:class:`saltlite.client.jobs.JobClient`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from saltlite.client.collect import Events, JobRun, MinionReturn, Outcome, ReturnStore
from saltlite.client.job_request import JobRequest, Target, jid_as_text
from saltlite.client.jobs import PUBLISH_TIMEOUT_S, JobClient, pick_able
from saltlite.core.messages import PublishReply

LISTENING_KEPT = 16
"""Jobs that were published with ``listen`` and are not asked for yet; each has a socket."""

POLL_S = 0.01

Returns: TypeAlias = dict[str, Any]


class LocalClient:
    """Salt's ``LocalClient`` on the master of this machine; ``jobs`` is closed with it."""

    def __init__(self, jobs: JobClient) -> None:
        self.jobs = jobs
        self._listening: dict[str, Events] = {}

    def close(self) -> None:
        """Give back all sockets."""
        for events in self._listening.values():
            events.close()
        self._listening.clear()
        self.jobs.close()

    def __enter__(self) -> LocalClient:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def call_master(self, load: Mapping[str, object]) -> Any:
        """One clear command (``runner``, ``wheel``); see :meth:`JobClient.call_master`."""
        return self.jobs.call_master(load)

    def run_job(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        tgt_type: str = "glob",
        ret: str = "",
        timeout: float | None = None,
        jid: str = "",
        kwarg: Mapping[str, object] | None = None,
        listen: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Publish; ``{"jid": …, "minions": […]}``, ``{}`` if nobody matches."""
        request = _make_request(tgt, fun, arg, tgt_type, ret, timeout, jid, kwarg, kwargs)
        events = self.jobs.listen() if listen else None
        try:
            reply = self.jobs.publish(request)
        except BaseException:
            if events is not None:
                events.close()
            raise
        if events is not None and (reply is None or reply.jid is None):
            events.close()
        if reply is None or reply.jid is None:
            return {}
        if events is not None:
            self._keep_listening(reply.jid, events)
        return {"jid": reply.jid, "minions": [*reply.minions, *reply.missing]}

    def _keep_listening(self, jid: str, events: Events) -> None:
        """For :meth:`get_iter_returns`; whoever never asks does not collect sockets for ever."""
        # Put in anew at the end, so that the oldest one is the first to go.
        before = self._listening.pop(jid, None)
        if before is not None:
            before.close()
        self._listening[jid] = events
        while len(self._listening) > LISTENING_KEPT:
            self._listening.pop(next(iter(self._listening))).close()

    def pub(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        tgt_type: str = "glob",
        ret: str = "",
        jid: str = "",
        timeout: float = PUBLISH_TIMEOUT_S,
        listen: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """As :meth:`run_job`."""
        return self.run_job(
            tgt, fun, arg, tgt_type, ret, timeout=timeout, jid=jid, listen=listen, **kwargs
        )

    def cmd_async(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        tgt_type: str = "glob",
        ret: str = "",
        jid: str = "",
        kwarg: Mapping[str, object] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Publish and give back the jid; ``0`` if nobody matches."""
        published = self.run_job(
            tgt, fun, arg, tgt_type, ret, jid=jid, kwarg=kwarg, listen=False, **kwargs
        )
        return published.get("jid", 0)

    def cmd(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        jid: str = "",
        full_return: bool = False,
        kwarg: Mapping[str, object] | None = None,
        **kwargs: Any,
    ) -> Returns:
        """Publish, wait, and give back ``{minion id: return}`` of those who returned."""
        request = _make_request(tgt, fun, arg, tgt_type, ret, timeout, jid, kwarg, kwargs)
        returns: Returns = {}
        for outcome in self.jobs.outcomes(request):
            if isinstance(outcome, MinionReturn):
                returns[outcome.id] = _full_return(outcome) if full_return else outcome.return_
        return returns

    def cmd_subset(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, object] | None = None,
        subset: int = 3,
        cli: bool = False,
        progress: bool = False,
        full_return: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Run on ``subset`` of the targets, picked at random among those that have the function."""
        chosen = self.subset_of(tgt, fun, tgt_type, subset, **kwargs)
        if cli:
            return self.cmd_cli(
                chosen, fun, arg, tgt_type="list", ret=ret, kwarg=kwarg, progress=progress, **kwargs
            )
        return self.cmd(
            chosen,
            fun,
            arg,
            tgt_type="list",
            ret=ret,
            kwarg=kwarg,
            full_return=full_return,
            **kwargs,
        )

    def subset_of(
        self, tgt: Target, fun: str | list[str], tgt_type: str, subset: int, **kwargs: Any
    ) -> list[str]:
        """At most ``subset`` minions that have the function, at random."""
        functions = self.cmd(tgt, "sys.list_functions", tgt_type=tgt_type, **kwargs)
        return pick_able(functions, fun, subset)

    def cmd_batch(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, object] | None = None,
        batch: int | str = "10%",
        full_return: bool = False,
        failhard: bool = False,
        timeout: float | None = None,
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """``{minion id: return}`` one by one, at most ``batch`` minions at work at a time.

        With ``failhard`` no more are sent the job once one has failed.
        """
        from saltlite.client.batch import Batch

        request = _make_request(tgt, fun, arg, tgt_type, ret, timeout, "", kwarg, kwargs)
        with Batch(self.jobs, request, str(batch), failhard=failhard) as run:
            for outcome in run:
                if isinstance(outcome, MinionReturn):
                    yield {outcome.id: _full_return(outcome) if full_return else outcome.return_}

    def cmd_iter(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, object] | None = None,
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """``{minion id: {"ret": …, "retcode": …, "jid": …}}`` as the minions return."""
        request = _make_request(tgt, fun, arg, tgt_type, ret, timeout, "", kwarg, kwargs)
        for outcome in self.jobs.outcomes(request):
            if isinstance(outcome, MinionReturn):
                yield {outcome.id: _full_return(outcome)}

    def cmd_iter_no_block(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, object] | None = None,
        show_jid: bool = False,
        verbose: bool = False,
        **kwargs: Any,
    ) -> Iterator[Returns | None]:
        """As :meth:`cmd_iter`, but yields ``None`` while nothing comes."""
        del show_jid, verbose  # only the command line prints
        request = _make_request(tgt, fun, arg, tgt_type, ret, timeout, "", kwarg, kwargs)
        # Not _yield_outcomes, which blocks: who calls this has other work in between.
        run = self.jobs.start(request)
        if run is None:
            return
        with run:
            while not run.is_done:
                outcomes = [one for one in run.step(POLL_S) if isinstance(one, MinionReturn)]
                yield from ({one.id: _full_return(one)} for one in outcomes)
                if not outcomes and not run.is_done:
                    yield None

    def cmd_full_return(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        verbose: bool = False,
        kwarg: Mapping[str, object] | None = None,
        **kwargs: Any,
    ) -> Returns:
        """As :meth:`cmd`, with ``ret``, ``retcode``, ``jid`` and ``out`` of each minion."""
        del verbose
        return self.cmd(
            tgt, fun, arg, timeout, tgt_type, ret, full_return=True, kwarg=kwarg, **kwargs
        )

    def cmd_cli(
        self,
        tgt: Target,
        fun: str | list[str],
        arg: Iterable[object] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        verbose: bool = False,
        kwarg: Mapping[str, object] | None = None,
        progress: bool = False,
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """As :meth:`cmd_iter`, and at the end those who did not return, as ``salt`` shows them."""
        del verbose, progress
        request = _make_request(tgt, fun, arg, tgt_type, ret, timeout, "", kwarg, kwargs)
        for outcome in self.jobs.outcomes(request):
            if isinstance(outcome, MinionReturn):
                yield {outcome.id: _full_return(outcome)}
            else:
                text = self.jobs.explain_loss(outcome)
                yield {outcome.id: {"out": "no_return", "ret": text, "jid": outcome.jid}}

    def get_iter_returns(
        self,
        jid: str,
        minions: Iterable[str],
        timeout: float | None = None,
        tgt: Target = "*",
        tgt_type: str = "glob",
        expect_minions: bool = False,
        block: bool = True,
        **kwargs: Any,
    ) -> Iterator[Returns | None]:
        """Wait for a job that was published before, by :meth:`run_job` with ``listen`` or earlier.

        With ``expect_minions``, those who were given up come as ``{id: {"failed": True}}``. Without
        ``block``, ``None`` is yielded while nothing comes.
        """
        del tgt, tgt_type, kwargs
        # Whoever listens only now finds earlier returns in the store, at the deadline.
        events = self._listening.pop(jid, None) or self.jobs.listen()
        run = self.jobs.follow(events, PublishReply(jid, list(minions)), timeout)
        with run:
            for outcome in _with_pauses(run, block):
                if isinstance(outcome, MinionReturn):
                    yield {outcome.id: _full_return(outcome)}
                elif outcome is None:
                    yield None
                elif expect_minions:
                    yield {outcome.id: {"failed": True}}

    def follow(
        self,
        jid: str,
        minions: Iterable[str],
        records: ReturnStore,
        timeout: float | None = None,
    ) -> Iterator[Returns]:
        """As :meth:`cmd_cli` for a job that was published before: first what is on record."""
        events = self.jobs.listen()
        with self.jobs.follow(events, PublishReply(jid, list(minions)), timeout) as run:
            run.recall(records)
            for outcome in run:
                if isinstance(outcome, MinionReturn):
                    yield {outcome.id: _full_return(outcome)}
                else:
                    text = self.jobs.explain_loss(outcome)
                    yield {outcome.id: {"out": "no_return", "ret": text, "jid": jid}}

    def get_event_iter_returns(
        self, jid: str, minions: Iterable[str], timeout: float | None = None
    ) -> Iterator[Returns]:
        """As :meth:`get_iter_returns`."""
        for returned in self.get_iter_returns(jid, minions, timeout):
            if returned is not None:
                yield returned

    def get_returns(
        self, jid: str, minions: Iterable[str], timeout: float | None = None
    ) -> Returns:
        """``{minion id: return}`` of a job that was published before."""
        returns: Returns = {}
        for one in self.get_event_iter_returns(jid, minions, timeout):
            returns.update({minion: full["ret"] for minion, full in one.items()})
        return returns

    def get_full_returns(
        self, jid: str, minions: Iterable[str], timeout: float | None = None
    ) -> Returns:
        """As :meth:`get_returns`, with ``ret``, ``retcode``, ``jid`` and ``out`` of each minion."""
        returns: Returns = {}
        for one in self.get_event_iter_returns(jid, minions, timeout):
            returns.update(one)
        return returns

    def get_cache_returns(self, jid: str) -> Returns:
        """What is on record of a job; does not wait."""
        records = self.jobs.stored_returns(jid).items()
        return {
            minion: _full_return(MinionReturn.of(jid, minion, data)) for minion, data in records
        }

    def gather_job_info(
        self, jid: str, tgt: Target, tgt_type: str, listen: bool = True, **kwargs: Any
    ) -> dict[str, Any]:
        """Publish ``saltutil.find_job`` for ``jid``; what :meth:`run_job` gives back."""
        return self.run_job(
            tgt, "saltutil.find_job", [jid], tgt_type=tgt_type, listen=listen, **kwargs
        )


def _with_pauses(run: JobRun, block: bool) -> Iterator[Outcome | None]:
    if block:
        yield from run
        return
    while not run.is_done:
        outcomes = run.step(POLL_S)
        yield from outcomes
        if not outcomes and not run.is_done:
            yield None


def _make_request(
    tgt: Target,
    fun: str | list[str],
    arg: Iterable[Any],
    tgt_type: str,
    ret: str,
    timeout: float | None,
    jid: str,
    kwarg: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> JobRequest:
    """A request as Salt's interface states it: ``kwarg`` becomes a last argument."""
    # A text is one argument, not its letters.
    args = [arg] if isinstance(arg, str) else list(arg)
    if isinstance(fun, str) and "," in fun:
        fun = [name.strip() for name in fun.split(",")]
    if kwarg:
        args.append({**kwarg, "__kwarg__": True})
    return JobRequest(
        tgt=tgt,
        fun=fun,
        arg=[jid_as_text(one) for one in args],
        tgt_type=tgt_type,
        ret=ret,
        jid=jid,
        timeout_s=timeout,
        options=options,
    )


def _full_return(outcome: MinionReturn) -> dict[str, Any]:
    full = {"ret": outcome.return_, "retcode": outcome.retcode, "jid": outcome.jid}
    if outcome.out is not None:
        full["out"] = outcome.out
    return full
