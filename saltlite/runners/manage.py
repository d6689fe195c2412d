"""``manage.*``: which minions answer, are connected, or are out of date. Source: cli.md 8."""

from __future__ import annotations

from typing import Any

from saltlite.runners.context import RunnerContext
from saltlite.version import SALT_COMPATIBLE


def status(
    ctx: RunnerContext,
    output: bool = True,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    timeout: float | None = None,
    gather_job_timeout: float | None = None,
) -> dict[str, list[str]]:
    """Ping minions; print which answer and which do not.

    CLI Example:

        salt-run manage.status
        salt-run manage.status tgt="webservers" tgt_type="nodegroup"
    """
    del output, gather_job_timeout
    expected = ctx.expected(tgt, tgt_type)
    answers = ctx.local.cmd(tgt, "test.ping", tgt_type=tgt_type, timeout=timeout)
    up_ = sorted(minion for minion in answers if minion in expected)
    return {"up": up_, "down": sorted(set(expected) - set(up_))}


def up(
    ctx: RunnerContext,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    timeout: float | None = None,
    gather_job_timeout: float | None = None,
) -> list[str]:
    """Print the minions that answer a ping.

    CLI Example:

        salt-run manage.up
    """
    return status(ctx, True, tgt, tgt_type, timeout, gather_job_timeout)["up"]


def down(
    ctx: RunnerContext,
    removekeys: bool = False,
    tgt: str | list[str] = "*",
    tgt_type: str = "glob",
    timeout: float | None = None,
    gather_job_timeout: float | None = None,
) -> list[str]:
    """Print the minions that do not answer a ping.

    Keys are not removed from here: that is ``salt-key``'s work.

    CLI Example:

        salt-run manage.down
    """
    if removekeys:
        raise ValueError("removekeys is not supported; use salt-key -d")
    return status(ctx, True, tgt, tgt_type, timeout, gather_job_timeout)["down"]


def versions(ctx: RunnerContext) -> dict[str, Any]:
    """Compare the minions' versions with the master's.

    CLI Example:

        salt-run manage.versions
    """
    found: dict[str, Any] = {"Master": SALT_COMPATIBLE}
    answers = ctx.local.cmd("*", "test.version")
    ours = _numbers(SALT_COMPATIBLE)
    for minion in sorted(ctx.accepted()):
        version = answers.get(minion)
        if not isinstance(version, str):
            found.setdefault("Minion offline", {})[minion] = False
            continue
        theirs = _numbers(version)
        group = "Up to date"
        if theirs != ours:
            group = "Minion requires update" if theirs < ours else "Minion newer than master"
        found.setdefault(group, {})[minion] = version
    return found


def present(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str]:
    """Print the minions that are connected, by the master's own knowledge.

    CLI Example:

        salt-run manage.present
    """
    del show_ip
    return sorted(one for one in ctx.connected() if subset is None or one in subset)


def not_present(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str]:
    """Print the accepted minions that are not connected.

    CLI Example:

        salt-run manage.not_present
    """
    del show_ip
    missing = set(ctx.accepted()) - ctx.connected()
    return sorted(one for one in missing if subset is None or one in subset)


def alived(ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False) -> list[str]:
    """Print the minions that are connected; another name of ``manage.present``.

    CLI Example:

        salt-run manage.alived
    """
    return present(ctx, subset, show_ip)


def not_alived(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str]:
    """Print the accepted minions that are not connected.

    CLI Example:

        salt-run manage.not_alived
    """
    return not_present(ctx, subset, show_ip)


def _numbers(version: str) -> tuple[int, ...]:
    head = version.partition("+")[0].partition("-")[0]
    return tuple(int(part) for part in head.split(".") if part.isdigit())
