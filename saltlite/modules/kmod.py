"""Kernel modules."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.kernel import modules


def lsmod(ctx: MinionContext) -> list[dict[str, Any]]:
    """The modules that are loaded.

    CLI Example:

        salt '*' kmod.lsmod
    """
    return modules.parse_loaded(ctx.host.read_text(modules.PROC_MODULES) or "")


def mod_list(ctx: MinionContext, only_persist: bool = False) -> list[str]:
    """The names of the modules that are loaded, or of those that are loaded at every start.

    CLI Example:

        salt '*' kmod.mod_list
    """
    if only_persist:
        return modules.parse_persistent(ctx.host.read_text(_persistent_file(ctx)) or "")
    return sorted(_list_loaded(ctx))


def is_loaded(ctx: MinionContext, mod: str) -> bool:
    """Whether a module is loaded.

    CLI Example:

        salt '*' kmod.is_loaded kvm
    """
    return mod in _list_loaded(ctx)


def available(ctx: MinionContext) -> list[str]:
    """The modules that this kernel has, as files and built in, sorted.

    CLI Example:

        salt '*' kmod.available
    """
    tree = os.path.join(modules.TREE, os.uname().release)
    builtin = ctx.host.read_text(os.path.join(tree, "modules.builtin")) or ""
    files = (name for _, _, names in os.walk(tree) for name in names)
    found = {modules.module_name(name) for name in files} | set(modules.parse_builtin(builtin))
    return sorted(name for name in found if name)


def check_available(ctx: MinionContext, mod: str) -> bool:
    """Whether this kernel has a module.

    CLI Example:

        salt '*' kmod.check_available kvm
    """
    return mod in available(ctx)


def load(ctx: MinionContext, mod: str, persist: bool = False) -> list[str] | str:
    """Load a module; the names of all that this loaded, or what went wrong.

    ``persist`` also loads it at every start from now on.

    CLI Example:

        salt '*' kmod.load kvm
    """
    before = _list_loaded(ctx)
    done = command.run(ctx, ["modprobe", mod], CommandOptions(python_shell=False))
    if done.retcode != 0:
        return f"Error loading module {mod}: {done.stderr}"
    persistent = _add_persistent(ctx, mod) if persist else set()
    return sorted((_list_loaded(ctx) - before) | persistent)


def remove(
    ctx: MinionContext, mod: str, persist: bool = False, comment: bool = True
) -> list[str] | str:
    """Unload a module; the names of all that this unloaded, or what went wrong.

    ``persist`` also keeps it from being loaded at the next start; ``comment`` leaves its name in
    the file behind a ``#``.

    CLI Example:

        salt '*' kmod.remove kvm
    """
    before = _list_loaded(ctx)
    done = command.run(ctx, ["rmmod", mod], CommandOptions(python_shell=False))
    if done.retcode != 0:
        return f"Error removing module {mod}: {done.stderr}"
    persistent = _remove_persistent(ctx, [mod], comment=comment) if persist else set()
    return sorted((before - _list_loaded(ctx)) | persistent)


def _list_loaded(ctx: MinionContext) -> set[str]:
    return {str(each["module"]) for each in lsmod(ctx)}


def _persistent_file(ctx: MinionContext) -> str:
    return modules.SYSTEMD_FILE if ctx.grains.get("systemd") else modules.MODULES_FILE


def _add_persistent(ctx: MinionContext, mod: str) -> set[str]:
    path = _persistent_file(ctx)
    with textfile.hold(ctx, path):
        text = textfile.load(ctx.host, path) or ""
        if mod in modules.parse_persistent(text):
            return set()
        if not check_available(ctx, mod):
            return set()
        _make_parent(path)
        textfile.save(path, modules.with_module(text, mod))
        return {mod}


def _remove_persistent(ctx: MinionContext, names: Iterable[str], *, comment: bool) -> set[str]:
    path = _persistent_file(ctx)
    with textfile.hold(ctx, path):
        text = textfile.load(ctx.host, path) or ""
        there = set(names) & set(modules.parse_persistent(text))
        if there:
            textfile.save(path, modules.without_modules(text, there, comment=comment))
        return there


def _make_parent(path: str) -> None:
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise FunctionError(f"There is no directory {parent}")
