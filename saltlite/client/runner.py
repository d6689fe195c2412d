"""Runs runners in this process, with the events and the record that go with them.

Source: protocol.md 12.2 (``salt/run/<jid>/new``, ``/ret``), modules.md 4.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from saltlite.client.identity import sender
from saltlite.core import tags
from saltlite.core.jid import new_jid
from saltlite.errors import MasterAbsent, StoreError, WireError
from saltlite.runners.context import RunnerContext
from saltlite.runners.registry import Runner, call, resolve, wrong_arguments

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a runner. ``wrong`` says what was wrong with its arguments, else ``None``."""

    jid: str
    return_: Any
    success: bool
    wrong: str | None = None
    doc: str = ""


class RunnerClient:
    """Runs one runner after another."""

    def __init__(self, ctx: RunnerContext) -> None:
        self._ctx = ctx
        self._last: str | None = None

    def next_jid(self) -> str:
        """A jid for the next run."""
        self._last = new_jid(datetime.now(timezone.utc), self._last)
        return self._last

    def cmd(self, fun: str, arg: Sequence[Any] = (), kwarg: Mapping[str, Any] | None = None) -> Any:
        """Run a runner and give back what it returns.

        Raises:
            FunctionUnavailable: there is no such runner.
            TypeError: it does not take these arguments.
        """
        ran = self.run(fun, arg, kwarg or {})
        if ran.wrong is not None:
            raise TypeError(ran.wrong)
        return ran.return_

    def run(self, fun: str, arg: Sequence[Any], kwarg: Mapping[str, Any], *, jid: str = "") -> Ran:
        """Run a runner. An exception in it becomes a traceback in the result.

        Raises:
            FunctionUnavailable: there is no such runner.
        """
        runner = resolve(fun, self._ctx)
        jid = jid or self.next_jid()
        wrong = wrong_arguments(runner, arg, kwarg)
        if wrong is not None:
            return Ran(jid, None, success=False, wrong=wrong, doc=runner.doc)
        started = _started(runner, jid, arg, kwarg)
        self._fire(tags.run_new(jid), started)
        ran = self._call(runner, jid, arg, kwarg)
        self._finish(started, ran)
        return ran

    def _call(self, runner: Runner, jid: str, arg: Sequence[Any], kwarg: Mapping[str, Any]) -> Ran:
        try:
            return Ran(jid, call(runner, arg, kwarg), success=True)
        except MasterAbsent:
            raise
        except Exception:  # noqa: BLE001 - a runner is a user's job: it ends as a text
            import traceback

            text = f"Exception occurred in runner {runner.name}: {traceback.format_exc()}"
            return Ran(jid, text.rstrip("\n"), success=False)

    def _finish(self, started: dict[str, Any], ran: Ran) -> None:
        done = {**started, "return": _shown(ran.return_), "success": ran.success}
        self._fire(tags.run_ret(ran.jid), done)
        master_id = self._ctx.config.process.id
        load = {
            "fun": started["fun"],
            "arg": [],
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
        except StoreError as error:
            log.warning("The run %s of %s is not on record: %s", ran.jid, started["fun"], error)

    def _fire(self, tag: str, data: dict[str, Any]) -> None:
        try:
            self._ctx.events.fire(tag, data)
        except WireError as error:
            log.warning("Event %s was not fired: %s", tag, error)


def _started(
    runner: Runner, jid: str, arg: Sequence[Any], kwarg: Mapping[str, Any]
) -> dict[str, Any]:
    fun_args = [*arg, dict(kwarg)] if kwarg else list(arg)
    return {
        "fun": f"runner.{runner.name}",
        "jid": jid,
        "user": sender(),
        "fun_args": fun_args,
    }


def _shown(value: Any) -> Any:
    """What a runner returned, without the hint for the printer."""
    if isinstance(value, Mapping) and set(value) == {"outputter", "data"}:
        return value["data"]
    return value
