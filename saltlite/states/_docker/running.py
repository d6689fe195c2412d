"""docker_container.running: a container as declared, made anew where it differs.

Comments and changes observed on Salt 3006.30. What is declared is compared with what the engine
tells; where Salt makes a container to compare with, also in a test run, nothing is made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Action, Resource, Step, Verdict, join_changes, realise
from saltlite.modules.docker import containers, images, networks
from saltlite.providers.docker import comparison
from saltlite.providers.docker.container import Container, read_container
from saltlite.providers.docker.engine import EngineError, segment

_SHARED = regex(r"container:(.+)")
"""The mode of a container that shares something with another one."""

_SHARING = ("IpcMode", "NetworkMode", "PidMode")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStatus:
    """A container, its image and its networks as they are."""

    container: Container | None
    image: Mapping[str, Any] | None
    missing: tuple[str, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)

    @property
    def image_id(self) -> str | None:
        """The image that the container is made of."""
        return None if self.container is None else self.container.image

    @property
    def state(self) -> str | None:
        """``running``, ``paused``, ``stopped``, or ``None`` without a container."""
        return None if self.container is None else self.container.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What is not as declared."""

    image: bool = False
    forced: bool = False
    config: Mapping[str, Any]
    networks: Mapping[str, Any]

    @property
    def replaces(self) -> bool:
        """Whether the container has to be made anew."""
        return self.image or self.forced or bool(self.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningContainer(Resource[ContainerStatus]):
    """A container that runs, of an image and with options as declared."""

    drawn = frozenset({"image", "container_id"})

    name: str
    image: str
    body: Mapping[str, Any]
    networks: Mapping[str, Mapping[str, Any]]
    """The networks that are declared; nothing if that of ``network_mode`` is meant."""

    outdated: str | None = None
    """The id of the container that is replaced whatever it is like."""

    start: bool = True
    shutdown_timeout: float | None = None
    client_timeout: float

    def read(self, ctx: MinionContext) -> ContainerStatus:
        missing = [name for name in self.networks if not has_network(ctx, name)]
        return ContainerStatus(
            container=find_container(ctx, self.name),
            image=_find_image(ctx, self.image),
            missing=tuple(missing),
            shared=self._resolve_shared(ctx),
        )

    def _resolve_shared(self, ctx: MinionContext) -> Mapping[str, str]:
        """Return the modes that name another container, with its id as engines keep it."""
        found: dict[str, str] = {}
        for key in _SHARING:
            match = _SHARED.fullmatch(self.body["HostConfig"].get(key, ""))
            other = find_container(ctx, match[1]) if match else None
            found.update({key: f"container:{other.id}"} if other else {})
        return found

    def plan(self, now: ContainerStatus) -> Sequence[Step] | Verdict:
        if now.missing:
            said = f"The following networks are not present: {', '.join(now.missing)}"
            return Verdict(result=False, comment=said)
        if now.container is None:
            creating = self._plan_creation(now)
            return [creating, self._plan_start(creating.did)]
        differences = self.differences(now)
        if differences.replaces:
            replacing = self._plan_replacement(now, differences)
            return [replacing, *([self._plan_start(replacing.did)] if self.start else [])]
        steps = [self._plan_network(now, name) for name in differences.networks]
        if not self.start or now.state == "running":
            return steps
        if now.state == "paused":
            return Verdict(
                result=False, comment=f"{self._say_unchanged()}. Container is not running."
            )
        return [
            *steps,
            self._plan_start(_join_sentences([self._say_unchanged(), *(one.did for one in steps)])),
        ]

    def differences(self, now: ContainerStatus) -> Differences:
        """Return what differs; the options only where they alone decide."""
        there, wanted = self._find_endpoints(now)
        if now.container is None:
            return Differences(config={}, networks=comparison.compare_endpoints(there, wanted))
        own_names = [now.container.short_id]
        moved = comparison.compare_endpoints(there, wanted, own_names)
        if now.image is None or now.image_id != now.image["Id"]:
            return Differences(image=True, config={}, networks=moved)
        if now.container.id == self.outdated:
            return Differences(forced=True, config={}, networks=moved)
        body = {**self.body, "HostConfig": {**self.body["HostConfig"], **now.shared}}
        changed = comparison.compare_declared(now.container, body, now.image)
        return Differences(config=changed, networks=moved)

    def _find_endpoints(self, now: ContainerStatus) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the networks there are, or the engine would attach, and those declared."""
        own = self._own_network()
        there: dict[str, Any] = {own: {}} if own else {}
        if now.container is not None:
            there = dict(now.container.networks)
        if self.networks:
            return there, self.networks
        if own is None:
            return {}, {}
        return there, {own: there.get(own) or {}}

    def _own_network(self) -> str | None:
        """Return the network that the engine attaches, ``None`` with that of another container."""
        mode = str(self.body["HostConfig"].get("NetworkMode") or "default")
        if _SHARED.fullmatch(mode):
            return None
        return "bridge" if mode == "default" else mode

    def _plan_creation(self, now: ContainerStatus) -> Step:
        return Step(
            would=f"Container '{self.name}' would be created",
            did=f"Created container '{self.name}'",
            changes={**self._new_image(now), **self._report_differences(self.differences(now))},
            run=self._create_container,
        )

    def _new_image(self, now: ContainerStatus) -> dict[str, Any]:
        if now.container is None:
            return {"image": {"old": None, "new": False}} if now.image is None else {}
        new = False if now.image is None else now.image["Id"]
        return {"image": {"old": now.image_id, "new": new}}

    def _report_differences(self, differences: Differences) -> dict[str, Any]:
        found = {
            **differences.config,
            **({"Networks": dict(differences.networks)} if differences.networks else {}),
        }
        return {"container": found} if found else {}

    def _create_container(self, ctx: MinionContext) -> None:
        ident = self._make_container(ctx, self.name)
        try:
            self._attach_all(ctx, ident)
        except SaltliteError:
            ctx.follow(containers.rm_, ident, force=True)
            raise

    def _plan_replacement(self, now: ContainerStatus, differences: Differences) -> Step:
        told = self._new_image(now) if differences.image else {}
        told = {**told, "forced_update": True} if differences.forced else told
        return Step(
            would=f"Container '{self.name}' would be replaced",
            did=f"Replaced container '{self.name}'",
            changes={**told, **self._report_differences(differences)},
            run=self.replace_container,
        )

    def replace_container(self, ctx: MinionContext) -> None:
        """Make the new container first, so that the old one stays where that fails."""
        ident = self._make_container(ctx, None)
        try:
            self._attach_all(ctx, ident)
            self._remove_old(ctx)
        except SaltliteError:
            ctx.follow(containers.rm_, ident, force=True)
            raise
        ctx.follow(containers.rename, ident, self.name)

    def _remove_old(self, ctx: MinionContext) -> None:
        try:
            ctx.follow(containers.rm_, self.name, stop=True, timeout=self.shutdown_timeout)
        except EngineError as error:
            if error.status != 404:  # one that removes itself when it stops
                raise

    def _make_container(self, ctx: MinionContext, name: str | None) -> str:
        if ctx.follow(images.resolve_image_id, self.image) is False:
            pull_image(ctx, self.image, self.client_timeout)
        asked = networks.engine(ctx, self.client_timeout)
        return str(asked.post("/containers/create", self.body, name=name)["Id"])

    def _attach_all(self, ctx: MinionContext, ident: str) -> None:
        there = read_container(ctx.follow(containers.inspect_container, ident)).networks
        for name, endpoint in self.networks.items():
            if name in there and endpoint:
                ctx.follow(networks.disconnect_container_from_network, ident, name)
            if name not in there or endpoint:
                networks.connect(ctx, ident, name, endpoint)
        for name in there if self.networks else ():
            if name not in self.networks:
                ctx.follow(networks.disconnect_container_from_network, ident, name)

    def _plan_network(self, now: ContainerStatus, name: str) -> Step:
        """Attach an existing container to a network, or detach it."""
        there, wanted = self._find_endpoints(now)
        changed = self.differences(now).networks[name]

        def run(ctx: MinionContext) -> None:
            if name in there:
                ctx.follow(networks.disconnect_container_from_network, self.name, name)
            if name in wanted:
                networks.connect(ctx, self.name, name, wanted[name])

        if name not in wanted:
            did = f"Disconnected from network '{name}'."
        elif name in there:
            did = f"Reconnected to network '{name}' with updated configuration."
        else:
            did = f"Connected to network '{name}'."
        return Step(
            would=did, did=did, changes={"container": {"Networks": {name: changed}}}, run=run
        )

    def _plan_start(self, said: str) -> Step:
        """Start the container; ``said`` is what has been done before."""

        def run(ctx: MinionContext) -> None:
            asked = networks.engine(ctx, self.client_timeout)
            try:
                asked.post(f"/containers/{segment(self.name)}/start")
            except FunctionError as error:
                raise FunctionError(_join_sentences([said, f"{error}."])) from error
            if ctx.follow(containers.state, self.name) != "running":
                raise FunctionError(_join_sentences([said, "Container is not running."]))

        return Step(would="Container would be started.", run=run)

    def _say_unchanged(self) -> str:
        return f"Container '{self.name}' is already configured as specified"

    def comment_unchanged(self, now: ContainerStatus) -> str:
        return self._say_unchanged()

    def would(self, now: ContainerStatus, steps: Sequence[Step]) -> str:
        differences = self.differences(now)
        if now.container is None or differences.forced:
            return steps[0].would
        parts = [steps[0].would if differences.replaces else self._say_unchanged()]
        parts += ["Network configuration would be updated."] if differences.networks else []
        starts = self.start and now.state != "running"
        return _join_sentences([*parts, *(["Container would be started."] if starts else [])])

    def comment_changed(
        self, before: ContainerStatus, after: ContainerStatus, steps: Sequence[Step]
    ) -> str:
        did = [step.did for step in steps if step.did]
        parts = did if _removed_id(before, after) is not None else [self._say_unchanged(), *did]
        if before.state not in (None, after.state):
            parts.append(f"State changed from '{before.state}' to '{after.state}'.")
        if before.container and after.container and after.container.image != before.image_id:
            parts.append("Container has a new image.")
        return _join_sentences(parts)

    def changes(
        self, before: ContainerStatus, after: ContainerStatus, steps: Sequence[Step]
    ) -> dict[str, Any]:
        found = join_changes(steps)
        found.pop("forced_update", None)
        gone = _removed_id(before, after)
        if after.container is not None and gone is not None:
            removed = {"removed": [gone]} if gone else {}
            found["container_id"] = {**removed, "added": after.container.id}
        if "image" in found and after.container is not None:
            found["image"] = {**found["image"], "new": after.container.image}
        if before.state != after.state:
            found["state"] = {"old": before.state, "new": after.state}
        return found


def replace_anyway(resource: RunningContainer) -> Action:
    """Return what replaces a container that is there whatever it is like."""

    def settle(ctx: MinionContext, *, test: bool) -> Verdict:
        found = find_container(ctx, resource.name)
        outdated = None if found is None else found.id
        return realise(replace(resource, outdated=outdated), ctx, test=test)

    return Action(
        would=f"Container '{resource.name}' would be replaced",
        run=lambda ctx: settle(ctx, test=False),
        foreseen=lambda ctx: settle(ctx, test=True),
    )


def _join_sentences(parts: Sequence[str]) -> str:
    """Join a beginning without a full stop and sentences that have one."""
    return ". ".join(parts[:2]) + "".join(f" {part}" for part in parts[2:])


def _removed_id(before: ContainerStatus, after: ContainerStatus) -> str | None:
    """Return the id that is not there any more, empty if there was none, ``None`` if it stays."""
    old = "" if before.container is None else before.container.id
    new = "" if after.container is None else after.container.id
    return None if old == new else old


def find_container(ctx: MinionContext, name: str) -> Container | None:
    """Return a container as it is, ``None`` without it."""
    try:
        return read_container(ctx.follow(containers.inspect_container, name))
    except EngineError as error:
        if error.status != 404:
            raise
        return None


def pull_image(ctx: MinionContext, image: str, timeout_s: float) -> None:
    """Fetch an image; raises FunctionError."""
    try:
        ctx.follow(images.pull, image, client_timeout=int(timeout_s))
    except FunctionError as error:
        raise FunctionError(f"Failed to pull {image}: {error}") from error


def _find_image(ctx: MinionContext, name: str) -> Mapping[str, Any] | None:
    try:
        return ctx.follow(images.inspect_image, name)
    except EngineError as error:
        if error.status != 404:
            raise
        return None


def has_network(ctx: MinionContext, name: str) -> bool:
    try:
        ctx.follow(networks.inspect_network, name)
    except EngineError as error:
        if error.status != 404:
            raise
        return False
    return True
