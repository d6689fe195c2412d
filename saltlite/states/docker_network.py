"""Networks of a Docker Engine. Comments observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict, join_changes
from saltlite.modules.docker import networks as module
from saltlite.providers.docker import comparison, options
from saltlite.providers.docker.container import Container
from saltlite.providers.docker.engine import EngineError
from saltlite.states._docker.running import find_container

Facts = Mapping[str, Any]

PREDEFINED = ("bridge", "host", "none")
"""Networks of the engine itself, which it does not remove."""


def _refuse_removal(name: str) -> Verdict:
    said = f"Failed to remove network: {name} is a pre-defined network and cannot be removed"
    return Verdict(result=False, comment=said)


def present(
    ctx: MinionContext,
    name: str,
    skip_translate: object = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    containers: object = None,
    reconnect: bool = True,
    **kwargs: Any,
) -> Declared:
    """A network of this name, with options as declared; one that differs is made anew.

    Those of ``containers`` that run are attached to it. Without them a new network gets the
    containers of the old one, unless ``reconnect`` is false.
    """
    options.refuse_raw(skip_translate)
    body = options.network(name, kwargs, validate_ip_addrs=bool(validate_ip_addrs))
    names = [str(one) for one in options.to_list(containers or [])]
    there = {one: find_container(ctx, one) for one in names}
    return PresentNetwork(
        name=name,
        body=body,
        members=tuple(one for one in names if _is_running(there[one])),
        warnings=tuple(_warn_of(there)),
        keeps=bool(reconnect) and not names,
    )


def _is_running(container: Container | None) -> bool:
    return container is not None and container.state == "running"


def _warn_of(there: Mapping[str, Container | None]) -> list[str]:
    missing = [name for name, found in there.items() if found is None]
    idle = [name for name, found in there.items() if found is not None and not _is_running(found)]
    said = (("do not exist", missing), ("are not running", idle))
    return [
        f"The following containers {what}: {', '.join(names)}." for what, names in said if names
    ]


def absent(name: str) -> Declared:
    """No network of this name; containers are detached from it."""
    return AbsentNetwork(name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network(Resource[Facts | None]):
    """A network by its name."""

    name: str

    def read(self, ctx: MinionContext) -> Facts | None:
        try:
            return ctx.follow(module.inspect_network, self.name)
        except EngineError as error:
            if error.status != 404:
                raise
            return None

    def remove(self, ctx: MinionContext) -> None:
        """Detach what is attached, and remove the network; raises FunctionError."""
        for ident in ctx.follow(module.inspect_network, self.name).get("Containers") or {}:
            ctx.follow(module.disconnect_container_from_network, ident, self.name)
        try:
            ctx.follow(module.remove_network, self.name)
        except FunctionError as error:
            raise FunctionError(f"Failed to remove network: {error}") from error

    def changes_of_failed(
        self, before: Facts | None, after: Facts | None, steps: Sequence[Step]
    ) -> dict[str, Any]:
        """Tell whom a network lost that could not be removed."""
        if steps:
            return self.changes(before, after, steps)
        lost = [each for each in _find_attached(before) if each not in _find_attached(after)]
        return {"disconnected": lost} if lost else {}


def _find_attached(network: Facts | None) -> list[str]:
    there: Mapping[str, Facts] = (network or {}).get("Containers") or {}
    return [str(each["Name"]) for each in there.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentNetwork(_Network):
    """A network that is there."""

    body: Mapping[str, Any]
    members: Sequence[str]
    """The containers that are declared and run."""

    warnings: Sequence[str]
    keeps: bool
    """Whether a new network gets the containers of the old one."""

    def plan(self, now: Facts | None) -> Sequence[Step] | Verdict:
        if now is None:
            return [self._plan_creation(), *self._plan_connections(self.members)]
        differences = comparison.compare_declared_network(now, self.body)
        if not differences:
            return self._plan_connections(
                [one for one in self.members if one not in _find_attached(now)]
            )
        if self.name in PREDEFINED:
            return _refuse_removal(self.name)
        back = _find_attached(now) if self.keeps else list(self.members)
        return [self._plan_replacement(now, differences, back), *self._plan_connections(back)]

    def _plan_creation(self) -> Step:
        return Step(
            would="Network will be created",
            did=f"Network '{self.name}' created",
            changes={"created": True},
            run=self._create_network,
        )

    def _create_network(self, ctx: MinionContext) -> None:
        try:
            module.engine(ctx).post("/networks/create", {**self.body, "CheckDuplicate": True})
        except FunctionError as error:
            raise FunctionError(f"Failed to create network '{self.name}': {error}") from error

    def _plan_replacement(
        self, now: Facts, differences: Mapping[str, object], back: list[str]
    ) -> Step:
        def run(ctx: MinionContext) -> None:
            self.remove(ctx)
            self._create_network(ctx)

        lost = [each for each in _find_attached(now) if each not in back]
        gone = {"disconnected": lost} if lost else {}
        return Step(
            would="Network would be recreated with new config",
            did=f"Network '{self.name}' was replaced with updated config",
            changes={self.name: differences, "recreated": True, **gone},
            run=run,
        )

    def _plan_connections(self, names: Sequence[str]) -> list[Step]:
        def run(ctx: MinionContext) -> None:
            for name in names:
                module.connect(ctx, name, self.name, {})

        said = f"The following containers would be connected: {', '.join(names)}"
        return [Step(would=said, changes={"connected": list(names)}, run=run)] if names else []

    def would(self, now: Facts | None, steps: Sequence[Step]) -> str:
        return steps[0].would if steps[0].did else self.comment_unchanged(now)

    def comment_changed(
        self, before: Facts | None, after: Facts | None, steps: Sequence[Step]
    ) -> str:
        return steps[0].did or self.comment_unchanged(after)

    def comment_unchanged(self, now: Facts | None) -> str:
        return f"Network '{self.name}' already exists, and is configured as specified"

    def changes(
        self, before: Facts | None, after: Facts | None, steps: Sequence[Step]
    ) -> dict[str, Any]:
        """Tell whom a new network got back, and whom it has besides."""
        found = join_changes(steps)
        if "recreated" not in found:
            return found
        connected, old = found.pop("connected", []), _find_attached(before)
        parts = {
            "reconnected": [each for each in connected if each in old],
            "connected": [each for each in connected if each not in old],
        }
        return {**found, **{key: names for key, names in parts.items() if names}}

    def more(self) -> Mapping[str, Any]:
        return {"warnings": list(self.warnings)} if self.warnings else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentNetwork(_Network):
    """A network that is not there."""

    def plan(self, now: Facts | None) -> Sequence[Step] | Verdict:
        if now is None:
            return []
        if self.name in PREDEFINED:
            return _refuse_removal(self.name)
        lost = _find_attached(now)
        return [
            Step(
                would=f"Network '{self.name}' will be removed",
                did=f"Removed network '{self.name}'",
                changes={"removed": True, **({"disconnected": lost} if lost else {})},
                run=self.remove,
            )
        ]

    def comment_unchanged(self, now: Facts | None) -> str:
        return f"Network '{self.name}' already absent"
