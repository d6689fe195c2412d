"""Containers, images, networks and volumes of a Docker Engine on this machine.

It is asked on the socket of the option ``docker.url``, of ``DOCKER_HOST``, or
``unix:///var/run/docker.sock``. Answers observed on Salt 3006.30.
"""

from __future__ import annotations

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "containers": (
        "create",
        "exists",
        "freeze",
        "inspect",
        "inspect_container",
        "kill",
        "list_containers",
        "logs",
        "pause",
        "pid",
        "port",
        "ps",
        "rename",
        "restart",
        "rm_",
        "run_container",
        "signal",
        "start_",
        "state",
        "stop",
        "unfreeze",
        "unpause",
        "wait",
    ),
    "comparisons": (
        "compare_container",
        "compare_container_networks",
        "compare_containers",
        "compare_networks",
    ),
    "commands": ("retcode", "run", "run_all", "run_stderr", "run_stdout"),
    "images": (
        "build",
        "images",
        "inspect_image",
        "list_tags",
        "pull",
        "push",
        "resolve_image_id",
        "resolve_tag",
        "rmi",
        "tag",
    ),
    "networks": (
        "connect_container_to_network",
        "connected",
        "create_network",
        "create_volume",
        "disconnect_all_containers_from_network",
        "disconnect_container_from_network",
        "info",
        "inspect_network",
        "inspect_volume",
        "networks",
        "remove_network",
        "remove_volume",
        "version",
        "volumes",
    ),
}
"""The files of this package, and which functions each has."""
