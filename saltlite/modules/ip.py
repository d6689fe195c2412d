"""The configuration of interfaces, their routes, and of the network as a whole, on Debian."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers import command, textfile
from saltlite.providers.command import CommandOptions
from saltlite.providers.network import ifupdown, settings, stanza

# --- interfaces ----------------------------------------------------------------------------------


def get_interface(ctx: MinionContext, iface: str) -> list[str]:
    """What ``/etc/network/interfaces`` says of an interface; empty if it says nothing.

    CLI Example:

        salt '*' ip.get_interface eth0
    """
    ifupdown.only_debian(ctx)
    return ifupdown.of_interface(textfile.load(ctx.host, ifupdown.FILE) or "", iface)


def build_interface(
    ctx: MinionContext, iface: str, iface_type: str, enabled: bool, **given: Any
) -> list[str]:
    """Write the configuration of an interface; with ``test`` only show it.

    ``iface_type`` is eth, bond, bridge, slave or vlan; ``given`` are the options of
    ``network.managed``.

    CLI Example:

        salt '*' ip.build_interface eth0 eth true proto=static ipaddr=10.0.0.2/24
    """
    ifupdown.only_debian(ctx)
    lines = stanza.of_declared(iface, iface_type, bool(enabled), given)
    if not given.get("test"):
        with textfile.hold(ctx, ifupdown.FILE):
            text = textfile.load(ctx.host, ifupdown.FILE) or ""
            textfile.save(ifupdown.FILE, ifupdown.with_interface(text, iface, lines))
    return lines


def up(ctx: MinionContext, iface: str, iface_type: str) -> str | None:
    """Bring an interface up with ``ifup``; not one that is part of a bond.

    CLI Example:

        salt '*' ip.up eth0 eth
    """
    return _run_program(ctx, "ifup", iface, iface_type)


def down(ctx: MinionContext, iface: str, iface_type: str) -> str | None:
    """Take an interface down with ``ifdown``; not one that is part of a bond.

    CLI Example:

        salt '*' ip.down eth0 eth
    """
    return _run_program(ctx, "ifdown", iface, iface_type)


def _run_program(ctx: MinionContext, program: str, iface: str, iface_type: str) -> str | None:
    ifupdown.only_debian(ctx)
    if iface_type == "slave":
        return None
    return _read_output(ctx, program, "--", iface)


def _read_output(ctx: MinionContext, *argv: str) -> str:
    """What a program prints; raises FunctionError if it fails."""
    done = command.run(ctx, list(argv), CommandOptions(python_shell=False, ignore_retcode=True))
    if done.retcode != 0:
        raise FunctionError(f"{' '.join(argv)} failed: {done.stderr or done.stdout}")
    return done.stdout


# --- routes --------------------------------------------------------------------------------------


def get_routes(ctx: MinionContext, iface: str) -> list[str]:
    """The programs that add and remove the routes of an interface, by line.

    CLI Example:

        salt '*' ip.get_routes eth0
    """
    ifupdown.only_debian(ctx)
    texts = [ctx.host.read_text(path) or "" for path in ifupdown.route_files(iface)]
    return [line for text in texts for line in text.splitlines(keepends=True)]


def build_routes(ctx: MinionContext, iface: str, **given: Any) -> list[str]:
    """Write the programs that add and remove the routes of an interface; ``test``: only show them.

    ``routes`` is a list of maps: ipaddr, and if need be netmask, gateway, metric, name.

    CLI Example:

        salt '*' ip.build_routes eth0 routes='[{ipaddr: 10.9.0.0/16, gateway: 10.0.0.1}]'
    """
    ifupdown.only_debian(ctx)
    scripts = ifupdown.route_scripts(iface, stanza.routes_of(iface, given.get("routes")))
    if not given.get("test"):
        for path, text in zip(ifupdown.route_files(iface), scripts, strict=True):
            place = str(PurePath(path).parent)
            if not ctx.host.is_dir(place):
                raise FunctionError(f"{path} cannot be written. {place}/ does not exist")
            textfile.save(path, text, mode=0o755)
    return [line for text in scripts for line in text.splitlines(keepends=True)]


# --- the network as a whole ----------------------------------------------------------------------


def get_network_settings(ctx: MinionContext) -> list[str]:
    """Whether interfaces come up at a start, the machine's name, and its domains.

    CLI Example:

        salt '*' ip.get_network_settings
    """
    from saltlite.modules import network

    ifupdown.only_debian(ctx)
    texts = (textfile.load(ctx.host, path) or "" for path in settings.FILES)
    return settings.show_settings(network.get_hostname(), *texts)


def build_network_settings(ctx: MinionContext, **given: Any) -> list[str]:
    """Write settings of the network as a whole; with ``test`` only show what they would be.

    ``enabled``: whether interfaces come up at a start; ``hostname``: its domain becomes that of
    the resolver if it has one, and with ``apply_hostname`` it becomes the machine's name;
    ``search``: domains to search.

    CLI Example:

        salt '*' ip.build_network_settings enabled=true search='a.org b.org'
    """
    from saltlite.modules import network

    now = get_network_settings(ctx)
    lines = settings.want_settings(now, given)
    if given.get("test"):
        return lines
    old, new = settings.as_map(now), settings.as_map(lines)
    changed = {name for name in new if old.get(name) != new[name]}
    for path in settings.FILES:
        with textfile.hold(ctx, path):
            text = textfile.load(ctx.host, path) or ""
            altered = settings.alter_text(text, {name: new[name] for name in changed}, path)
            if altered != text:
                textfile.save(path, altered)
    if "HOSTNAME" in changed and not network.mod_hostname(ctx, new["HOSTNAME"]):
        raise FunctionError(f"The name of the machine could not become {new['HOSTNAME']}")
    return lines


def apply_network_settings(ctx: MinionContext, **given: Any) -> bool:
    """Stop and start the service ``networking``; not with ``require_reboot``.

    CLI Example:

        salt '*' ip.apply_network_settings
    """
    ifupdown.only_debian(ctx)
    if not given.get("require_reboot"):
        for action in ("stop", "start"):
            _read_output(ctx, "service", "networking", action)
    return True
