"""Services that shall run or not, start with the machine or not, be startable or not.

What a service manager can do is known to ``modules/service.py`` and its providers; a user's own
``service`` module takes their place. Comments are Salt's. Source: docs/states-reference.md;
observed on Salt
3006.30 with a recorded systemd.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.highstate.resource import Action, Resource, Step, Verdict
from saltlite.providers.pkg.names import words

POLL_S = 0.2

_MISSPELT = Verdict(
    result=False, comment="There is no argument 'enabled' here: 'enable' is what starts at boot"
)
OFFLINE = Verdict(result=True, comment="Running in OFFLINE mode. Nothing to do")
_WATCHED = {True: "start at boot", False: "not start at boot"}
_SWITCHED = {True: "enabled", False: "disabled"}


@dataclass(frozen=True, slots=True)
class ServiceKeywords:
    """What several functions take beside their own arguments."""

    no_block: Any = False
    unmask: Any = False
    unmask_runtime: Any = False
    runlevels: Any = None
    root: Any = None
    timeout: Any = None


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """A service as it is. ``on``: it starts with the machine."""

    exists: bool
    runs: bool = False
    on: bool = False
    masked: bool = False


@dataclass(frozen=True, kw_only=True)
class _Service(Resource[ServiceStatus]):
    """What all wishes about a service have in common."""

    name: str
    sig: str | None = None
    enable: bool | None = None
    unmask: bool = False
    unmask_runtime: bool = False
    no_block: bool = False
    runlevels: Any = None
    root: str | None = None
    """The directory of another system: whether the service starts is looked at and set there."""
    init_delay: float = 0.0
    timeout_s: float = 0.0

    def read(self, ctx: MinionContext) -> ServiceStatus:
        """Ask the service manager; a wish that names no boot setting is not asked about it."""
        call = ctx.functions.call
        if not call("service.available", self.name):
            return ServiceStatus(exists=False)
        return ServiceStatus(
            exists=True,
            runs=_is_running(ctx, self.name, self.sig),
            on=self.enable is not None and self._is_on(ctx),
            masked=self._is_masked(ctx),
        )

    def _is_on(self, ctx: MinionContext) -> bool:
        """Whether it starts with the machine: in all named run levels, for the wish that it does.

        Of a service that shall not, one of them is enough.
        """
        levels = words(self.runlevels)
        place = {"root": self.root} if self.root else {}
        given = [{"runlevels": level, **place} for level in levels] or [place]
        found = (ctx.functions.call("service.enabled", self.name, **each) for each in given)
        return all(found) if self.enable else any(found)

    def _is_masked(self, ctx: MinionContext) -> bool:
        asked: list[bool] = [True] if self.unmask_runtime else []
        asked += [False] if self.unmask else []
        return any(ctx.functions.call("service.masked", self.name, runtime) for runtime in asked)

    def absent(self, done: str) -> list[Step]:
        """A service that is not there yet may come with an earlier state of the same run."""

        def refuse(ctx: MinionContext) -> None:
            raise FunctionError(_say_missing(self.name))

        would = f"Service {self.name} not present; if created in this state run, it would have been"
        return [Step(would=f"{would} {done}", run=refuse)]

    def switching(self, now: ServiceStatus, failed: str) -> list[Step]:
        """The step that sets whether it starts with the machine; ``failed`` ends its complaint."""
        if self.enable is None or now.on is self.enable:
            return []
        return [
            Step(
                would=f"Service {self.name} set to be {_SWITCHED[self.enable]}",
                did=f"Service {self.name} has been {_SWITCHED[self.enable]}",
                run=lambda ctx: self._switch_boot(ctx, failed),
                changes={self.name: True},
            )
        ]

    def _switch_boot(self, ctx: MinionContext, failed: str) -> None:
        function = "service.enable" if self.enable else "service.disable"
        options = {"runlevels": self.runlevels, "no_block": self.no_block, "root": self.root}
        if self.enable:
            options |= {"unmask": self.unmask, "unmask_runtime": self.unmask_runtime}
        given = {key: value for key, value in options.items() if value}
        try:
            succeeded = ctx.functions.call(function, self.name, **given)
        except FunctionError:
            succeeded = False
        if not succeeded:
            wish = _WATCHED[bool(self.enable)]
            raise FunctionError(f"Failed when setting service {self.name} to {wish}, {failed}")

    def boot_sentence(self, switched: bool, condition: str) -> str:
        """The sentence about the boot setting; ``condition`` is what else is so now."""
        word = _SWITCHED[bool(self.enable)]
        verb = f"has been {word}" if switched else f"is already {word}"
        return f"Service {self.name} {verb}, and is {condition}"

    def await_(self, ctx: MinionContext, runs: bool) -> None:
        """Give a slow service its time, then the delay that was asked for."""
        deadline = time.monotonic() + self.timeout_s
        while time.monotonic() < deadline and _is_running(ctx, self.name, self.sig) is not runs:
            time.sleep(POLL_S)
        if self.init_delay:
            time.sleep(self.init_delay)


def _is_running(ctx: MinionContext, name: str, sig: str | None) -> bool:
    return bool(ctx.functions.call("service.status", name, sig))


def _say_missing(name: str) -> str:
    return f"The named service {name} is not available"


class RunningService(_Service):
    """A service that runs."""

    def plan(self, now: ServiceStatus) -> Sequence[Step] | Verdict:
        """Unmask it, start it, set whether it starts with the machine."""
        if not now.exists:
            return self.absent("started")
        steps = []
        if now.masked:
            steps.append(
                Step(
                    would=f"Service {self.name} would be unmasked",
                    did=f"Service {self.name} was unmasked",
                    run=self._unmask_unit,
                )
            )
        if not now.runs:
            steps.append(
                Step(
                    would=f"Service {self.name} is set to start",
                    did=f"Started service {self.name}",
                    run=self._start_service,
                    changes={self.name: True},
                )
            )
        return [*steps, *self.switching(now, self._find_trouble(now))]

    def _find_trouble(self, now: ServiceStatus) -> str:
        if now.runs:
            return "but the service was already running"
        return "but the service is running" if self.enable else "and is running"

    def _unmask_unit(self, ctx: MinionContext) -> None:
        for wanted, runtime in ((self.unmask, False), (self.unmask_runtime, True)):
            if wanted:
                ctx.functions.call("service.unmask", self.name, runtime)

    def _start_service(self, ctx: MinionContext) -> None:
        given = {"no_block": True} if self.no_block else {}
        if not ctx.functions.call("service.start", self.name, **given):
            raise FunctionError(self.unmet(ServiceStatus(exists=True), ()))
        self.await_(ctx, True)

    def comment_unchanged(self, now: ServiceStatus) -> str:
        """It runs already."""
        return self._with_mask(f"The service {self.name} is already running", "already unmasked")

    def would(self, now: ServiceStatus, steps: Sequence[Step]) -> str:
        """Starting it is the news, if it is to be started; then nothing else is told."""
        if not now.exists:
            return steps[0].would
        told = [step.would for step in steps if step.changes][:1]
        about = "would be unmasked" if now.masked else "was already unmasked"
        if self.unmask or self.unmask_runtime:
            told.append(f"Service {self.name} {about}")
        return "\n".join(told)

    def comment_changed(
        self, before: ServiceStatus, after: ServiceStatus, steps: Sequence[Step]
    ) -> str:
        """One sentence for starting and boot setting together, as Salt has it."""
        switched = self.enable is not None and before.on is not self.enable
        if switched or (self.enable is not None and not before.runs):
            said = self.boot_sentence(
                switched, "in the desired state" if before.runs else "running"
            )
        else:
            said = f"Started service {self.name}"
        if before.runs and not switched:
            said = f"The service {self.name} is already running"
        said = self._with_mask(said, "unmasked" if before.masked else "already unmasked")
        if self.init_delay and not before.runs:
            said += f"\nDelayed return for {self.init_delay:g} seconds"
        return said

    def _with_mask(self, said: str, about: str) -> str:
        asked = self.unmask or self.unmask_runtime
        return f"{said}\nService {self.name} was {about}" if asked else said

    def unmet(self, after: ServiceStatus, left: Sequence[Step]) -> str:
        """It was started and does not run."""
        return f"Service {self.name} failed to start"


class Dead(_Service):
    """A service that does not run."""

    def plan(self, now: ServiceStatus) -> Sequence[Step] | Verdict:
        """Stop it, set whether it starts with the machine."""
        if not now.exists:
            return []
        failed = "and the service is dead" if now.runs else "but the service was already running"
        switching = self.switching(now, failed)
        if not now.runs:
            return switching
        stop = Step(
            would=f"Service {self.name} is set to be killed",
            did=f"Service {self.name} was killed",
            run=self._stop_service if switching else self._stop_surely,
            changes={self.name: False},
        )
        return [stop, *switching]

    def _stop_service(self, ctx: MinionContext) -> bool:
        """Whether it stopped; if not, it shall at least not start again with the machine."""
        given = {"no_block": True} if self.no_block else {}
        succeeded = bool(ctx.functions.call("service.stop", self.name, **given))
        self.await_(ctx, False)
        return succeeded

    def _stop_surely(self, ctx: MinionContext) -> None:
        if not self._stop_service(ctx):
            raise FunctionError(f"Service {self.name} failed to die")

    def comment_unchanged(self, now: ServiceStatus) -> str:
        """It does not run, or is not there at all."""
        if not now.exists:
            return _say_missing(self.name)
        return f"The service {self.name} is already dead"

    def would(self, now: ServiceStatus, steps: Sequence[Step]) -> str:
        """Only that it is stopped, if it is."""
        return steps[0].would

    def comment_changed(
        self, before: ServiceStatus, after: ServiceStatus, steps: Sequence[Step]
    ) -> str:
        """One sentence for stopping and boot setting together, as Salt has it."""
        if self.enable is None:
            return f"Service {self.name} was killed"
        condition = "dead" if before.runs else "in the desired state"
        return self.boot_sentence(before.on is not self.enable, condition)

    def changes(
        self, before: ServiceStatus, after: ServiceStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        """``True`` if the boot setting changed, ``False`` if it was only stopped."""
        if before.on is not after.on:
            return {self.name: True}
        return {self.name: False} if before.runs and not after.runs else {}

    def unmet(self, after: ServiceStatus, left: Sequence[Step]) -> str:
        """It still runs."""
        if self.enable is not None and after.on is self.enable:
            return self.boot_sentence(True, "running")
        return f"Service {self.name} failed to die"


class AtBoot(_Service):
    """A service that starts with the machine, or does not."""

    def plan(self, now: ServiceStatus) -> Sequence[Step] | Verdict:
        """Set it; without the service there is nothing that could start."""
        if now.exists:
            return self.switching(now, "but the service was already running")
        return self.absent("enabled") if self.enable else []

    def comment_unchanged(self, now: ServiceStatus) -> str:
        """It is set so already."""
        return (
            self.boot_sentence(False, "in the desired state")
            if now.exists
            else _say_missing(self.name)
        )

    def comment_changed(
        self, before: ServiceStatus, after: ServiceStatus, steps: Sequence[Step]
    ) -> str:
        """It is set."""
        return self.boot_sentence(True, "in the desired state")


@dataclass(frozen=True, kw_only=True)
class Mask(Resource[bool]):
    """A service that cannot be started, or can. ``runtime``: until the machine starts anew."""

    name: str
    masked: bool
    runtime: bool

    @property
    def word(self) -> str:
        """``masked``, ``runtime unmasked`` ..."""
        return f"{'runtime ' * self.runtime}{'' if self.masked else 'un'}masked"

    def read(self, ctx: MinionContext) -> bool:
        """Whether it is masked."""
        return bool(ctx.functions.call("service.masked", self.name, self.runtime))

    def plan(self, now: bool) -> Sequence[Step] | Verdict:
        """Mask or unmask it."""
        if now is self.masked:
            return []
        function = "service.mask" if self.masked else "service.unmask"
        what = f"{'runtime ' * self.runtime}masked"
        return [
            Step(
                would=f"Service {self.name} would be {self.word}",
                did=f"Service {self.name} was {self.word}",
                run=lambda ctx: ctx.functions.call(function, self.name, self.runtime),
                changes={what: {"old": now, "new": self.masked}},
            )
        ]

    def comment_unchanged(self, now: bool) -> str:
        """It is so already."""
        return f"Service {self.name} {'is' if self.masked else 'was'} already {self.word}"

    def unmet(self, after: bool, left: Sequence[Step]) -> str:
        """The service manager said that it did it."""
        return f"Failed to {'' if self.masked else 'un'}mask service {self.name}"


def running(
    ctx: MinionContext,
    name: str,
    enable: object = None,
    sig: str | None = None,
    init_delay: float | None = None,
    no_block: bool = False,
    unmask: bool = False,
    unmask_runtime: bool = False,
    **kwargs: Any,
) -> Resource[ServiceStatus] | Verdict:
    """A service runs; with ``enable`` it starts with the machine, or does not.

    ``sig`` is a text in its command line, where the service manager cannot tell. ``unmask`` and
    ``unmask_runtime`` (systemd) make it startable first. ``init_delay`` and ``timeout`` are
    seconds: to wait afterwards, and for it to run.
    """
    if "enabled" in kwargs:
        return _MISSPELT
    if _is_offline(ctx):
        return OFFLINE
    refused = _find_lacking(ctx, no_block=no_block, unmask=unmask, unmask_runtime=unmask_runtime)
    if refused:
        return refused
    more = read_fields(ServiceKeywords, kwargs)
    return RunningService(
        name=name,
        sig=sig,
        enable=_parse_enable(enable),
        unmask=bool(unmask),
        unmask_runtime=bool(unmask_runtime),
        no_block=bool(no_block),
        runlevels=more.runlevels,
        root=more.root,
        init_delay=_parse_seconds("init_delay", init_delay),
        timeout_s=_parse_seconds("timeout", more.timeout),
    )


def dead(
    ctx: MinionContext,
    name: str,
    enable: object = None,
    sig: str | None = None,
    init_delay: float | None = None,
    **kwargs: Any,
) -> Resource[ServiceStatus] | Verdict:
    """A service does not run; with ``enable`` it starts with the machine, or does not."""
    if "enabled" in kwargs:
        return _MISSPELT
    if _is_offline(ctx):
        return OFFLINE
    more = read_fields(ServiceKeywords, kwargs)
    no_block = bool(more.no_block)
    refused = _find_lacking(ctx, no_block=no_block)
    if refused:
        return refused
    return Dead(
        name=name,
        sig=sig,
        enable=_parse_enable(enable),
        no_block=no_block,
        unmask=bool(more.unmask),
        unmask_runtime=bool(more.unmask_runtime),
        runlevels=more.runlevels,
        root=more.root,
        init_delay=_parse_seconds("init_delay", init_delay),
        timeout_s=_parse_seconds("timeout", more.timeout),
    )


def enabled(name: str, **kwargs: Any) -> Resource[ServiceStatus]:
    """A service starts with the machine; whether it runs now does not matter."""
    return _at_boot(name, True, read_fields(ServiceKeywords, kwargs))


def disabled(name: str, **kwargs: Any) -> Resource[ServiceStatus]:
    """A service does not start with the machine; whether it runs now does not matter."""
    return _at_boot(name, False, read_fields(ServiceKeywords, kwargs))


def _at_boot(name: str, enable: bool, given: ServiceKeywords) -> AtBoot:
    return AtBoot(
        name=name,
        enable=enable,
        no_block=bool(given.no_block),
        unmask=bool(given.unmask),
        unmask_runtime=bool(given.unmask_runtime),
        runlevels=given.runlevels,
        root=given.root,
    )


def masked(ctx: MinionContext, name: str, runtime: bool = False) -> Resource[bool] | Verdict:
    """A service cannot be started (systemd)."""
    return _build_mask(ctx, name, True, runtime)


def unmasked(ctx: MinionContext, name: str, runtime: bool = False) -> Resource[bool] | Verdict:
    """A service can be started (systemd)."""
    return _build_mask(ctx, name, False, runtime)


def mod_watch(
    ctx: MinionContext,
    name: str,
    sfun: str | None = None,
    sig: str | None = None,
    full_restart: bool = False,
    init_delay: float | None = None,
    force: bool = False,
    reload: bool = False,
    no_block: bool = False,
    **kwargs: Any,
) -> Action | Verdict:
    """Something that the service depends on has changed: restart it, or stop it again.

    ``reload`` has it read its configuration instead, ``force`` then restarts one that cannot.
    ``full_restart`` is the same as a restart: stop, then start.
    """
    refused = _find_lacking(ctx, no_block=no_block)
    if refused:
        return refused
    if sfun not in ("running", "dead"):
        return Verdict(result=False, comment=f"Unable to trigger watch for service.{sfun}")
    runs = _is_running(ctx, name, sig)
    given = {"no_block": True} if no_block else {}
    unmasking = {key: True for key in ("unmask", "unmask_runtime") if kwargs.get(key)}
    if sfun == "dead":
        if not runs:
            return Verdict(result=True, comment="Service is already stopped")
        return _build_action(name, "stop", "stop", "stopped", 0.0, given)
    delay_s = _parse_seconds("init_delay", init_delay)
    if not runs:
        return _build_action(name, "start", "start", "started", delay_s, given | unmasking)
    if not reload:
        return _build_action(name, "restart", "restart", "restarted", delay_s, given | unmasking)
    if force:
        function, verb = "force_reload", "forcefully reload"
        return _build_action(name, function, verb, "forcefully reloaded", delay_s, given)
    return _build_action(name, "reload", "reload", "reloaded", delay_s, given)


def _build_action(
    name: str, function: str, verb: str, past: str, delay_s: float, given: dict[str, bool]
) -> Action:
    def run(ctx: MinionContext) -> Verdict:
        try:
            if function == "start":  # what does not answer as running may still hold its port
                ctx.functions.call("service.stop", name)
            succeeded = bool(ctx.functions.call(f"service.{function}", name, **given))
        except FunctionError as error:
            return Verdict(result=False, comment=str(error))
        time.sleep(delay_s)
        said = f"Service {past}" if succeeded else f"Failed to {verb} the service"
        return Verdict(result=succeeded, comment=said, changes={name: succeeded})

    return Action(would=f"Service is set to be {past}", run=run, changes={name: True})


def _parse_seconds(name: str, value: Any) -> float:
    """A time to wait in seconds, also as text; 0 for nothing.

    Raises:
        FunctionError: it is no such number.
    """
    try:
        seconds = float(value or 0)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise FunctionError(f"{name} has to be a number of seconds, not {value!r}")
    return seconds


def _parse_enable(enable: object) -> bool | None:
    """``None`` for anything that is neither a truth value nor a text."""
    if isinstance(enable, str):
        return enable.lower() == "true"
    return enable if isinstance(enable, bool) else None


def _find_lacking(ctx: MinionContext, **wanted: bool) -> Verdict | None:
    """What systemd alone can do, asked for where it is not."""
    asked = [name for name, value in wanted.items() if value]
    if not asked or _has_units(ctx):
        return None
    return Verdict(
        result=False,
        comment=f"The service manager of this machine does not know {', '.join(asked)}",
    )


def _build_mask(
    ctx: MinionContext, name: str, wish: bool, runtime: bool
) -> Resource[bool] | Verdict:
    if not _has_units(ctx):
        return Verdict(result=False, comment="Service masking not available on this minion")
    return Mask(name=name, masked=wish, runtime=bool(runtime))


def _is_offline(ctx: MinionContext) -> bool:
    """Whether systemd does not run what it is installed in, as a chroot or an image."""
    try:
        return bool(ctx.functions.call("service.offline"))
    except FunctionUnavailable:
        return False


def _has_units(ctx: MinionContext) -> bool:
    from saltlite.providers.service import units

    try:
        units(ctx, "mask")
    except FunctionUnavailable:
        return False
    return True
