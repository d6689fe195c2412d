"""Which of several programs a name stands for: ``update-alternatives``.

Source: observed on Salt 3006.30.
"""

from __future__ import annotations

from saltlite.context import MinionContext
from saltlite.errors import FunctionUnavailable
from saltlite.providers import textfile

DIRECTORY = "/etc/alternatives"
PROGRAMS = ("update-alternatives", "alternatives")
"""Debian's and SUSE's name, and Red Hat's; either is there."""


def _find_program(ctx: MinionContext) -> str:
    red_hat = ctx.grains.get("os_family") == "RedHat"
    names = reversed(PROGRAMS) if red_hat else PROGRAMS
    found = next((name for name in names if ctx.host.which(name)), None)
    if found is None:
        raise FunctionUnavailable("alternatives", "Cannot find update-alternatives")
    return found


def _read_output(ctx: MinionContext, *words: str) -> str:
    """What the program wrote: errors if it failed."""
    done = ctx.host.run([_find_program(ctx), *words], env={"LC_ALL": "C"})
    return (done.stderr if done.exit_code > 0 and done.stderr else done.stdout).rstrip()


def _run_locked(ctx: MinionContext, *words: str) -> str:
    """The same, one at a time: the program reads and writes its files without a lock."""
    with textfile.hold(ctx, DIRECTORY):
        return _read_output(ctx, *words)


def display(ctx: MinionContext, name: str) -> str:
    """The alternatives of a name, and which one is used.

    CLI Example:

        salt '*' alternatives.display editor
    """
    return _read_output(ctx, "--display", name)


def show_link(ctx: MinionContext, name: str) -> str | bool:
    """The link that a name is about: ``/usr/bin/editor``; ``False`` for none.

    CLI Example:

        salt '*' alternatives.show_link editor
    """
    if ctx.grains.get("os_family") == "RedHat":
        text = ctx.host.read_text(f"/var/lib/alternatives/{name}") or ""
        lines = text.splitlines()
        return lines[1] if len(lines) > 1 else False
    text = _read_output(ctx, "--query", name)
    return next((line[6:] for line in text.splitlines() if line.startswith("Link: ")), False)


def show_current(ctx: MinionContext, name: str) -> str | bool:
    """The program a name stands for now, ``False`` for none.

    CLI Example:

        salt '*' alternatives.show_current editor
    """
    return ctx.host.read_link(f"{DIRECTORY}/{name}") or False


def check_exists(ctx: MinionContext, name: str, path: str) -> bool:
    """Whether a program is one of a name's alternatives.

    CLI Example:

        salt '*' alternatives.check_exists editor /usr/bin/vim
    """
    return any(line.startswith(f"{path} ") for line in display(ctx, name).splitlines())


def check_installed(ctx: MinionContext, name: str, path: str) -> bool:
    """Whether a name stands for this program now.

    CLI Example:

        salt '*' alternatives.check_installed editor /usr/bin/vim
    """
    return ctx.host.read_link(f"{DIRECTORY}/{name}") == path


def install(ctx: MinionContext, name: str, link: str, path: str, priority: int) -> str:
    """Add an alternative; the one with the greatest priority is used in automatic mode.

    CLI Example:

        salt '*' alternatives.install editor /usr/bin/editor /usr/bin/emacs23 50
    """
    return _run_locked(ctx, "--install", link, name, path, str(priority))


def remove(ctx: MinionContext, name: str, path: str) -> str:
    """Take an alternative away.

    CLI Example:

        salt '*' alternatives.remove editor /usr/bin/emacs23
    """
    return _run_locked(ctx, "--remove", name, path)


def auto(ctx: MinionContext, name: str) -> str:
    """Use the alternative with the greatest priority, now and later.

    CLI Example:

        salt '*' alternatives.auto editor
    """
    return _run_locked(ctx, "--auto", name)


def set_(ctx: MinionContext, name: str, path: str) -> str:
    """Use this alternative, whatever the priorities.

    CLI Example:

        salt '*' alternatives.set editor /usr/bin/emacs23
    """
    return _run_locked(ctx, "--set", name, path)
