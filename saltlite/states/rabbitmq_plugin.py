"""Plugins of a RabbitMQ broker. Comments observed on Salt 3006.30."""

from __future__ import annotations

from saltlite.modules import rabbitmq
from saltlite.states._fact import Fact


def enabled(name: str, runas: str | None = None) -> Fact:
    """The plugin is enabled."""
    return Fact(
        holds=lambda ctx: ctx.follow(rabbitmq.plugin_is_enabled, name, runas),
        make=lambda ctx: ctx.follow(rabbitmq.enable_plugin, name, runas),
        intent=f"Plugin '{name}' is set to be enabled.",
        report=f"Plugin '{name}' was enabled.",
        known=f"Plugin '{name}' is already enabled.",
        told={"old": "", "new": name},
    )


def disabled(name: str, runas: str | None = None) -> Fact:
    """The plugin is not enabled."""
    return Fact(
        holds=lambda ctx: not ctx.follow(rabbitmq.plugin_is_enabled, name, runas),
        make=lambda ctx: ctx.follow(rabbitmq.disable_plugin, name, runas),
        intent=f"Plugin '{name}' is set to be disabled.",
        report=f"Plugin '{name}' was disabled.",
        known=f"Plugin '{name}' is already disabled.",
        told={"old": name, "new": ""},
    )
