"""Upstreams of a RabbitMQ federation. Comments observed on Salt 3006.30."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.arguments import takes_options
from saltlite.core.dataclasses import dataclass, field
from saltlite.highstate.resource import Resource, Step
from saltlite.modules import rabbitmq
from saltlite.providers.rabbitmq import UpstreamOptions
from saltlite.states._fact import Fact


@takes_options(UpstreamOptions, "* runas")
def present(options: UpstreamOptions, /, name: str, uri: str, runas: str | None = None) -> Upstream:
    """An upstream with these settings. Passwords in ``uri`` are not told."""
    return Upstream(name=str(name), given=options.with_address(uri), runas=runas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream(Resource["dict[str, Any] | None"]):
    """An upstream, and what the broker shall keep of it."""

    name: str
    given: dict[str, Any] = field(repr=False)
    runas: str | None

    def read(self, ctx: MinionContext) -> dict[str, Any] | None:
        found = ctx.follow(rabbitmq.list_upstreams, self.runas).get(self.name)
        return None if found is None else dict(json.loads(found))

    def plan(self, now: dict[str, Any] | None) -> Sequence[Step]:
        wanted = rabbitmq.upstream_of(self.given)
        if now == wanted:
            return []
        done = "created" if now is None else "set"
        return [
            Step(
                would=f'Upstream "{self.name}" would have been {done}.',
                did=f'Upstream "{self.name}" {done}.',
                changes={"old": _hide_password(now), "new": _hide_password(wanted)},
                run=lambda ctx: ctx.follow(
                    rabbitmq.set_upstream, self.name, runas=self.runas, **self.given
                ),
            )
        ]

    def comment_unchanged(self, now: dict[str, Any] | None) -> str:
        return f'Upstream "{self.name}" already present as specified.'


def _hide_password(upstream: dict[str, Any] | None) -> dict[str, Any] | None:
    import re

    if upstream is None or "uri" not in upstream:
        return upstream
    return {**upstream, "uri": re.sub(r"//([^:/@]*):[^@]*@", r"//\1:***@", str(upstream["uri"]))}


def absent(name: str, runas: str | None = None) -> Fact:
    """No such upstream."""
    return Fact(
        holds=lambda ctx: not ctx.follow(rabbitmq.upstream_exists, name, runas),
        make=lambda ctx: ctx.follow(rabbitmq.delete_upstream, name, runas),
        intent=f'Upstream "{name}" would have been deleted.',
        report=f'Upstream "{name}" has been deleted.',
        known=f'The upstream "{name}" is already absent.',
        told={"old": name, "new": None},
    )
