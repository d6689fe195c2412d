"""A container as a value: what functions and states look at of all that an engine tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.core.dataclasses import dataclass

SHORT_ID = 12
"""Characters of an id; by them an engine names a container in its networks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """``image`` is the id of its image; ``state`` is ``running``, ``paused`` or ``stopped``.

    ``config``, ``host_config``, ``networks`` (by name) and ``ports`` are the engine's own maps.
    """

    id: str
    name: str
    image: str
    state: str
    pid: int
    is_active: bool
    has_terminal: bool
    config: Mapping[str, Any]
    host_config: Mapping[str, Any]
    networks: Mapping[str, Any]
    ports: Mapping[str, Any]

    @property
    def short_id(self) -> str:
        """The part of its id that an engine gives it as an alias."""
        return self.id[:SHORT_ID]


def read_container(told: Mapping[str, Any]) -> Container:
    """Make a value of what an engine tells of a container."""
    state: Mapping[str, Any] = told.get("State") or {}
    config: Mapping[str, Any] = told.get("Config") or {}
    settings: Mapping[str, Any] = told.get("NetworkSettings") or {}
    # One that is paused counts as running for the engine, too.
    running = bool(state.get("Running"))
    return Container(
        id=str(told["Id"]),
        name=str(told.get("Name", "")).removeprefix("/"),
        image=str(told.get("Image", "")),
        state="paused" if state.get("Paused") else "running" if running else "stopped",
        pid=int(state.get("Pid") or 0),
        is_active=running,
        has_terminal=bool(config.get("Tty")),
        config=config,
        host_config=told.get("HostConfig") or {},
        networks=settings.get("Networks") or {},
        ports=settings.get("Ports") or {},
    )
