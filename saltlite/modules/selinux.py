"""SELinux: its mode, booleans, modules, and the contexts of files and ports."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.providers import textfile
from saltlite.providers.selinux import policy

INTERNAL = ("mode_of", "port_of", "switch")
"""Functions for states; nobody calls them by name."""

_MODES = {"1": "Enforcing", "0": "Permissive"}


def selinux_fs_path(ctx: MinionContext) -> str | None:
    """Where the kernel's SELinux is mounted; ``None`` without one.

    CLI Example:

        salt '*' selinux.selinux_fs_path
    """
    return next((path for path in policy.MOUNTED if os.path.exists(f"{path}/enforce")), None)


def getenforce(ctx: MinionContext) -> str:
    """The mode that holds now: Enforcing, Permissive or Disabled.

    CLI Example:

        salt '*' selinux.getenforce
    """
    place = selinux_fs_path(ctx)
    if place is None:
        return "Disabled"
    return _MODES.get((ctx.host.read_text(f"{place}/enforce") or "").strip(), "Disabled")


def getconfig(ctx: MinionContext) -> str | None:
    """The mode after a restart; ``None`` if no configuration says it.

    CLI Example:

        salt '*' selinux.getconfig
    """
    return policy.configured_mode(ctx.host.read_text(policy.CONFIG) or "")


def setenforce(ctx: MinionContext, mode: str) -> str:
    """Change the mode, now and after a restart; the mode that then holds.

    ``Disabled`` is Permissive until the restart.

    CLI Example:

        salt '*' selinux.setenforce enforcing
    """
    wanted = mode_of(mode)
    if wanted is None:
        return f"Invalid mode {mode}"
    with textfile.hold(ctx, policy.CONFIG):
        _set_mode(ctx, wanted)
    return getenforce(ctx)


def _set_mode(ctx: MinionContext, wanted: str) -> None:
    text = ctx.host.read_text(policy.CONFIG)
    place = selinux_fs_path(ctx)
    if text is None and (place is None or wanted == "Disabled"):
        raise FunctionError(f"{policy.CONFIG} is not there: SELinux is not on this machine")
    if place is not None:
        _write_mode(f"{place}/enforce", "1" if wanted == "Enforcing" else "0")
    if text is not None and policy.configured_mode(text) != wanted:
        textfile.save(policy.CONFIG, policy.with_mode(text, wanted))


def mode_of(mode: object) -> str | None:
    """A mode as ``getenforce`` says it, also of 1 and 0; ``None`` if it is none."""
    said = _MODES.get(str(mode), str(mode).capitalize())
    return said if said in ("Enforcing", "Permissive", "Disabled") else None


def _write_mode(path: str, mode: str) -> None:
    """The kernel takes it in one piece; such a file cannot be replaced."""
    try:
        with open(path, "w") as file:
            file.write(mode)
    except OSError as error:
        raise FunctionError(f"Unable to write SELinux enforce file: {error}") from error


# --- booleans ------------------------------------------------------------------------------------


def list_sebool(ctx: MinionContext) -> dict[str, dict[str, str]]:
    """All booleans: State, Default (after a restart) and Description.

    CLI Example:

        salt '*' selinux.list_sebool
    """
    return policy.parse_booleans(policy.ask(ctx, "semanage", "boolean", "-l"))


def getsebool(ctx: MinionContext, boolean: str) -> dict[str, str]:
    """One boolean; empty if there is none of that name.

    CLI Example:

        salt '*' selinux.getsebool virt_use_usb
    """
    return list_sebool(ctx).get(boolean, {})


def setsebool(ctx: MinionContext, boolean: str, value: object, persist: bool = False) -> bool:
    """Set a boolean, with ``persist`` also for after a restart.

    CLI Example:

        salt '*' selinux.setsebool virt_use_usb off
    """
    flags = ["-P"] if persist else []
    return policy.run(ctx, "setsebool", *flags, boolean, switch(value)).retcode == 0


def setsebools(ctx: MinionContext, pairs: Mapping[str, object], persist: bool = False) -> bool:
    """Set several booleans at once.

    CLI Example:

        salt '*' selinux.setsebools '{virt_use_usb: on, squid_use_tproxy: off}'
    """
    flags = ["-P"] if persist else []
    given = [f"{name}={switch(value)}" for name, value in pairs.items()]
    return policy.run(ctx, "setsebool", *flags, *given).retcode == 0


def switch(value: object) -> str:
    """A boolean's value in the words of the tools; what is none stays as it is."""
    text = str(value).lower()
    return {"true": "on", "1": "on", "false": "off", "0": "off"}.get(text, text)


# --- modules -------------------------------------------------------------------------------------


def list_semod(ctx: MinionContext) -> dict[str, dict[str, bool | str | None]]:
    """The modules of the policy: Enabled, and Version where ``semodule`` tells one.

    CLI Example:

        salt '*' selinux.list_semod
    """
    full = "full" in policy.run(ctx, "semodule", "-h").stdout
    text = policy.ask(ctx, "semodule", "-lfull" if full else "-l")
    return policy.parse_modules(text, full=full)


def getsemod(ctx: MinionContext, module: str) -> dict[str, bool | str | None]:
    """One module; empty if there is none of that name.

    CLI Example:

        salt '*' selinux.getsemod mysqld
    """
    return list_semod(ctx).get(module, {})


def setsemod(ctx: MinionContext, module: str, state: str) -> bool:
    """Turn a module on (``Enabled``) or off (``Disabled``).

    CLI Example:

        salt '*' selinux.setsemod mysqld Disabled
    """
    flag = {"enabled": "-e", "disabled": "-d"}.get(str(state).lower())
    return flag is not None and policy.run(ctx, "semodule", flag, module).retcode == 0


def install_semod(ctx: MinionContext, module_path: str) -> bool:
    """Install a compiled module; ``salt://`` addresses are fetched.

    CLI Example:

        salt '*' selinux.install_semod salt://custom_module.pp
    """
    if module_path.startswith("salt://"):
        from saltlite.modules import cp

        cached = cp.cache_file(ctx, module_path)
        if not cached:
            raise FunctionError(f"{module_path} is not there")
        module_path = str(cached)
    return policy.run(ctx, "semodule", "-i", module_path).retcode == 0


def remove_semod(ctx: MinionContext, module: str) -> bool:
    """Remove a module.

    CLI Example:

        salt '*' selinux.remove_semod mysqld
    """
    return policy.run(ctx, "semodule", "-r", module).retcode == 0


# --- contexts of files ---------------------------------------------------------------------------


def filetype_id_to_string(filetype: str = "a") -> str:
    """A kind of files (``f``, ``d``, …) in the words of ``semanage``.

    CLI Example:

        salt '*' selinux.filetype_id_to_string f
    """
    if filetype not in policy.KINDS:
        raise UsageError(f"Invalid filetype given: {filetype}")
    return policy.KINDS[filetype]


def fcontext_get_policy(
    ctx: MinionContext,
    name: str,
    filetype: str | None = None,
    sel_type: str | None = None,
    sel_user: str | None = None,
    sel_level: str | None = None,
) -> dict[str, str] | None:
    """The rule for a file specification, if it is as said; ``None`` without one.

    CLI Example:

        salt '*' selinux.fcontext_get_policy '/srv/www(/.*)?'
    """
    wanted = {"filespec": name, "sel_type": sel_type, "sel_user": sel_user, "sel_level": sel_level}
    if filetype is not None:
        wanted["filetype"] = filetype_id_to_string(filetype)
    rules = policy.parse_files(policy.ask(ctx, "semanage", "fcontext", "-l"))
    return _find_last(rules, wanted)  # one of this machine comes after one of the policy


def _find_last(
    rows: list[dict[str, str]], wanted: Mapping[str, str | None]
) -> dict[str, str] | None:
    given = {key: value for key, value in wanted.items() if value is not None}
    fitting = [row for row in rows if all(row[key] == value for key, value in given.items())]
    return fitting[-1] if fitting else None


def fcontext_add_policy(
    ctx: MinionContext,
    name: str,
    filetype: str | None = None,
    sel_type: str | None = None,
    sel_user: str | None = None,
    sel_level: str | None = None,
) -> dict[str, Any]:
    """Add a rule for files, or change it. It holds for a file once it is applied.

    CLI Example:

        salt '*' selinux.fcontext_add_policy '/srv/www(/.*)?' sel_type=httpd_sys_content_t
    """
    known = fcontext_get_policy(ctx, name, filetype or "a")
    verb = "--modify" if known else "--add"
    flags = _build_flags(
        ftype=_filetype_letter(filetype), type=sel_type, seuser=sel_user, range=sel_level
    )
    return policy.run(ctx, "semanage", "fcontext", verb, *flags, name).as_map()


def fcontext_delete_policy(
    ctx: MinionContext,
    name: str,
    filetype: str | None = None,
    sel_type: str | None = None,
    sel_user: str | None = None,
    sel_level: str | None = None,
) -> dict[str, Any]:
    """Remove a rule of this machine for files.

    CLI Example:

        salt '*' selinux.fcontext_delete_policy '/srv/www(/.*)?'
    """
    flags = _build_flags(
        ftype=_filetype_letter(filetype), type=sel_type, seuser=sel_user, range=sel_level
    )
    return policy.run(ctx, "semanage", "fcontext", "--delete", *flags, name).as_map()


def _filetype_letter(filetype: str | None) -> str | None:
    if filetype is not None:
        filetype_id_to_string(filetype)
    return None if filetype == "a" else filetype


def _build_flags(**given: str | None) -> list[str]:
    pairs = ((f"--{name}", str(value)) for name, value in given.items() if value is not None)
    return [word for pair in pairs for word in pair]


def fcontext_policy_is_applied(ctx: MinionContext, name: str, recursive: bool = False) -> str:
    """What ``restorecon`` would do to a path; empty if its context is that of the rules.

    CLI Example:

        salt '*' selinux.fcontext_policy_is_applied /srv/www
    """
    flags = ["-R"] if recursive else []
    return policy.run(ctx, "restorecon", "-n", "-v", *flags, policy.path_of(name)).stdout


def fcontext_apply_policy(ctx: MinionContext, name: str, recursive: bool = False) -> dict[str, Any]:
    """Give a path, with ``recursive`` also all below, the context of the rules.

    CLI Example:

        salt '*' selinux.fcontext_apply_policy /srv/www recursive=True
    """
    flags = ["-R"] if recursive else []
    done = policy.run(ctx, "restorecon", "-v", "-F", *flags, policy.path_of(name))
    changes = policy.parse_relabelled(done.stdout)
    return {**done.as_map(), **({"changes": changes} if changes else {})}


# --- contexts of ports ---------------------------------------------------------------------------


def port_get_policy(
    ctx: MinionContext,
    name: str,
    sel_type: str | None = None,
    protocol: str | None = None,
    port: object = None,
) -> dict[str, str] | None:
    """The row of ``semanage port -l`` that a port, ``tcp/8080``, is in; ``None`` without one.

    A range is looked for as a whole.

    CLI Example:

        salt '*' selinux.port_get_policy tcp/80
    """
    wanted_protocol, wanted_port = port_of(name, protocol, port)
    rows = policy.parse_ports(policy.ask(ctx, "semanage", "port", "-l"))
    having = [row for row in rows if wanted_port in re.split(r",\s*", row["port"])]
    for row in having:
        if row["protocol"] == wanted_protocol and sel_type in (None, row["sel_type"]):
            return row
    return None


def port_of(name: str, protocol: str | None, port: object) -> tuple[str, str]:
    """Protocol and port, as they are given or in a name like ``tcp/8080-8090``.

    Raises:
        UsageError: they are in neither.
    """
    said = re.fullmatch(r"(tcp|udp|dccp|sctp)/(\d+(?:-\d+)?)", str(name))
    found = (protocol or (said[1] if said else ""), str(port or (said[2] if said else "")))
    known = found[0] in ("tcp", "udp", "dccp", "sctp") and re.fullmatch(r"\d+(-\d+)?", found[1])
    if not known:
        raise UsageError(
            f'Invalid name "{name}" format and protocol and port not provided or invalid: '
            f'"{protocol}" "{port}".'
        )
    return found


def port_add_policy(
    ctx: MinionContext,
    name: str,
    sel_type: str | None = None,
    protocol: str | None = None,
    port: object = None,
    sel_range: str | None = None,
) -> dict[str, Any]:
    """Give a port a type; also one that has another type.

    CLI Example:

        salt '*' selinux.port_add_policy tcp/8080 http_port_t
    """
    wanted_protocol, wanted_port = port_of(name, protocol, port)
    known = port_get_policy(ctx, name, None, protocol, port)
    flags = _build_flags(proto=wanted_protocol, type=sel_type, range=sel_range)
    verb = "--modify" if known else "--add"
    return policy.run(ctx, "semanage", "port", verb, *flags, wanted_port).as_map()


def port_delete_policy(
    ctx: MinionContext, name: str, protocol: str | None = None, port: object = None
) -> dict[str, Any]:
    """Take from a port the type that it has on this machine.

    CLI Example:

        salt '*' selinux.port_delete_policy tcp/8080
    """
    wanted_protocol, wanted_port = port_of(name, protocol, port)
    flags = _build_flags(proto=wanted_protocol)
    return policy.run(ctx, "semanage", "port", "--delete", *flags, wanted_port).as_map()
