"""Runs runners and wheel functions in this process, with the events and the record that go along.

``cmd_async`` and ``cmd_sync`` have the running master do it instead.

Source: docs/wire.md#events (``salt/run/<jid>/new``, ``/ret``), docs/cli.md#salt-run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, ClassVar, Final

from saltlite.core import tags
from saltlite.core.dataclasses import dataclass
from saltlite.core.jid import new_jid
from saltlite.errors import MasterAbsent, RequestTimeout, SaltliteError, StoreError, WireError
from saltlite.loader.master_functions import (
    Runner,
    call,
    resolve,
    resolve_wheel,
    wrong_arguments,
)
from saltlite.runner_context import Listener, RunnerContext

log = logging.getLogger(__name__)


MAKE_TOKEN: Final = "runner.auth.mk_token"  # noqa: S105 - a function
DELETE_TOKEN: Final = "runner.auth.del_token"  # noqa: S105 - a function
MASK: Final = "***"


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a runner. ``wrong`` says what was wrong with its arguments, else ``None``.

    ``retcode`` is what its code set in ``__context__``.
    """

    jid: str
    return_: Any
    success: bool
    wrong: str | None = None
    doc: str = ""
    retcode: int = 0


@dataclass(frozen=True, slots=True)
class RunnerKind:
    """What differs between runners and wheel functions."""

    name: str
    resolve: Callable[[str, RunnerContext], Runner]
    new: Callable[[str], str]
    ret: Callable[[str], str]


RUNNER: Final = RunnerKind("runner", resolve, tags.run_new, tags.run_ret)
WHEEL: Final = RunnerKind("wheel", resolve_wheel, tags.wheel_new, tags.wheel_ret)


class RunnerClient:
    """Runs one runner after another."""

    kind: ClassVar[RunnerKind] = RUNNER

    def __init__(self, ctx: RunnerContext) -> None:
        self._ctx = ctx
        self._last: str | None = None

    def next_jid(self) -> str:
        """A jid for the next run."""
        self._last = new_jid(datetime.now(timezone.utc), self._last)
        return self._last

    def cmd(
        self, fun: str, arg: Sequence[object] = (), kwarg: Mapping[str, object] | None = None
    ) -> Any:
        """Run a runner and give back what it returns.

        Raises:
            FunctionUnavailable: there is no such runner.
            TypeError: it does not take these arguments.
        """
        ran = self.run(fun, arg, kwarg or {})
        if ran.wrong is not None:
            raise TypeError(ran.wrong)
        return ran.return_

    def run(
        self, fun: str, arg: Sequence[object], kwarg: Mapping[str, object], *, jid: str = ""
    ) -> Ran:
        """Run a runner. An exception in it becomes a traceback in the result.

        Raises:
            FunctionUnavailable: there is no such runner.
        """
        runner = self.kind.resolve(fun, self._ctx)
        jid = jid or self.next_jid()
        # Orchestrations name their events after it.
        self._ctx.jid = jid
        wrong = wrong_arguments(runner, arg, kwarg)
        # Nothing runs, so there is no event and no record: only who called is told.
        if wrong is not None:
            return Ran(jid, None, success=False, wrong=wrong, doc=runner.doc)
        started = self._fire_start(runner.name, jid, arg, kwarg)
        self._fire_event(self.kind.new(jid), started)
        ran = self._call_function(runner, jid, arg, kwarg)
        self._finish_run(started, ran)
        return ran

    def fail(
        self, fun: str, arg: Sequence[object], kwarg: Mapping[str, object], jid: str, why: str
    ) -> None:
        """Tell whoever waits for a run that did not come about; it goes on record too."""
        started = self._fire_start(fun, jid, arg, kwarg)
        self._fire_event(self.kind.new(jid), started)
        self._finish_run(started, Ran(jid, why, success=False))

    def _call_function(
        self, runner: Runner, jid: str, arg: Sequence[object], kwarg: Mapping[str, object]
    ) -> Ran:
        # Of the run before: a client has one context for all its runs.
        self._ctx.state.pop("retcode", None)
        try:
            value = call(runner, arg, kwarg)
            code = self._ctx.state.get("retcode")
            return Ran(jid, value, success=True, retcode=code if isinstance(code, int) else 0)
        except MasterAbsent:
            # Not a result: the command says in Salt's words that no master runs.
            raise
        except SaltliteError as error:  # said on purpose: the sentence is all there is to it
            return Ran(jid, str(error), success=False)
        except Exception:  # noqa: BLE001 - a runner is a user's job: it ends as a text
            import traceback

            text = f"Exception occurred in {self.kind.name} {runner.name}: {traceback.format_exc()}"
            return Ran(jid, text.rstrip("\n"), success=False)

    def _finish_run(self, started: dict[str, Any], ran: Ran) -> None:
        told = _hide_secrets(self.kind.name, started["fun"], _without_hint(ran.return_))
        done = {**started, "return": told, "success": ran.success}
        self._fire_event(self.kind.ret(ran.jid), done)
        master_id = self._ctx.config.process.id
        load = {
            "fun": started["fun"],
            "arg": [],
            # A run is on record as a job of one minion with the master's id.
            "tgt": master_id,
            "tgt_type": "list",
            "user": started["user"],
            "jid": ran.jid,
        }
        ret = {
            "return": done,
            "success": ran.success,
            "retcode": 0 if ran.success else 1,
        }
        try:
            self._ctx.jobs.record(ran.jid, load, master_id, ret)
        # The function has run: what cannot be recorded makes no failure of it.
        except StoreError as error:
            log.warning("The run %s of %s is not on record: %s", ran.jid, started["fun"], error)

    def _fire_event(self, tag: str, data: dict[str, Any]) -> None:
        try:
            self._ctx.events.fire(tag, data)
        except WireError as error:
            log.warning("Event %s was not fired: %s", tag, error)

    def _fire_start(
        self, name: str, jid: str, arg: Sequence[object], kwarg: Mapping[str, object]
    ) -> dict[str, Any]:
        fun_args = _without_secrets(f"{self.kind.name}.{name}", arg, kwarg)
        started = {
            "fun": f"{self.kind.name}.{name}",
            "jid": jid,
            "user": self._ctx.user,
            "fun_args": fun_args,
        }
        # Only events of wheel functions have a tag of their own in the data.
        if self.kind is WHEEL:
            started["tag"] = self.kind.new(jid).removesuffix("/new")
        return started

    # --- by the running master -------------------------------------------------------------------

    def cmd_async(self, low: Mapping[str, Any]) -> Any:
        """Have the master run ``low["fun"]``; ``{"tag", "jid"}`` of a runner, at once.

        ``low`` has ``fun``, ``arg``, ``kwarg`` and, unless the local key is to be shown,
        credentials. A wheel function is waited for and its answer given back. Source:
        docs/wire.md#clear-commands.

        Raises:
            MasterRefused: the master does not allow it.
            RequestTimeout: there is no master, or it does not answer.
        """
        return self._ctx.local.call_master({"cmd": self.kind.name, **low})

    def cmd_sync(self, low: Mapping[str, object], timeout: float = 300.0) -> Any:
        """As :meth:`cmd_async`, and wait for the value, at most ``timeout`` seconds.

        Raises:
            RequestTimeout: it takes longer; it goes on.
        """
        prefix = "salt/run/" if self.kind is RUNNER else "salt/wheel/"
        # Before it is asked for: a quick runner is done when the answer comes.
        listener = self._ctx.listen(prefix)
        try:
            answer = self.cmd_async(low)
            if self.kind is WHEEL:
                return answer["data"]["return"]
            return _wait_for_event(listener, f"{answer['tag']}/ret", timeout)
        finally:
            listener.close()


class WheelClient(RunnerClient):
    """Runs one wheel function after another; its methods are those of :class:`RunnerClient`."""

    kind: ClassVar[RunnerKind] = WHEEL


def _wait_for_event(listener: Listener, tag: str, timeout_s: float) -> Any:
    until_s = time.monotonic() + timeout_s
    while (left_s := until_s - time.monotonic()) > 0:
        event = listener.get(left_s)
        if event is not None and event.tag == tag:
            return event.data.get("return")
    raise RequestTimeout(tag, timeout_s)


def _without_hint(value: object) -> Any:
    """What a runner returned, without the hint for the printer."""
    if isinstance(value, Mapping) and set(value) == {"outputter", "data"}:
        return value["data"]
    return value


def _without_secrets(fun: str, arg: Sequence[object], kwarg: Mapping[str, object]) -> list[Any]:
    """The arguments as they go on the bus and on record: no password, and no token."""
    if fun == MAKE_TOKEN:
        kwarg = {name: MASK if name == "password" else one for name, one in kwarg.items()}
    if fun == DELETE_TOKEN:
        # By position or by name, whatever it is called: none of them is shown.
        arg, kwarg = [MASK for _ in arg], dict.fromkeys(kwarg, MASK)
    return [*arg, dict(kwarg)] if kwarg else list(arg)


def _hide_secrets(kind: str, fun: str, value: object) -> Any:
    """What goes on the bus and on record of a value: never a private key, or a token."""
    if fun == MAKE_TOKEN and isinstance(value, Mapping):
        return {name: MASK if name == "token" else one for name, one in value.items()}
    # The bus and the job cache have other readers than the key's new owner.
    if kind == WHEEL.name and fun.startswith("wheel.key.gen") and isinstance(value, Mapping):
        return {name: one for name, one in value.items() if name != "priv"}
    return value
