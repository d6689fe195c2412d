"""docker_container.run: a container that is run in each run. Observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Verdict
from saltlite.modules.docker import containers, images
from saltlite.states._docker.running import find_container, has_network, pull_image


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A container that is made, run, and may be removed."""

    name: str
    image: str
    background: bool
    failhard: bool
    replace: bool
    force: bool
    networks: Mapping[str, Mapping[str, Any]]
    client_timeout: int
    options: Mapping[str, Any]


def run_each_time(once: Once) -> Action:
    """Return what runs the container."""
    would = "Container would be run" + (" in the background" if once.background else "")

    def foresee(ctx: MinionContext) -> Verdict:
        return _find_obstacle(ctx, once) or Verdict(result=None, comment=would)

    def run(ctx: MinionContext) -> Verdict:
        return _find_obstacle(ctx, once) or _run_once(ctx, once)

    return Action(would=would, run=run, foreseen=foresee)


def _find_obstacle(ctx: MinionContext, once: Once) -> Verdict | None:
    missing = [name for name in once.networks if not has_network(ctx, name)]
    if missing:
        return _fail_with(f"The following networks are not present: {', '.join(missing)}")
    found = find_container(ctx, once.name)
    try:
        containers.check_room(once.name, found, replace=once.replace, force=once.force)
    except FunctionError as error:
        return _fail_with(f"Encountered error running container: {error}")
    return None


def _run_once(ctx: MinionContext, once: Once) -> Verdict:
    if ctx.follow(images.resolve_image_id, once.image) is False:
        pull_image(ctx, once.image, once.client_timeout)
    try:
        done = _run_container(ctx, once)
    except FunctionError as error:
        return _fail_with(f"Encountered error running container: {error}")
    if once.background:
        return Verdict(result=True, comment="Container was run in the background", changes=done)
    code = done["ExitCode"]
    said = f"Container ran and exited with a return code of {code}"
    return Verdict(result=code == 0 or not once.failhard, comment=said, changes=done)


def _run_container(ctx: MinionContext, once: Once) -> dict[str, Any]:
    return ctx.follow(
        containers.run_container,
        once.image,
        once.name,
        client_timeout=once.client_timeout,
        bg=once.background,
        replace=once.replace,
        force=once.force,
        networks=once.networks,
        **once.options,
    )


def _fail_with(comment: str) -> Verdict:
    return Verdict(result=False, comment=comment)
