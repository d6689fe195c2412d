"""Containers of a Docker Engine. Comments observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.modules.docker import containers as module
from saltlite.providers.docker import options
from saltlite.providers.docker.container import Container
from saltlite.providers.docker.engine import EngineError
from saltlite.states._docker.once import Once, run_each_time
from saltlite.states._docker.running import RunningContainer, find_container, replace_anyway
from saltlite.states._docker.signals import send_signal


def running(
    name: str,
    image: str | None = None,
    skip_translate: object = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    force: bool = False,
    watch_action: str = "force",
    start: bool = True,
    shutdown_timeout: float | None = None,
    client_timeout: float = 60,
    networks: object = None,
    **kwargs: Any,
) -> Declared:
    """A container of ``image`` runs, with options as declared; one that differs is replaced.

    Options are those of ``docker create``. With ``force`` it is replaced in each run; without
    ``start`` one that is there is not started. ``watch_action`` is ``force``, or the signal that
    is sent when something watched has changed.
    """
    if not image:
        return Verdict(result=False, comment=_NO_IMAGE)
    options.refuse_raw(skip_translate)
    resource = RunningContainer(
        name=str(name),
        image=str(image),
        body=options.container(
            str(image),
            _own_options(kwargs),
            ignore_collisions=bool(ignore_collisions),
            validate_ip_addrs=bool(validate_ip_addrs),
        ),
        networks=options.endpoints(networks or {}),
        start=bool(start),
        shutdown_timeout=shutdown_timeout,
        client_timeout=float(client_timeout),
    )
    return replace_anyway(resource) if force else resource


_NO_IMAGE = "The 'image' argument is required"


def _own_options(kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Return the options without those of a signal: it is for the answer to watched changes."""
    return {key: value for key, value in kwargs.items() if key != "send_signal"}


def run(
    name: str,
    image: str | None = None,
    bg: bool = False,
    failhard: bool = True,
    replace: bool = False,
    force: bool = False,
    skip_translate: object = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    client_timeout: float = 60,
    **kwargs: Any,
) -> Declared:
    """A container of ``image`` is run in each run; unless ``bg``, its end is waited for.

    With ``replace`` one of that name is removed, with ``force`` also if it runs. An exit code other
    than 0 is a failure unless ``failhard`` is false. Options are those of ``docker create``.
    """
    if not image:
        return Verdict(result=False, comment=_NO_IMAGE)
    options.refuse_raw(skip_translate)
    attached = options.parse_networks(kwargs.pop("networks", None) or {})
    checks = {
        "ignore_collisions": bool(ignore_collisions),
        "validate_ip_addrs": bool(validate_ip_addrs),
    }
    options.container(str(image), kwargs, **checks)
    return run_each_time(
        Once(
            name=str(name),
            image=str(image),
            background=bool(bg),
            failhard=bool(failhard),
            replace=bool(replace),
            force=bool(force),
            networks=attached,
            client_timeout=int(client_timeout),
            options={**kwargs, **checks},
        )
    )


def mod_watch(name: str, sfun: str | None = None, **kwargs: Any) -> Declared:
    """Answer to watched changes: replace or signal a running container, run or stop it again."""
    if sfun == "running":
        action = kwargs.pop("watch_action", "force")
        signal = kwargs.pop("send_signal", None) or action
        if signal == "force":
            return running(name, **{**kwargs, "force": True})
        return send_signal(str(name), str(signal), start=bool(kwargs.get("start", True)))
    if sfun == "run":
        return run(name, **kwargs)
    if sfun == "stopped":
        return stopped(name, **kwargs)
    said = f"watch requisite is not implemented for {sfun}"
    return Verdict(result=False, comment=said)


def absent(name: str, force: bool = False) -> Declared:
    """No container of this name; one that runs is removed with ``force``."""
    return AbsentContainer(name=name, force=bool(force))


def stopped(
    name: str | None = None,
    containers: Any = None,
    shutdown_timeout: float | None = None,
    unpause: bool = False,
    error_on_absent: bool = True,
    **kwargs: Any,
) -> Declared:
    """None of ``containers``, or the container ``name`` does not run."""
    names = [str(one) for one in containers or ([] if name is None else [name])]
    if not names:
        return Verdict(result=False, comment="One of 'name' and 'containers' must be provided")
    return StoppedContainers(
        names=tuple(names),
        timeout_s=shutdown_timeout,
        unpause=bool(unpause),
        strict=bool(error_on_absent),
    )


def _state_of(ctx: MinionContext, name: str) -> str | None:
    try:
        return ctx.follow(module.state, name)
    except EngineError as error:
        if error.status != 404:
            raise
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentContainer(Resource[Container | None]):
    """A container that is not there."""

    drawn = frozenset({"removed"})

    name: str
    force: bool

    def read(self, ctx: MinionContext) -> Container | None:
        return find_container(ctx, self.name)

    def plan(self, now: Container | None) -> Sequence[Step] | Verdict:
        if now is None:
            return []
        runs = now.state != "stopped"
        if runs and not self.force:
            said = "Container is running, set force to True to forcibly remove it"
            return Verdict(result=False, comment=said)
        verb = "Forcibly removed" if runs else "Removed"
        return [
            Step(
                would=f"Container '{self.name}' will be removed",
                did=f"{verb} container '{self.name}'",
                changes={"removed": [now.id]},
                run=lambda ctx: ctx.follow(module.rm_, self.name, force=self.force),
            )
        ]

    def comment_unchanged(self, now: Container | None) -> str:
        return f"Container '{self.name}' does not exist"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedContainers(Resource[Mapping[str, str | None]]):
    """Containers that do not run."""

    names: tuple[str, ...]
    timeout_s: float | None
    unpause: bool
    strict: bool

    def read(self, ctx: MinionContext) -> Mapping[str, str | None]:
        return {name: _state_of(ctx, name) for name in self.names}

    def plan(self, now: Mapping[str, str | None]) -> Sequence[Step] | Verdict:
        missing = [name for name, state in now.items() if state is None]
        if missing and self.strict:
            said = f"The following container(s) are absent: {', '.join(missing)}"
            return Verdict(result=False, comment=said)
        paused = [name for name, state in now.items() if state == "paused"]
        if paused and not self.unpause:
            said = f"The following container(s) are paused: {', '.join(paused)}"
            return Verdict(result=False, comment=said)
        there = {name: state for name, state in now.items() if state not in (None, "stopped")}
        return [self._plan_stop(name, str(state)) for name, state in there.items()]

    def _plan_stop(self, name: str, state: str) -> Step:
        def run(ctx: MinionContext) -> None:
            done = ctx.follow(module.stop, name, self.timeout_s, unpause=self.unpause)
            if not done["result"]:
                raise FunctionError(str(done.get("comment", f"{name} was not stopped")))

        changed = {"result": True, "state": {"old": state, "new": "stopped"}}
        return Step(would=name, did=name, changes={name: changed}, run=run)

    def would(self, now: Mapping[str, str | None], steps: Sequence[Step]) -> str:
        names = ", ".join(step.would for step in steps)
        return f"The following container(s) will be stopped: {names}"

    def comment_changed(self, before: object, after: object, steps: Sequence[Step]) -> str:
        return f"The following container(s) were stopped: {', '.join(step.did for step in steps)}"

    def comment_unchanged(self, now: Mapping[str, str | None]) -> str:
        state = "not running" if self.strict else "absent or not running"
        if len(self.names) > 1:
            return f"All specified containers are {state}"
        return f"Container '{self.names[0]}' is {state}"
