"""The beacons of a minion, as its loop sees them: their configuration, processes and events.

When each beacon runs, and where, is decided in :mod:`saltlite.core.beacons`; the code of beacons
runs in processes (:mod:`saltlite.minion.beacon_process`) that live on between passes, so that a
beacon which hangs delays neither a job nor the loop: its process is killed. ``manage_beacons``
events of the minion's bus change the configuration, and are answered there as Salt does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Protocol

from saltlite.core import beacons as core
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields, require, write_fields
from saltlite.core.plain import PlainMap
from saltlite.errors import RequestTimeout, SaltliteError, WireError
from saltlite.loader.catalogue import BEACONS
from saltlite.minion.beacon_messages import CodeAnswer, CodeQuestion, ManageBeacons, ProcessMessage
from saltlite.minion.pipe import frame_message
from saltlite.minion.spawner import Spawner, SpawnFailed
from saltlite.minion.stream import open_stream, read_map
from saltlite.minion.tasks import wait_until_set
from saltlite.process import read_title, signal_name

log = logging.getLogger(__name__)

SHORTEST_S: Final = 0.1
"""Passes do not follow each other more closely, whatever ``loop_interval`` says."""

LONGEST_SLEEP_S: Final = 3600.0
ASK_DEADLINE_S: Final = 30.0
CHECK_AFTER_S: Final = 1.0
"""So long after a change of the configuration all of it is checked: others may follow."""

TITLE: Final = "beacons: "
"""The title of a beacons' process ends with this and the beacon that it runs."""

ANSWERS: Final = "/salt/minion/minion_"
RETURNED: Final = "__beacons_return"
"""The tag with which Salt's minions tell their own bus of all events of a pass."""


class BeaconOwner(Protocol):
    """What beacons need of their minion."""

    def fire(self, tag: str, data: PlainMap) -> None:
        """Put an event on the minion's own bus."""

    async def request(self, master: str, load: dict[str, Any]) -> Any:
        """Ask a master, as jobs may; raises RequestTimeout and other SaltliteErrors."""

    def take_state_runs(self) -> bool:
        """Whether a job that applies states runs, or has begun since this was asked last."""

    def send_beacon_events(self, events: list[dict[str, Any]]) -> None:
        """Send events to the masters, or keep them until that is possible."""


@dataclass(slots=True)
class _Process:
    """A process with beacons, and what it has been told of the configuration."""

    task: asyncio.Task[None] | None = None
    writer: asyncio.StreamWriter | None = None
    pid: int = 0
    exited: asyncio.Future[int] | None = None
    version: int = 0
    code_version: int = 0
    waiting: list[core.RunBeacons] = field(default_factory=list)
    """What came before the process was there."""

    is_ending: bool = False
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def signal_end(self) -> None:
        """Kill it, if it has told who it is and has not ended."""
        if self.pid and not (self.exited is not None and self.exited.done()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Beacons:
    """The beacons of one minion."""

    def __init__(
        self,
        owner: BeaconOwner,
        spawner: Spawner,
        configured: object,
        *,
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``configured`` is the option ``beacons``; ``every_s`` the time between two passes."""
        self._owner = owner
        self._spawner = spawner
        self._clock = clock
        # A copy: ``beacons.add`` and its kin change it, and the configuration is everybody's.
        self._own = core.merge_beacons(None, configured)
        self._pillar: dict[str, Any] = {}
        self._facts: tuple[PlainMap, PlainMap] = ({}, {})
        self._master = ""
        self._version = 1
        self._code_version = 1
        self._passes = core.BeaconPasses(max(every_s, SHORTEST_S), frozenset(BEACONS))
        self._beacons: dict[str, core.Beacon] = {}
        self._processes: dict[str, _Process] = {}
        self._complaints: set[str] = set()
        self._changed = asyncio.Event()
        self._checking: asyncio.Task[None] | None = None
        self._is_running = False
        self._is_stopping = False

    # --- life ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run passes when they are due, until cancelled."""
        self._is_running = True
        self._check_soon()
        try:
            while True:
                self.tick()
                # Nothing is awaited between the tick and the wait, so no change is overlooked.
                self._changed.clear()
                wait_s = min(self._passes.next_s() - self._clock(), LONGEST_SLEEP_S)
                await wait_until_set(self._changed, max(wait_s, 0.01))
        finally:
            self._close_pipes()

    def tick(self) -> None:
        """Look at the clock, and at processes that take long."""
        event = core.Ticked(self._owner.take_state_runs(), self._at_work())
        self._carry_out(self._passes.on(event, self._clock()))

    def _at_work(self) -> dict[str, str | None]:
        """Which beacon each process that has taken long is at, as its title says."""
        slow = self._passes.slow_processes(self._clock())
        return {name: self._title_of(name) for name in slow}

    def _title_of(self, process: str) -> str | None:
        found = self._processes.get(process)
        title = read_title(found.pid) if found is not None and found.pid else ""
        # Read from outside, since a process that hangs answers no question.
        return title.partition(TITLE)[2] or None

    def _close_pipes(self) -> None:
        """Let the processes see that we have gone; they close their beacons."""
        self._is_stopping = True
        if self._checking is not None:
            self._checking.cancel()
        for process in self._processes.values():
            if process.writer is not None:
                process.writer.close()

    # --- what is to be done --------------------------------------------------------------------

    def _carry_out(self, instructions: list[core.Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, core.RunBeacons):
                self._have_run(instruction)
            elif isinstance(instruction, core.Kill):
                self._kill_process(instruction)
            else:
                self._end_process(instruction.process)

    def _have_run(self, instruction: core.RunBeacons) -> None:
        process = self._processes.get(instruction.process)
        if process is None:
            # Entered before it is forked: a second instruction must not make a second process.
            process = self._processes[instruction.process] = _Process()
            process.task = self._start_task(self._keep_process(instruction.process, process))
        if process.writer is None:
            process.waiting.append(instruction)
        else:
            self._send_instruction(process, instruction)

    def _send_instruction(self, process: _Process, instruction: core.RunBeacons) -> None:
        message: dict[str, Any] = {"op": "pass"}
        message |= {"run": list(instruction.run), "close": list(instruction.close)}
        # Grains and pillar may be a megabyte: they go along only where the process has older ones.
        if process.version != self._version:
            message["settings"] = self._make_settings()
            process.version = self._version
        if process.code_version != self._code_version:
            message["reload"] = True
            process.code_version = self._code_version
        if process.writer is not None:
            process.writer.write(frame_message(message))

    def _make_settings(self) -> dict[str, Any]:
        grains, pillar = self._facts
        return {"beacons": self._list_configured(), "grains": grains, "pillar": pillar}

    def _list_configured(self) -> dict[str, dict[str, Any]]:
        return {
            beacon.name: {"module": beacon.module, "data": list(beacon.data)}
            for beacon in self._beacons.values()
        }

    def _kill_process(self, instruction: core.Kill) -> None:
        log.error(
            "beacon %s: no end after %.0f s: its process is killed, and it runs again next time",
            " or ".join(instruction.beacons),
            core.RUN_LIMIT_S,
        )
        # Forgotten at once: the next pass gets a new process, whenever this one ends.
        process = self._processes.pop(instruction.process, None)
        if process is None:
            return
        process.is_ending = True
        process.signal_end()
        if process.writer is not None:
            process.writer.close()

    def _end_process(self, name: str) -> None:
        process = self._processes.pop(name, None)
        if process is not None:
            # It closes its beacons when it sees the end of its pipe; there is nothing to kill.
            process.is_ending = True
            if process.writer is not None:
                process.writer.close()

    def _start_task(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    # --- processes -----------------------------------------------------------------------------

    async def _keep_process(self, name: str, process: _Process) -> None:
        """Have a process made and listen to it until it ends."""
        why = "closed its pipe"
        try:
            why = await self._talk_to_process(name, process)
        except (SpawnFailed, WireError, OSError) as error:
            why = f"cannot be used: {error}"
            process.signal_end()
        finally:
            # Nobody reads their answers any more.
            for task in process.tasks:
                task.cancel()
            if process.writer is not None:
                process.writer.close()
        if process.is_ending or self._is_stopping:
            return
        log.error("the process of %s beacons %s", name, why)
        # Before the planner hears of it, which may want a process of this name again.
        del self._processes[name]
        self._carry_out(self._passes.on(core.Died(name), self._clock()))
        self._changed.set()

    async def _talk_to_process(self, name: str, process: _Process) -> str:
        ours, theirs = socket.socketpair()
        reader, writer = await open_stream(ours)
        try:
            exited = process.exited = await self._spawner.spawn("beacons", theirs)
        except SpawnFailed:
            writer.close()
            raise
        writer.write(
            frame_message({"task": "beacons", "master": self._master, **self._make_settings()})
        )
        process.writer = writer
        # Nothing was awaited since the settings were made: it has just these, and today's code.
        process.version, process.code_version = self._version, self._code_version
        for instruction in process.waiting:
            self._send_instruction(process, instruction)
        process.waiting.clear()
        if process.is_ending:  # it was not wanted any more before it was there
            writer.close()
        while (message := await read_map(reader)) is not None:
            self._serve_message(name, process, read_fields(ProcessMessage, message))
        try:
            status = await asyncio.wait_for(asyncio.shield(exited), ASK_DEADLINE_S)
        except asyncio.TimeoutError:  # no OSError before Python 3.11
            process.signal_end()
            return f"closed its pipe, but did not end within {ASK_DEADLINE_S:.0f} s: it is killed"
        if os.WIFSIGNALED(status):
            return f"was ended by {signal_name(os.WTERMSIG(status))}"
        return f"ended with exit code {os.waitstatus_to_exitcode(status)}"

    def _serve_message(self, name: str, process: _Process, message: ProcessMessage) -> None:
        op = message.op
        if op == "started":
            process.pid = message.pid
        elif op == "passed":
            self._end_pass(name, message)
        elif op == "event":
            self._owner.fire(str(message.tag), message.data)
        elif process.writer is not None:
            # Not awaited: a master that is slow to answer must not keep the process's events back.
            task = self._start_task(self._answer_request(message, process.writer))
            process.tasks.add(task)
            task.add_done_callback(process.tasks.discard)

    async def _answer_request(self, message: ProcessMessage, writer: asyncio.StreamWriter) -> None:
        """What functions that a beacon calls may ask of the minion: only the master."""
        answer: dict[str, Any] = {"n": message.n}
        try:
            if message.op != "request":
                raise SaltliteError(f"a beacon may not ask the minion for {message.op!r}")
            load = dict(require(message.load, "load"))
            answer["reply"] = await self._owner.request(self._master, load)
        except RequestTimeout as error:
            answer |= {"error": str(error), "address": error.address, "waited_s": error.waited_s}
        except (SaltliteError, KeyError, TypeError, ValueError) as error:
            answer["error"] = str(error) or type(error).__name__
        writer.write(frame_message(answer))

    def _end_pass(self, name: str, message: ProcessMessage) -> None:
        events = list(message.events)
        if events:
            self._owner.fire(RETURNED, {"beacons": events})
            self._owner.send_beacon_events(
                # Only these fields are for the master; ``beacon_name`` and ``error`` stay here.
                [{"tag": event["tag"], "data": event["data"]} for event in events]
            )
        for line in message.wrong:
            self._complain_once(str(line))
        event = core.Passed(name, message.slow, message.invalid)
        self._carry_out(self._passes.on(event, self._clock()))

    # --- the configuration ---------------------------------------------------------------------

    def set_facts(self, grains: PlainMap, pillar: PlainMap, master: str) -> None:
        """Take grains and pillar as they are now."""
        # Called after each refresh of the pillar: what is as before must not start a new check.
        if (grains, pillar) != self._facts or master != self._master:
            self._facts, self._master = (grains, pillar), master
            self._pillar = core.merge_beacons(pillar.get("beacons"), None)
            self._read_configuration()

    def reload(self) -> None:
        """Have code of users read anew, and try what could not run before."""
        self._code_version += 1
        # A new file may have the old fault, which is then worth a line again.
        self._complaints.clear()
        self._read_configuration(has_new_code=True)

    def _read_configuration(self, *, has_new_code: bool = False) -> None:
        merged = core.merge_beacons(self._pillar, self._own)
        self._beacons, wrong = core.read_beacons(merged)
        for line in wrong:
            self._complain_once(line)
        self._version += 1
        event = core.Configured(self._beacons, has_new_code)
        self._carry_out(self._passes.on(event, self._clock()))
        self._changed.set()
        if self._beacons and self._is_running:
            self._check_soon()

    def _check_soon(self) -> None:
        """Say now what is wrong with beacons whose time may come in an hour."""
        if self._checking is not None:
            self._checking.cancel()
        self._checking = self._start_task(self._check_configuration())

    async def _check_configuration(self) -> None:
        # Each change cancels the check before, so a state that adds ten beacons costs one process.
        await asyncio.sleep(CHECK_AFTER_S)
        asked = CodeQuestion(func="check", beacons=self._list_configured())
        answer = await self._ask_about(asked)
        for line in answer.wrong:
            self._complain_once(str(line))
        self._passes.on(core.Checked(answer.invalid), self._clock())

    def _complain_once(self, line: str) -> None:
        """Log what is wrong with a configuration, once."""
        if line not in self._complaints:
            self._complaints.add(line)
            log.error("%s", line)

    # --- changes -------------------------------------------------------------------------------

    async def manage(self, data: Mapping[str, object]) -> None:
        """Do what a ``manage_beacons`` event asks for, and answer on the bus."""
        asked = read_fields(ManageBeacons, data)
        func = str(asked.func)
        # These need the modules of beacons, users' too, which the loop never imports.
        if func in ("list_available", "validate_beacon"):
            await self._ask_about_code(func, asked)
            return
        ask = self._request_handlers().get(func)
        if ask is None:
            log.warning("manage_beacons: there is no %.80r", func)
            return
        tag, do = ask
        try:
            comment = do(asked)
        except (KeyError, TypeError, ValueError) as error:
            self._fire_answer(tag, complete=False, beacons=self._own, comment=_text_of(error))
            return
        # ``list`` changes nothing, and has answered by itself.
        if comment is not None:
            self._read_configuration()
            self._fire_answer(tag, complete=True, beacons=self._own, comment=comment)

    def _request_handlers(self) -> dict[str, tuple[str, Callable[[ManageBeacons], str | None]]]:
        """What may be asked, how its answer's tag ends, and what does it and says so."""
        return {
            "add": ("beacon_add_complete", self._handle_add),
            "modify": ("beacon_modify_complete", self._handle_modify),
            "delete": ("beacon_delete_complete", self._handle_delete),
            "enable": ("beacons_enabled_complete", self._switch_all),
            "disable": ("beacons_disabled_complete", self._switch_all),
            "enable_beacon": ("beacon_enabled_complete", self._handle_switch),
            "disable_beacon": ("beacon_disabled_complete", self._handle_switch),
            "list": ("beacons_list_complete", self._handle_list),
            "reset": ("beacon_reset_complete", self._handle_reset),
        }

    def _fire_answer(self, tag: str, **answer: Any) -> None:
        self._owner.fire(ANSWERS + tag, answer)

    def _handle_list(self, asked: ManageBeacons) -> None:
        pillar = self._pillar if asked.include_pillar else None
        own = self._own if asked.include_opts else None
        found = core.merge_beacons(pillar, own)
        self._fire_answer("beacons_list_complete", complete=True, beacons=found)

    def _handle_add(self, asked: ManageBeacons) -> str:
        name = self._own_name(asked, "add")
        known = name in self._own
        self._own[name] = core.list_form(name, require(asked.beacon_data, "beacon_data"))
        return f"{'Updating settings for' if known else 'Added new'} beacon item: {name}"

    def _handle_modify(self, asked: ManageBeacons) -> str:
        name = self._own_name(asked, "modify")
        self._own[name] = core.list_form(name, require(asked.beacon_data, "beacon_data"))
        return f"Updating settings for beacon item: {name}"

    def _handle_delete(self, asked: ManageBeacons) -> str:
        name = self._own_name(asked, "delete")
        if self._own.pop(name, None) is None:
            return f"Beacon item {name} not found."
        return f"Deleting beacon item: {name}"

    def _handle_switch(self, asked: ManageBeacons) -> str:
        verb = str(asked.func).removesuffix("_beacon")
        name = self._own_name(asked, verb)
        parts = core.list_form(name, self._own[name])
        kept = [part for part in parts if "enabled" not in part]
        self._own[name] = [*kept, {"enabled": verb == "enable"}]
        return f"{'Enabling' if verb == 'enable' else 'Disabling'} beacon item {name}"

    def _switch_all(self, asked: ManageBeacons) -> str:
        self._own[core.SWITCH] = asked.func == "enable"
        self._pillar.pop(core.SWITCH, None)
        return f"Beacons are {asked.func}d"

    def _handle_reset(self, _asked: ManageBeacons) -> str:
        self._own.clear()
        return "Beacons have been reset"

    def _own_name(self, asked: ManageBeacons, verb: str) -> str:
        """The name of a beacon that is to be changed; raises ValueError if the pillar has it."""
        name = str(require(asked.name, "name"))
        if name in self._pillar:
            raise ValueError(f"Cannot {verb} beacon item {name}, it is configured in pillar.")
        return name

    async def _ask_about_code(self, func: str, asked: ManageBeacons) -> None:
        """Answer what only code of beacons can tell, with a process of its own."""
        question = CodeQuestion(func=func, name=asked.name, data=asked.beacon_data)
        answer = await self._ask_about(question)
        if func == "list_available":
            tag = "beacons_list_available_complete"
            self._fire_answer(
                tag, complete=answer.names is not None, beacons=list(answer.names or ())
            )
            return
        self._fire_answer(
            "beacon_validation_complete",
            complete=answer.valid is not None,
            valid=bool(answer.valid),
            vcomment=answer.text,
        )

    async def _ask_about(self, asked: CodeQuestion) -> CodeAnswer:
        """What code of beacons says; empty, with a line, if it does not answer."""
        grains, pillar = self._facts
        start = {"task": "ask_beacons", "master": self._master, "grains": grains, "pillar": pillar}
        try:
            return await asyncio.wait_for(
                self._ask_child({**start, **write_fields(asked)}), ASK_DEADLINE_S
            )
        except (asyncio.TimeoutError, SpawnFailed, WireError, OSError) as error:
            why = str(error) or "it takes too long"
            log.error("beacons: %s cannot be answered: %s", asked.func, why)
            return CodeAnswer()

    async def _ask_child(self, start: dict[str, Any]) -> CodeAnswer:
        ours, theirs = socket.socketpair()
        reader, writer = await open_stream(ours)
        pid = 0
        try:
            await self._spawner.spawn("beacons", theirs)
            writer.write(frame_message(start))
            while (message := await read_map(reader)) is not None:
                if message.get("op") == "result":
                    return read_fields(CodeAnswer, message)
                if message.get("op") == "started":
                    pid = int(message["pid"])
            return CodeAnswer()
        # The deadline cancels this: without a kill, a ``validate`` that hangs would stay for ever.
        except asyncio.CancelledError:
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise
        finally:
            writer.close()


def _text_of(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
