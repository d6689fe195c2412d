"""Kernel parameters."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, StoreError
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.kernel import parameters

_FIRST_SYSTEMD_THAT_SKIPS_THE_FILE = 207


def default_config(ctx: MinionContext) -> str:
    """The file that holds parameters across a restart.

    CLI Example:

        salt '*' sysctl.default_config
    """
    systemd = ctx.grains.get("systemd")
    told = systemd.get("version", "") if isinstance(systemd, Mapping) else ""
    version = re.match(r"\d+", str(told))
    if version is None or not ctx.host.is_dir("/run/systemd/system"):
        return parameters.DEFAULT_FILE
    skips = int(version.group()) >= _FIRST_SYSTEMD_THAT_SKIPS_THE_FILE
    return parameters.SYSTEMD_FILE if skips else parameters.DEFAULT_FILE


def show(ctx: MinionContext, config_file: str | bool = False) -> dict[str, str] | list[str]:
    """All parameters and their values; with ``config_file`` those that a file sets.

    CLI Example:

        salt '*' sysctl.show
    """
    if not config_file:
        done = command.run(
            ctx, ["sysctl", "-a"], CommandOptions(python_shell=False, ignore_retcode=True)
        )
        return parameters.parse(done.stdout)
    text = textfile.load(ctx.host, str(config_file))
    return [] if text is None else parameters.parse(text)


def get(ctx: MinionContext, name: str) -> str:
    """The value of a parameter.

    CLI Example:

        salt '*' sysctl.get net.ipv4.ip_forward
    """
    options = CommandOptions(python_shell=False, redirect_stderr=True)
    return command.run(ctx, ["sysctl", "-n", name], options).stdout


def assign(ctx: MinionContext, name: str, value: object) -> dict[str, str]:
    """Set a parameter until the next restart.

    CLI Example:

        salt '*' sysctl.assign net.ipv4.ip_forward 1
    """
    text = str(value)
    path = parameters.path_of(name)
    if path is None or not ctx.host.exists(path):
        raise FunctionError(f"sysctl {name} does not exist")
    argv = ["sysctl", "-w", f"{name}={text}"]
    done = command.run(ctx, argv, CommandOptions(python_shell=False))
    if done.retcode != 0 or "Invalid argument" in done.stderr:
        raise FunctionError(f"sysctl -w failed: {done.stderr}")
    said = list(parameters.parse(done.stdout).values())
    if len(said) != 1:
        raise FunctionError(f"sysctl -w failed: {done.stderr}")
    return {name: said[0]}


def persist(ctx: MinionContext, name: str, value: object, config: str | None = None) -> str:
    """Set a parameter for good, in a file and in the kernel: ``Updated`` or ``Already set``.

    CLI Example:

        salt '*' sysctl.persist net.ipv4.ip_forward 1
    """
    path = config or default_config(ctx)
    with textfile.hold(ctx, path):
        text = textfile.load(ctx.host, path)
        if text is None:
            _make_parent(path)
            text = parameters.NEW_FILE
        changed = parameters.with_setting(text, name, str(value))
        if changed is None:
            if parameters.same(get(ctx, name), str(value)):
                return "Already set"
            assign(ctx, name, value)
            return "Updated"
        textfile.save(path, changed)
        assign(ctx, name, value)
        return "Updated"


def _make_parent(path: str) -> None:
    try:
        disk.make_dir(Path(os.path.dirname(path) or "/"), 0o755)
    except StoreError as error:
        raise FunctionError(str(error)) from error
