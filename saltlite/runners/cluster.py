"""``cluster.*``: several masters as one. Not in Salt, whose cluster is set up by hand.

Source: docs/cluster.md.
"""

from __future__ import annotations

from typing import Any

from saltlite.errors import FunctionError, SaltliteError
from saltlite.runner_context import ClusterAccess, RunnerContext


def join(
    ctx: RunnerContext, owner_dsn: str = "", role: str = "", make_key: bool = False
) -> dict[str, Any]:
    """Make what is missing, and check that this master may start as a node of its cluster.

    ``make_key`` makes the cluster's key pair, on the first node; it says how the others get it.
    ``owner_dsn`` is a connection string of the database's owner, who makes the tables or brings
    them up to date; ``role`` is the user of ``cluster_dsn``, who may then change their rows.

    CLI Example:

        salt-run cluster.join make_key=True owner_dsn='host=db user=saltlite_owner' role=saltlite
        salt-run cluster.join
    """
    access = _get_access(ctx)
    try:
        return access.join(owner_dsn=str(owner_dsn), role=str(role), make_key=bool(make_key))
    except SaltliteError as error:
        raise FunctionError(str(error)) from error


def status(ctx: RunnerContext) -> dict[str, Any]:
    """Show the nodes of the cluster: which live, which keeps house, what waits on this one's disk.

    CLI Example:

        salt-run cluster.status
    """
    try:
        return _get_access(ctx).status()
    except SaltliteError as error:
        raise FunctionError(str(error)) from error


def leave(ctx: RunnerContext, node: str = "") -> bool:
    """Forget a node whose master is stopped, by default this one.

    CLI Example:

        salt-run cluster.leave node=master3
    """
    try:
        return _get_access(ctx).leave(str(node))
    except SaltliteError as error:
        raise FunctionError(str(error)) from error


def _get_access(ctx: RunnerContext) -> ClusterAccess:
    if ctx.cluster is None:
        raise FunctionError("the cluster cannot be asked from here")
    return ctx.cluster()
