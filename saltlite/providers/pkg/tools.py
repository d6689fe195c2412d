"""How package managers are run: one language, no questions, apart from the minion's own life.

Used by every provider of packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from saltlite.errors import CommandError

if TYPE_CHECKING:
    from saltlite.context import MinionContext
    from saltlite.host import Completed

LANGUAGE = {"LC_ALL": "C", "LANG": "C", "LANGUAGE": "C"}
"""Parsers read English."""

BOOTED_BY_SYSTEMD = "/run/systemd/system"


def ask(
    ctx: MinionContext,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> Completed:
    """Run a command that changes nothing, to its end, whatever its exit code.

    Raises:
        CommandError: it could not be started.
    """
    return ctx.host.run(list(argv), env={**LANGUAGE, **(env or {})}, stdin=stdin)


def act(
    ctx: MinionContext, argv: Sequence[str], *, env: Mapping[str, str] | None = None
) -> Completed:
    """Run a command that changes packages.

    Under systemd it gets a scope of its own, so that it survives a restart of the minion that it
    may cause (the minion's own package). Option ``systemd.scope`` of the minion turns that off.
    """
    return ask(ctx, [*_scope_words(ctx, argv[0]), *argv], env=env)


def _scope_words(ctx: MinionContext, program: str) -> list[str]:
    wanted = ctx.config.extra.get("systemd.scope", True)
    if not wanted or not ctx.host.is_dir(BOOTED_BY_SYSTEMD) or not ctx.host.which("systemd-run"):
        return []
    return ["systemd-run", "--scope", "--description", f"saltlite.pkg {program}"]


def output(ctx: MinionContext, argv: Sequence[str]) -> str:
    """The standard output of a command, ``""`` if it is not there."""
    try:
        return ask(ctx, argv).stdout
    except CommandError:
        return ""


def complaint(done: Completed) -> list[str]:
    """What a failed command had to say; nothing of one that succeeded."""
    if done.exit_code == 0:
        return []
    return [done.stderr.strip() or done.stdout.strip() or f"exit code {done.exit_code}"]
