"""The cluster that a RabbitMQ broker is in. Comments observed on Salt 3006.30."""

from __future__ import annotations

import re

from saltlite.modules import rabbitmq
from saltlite.states._fact import Fact


def joined(
    name: str,
    host: str,
    user: str = "rabbit",
    ram_node: bool | None = None,
    runas: str | None = "root",
) -> Fact:
    """The node is in the cluster of ``user@host``."""
    node = f"{user}@{host}"
    whole = re.compile(rf"(?<![\w@.-]){re.escape(node)}(?![\w@.-])")
    return Fact(
        holds=lambda ctx: whole.search(ctx.follow(rabbitmq.cluster_status, runas)) is not None,
        make=lambda ctx: ctx.follow(rabbitmq.join_cluster, host, user, ram_node, runas),
        intent=f"Node is set to join cluster {node}",
        report=f"Node joined cluster {node}",
        known="Already in cluster",
        told={"old": "", "new": node},
    )


join = joined
