"""The cluster that this master belongs to: its nodes, its server, what waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from saltlite.doctor.finding import Finding, error, list_names, note, unseen, warning
from saltlite.doctor.master.facts import MasterFacts
from saltlite.errors import SaltliteError
from saltlite.runner_context import ClusterHealth

NAME: Final = "cluster"
ABOUT: Final = "nodes that are silent or of another version, PostgreSQL, its standby, the spool"
LIMIT_S: Final = 30.0

CLOCKS_S: Final = 2.0


def look(facts: MasterFacts) -> Iterator[Finding]:
    """Look at the cluster; nothing where there is none."""
    if not facts.config.cluster.cluster_id or facts.ctx.cluster is None:
        yield unseen("cluster_id is not set")
        return
    try:
        health = facts.ctx.cluster().examine()
    except SaltliteError as wrong:
        yield error(
            f"the cluster cannot be asked: {wrong}",
            "cluster_dsn",
            "salt-run cluster.join says more",
        )
        return
    yield from judge_health(health, facts.config.cluster.cluster_degraded)


def judge_health(health: ClusterHealth, degraded: str) -> Iterator[Finding]:
    """What is to be said of what was read."""
    if health.waiting:
        yield warning(
            f"{health.waiting} jobs and returns wait on this node's disk for PostgreSQL",
            health.place,
            "they go up by themselves once it answers; the log of ClusterBridge says what it is",
        )
    if health.away:
        does = "serves its own minions alone" if degraded == "serve" else "refuses requests"
        yield error(
            f"PostgreSQL cannot be used, and this node {does}: {health.away}",
            health.place,
            "start it, or let this machine in; nothing that was acknowledged is lost meanwhile",
        )
        return
    yield from _judge_nodes(health)
    if abs(health.apart_s) > CLOCKS_S:
        way = "ahead of" if health.apart_s > 0 else "behind"
        yield warning(
            f"this machine's clock is {abs(health.apart_s):.0f} s {way} that of PostgreSQL",
            health.place,
            "timedatectl set-ntp true, or chrony on both",
        )
    if health.standbys and not health.is_synchronous:
        yield note(
            f"PostgreSQL has {health.standbys} standbys and waits for none of them: what it "
            "acknowledged last may be lost in a fail-over",
            health.place,
            "synchronous_standby_names, in postgresql.conf",
        )


def _judge_nodes(health: ClusterHealth) -> Iterator[Finding]:
    for node, silent_s in health.silent.items():
        yield error(
            f"nothing was heard of this node for {silent_s:.0f} s",
            node,
            f"systemctl start salt-master there; salt-run cluster.leave node={node} if it is gone",
        )
    if len(set(health.versions.values())) > 1:
        shown = [f"{node} {version}" for node, version in sorted(health.versions.items())]
        yield warning(
            "the nodes have different versions", list_names(shown), "bring all to the newest one"
        )
    if health.versions and not health.keeps_house:
        yield warning(
            "no node keeps house: old jobs are not forgotten",
            health.place,
            "it is taken up within cluster_lease; else the log of ClusterBridge says why not",
        )
