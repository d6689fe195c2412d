"""``manage.*``: which minions answer, are connected, or are out of date. Source: cli.md 8."""

from __future__ import annotations

from typing import Any

from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.runner_context import RunnerContext
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

    removekeys : False
        Delete their keys. A minion that is only busy or slow loses its key too.

    CLI Example:

        salt-run manage.down
        salt-run manage.down removekeys=True
    """
    found = status(ctx, True, tgt, tgt_type, timeout, gather_job_timeout)["down"]
    for minion in found if removekeys else ():
        ctx.keys.delete(minion, "minions")
    return found


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


def list_state(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str] | dict[str, str]:
    """Print the minions that are connected, by the master's own knowledge; nothing is sent.

    ``present``, ``alived``, ``reaped``, ``joined`` and ``allowed`` are other names of it.

    subset
        Only of these minions.

    show_ip : False
        Also the address each is connected from.

    CLI Example:

        salt-run manage.list_state
    """
    wanted = _names(subset)
    found = {one: ip for one, ip in ctx.connected().items() if wanted is None or one in wanted}
    return dict(sorted(found.items())) if show_ip else sorted(found)


def list_not_state(
    ctx: RunnerContext, subset: list[str] | None = None, show_ip: bool = False
) -> list[str]:
    """Print the accepted minions that are not connected, by the master's own knowledge.

    ``not_present``, ``not_alived``, ``not_reaped``, ``not_joined`` and ``not_allowed`` are others.

    CLI Example:

        salt-run manage.list_not_state
    """
    del show_ip  # of a minion that is not connected there is none
    wanted = _names(subset)
    missing = set(ctx.accepted()) - set(ctx.connected())
    return sorted(one for one in missing if wanted is None or one in wanted)


present = alived = reaped = joined = allowed = list_state
not_present = not_alived = not_reaped = not_joined = not_allowed = list_not_state


def safe_accept(ctx: RunnerContext, target: str, tgt_type: str = "glob") -> None:
    """Refuse: comparing a key over ssh before it is accepted needs salt-ssh, which is not here.

    Compare ``salt-key -f <id>`` with ``salt-call --local key.finger`` on the minion instead.

    CLI Example:

        salt-run manage.safe_accept my_minion
    """
    del ctx, target, tgt_type
    raise FunctionError(
        "manage.safe_accept needs salt-ssh, which saltlite does not have; compare the fingerprints "
        "of salt-key -f and, on the minion, salt-call --local key.finger"
    )


def _names(subset: str | list[str] | None) -> list[str] | None:
    if subset is None:
        return None
    return [one.strip() for one in subset.split(",")] if isinstance(subset, str) else subset


def _numbers(version: str) -> tuple[int, ...]:
    head = version.partition("+")[0].partition("-")[0]
    return tuple(int(part) for part in head.split(".") if is_digits(part))
