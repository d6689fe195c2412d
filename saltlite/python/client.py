"""Jobs, runners and wheel functions for scripts on the master. Stable: docs/python-api.md.

Whoever may run ``salt`` may use it, with the same rights: the local key is read, or the credentials
shown that were given.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from saltlite.client.collect import MinionReturn, NotReturned, Outcome
from saltlite.client.job_request import JobRequest, Target
from saltlite.client.jobs import JobClient
from saltlite.config.load import load_master
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, MasterRefused, UsageError

if TYPE_CHECKING:
    from saltlite.client.runner import Ran, RunnerClient
    from saltlite.config.master import MasterConfig
    from saltlite.runner_context import RunnerContext

WAITING_MOST: Final = 1000
"""Outcomes that an asynchronous reader may be behind; then the bus has to wait."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of a job: ``returns`` by minion, and who did not return.

    ``jid`` is ``""`` if no minion matched.
    """

    jid: str
    returns: Mapping[str, MinionReturn]
    missing: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        """Minion id → what the function gave there."""
        return {minion: one.value for minion, one in sorted(self.returns.items())}

    @property
    def failed(self) -> tuple[str, ...]:
        """The minions whose exit code is not 0."""
        return tuple(sorted(minion for minion, one in self.returns.items() if one.exit_code))

    @property
    def is_good(self) -> bool:
        """Whether somebody was meant, all returned, and nobody failed."""
        return bool(self.returns) and not self.missing and not self.failed


class Client:
    """The master on this machine. Use it in a ``with``, or :meth:`close` it; one thread at a time.

    Args:
        config_dir: the directory of the file ``master``, or that file; ``None`` as for ``salt``.
        credentials: ``{"token": …}``, or ``{"eauth": …, "username": …, "password": …}``; without
            them the key of the user who runs the script counts.

    Raises:
        ConfigError: the configuration is wrong.
    """

    def __init__(
        self,
        config_dir: str | Path | None = None,
        *,
        credentials: Mapping[str, str] | None = None,
    ) -> None:
        self.config: MasterConfig = load_master(config_dir, client=True)
        self._credentials = dict(credentials or {})
        self.jobs = JobClient(
            self.config,
            store=self._open_store,
            connections=self._find_connections,
            credentials=self._credentials,
        )
        self._runs: AbstractContextManager[RunnerContext] | None = None
        self._run_context: RunnerContext | None = None

    def close(self) -> None:
        """Give back all sockets and files."""
        self.jobs.close()
        if self._runs is not None:
            self._runs.__exit__(None, None, None)
            self._runs = self._run_context = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    # --- jobs ------------------------------------------------------------------------------------

    def run(
        self,
        target: Target,
        function: str,
        *args: Any,
        kwarg: Mapping[str, Any] | None = None,
        target_type: str = "glob",
        timeout_s: float | None = None,
    ) -> JobResult:
        """Run a function on minions and wait for all of them.

        ``timeout_s`` is the time after which minions that are silent are asked whether they still
        work; those that do are waited for. ``None`` is the option ``timeout``.

        Raises:
            MasterAbsent: no master runs here.
            AccessDenied: this user may not speak to it.
            MasterRefused: it does not allow it, or the target is malformed.
            RequestTimeout: it does not answer.
        """
        request = _make_request(target, function, args, kwarg, target_type, timeout_s)
        return _collect(self._run_request(request))

    def iterate(
        self,
        target: Target,
        function: str,
        *args: Any,
        kwarg: Mapping[str, Any] | None = None,
        target_type: str = "glob",
        timeout_s: float | None = None,
    ) -> Iterator[Outcome]:
        """As :meth:`run`, each return as it comes, then those who did not return."""
        return self._run_request(
            _make_request(target, function, args, kwarg, target_type, timeout_s)
        )

    def publish(
        self,
        target: Target,
        function: str,
        *args: Any,
        kwarg: Mapping[str, Any] | None = None,
        target_type: str = "glob",
    ) -> str:
        """Send a job and wait for nothing: its id, ``""`` if no minion matched. Raises as `run`."""
        reply = self.jobs.publish(_make_request(target, function, args, kwarg, target_type, None))
        self._check_target()
        return "" if reply is None or reply.jid is None else reply.jid

    def result(self, jid: str) -> JobResult:
        """What is on record of a job now; does not wait.

        Raises:
            StoreError: the record cannot be read, or this user may not.
        """
        store = self._open_store()
        job, returns = store.job(jid), store.returns(jid)
        found = {one: MinionReturn.of(jid, one, data) for one, data in returns.items()}
        minions = () if job is None else job.minions
        return JobResult(jid, found, tuple(one for one in minions if one not in found))

    def follow(self, jid: str, *, timeout_s: float | None = None) -> Iterator[Outcome]:
        """What has come and still comes of a job that was published before, until it is over.

        Raises:
            UsageError: there is no such job.
        """
        from saltlite.client.following import follow_job

        run = follow_job(self.jobs, self._open_store(), jid, timeout_s)
        if run is None:
            raise UsageError(f"no job with this id is on record: {jid}")
        with run:
            yield from run

    async def run_async(
        self,
        target: Target,
        function: str,
        *args: Any,
        kwarg: Mapping[str, Any] | None = None,
        target_type: str = "glob",
        timeout_s: float | None = None,
    ) -> JobResult:
        """As :meth:`run`, for asyncio."""
        options = {"kwarg": kwarg, "target_type": target_type, "timeout_s": timeout_s}
        return _collect(
            [one async for one in self.iterate_async(target, function, *args, **options)]  # type: ignore[arg-type]
        )

    async def iterate_async(
        self,
        target: Target,
        function: str,
        *args: Any,
        kwarg: Mapping[str, Any] | None = None,
        target_type: str = "glob",
        timeout_s: float | None = None,
    ) -> AsyncIterator[Outcome]:
        """As :meth:`iterate`, for asyncio; several may run at once.

        Who leaves the loop early leaves the job running; nothing more is heard of it.
        """
        request = _make_request(target, function, args, kwarg, target_type, timeout_s)
        thread = _Thread(lambda: self._with_own_client(request))
        async for outcome in thread.outcomes():
            yield outcome

    def _with_own_client(self, request: JobRequest) -> Iterator[Outcome]:
        # Sockets stay in the thread that made them.
        config_file = self.config.paths.conf_file
        with Client(config_file, credentials=self._credentials) as client:
            yield from client._run_request(request)

    def _run_request(self, request: JobRequest) -> Iterator[Outcome]:
        yield from self.jobs.outcomes(request)
        self._check_target()

    def _check_target(self) -> None:
        if self.jobs.malformed:
            raise MasterRefused("", self.jobs.malformed)

    # --- the master's own functions --------------------------------------------------------------

    def runner(self, function: str, *args: Any, kwarg: Mapping[str, Any] | None = None) -> Any:
        """Run a runner in this process, as ``salt-run`` does, and give back its value.

        For who may read the master's files: root, and the master's user.

        Raises:
            FunctionUnavailable: there is none of that name.
            UsageError: it does not take these arguments.
            FunctionError: it failed; the text says why.
        """
        from saltlite.client.runner import RunnerClient

        return self._run_function(RunnerClient, function, args, kwarg)

    def wheel(self, function: str, *args: Any, kwarg: Mapping[str, Any] | None = None) -> Any:
        """Run a wheel function in this process; as :meth:`runner`."""
        from saltlite.client.runner import WheelClient

        return self._run_function(WheelClient, function, args, kwarg)

    def _run_function(
        self,
        kind: Callable[[RunnerContext], RunnerClient],
        function: str,
        args: Sequence[Any],
        kwarg: Mapping[str, Any] | None,
    ) -> Any:
        ran: Ran = kind(self._open_runs()).run(function, args, kwarg or {})
        if ran.wrong is not None:
            raise UsageError(f"{function}: {ran.wrong}")
        if not ran.success:
            raise FunctionError(str(ran.return_))
        value = ran.return_
        if isinstance(value, Mapping) and set(value) == {"outputter", "data"}:
            return value["data"]
        return value

    def _open_runs(self) -> RunnerContext:
        if self._run_context is None:
            from saltlite.cli.runs import runner_context

            self._runs = runner_context(self.config, print)
            self._run_context = self._runs.__enter__()
        return self._run_context

    def _open_store(self) -> Any:
        from saltlite.cli.stores import open_jobs

        return open_jobs(self.config)

    def _find_connections(self) -> frozenset[str] | None:
        from saltlite.master.presence import connections_to

        return connections_to(self.config.network.publish_port)


def _make_request(
    target: Target,
    function: str,
    args: Sequence[Any],
    kwarg: Mapping[str, Any] | None,
    target_type: str,
    timeout_s: float | None,
) -> JobRequest:
    if isinstance(target, list) and target_type == "glob":
        target_type = "list"
    keywords = [{**kwarg, "__kwarg__": True}] if kwarg else []
    return JobRequest(
        tgt=target,
        fun=function,
        arg=[*args, *keywords],
        tgt_type=target_type,
        timeout_s=timeout_s,
    )


def _collect(outcomes: Iterator[Outcome] | list[Outcome]) -> JobResult:
    returns: dict[str, MinionReturn] = {}
    missing: list[str] = []
    jid = ""
    for one in outcomes:
        jid = one.jid
        if isinstance(one, NotReturned):
            missing.append(one.id)
        else:
            returns[one.id] = one
    return JobResult(jid, returns, tuple(missing))


_END: Final = object()


class _Thread:
    """A blocking iterator that runs in a thread of its own, for a loop that waits for it."""

    def __init__(self, begin: Callable[[], Iterator[Outcome]]) -> None:
        self._begin = begin
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Any] = asyncio.Queue(WAITING_MOST)
        self._is_over = False
        # Not one of the loop's own threads: those are few, and each of these waits for minions.
        threading.Thread(target=self._work, name="saltlite job", daemon=True).start()

    async def outcomes(self) -> AsyncIterator[Outcome]:
        """What the iterator gives, and what it raises."""
        try:
            while (found := await self._queue.get()) is not _END:
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            self._is_over = True
            # Its thread may wait for room; it ends with the next outcome.
            while not self._queue.empty():
                self._queue.get_nowait()

    def _work(self) -> None:
        try:
            for one in self._begin():
                if self._is_over:
                    return
                self._put(one)
        except BaseException as error:  # noqa: BLE001 - handed to who waits, whatever it is
            self._put(error)
        else:
            self._put(_END)

    def _put(self, value: object) -> None:
        # A loop that has ended waits for nothing.
        if not self._is_over and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._queue.put(value), self._loop).result()
