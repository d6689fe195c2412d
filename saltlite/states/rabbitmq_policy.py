"""Policies of a RabbitMQ broker. Comments observed on Salt 3006.30."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.highstate.resource import Declared, Verdict
from saltlite.modules import rabbitmq
from saltlite.states._fact import Fact


def present(
    name: str,
    pattern: str,
    definition: Any,
    priority: object = 0,
    vhost: str = "/",
    runas: str | None = None,
    apply_to: str | None = None,
) -> Declared:
    """A policy of this name; ``definition`` is JSON or a map."""
    try:
        wanted = definition if isinstance(definition, Mapping) else json.loads(definition)
    except ValueError as error:
        return Verdict(result=False, comment=f"definition is no JSON: {error}")

    def holds(ctx: MinionContext) -> bool:
        found = ctx.follow(rabbitmq.list_policies, vhost, runas).get(vhost, {}).get(name)
        return (
            found is not None
            and found["pattern"] == str(pattern)
            and json.loads(found["definition"]) == wanted
            and found["priority"] == str(priority or 0)
            and (not apply_to or found["apply_to"] == apply_to)
        )

    def make(ctx: MinionContext) -> object:
        return ctx.follow(
            rabbitmq.set_policy, vhost, name, pattern, definition, priority, runas, apply_to
        )

    return Fact(
        holds=holds,
        make=make,
        intent=f"Policy {vhost} {name} is set to be created",
        report=f"Policy {vhost} {name} was set",
        known=f"Policy {vhost} {name} is already present",
        told={"old": {}, "new": name},
    )


def absent(name: str, vhost: str = "/", runas: str | None = None) -> Fact:
    """No policy of this name."""
    return Fact(
        holds=lambda ctx: not ctx.follow(rabbitmq.policy_exists, vhost, name, runas),
        make=lambda ctx: ctx.follow(rabbitmq.delete_policy, vhost, name, runas),
        intent=f"Policy '{vhost} {name}' will be removed.",
        report=f"Policy '{vhost} {name}' was removed.",
        known=f"Policy '{vhost} {name}' is not present.",
        told={"old": name, "new": ""},
    )
