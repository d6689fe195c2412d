"""Images of a Docker Engine. Comments observed on Salt 3006.30."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Resource, Step, Verdict
from saltlite.modules.docker import images as module
from saltlite.states._fact import Fact


def present(
    ctx: MinionContext,
    name: str,
    tag: str | None = None,
    build: str | None = None,
    load: str | None = None,
    force: bool = False,
    insecure_registry: bool = False,
    client_timeout: int = 60,
    dockerfile: str | None = None,
    sls: object = None,
    base: str = "opensuse/python",
    saltenv: str = "base",
    pillarenv: str | None = None,
    pillar: object = None,
    **kwargs: Any,
) -> Declared:
    """An image of this name and ``tag`` is here; it is pulled, with ``force`` in each run."""
    if sum(one is not None for one in (build, load, sls)) > 1:
        said = "Only one of 'build', 'load', or 'sls' is permitted."
        return Verdict(result=False, comment=said)
    for option, value in (("build", build), ("load", load), ("sls", sls)):
        if value is not None:
            said = f"{option}: images are pulled here; cmd.run can build and load them"
            return Verdict(result=False, comment=said)
    full = name if tag is None else f"{name}:{tag}"
    if force:
        return _pulling_again(full, client_timeout)
    return Fact(
        holds=lambda ctx: ctx.follow(module.resolve_image_id, full) is not False,
        make=lambda ctx: _pull_image(ctx, full, int(client_timeout)),
        intent=f"Image {full} will be pulled",
        report=f"Image '{full}' was pulled",
        known=f"Image {full} already present",
        told={"Status": f"Downloaded newer image for {full}"},
    )


def absent(name: str | None = None, images: Any = None, force: bool = False) -> Declared:
    """None of ``images``, or no image ``name``."""
    names = [str(one) for one in images or ([] if name is None else [name])]
    if not names:
        return Verdict(result=False, comment="One of 'name' and 'images' must be provided")
    return AbsentImages(names=tuple(names), force=bool(force))


def mod_watch(ctx: MinionContext, name: str, sfun: str | None = None, **kwargs: Any) -> Declared:
    """Answer to watched changes: pull the image again."""
    if sfun == "present":
        return present(ctx, name, **{**kwargs, "force": True})
    said = f"watch requisite is not implemented for {sfun}"
    return Verdict(result=False, comment=said)


def _pulling_again(full: str, timeout_s: int) -> Action:
    def run(ctx: MinionContext) -> Verdict:
        before = ctx.follow(module.resolve_image_id, full)
        done = _pull_image(ctx, full, timeout_s)
        if before == ctx.follow(module.resolve_image_id, full):
            said = f"Image '{full}' was pulled, but there were no changes"
            return Verdict(result=True, comment=said)
        return Verdict(result=True, comment=f"Image '{full}' was pulled", changes=done)

    return Action(would=f"Image {full} will be pulled", run=run)


def _pull_image(ctx: MinionContext, full: str, timeout_s: int) -> dict[str, Any]:
    try:
        return ctx.follow(module.pull, full, client_timeout=timeout_s)
    except FunctionError as error:
        raise FunctionError(f"Encountered error pulling {full}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentImages(Resource[list[str]]):
    """Images that are not here."""

    names: tuple[str, ...]
    force: bool

    def read(self, ctx: MinionContext) -> list[str]:
        return [
            name for name in self.names if ctx.follow(module.resolve_image_id, name) is not False
        ]

    def plan(self, now: list[str]) -> Sequence[Step]:
        return [self._plan_removal(name) for name in now]

    def _plan_removal(self, name: str) -> Step:
        def run(ctx: MinionContext) -> None:
            done = ctx.follow(module.rmi, name, force=self.force)
            if done["retcode"] != 0:
                raise FunctionError("\n".join(done["Errors"]))

        return Step(
            would=f"Image {name} will be removed",
            did=f"Image {name} was removed",
            changes={"Tags": [name]},
            run=run,
        )

    def changes(self, before: Any, after: Any, steps: Sequence[Step]) -> dict[str, Any]:
        return {"Tags": [name for name in before if name not in after]}

    def comment_unchanged(self, now: list[str]) -> str:
        if len(self.names) > 1:
            return "All specified images are not present"
        return f"Image {self.names[0]} is not present"
