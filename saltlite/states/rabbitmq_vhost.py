"""Virtual hosts of a RabbitMQ broker. Comments observed on Salt 3006.30."""

from __future__ import annotations

from saltlite.modules import rabbitmq
from saltlite.states._fact import Fact


def present(name: str) -> Fact:
    """A virtual host of this name."""
    return Fact(
        holds=lambda ctx: ctx.follow(rabbitmq.vhost_exists, name),
        make=lambda ctx: ctx.follow(rabbitmq.add_vhost, name),
        intent=f"Virtual Host '{name}' will be created.",
        report=f"Virtual Host '{name}' was created.",
        known=f"Virtual Host '{name}' already exists.",
        told={"old": "", "new": name},
    )


def absent(name: str) -> Fact:
    """No virtual host of this name."""
    return Fact(
        holds=lambda ctx: not ctx.follow(rabbitmq.vhost_exists, name),
        make=lambda ctx: ctx.follow(rabbitmq.delete_vhost, name),
        intent=f"Virtual Host '{name}' will be removed.",
        report=f"Virtual Host '{name}' was removed.",
        known=f"Virtual Host '{name}' is not present.",
        told={"old": name, "new": ""},
    )
