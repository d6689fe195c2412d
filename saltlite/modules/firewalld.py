"""firewalld, through ``firewall-cmd``: zones, services, and what zones let through."""

from __future__ import annotations

from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers.firewall import zones
from saltlite.providers.firewall.zones import Target


def version(ctx: MinionContext) -> str:
    """The version of firewalld.

    CLI Example:

        salt '*' firewalld.version
    """
    return zones.ask(ctx, "--version")


def reload_rules(ctx: MinionContext) -> str:
    """Have what is permanent hold now.

    CLI Example:

        salt '*' firewalld.reload_rules
    """
    return zones.ask(ctx, "--reload")


def make_permanent(ctx: MinionContext) -> str:
    """Have what holds now be permanent.

    CLI Example:

        salt '*' firewalld.make_permanent
    """
    return zones.ask(ctx, "--runtime-to-permanent")


def default_zone(ctx: MinionContext) -> str:
    """The zone of whatever is in no other.

    CLI Example:

        salt '*' firewalld.default_zone
    """
    return zones.ask(ctx, "--get-default-zone")


def set_default_zone(ctx: MinionContext, zone: str) -> str:
    """Make a zone the one of whatever is in no other.

    CLI Example:

        salt '*' firewalld.set_default_zone damian
    """
    return zones.ask(ctx, f"--set-default-zone={zone}")


def list_zones(ctx: MinionContext, permanent: bool = True) -> dict[str, Any]:
    """All zones with all that they have.

    CLI Example:

        salt '*' firewalld.list_zones
    """
    return zones.parse_zones(zones.ask(ctx, "--list-all-zones", permanent=permanent))


def list_all(ctx: MinionContext, zone: str | None = None, permanent: bool = True) -> dict[str, Any]:
    """A zone, without a name the default one, with all that it has.

    CLI Example:

        salt '*' firewalld.list_all
        salt '*' firewalld.list_all my_zone
    """
    return zones.parse_zones(zones.ask(ctx, *_zone_option(zone), "--list-all", permanent=permanent))


def get_zones(ctx: MinionContext, permanent: bool = True) -> list[str]:
    """The names of the zones.

    CLI Example:

        salt '*' firewalld.get_zones
    """
    return zones.ask(ctx, "--get-zones", permanent=permanent).split()


def get_services(ctx: MinionContext, permanent: bool = True) -> list[str]:
    """The names of the services that firewalld knows.

    CLI Example:

        salt '*' firewalld.get_services
    """
    return zones.ask(ctx, "--get-services", permanent=permanent).split()


def get_icmp_types(ctx: MinionContext, permanent: bool = True) -> list[str]:
    """The kinds of ICMP that firewalld knows.

    CLI Example:

        salt '*' firewalld.get_icmp_types
    """
    return zones.ask(ctx, "--get-icmptypes", permanent=permanent).split()


def new_zone(ctx: MinionContext, zone: str, restart: bool = True) -> str:
    """Make a zone; with ``restart`` it can be used at once.

    CLI Example:

        salt '*' firewalld.new_zone my_zone
    """
    return _then_reload(ctx, f"--new-zone={zone}", restart)


def delete_zone(ctx: MinionContext, zone: str, restart: bool = True) -> str:
    """Remove a zone.

    CLI Example:

        salt '*' firewalld.delete_zone my_zone
    """
    return _then_reload(ctx, f"--delete-zone={zone}", restart)


def new_service(ctx: MinionContext, name: str, restart: bool = True) -> str:
    """Make a service; with ``restart`` it can be used at once.

    CLI Example:

        salt '*' firewalld.new_service my_service
    """
    return _then_reload(ctx, f"--new-service={name}", restart)


def delete_service(ctx: MinionContext, name: str, restart: bool = True) -> str:
    """Remove a service.

    CLI Example:

        salt '*' firewalld.delete_service my_service
    """
    return _then_reload(ctx, f"--delete-service={name}", restart)


def _then_reload(ctx: MinionContext, option: str, restart: bool) -> str:
    said = zones.ask(ctx, option, permanent=True)
    return reload_rules(ctx) if restart else said


# --- what a zone has -------------------------------------------------------------------------


def list_services(ctx: MinionContext, zone: str | None = None, permanent: bool = True) -> list[str]:
    """The services that a zone lets through.

    CLI Example:

        salt '*' firewalld.list_services my_zone
    """
    return zones.list_items(ctx, "services", Target(zone, permanent))


def add_service(
    ctx: MinionContext, service: str, zone: str | None = None, permanent: bool = True
) -> str:
    """Let a service through.

    CLI Example:

        salt '*' firewalld.add_service ssh my_zone
    """
    return zones.change(ctx, "add", "services", service, Target(zone, permanent))


def remove_service(
    ctx: MinionContext, service: str, zone: str | None = None, permanent: bool = True
) -> str:
    """Do not let a service through.

    CLI Example:

        salt '*' firewalld.remove_service ssh my_zone
    """
    return zones.change(ctx, "remove", "services", service, Target(zone, permanent))


def list_ports(ctx: MinionContext, zone: str, permanent: bool = True) -> list[str]:
    """The ports that a zone lets through, as ``443/tcp``.

    CLI Example:

        salt '*' firewalld.list_ports internal
    """
    return zones.list_items(ctx, "ports", Target(zone, permanent))


def add_port(
    ctx: MinionContext, zone: str, port: str, permanent: bool = True, force_masquerade: bool = False
) -> str:
    """Let a port through; ``force_masquerade`` also turns masquerading on.

    CLI Example:

        salt '*' firewalld.add_port internal 443/tcp
    """
    _need_masquerade(ctx, zone, permanent, force_masquerade)
    return zones.change(ctx, "add", "ports", port, Target(zone, permanent))


def remove_port(ctx: MinionContext, zone: str, port: str, permanent: bool = True) -> str:
    """Do not let a port through.

    CLI Example:

        salt '*' firewalld.remove_port internal 443/tcp
    """
    return zones.change(ctx, "remove", "ports", port, Target(zone, permanent))


def list_port_fwd(ctx: MinionContext, zone: str, permanent: bool = True) -> list[dict[str, str]]:
    """The ports that a zone forwards.

    CLI Example:

        salt '*' firewalld.list_port_fwd public
    """
    found = zones.list_items(ctx, "forward_ports", Target(zone, permanent))
    return [zones.parse_forward(line) for line in found]


def add_port_fwd(
    ctx: MinionContext,
    zone: str,
    src: object,
    dest: object,
    proto: str = "tcp",
    dstaddr: str = "",
    permanent: bool = True,
    force_masquerade: bool = False,
) -> str:
    """Forward a port, to another host with ``dstaddr``.

    CLI Example:

        salt '*' firewalld.add_port_fwd public 80 443 tcp
    """
    _need_masquerade(ctx, zone, permanent, force_masquerade)
    value = zones.forward(src, dest, proto, dstaddr)
    return zones.change(ctx, "add", "forward_ports", value, Target(zone, permanent))


def remove_port_fwd(
    ctx: MinionContext,
    zone: str,
    src: object,
    dest: object,
    proto: str = "tcp",
    dstaddr: str = "",
    permanent: bool = True,
) -> str:
    """Do not forward a port.

    CLI Example:

        salt '*' firewalld.remove_port_fwd public 80 443 tcp
    """
    value = zones.forward(src, dest, proto, dstaddr)
    return zones.change(ctx, "remove", "forward_ports", value, Target(zone, permanent))


def get_masquerade(ctx: MinionContext, zone: str | None = None, permanent: bool = True) -> bool:
    """Whether a zone masquerades.

    CLI Example:

        salt '*' firewalld.get_masquerade zone
    """
    found = list_all(ctx, zone, permanent)
    return any(has.get("masquerade") == ["yes"] for has in found.values())


def add_masquerade(ctx: MinionContext, zone: str | None = None, permanent: bool = True) -> str:
    """Have a zone masquerade.

    CLI Example:

        salt '*' firewalld.add_masquerade dmz
    """
    return zones.ask(ctx, *_zone_option(zone), "--add-masquerade", permanent=permanent)


def remove_masquerade(ctx: MinionContext, zone: str | None = None, permanent: bool = True) -> str:
    """Have a zone not masquerade.

    CLI Example:

        salt '*' firewalld.remove_masquerade dmz
    """
    return zones.ask(ctx, *_zone_option(zone), "--remove-masquerade", permanent=permanent)


def _need_masquerade(ctx: MinionContext, zone: str, permanent: bool, wanted: bool) -> None:
    if wanted and not get_masquerade(ctx, zone, permanent):
        add_masquerade(ctx, zone, permanent)


def list_icmp_block(ctx: MinionContext, zone: str, permanent: bool = True) -> list[str]:
    """The kinds of ICMP that a zone blocks.

    CLI Example:

        salt '*' firewalld.list_icmp_block zone
    """
    return zones.list_items(ctx, "icmp_types", Target(zone, permanent))


def block_icmp(ctx: MinionContext, zone: str, icmp: str, permanent: bool = True) -> str | bool:
    """Block a kind of ICMP; ``False`` if firewalld does not know it.

    CLI Example:

        salt '*' firewalld.block_icmp zone echo-reply
    """
    if icmp not in get_icmp_types(ctx, permanent):
        return False
    return zones.change(ctx, "add", "icmp_types", icmp, Target(zone, permanent))


def allow_icmp(ctx: MinionContext, zone: str, icmp: str, permanent: bool = True) -> str | bool:
    """Do not block a kind of ICMP; ``False`` if firewalld does not know it.

    CLI Example:

        salt '*' firewalld.allow_icmp zone echo-reply
    """
    if icmp not in get_icmp_types(ctx, permanent):
        return False
    return zones.change(ctx, "remove", "icmp_types", icmp, Target(zone, permanent))


def get_interfaces(ctx: MinionContext, zone: str, permanent: bool = True) -> list[str]:
    """The interfaces of a zone.

    CLI Example:

        salt '*' firewalld.get_interfaces zone
    """
    return zones.list_items(ctx, "interfaces", Target(zone, permanent))


def add_interface(ctx: MinionContext, zone: str, interface: str, permanent: bool = True) -> str:
    """Put an interface into a zone.

    CLI Example:

        salt '*' firewalld.add_interface zone eth0
    """
    return zones.change(ctx, "add", "interfaces", interface, Target(zone, permanent))


def remove_interface(ctx: MinionContext, zone: str, interface: str, permanent: bool = True) -> str:
    """Take an interface out of a zone.

    CLI Example:

        salt '*' firewalld.remove_interface zone eth0
    """
    return zones.change(ctx, "remove", "interfaces", interface, Target(zone, permanent))


def get_sources(ctx: MinionContext, zone: str, permanent: bool = True) -> list[str]:
    """The networks of a zone.

    CLI Example:

        salt '*' firewalld.get_sources zone
    """
    return zones.list_items(ctx, "sources", Target(zone, permanent))


def add_source(ctx: MinionContext, zone: str, source: str, permanent: bool = True) -> str:
    """Put a network into a zone.

    CLI Example:

        salt '*' firewalld.add_source zone 192.168.1.0/24
    """
    return zones.change(ctx, "add", "sources", source, Target(zone, permanent))


def remove_source(ctx: MinionContext, zone: str, source: str, permanent: bool = True) -> str:
    """Take a network out of a zone.

    CLI Example:

        salt '*' firewalld.remove_source zone 192.168.1.0/24
    """
    return zones.change(ctx, "remove", "sources", source, Target(zone, permanent))


def get_rich_rules(ctx: MinionContext, zone: str, permanent: bool = True) -> list[str]:
    """The rich rules of a zone.

    CLI Example:

        salt '*' firewalld.get_rich_rules zone
    """
    return zones.list_items(ctx, "rich_rules", Target(zone, permanent))


def add_rich_rule(ctx: MinionContext, zone: str, rule: str, permanent: bool = True) -> str:
    """Add a rich rule to a zone.

    CLI Example:

        salt '*' firewalld.add_rich_rule zone 'rule service name="ftp" accept'
    """
    return zones.change(ctx, "add", "rich_rules", rule, Target(zone, permanent))


def remove_rich_rule(ctx: MinionContext, zone: str, rule: str, permanent: bool = True) -> str:
    """Remove a rich rule from a zone.

    CLI Example:

        salt '*' firewalld.remove_rich_rule zone 'rule service name="ftp" accept'
    """
    return zones.change(ctx, "remove", "rich_rules", rule, Target(zone, permanent))


# --- what a service has ----------------------------------------------------------------------


def get_service_ports(ctx: MinionContext, service: str) -> list[str]:
    """The ports of a service.

    CLI Example:

        salt '*' firewalld.get_service_ports zone
    """
    return zones.of_service(ctx, service, "--get-ports").split()


def add_service_port(ctx: MinionContext, service: str, port: str) -> str:
    """Add a port to a service that there is.

    CLI Example:

        salt '*' firewalld.add_service_port zone 80/tcp
    """
    _need_service(ctx, service)
    return zones.of_service(ctx, service, f"--add-port={port}")


def remove_service_port(ctx: MinionContext, service: str, port: str) -> str:
    """Remove a port from a service that there is.

    CLI Example:

        salt '*' firewalld.remove_service_port zone 80/tcp
    """
    _need_service(ctx, service)
    return zones.of_service(ctx, service, f"--remove-port={port}")


def get_service_protocols(ctx: MinionContext, service: str) -> list[str]:
    """The protocols of a service.

    CLI Example:

        salt '*' firewalld.get_service_protocols zone
    """
    return zones.of_service(ctx, service, "--get-protocols").split()


def add_service_protocol(ctx: MinionContext, service: str, protocol: str) -> str:
    """Add a protocol to a service that there is.

    CLI Example:

        salt '*' firewalld.add_service_protocol zone ssh
    """
    _need_service(ctx, service)
    return zones.of_service(ctx, service, f"--add-protocol={protocol}")


def remove_service_protocol(ctx: MinionContext, service: str, protocol: str) -> str:
    """Remove a protocol from a service that there is.

    CLI Example:

        salt '*' firewalld.remove_service_protocol zone ssh
    """
    _need_service(ctx, service)
    return zones.of_service(ctx, service, f"--remove-protocol={protocol}")


def _need_service(ctx: MinionContext, service: str) -> None:
    if service not in get_services(ctx):
        raise FunctionError("The service does not exist.")


def _zone_option(zone: str | None) -> list[str]:
    return [f"--zone={zone}"] if zone else []
